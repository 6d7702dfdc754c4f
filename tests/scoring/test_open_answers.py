"""The reading and comparison of formulas and lists of numbers."""

from typing import Any

import pytest

from vqa_client.scoring.formulas import Notation, NoValueError, value_of
from vqa_client.scoring.maths import number_of, same_maths
from vqa_client.scoring.numbers import formula, numbers
from vqa_client.scoring.reply import reply_from
from vqa_client.scoring.short_answers import word_f1
from vqa_client.types import Completion, Question

BIRDS = Question(id="1", text="How many birds are there in the image?", references=("3",))
SAME = [
    *((text, "60") for text in ("60", "60.", "$60$", "\\(60\\)", "60^\\circ", "60°", "60 degrees", "60 cm")),
    *((text, "60") for text in ("60\\text{ cm}", "60 \\mathrm{~cm}^2", "x = 60", "x \\approx 60", "sixty")),
    *((text, "0.5") for text in ("\\frac{1}{2}", "½", "50\\%")),
    ("1/2", "\\frac{1}{2}"),
    ("0.5", "\\dfrac12"),
    ("\\frac{\\sqrt{3}}{2}", "\\sqrt{3}/2"),
    ("sqrt(3)/2", "\\frac{\\sqrt3}{2}"),
    ("sqrt 12 + 1", "\\sqrt{12}+1"),
    ("√12", "2√3"),
    ("2\\sqrt{3}", "\\sqrt{12}"),
    ("1.41", "\\sqrt{2}"),
    ("3.14", "\\pi"),
    ("3.1416", "\\pi"),
    *((text, "3\\pi") for text in ("3π", "3 pi", "9.42")),
    ("1,000", "1000"),
    ("1{,}000", "1000"),
    ("1000", "1,000"),
    ("50%", "50"),
    ("50 percent", "50%"),
    ("1 1/2", "1.5"),
    ("1\\frac{1}{2}", "1.5"),
    ("-\\frac{1}{2}", "-0.5"),
    ("−3", "-3"),
    ("x+1", "1+x"),
    ("(x+1)^2", "x^2+2x+1"),
    ("2x", "x*2"),
    ("y=2x+1", "2x+1"),
    ("(3,4)", "(3, 4)"),
    ("3, -2", "-2, 3"),
    ("x=3 or x=-2", "3,-2"),
    ("\\{1,2\\}", "2, 1"),
    ("3 and 4", "4, 3"),
    ("2:3", "2/3"),
    ("2^{10}", "1024"),
    ("1.2e3", "1200"),
    ("1.2\\times10^3", "1200"),
    ("\\infty", "∞"),
    ("infinity", "\\infty"),
    *((text, "5") for text in ("about 5", "$5", "5 dollars", "+5")),
    ("B", "b"),
    ("Triangle.", "triangle"),
    ("0.333", "\\frac{1}{3}"),
    *((text, "1.2") for text in ("1.2", "1.15", "1.249")),
    ("\\left(\\frac{1}{2},3\\right)", "(0.5,3)"),
    ("\\boxed{7}", "7"),
    ("7 students", "7"),
    *((text, "120") for text in ("5!", "120°", "120 sq. units")),
    *((text, "3") for text in ("|3|", "\\log_2 8", "-(-3)", "three")),
    ("\\sin 30", "\\sin(30)"),
    ("12 m/s", "12"),
    ("12 m", "12 m"),
    ("180-2x", "180 - 2x"),
    ("90^\\circ - \\theta", "90 - \\theta"),
    ("a+b", "b+a"),
    ("2ab", "2ba"),
    ("e^{0}", "1"),
    ("0", "0.0"),
    ("\\text{yes}", "Yes"),
    ("10^{-2}", "0.01"),
    ("3x^2", "3 x^{2}"),
    ("(-∞, 3)", "(-\\infty,3)"),
    ("4 : 1", "4:1"),
    ("4", "4/1"),
    ("approximately 3.46", "2\\sqrt{3}"),
    ("36\\pi \\text{ cm}^3", "36\\pi"),
    ("n", "n"),
    ("$\\frac{7}{3}$ units", "7/3"),
    ("12.50", "12.5"),
]
DIFFERENT = [
    *((text, "60") for text in ("61", "-60", "60.4", "sixty one")),
    ("1.4", "\\sqrt{2}"),
    ("0.3", "\\frac{1}{3}"),
    ("x+1", "x+2"),
    ("y+1", "x+1"),
    ("(4,3)", "(3,4)"),
    ("3", "3,4"),
    ("3,4,5", "3,4"),
    ("12 cm", "12 m"),
    ("2x", "2"),
    ("2pi", "2"),
    *((text, "0") for text in ("", "1/0", "nan")),
    *((text, "1") for text in ("0", "9^{9^{9}}", "no")),
    ("listen", "silent"),
    ("square", "triangle"),
    ("B", "A"),
    ("5 or 6", "5"),
    ("50%", "5"),
    ("x^2", "x^3"),
    ("1.1", "1.2"),
    ("10", "1,0"),
    ("3:2", "2:3"),
    ("x=2, y=3", "3"),
    ("9" * 5000, "9"),
    ("(" * 300, "1"),
]
FORMULAS = [
    ("The answer should be 60. Since 2*30", "60"),
    ("Adding the two sides, the perimeter is then P = 2x + 3y", "2x+3y"),
    ("The area of the whole figure is \\(x^2 + 1\\) square centimetres in all", "x^2+1"),
    ("The area of the whole figure is then \\[2k\\] in all", "2k"),
    ("5", "5"),
    ("\\boxed{\\frac{1}{2}}", "0.5"),
    ("We have $x+2=7$.\n\nTherefore, $x=5$.", "5"),
    ("The answer is $\\frac{3}{4}$.", "3/4"),
    ("**Answer:** 5 cm", "5"),
    ("So the area is 12 square units.", "12"),
    ("Step 1: 2+3=5. Step 2: 5*2 = 10", "10"),
    ("The answer is 5 because 2+3=5.", "5"),
    ("Long explanation here that goes nowhere at all, sorry about it.", None),
    ("First we compute the sum of all the numbers, thus \\(n = 8\\).", "8"),
    ("Using Pythagoras the hypotenuse equals $\\sqrt{3^2+4^2} = 5$", "5"),
    ("\\[\\boxed{(3,4)}\\]", "(3,4)"),
    ("The final answer is: $$7$$", "7"),
    ("Final Answer: x = 4", "4"),
    ("### Answer\n\n42", "42"),
    ("Final Answer: The final answer is $30$. I hope it is correct.", "30"),
    ("The slope of the line is −2.", "-2"),
    ("The volume of the box is 1 000 cm³.", "1000"),
    ("The area is 12 $\\text{cm}^2$.", "12"),
    ("The point is (3, 4).", "(3,4)"),
    ("The solutions are 2 and 3.", "2,3"),
    ("x = 2 or x = 3", "2,3"),
    ("The answer is 3/4 (or 0.75).", "3/4"),
    ("The angle is 30 degrees because it is bisected (60/2 = 30).", "30"),
]
VALUES = [
    *((text, None) for text in ("3 4", "3 .5", "", "5 @", "9^{9^{9}}", "1000!", "1/0", "\\sqrt{-1}")),
    ("2^3^2", 64),
    ("-3^2", -9),
    ("1/2\\pi", 1 / (2 * 3.141592653589793)),
    ("2:3:4", 2 / 3 / 4),
    ("1,234.5", 1234.5),
    ("3!!", 720),
    ("\\lfloor 2.5 \\rfloor", 2),
    ("\\sqrt[3]{27}", 3),
    ("\\binom{5}{2}", 10),
    ("\\log_{2}8", 3),
    ("1\\frac{1}{2}", 1.5),
    ("|2-5|", 3),
    ("12\\%", 0.12),
    ("2(3)4", 24),
    ("(" * 60 + "1", None),
    ("7" * 401, None),
]
PLAIN = Notation(names={"\\pi": 3.141592653589793}, functions={}, lenient=True)


def stopped(reply: str) -> Any:
    return reply_from(Completion(text=reply, finish_reason="stop"))


@pytest.mark.parametrize(("answer", "reference"), SAME)
def test_answers_that_say_the_same(answer: str, reference: str) -> None:
    assert same_maths(answer, reference) == 1


@pytest.mark.parametrize(("answer", "reference"), DIFFERENT)
def test_answers_that_differ(answer: str, reference: str) -> None:
    assert same_maths(answer, reference) == 0


def test_the_f1_of_words_is_1_for_two_texts_without_words() -> None:
    rows = {("a", "the"): 1.0, ("a", "car"): 0.0, ("The red car.", "red car"): 1.0, ("red", "red car"): 2 / 3}
    assert {pair: word_f1(*pair) for pair in rows} == rows


@pytest.mark.parametrize(("reply", "reference"), FORMULAS)
def test_a_formula_is_read_where_it_is_the_answer(reply: str, reference: str | None) -> None:
    answer = formula(stopped(reply), BIRDS).text
    assert answer is None if reference is None else answer and same_maths(answer, reference)


@pytest.mark.parametrize(
    ("reply", "label"),
    [("12 cm", "B"), ("The length is $\\frac{24}{2}$.", "B"), ("C", "C"), ("0.5", None), ("7", None)],
)
def test_a_formula_that_equals_only_one_choice_is_that_choice(reply: str, label: str | None) -> None:
    choices = {"A": "10 cm", "B": "$12 \\mathrm{~cm}$", "C": "\\frac{1}{2}", "D": "1/2"}
    assert formula(stopped(reply), Question(id="1", text="?", choices=choices)).text == label


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("[0, 2, 1]", "[0, 2, 1]"),
        ("The list is [1,2.5].", "[1, 2.5]"),
        ("First [1], then [2, 3]", "[2, 3]"),
        ("0, 2, three", "[0, 2, 3]"),
        ("[0, 2]\n\nExplanation: [2] are red.", "[0, 2]"),
        *((reply, None) for reply in ("[a, b]", "none")),
    ],
)
def test_a_list_of_numbers_is_read(reply: str, answer: str | None) -> None:
    found = numbers(stopped(reply), BIRDS)
    assert (found.text, found.rule) == (answer, "list")


@pytest.mark.parametrize(
    ("text", "value"),
    [("fourteen", 14), ("−2", -2), ("3/4", 0.75), ("14 %", 14), ("2 dozen", 24), ("1.2 million", 1.2e6), ("x", None)],
)
def test_a_number_has_a_value(text: str, value: float | None) -> None:
    assert number_of(text) == value


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_a_formula_has_a_value_that_is_quick_to_compute(text: str, value: float | None) -> None:
    if value is None:
        with pytest.raises(NoValueError):
            value_of(text, PLAIN)
    else:
        assert value_of(text, PLAIN) == pytest.approx(value)
