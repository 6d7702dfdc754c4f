"""Numbers, formulas and short answers as people write them, and the published rules for open answers."""

from typing import Any

import pytest

from vqa_client.scoring.formulas import Dialect, NoValueError, value_of
from vqa_client.scoring.maths import number_of, same_maths
from vqa_client.scoring.numbers import formula, number, numbers
from vqa_client.scoring.reply import reply_from
from vqa_client.types import Completion, Question

BIRDS = Question(id="1", text="How many birds are there in the image?", references=("3",))
SAME = [
    ("60", "60"),
    ("60.", "60"),
    ("$60$", "60"),
    ("\\(60\\)", "60"),
    ("60^\\circ", "60"),
    ("60°", "60"),
    ("60 degrees", "60"),
    ("60 cm", "60"),
    ("60\\text{ cm}", "60"),
    ("60 \\mathrm{~cm}^2", "60"),
    ("x = 60", "60"),
    ("x \\approx 60", "60"),
    ("sixty", "60"),
    ("\\frac{1}{2}", "0.5"),
    ("1/2", "\\frac{1}{2}"),
    ("0.5", "\\dfrac12"),
    ("½", "0.5"),
    ("\\frac{\\sqrt{3}}{2}", "\\sqrt{3}/2"),
    ("sqrt(3)/2", "\\frac{\\sqrt3}{2}"),
    ("√12", "2√3"),
    ("2\\sqrt{3}", "\\sqrt{12}"),
    ("1.41", "\\sqrt{2}"),
    ("3.14", "\\pi"),
    ("3.1416", "\\pi"),
    ("3π", "3\\pi"),
    ("3 pi", "3\\pi"),
    ("9.42", "3\\pi"),
    ("1,000", "1000"),
    ("1{,}000", "1000"),
    ("1000", "1,000"),
    ("50\\%", "0.5"),
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
    ("about 5", "5"),
    ("$5", "5"),
    ("5 dollars", "5"),
    ("B", "b"),
    ("Triangle.", "triangle"),
    ("0.333", "\\frac{1}{3}"),
    ("1.2", "1.2"),
    ("1.15", "1.2"),
    ("1.249", "1.2"),
    ("\\left(\\frac{1}{2},3\\right)", "(0.5,3)"),
    ("\\boxed{7}", "7"),
    ("5!", "120"),
    ("|3|", "3"),
    ("\\sin 30", "\\sin(30)"),
    ("12 m/s", "12"),
    ("12 m", "12 m"),
    ("7 students", "7"),
    ("180-2x", "180 - 2x"),
    ("90^\\circ - \\theta", "90 - \\theta"),
    ("a+b", "b+a"),
    ("2ab", "2ba"),
    ("\\log_2 8", "3"),
    ("e^{0}", "1"),
    ("-(-3)", "3"),
    ("three", "3"),
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
    ("120°", "120"),
    ("120 sq. units", "120"),
    ("$\\frac{7}{3}$ units", "7/3"),
    ("12.50", "12.5"),
    ("+5", "5"),
]
DIFFERENT = [
    ("61", "60"),
    ("-60", "60"),
    ("1.4", "\\sqrt{2}"),
    ("0.3", "\\frac{1}{3}"),
    ("x+1", "x+2"),
    ("y+1", "x+1"),
    ("(4,3)", "(3,4)"),
    ("3", "3,4"),
    ("3,4,5", "3,4"),
    ("12 cm", "12 m"),
    ("2x", "2"),
    ("", "0"),
    ("0", "1"),
    ("60.4", "60"),
    ("listen", "silent"),
    ("square", "triangle"),
    ("2pi", "2"),
    ("9" * 5000, "9"),
    ("9^{9^{9}}", "1"),
    ("(" * 300, "1"),
    ("1/0", "0"),
    ("nan", "0"),
    ("sixty one", "60"),
    ("B", "A"),
    ("5 or 6", "5"),
    ("x^2", "x^3"),
    ("50%", "5"),
    ("1.1", "1.2"),
    ("10", "1,0"),
    ("3:2", "2:3"),
    ("x=2, y=3", "3"),
    ("no", "1"),
]
COUNTS = [
    ("3", "3"),
    ("Three", "3"),
    ("three.", "3"),
    ("**3**", "3"),
    ("3 birds", "3"),
    ("There are 3 birds.", "3"),
    ("There are three birds in the image.", "3"),
    ("I count 3.", "3"),
    ("The answer is 3.", "3"),
    ("**Answer:** 3", "3"),
    ("Answer: three", "3"),
    ("\\boxed{3}", "3"),
    ("<think>4 or 5</think>3", "3"),
    ("There are 2 adults and 1 child, so 3 in total.", "3"),
    ("There are 3 birds and 2 dogs.", "3"),
    ("2 + 1 = 3", "3"),
    ("I see 2 on the left and 1 on the right. So there are 3.", "3"),
    ("1. a red bird\n2. a blue bird\n3. a green bird\n\nTotal: 3", "3"),
    ("No birds are visible.", "0"),
    ("There are no birds in the image.", "0"),
    ("None", "0"),
    ("zero", "0"),
    ("1,234", "1234"),
    ("1,234 birds", "1234"),
    *(
        (reply, "9")
        for reply in ("Not 8 but 9", "It's 9, not 8.", "The answer is 9, not 8.", "9 and not 8", "不是8，而是9")
    ),
    *((reply, "9") for reply in ("nicht 8, sondern 9", "pas 8 mais 9", "no 8 sino 9", "не 8, а 9", "8ではなく9")),
    ("There are not 8 black birds but 9 or 10 white ones, not 7 cats", None),
    *((reply, None) for reply in ("Not 8 cats but 9 dogs", "8, no 9.", "I see 8 birds, no 9 birds.")),
    ("In image 1 there are 3 birds", "3"),
    ("twenty-one", "21"),
    ("There is one bird.", "1"),
    ("One of the animals is a dog; there are 3 birds", "3"),
    ("3 or 4", None),
    ("I don't know", None),
    ("", None),
    ("many", None),
    ("A total of 3 birds", "3"),
    ("The total number of birds is 3.", "3"),
    ("approximately 3", "3"),
    ("$3$", "3"),
    ("3.0", "3.0"),
    ("-3", "-3"),
    ("Between 3 and 5 birds.", None),
    ("The image shows a flock. Counting each: 1, 2, 3. There are 3 birds.", "3"),
    ("H2O has 3", "3"),
    ('{"answer": 3}', "3"),
    ("There are exactly three small birds", "3"),
    ("So the final answer is: **3**", "3"),
    ("3!", "3"),
    ("the count is 3", "3"),
    ("1 bird on the wire, 2 birds on the ground, 3 birds altogether.", "3"),
    ("We have 2 red + 1 blue.\nTherefore, there are 3 birds.", "3"),
    ("Let me count. I can see 5 people and 3 birds.", "3"),
    ("In 2019 there were 3 birds", "3"),
    ("The reply is 1.5 m", "1.5"),
    ("3\n", "3"),
    ("Three (3)", "3"),
    ("3 (three)", "3"),
    ("The answer is 3 because 1+2=3", "3"),
    ("The answer is 3, not 4.", "3"),
]
COUNTS += [
    ("The year with most is **2019**, with 25.8%. In 2018 it was 23.1%.", "2019"),
    ("There are 3 balls. Then 1 ball. Therefore, there are **2** objects left after subtracting all 3.", "2"),
    ("Therefore, the total number of algorithms with accuracy lower than 8 is 3.", "3"),
    ("A total of 27% + 17% = 44%. The answer to your question is 44.", "44"),
    ("So, the number varies with the size. In general it is about 50, of 55 seats.", None),
    ("3-5 birds", None),
    ("2–4", None),
    ("2019-2020: 5 birds", "5"),
    ("5 - 2 = 3", "3"),
    ("7-3=4", "4"),
    ("There aren't 3 birds.", None),
    ("I can't see 4 birds.", None),
    ("Anything but 3.", None),
    ("There aren’t 3 birds.", None),
    ("It isn't possible to count exactly 3", None),
    ("There are no fewer than 3", "3"),
    ("There are no less than 3 birds", "3"),
    ("It cannot be less than 3", "3"),
    ("I can't count exactly – 3", "3"),
    ("No doubt there are 3", "3"),
    ("3.5-4.5", None),
    ("3.5–4.5 birds", None),
    ("1,000-2,000", None),
    ("5-10-15", None),
    ("1-800-555", None),
    ("5 - 10 birds", None),
    ("5 - 10", None),
    ("5 - 3", "2"),
    ("The answer is 5 - 3.", "2"),
    ("5−3", "2"),
    ("$5-3$", "2"),
    ("\\(5-3\\)", "2"),
    ("The answer is $5-3$.", "2"),
    ("It's not 3-5, it's 6", "6"),
    ("|2-5|", "3"),
    ("The digits, one at a time, are 7-4-1-3.", None),
    ("El número no es otro que 3.", "3"),
    ("Not all of the pages say 3, but most do.", "3"),
    ("I'm not sure but I count 3 birds.", "3"),
    ("هناك ٣ طيور", "3"),
    ("٧", "7"),
    ('{"left": 2, "right": 2, "total": 4}', "4"),
    ("100% sure: 4", "4"),
    ("I am 90% certain: 7", "7"),
    ("1 234 567", "1234567"),
    ("There are 10 000 birds.", "10000"),
    ("1\u202f234 oiseaux", "1234"),
    ("3 x 10^4", "30000"),
    ("3x10^4", "30000"),
    *((text, None) for text in ("2 3", "1.234.567", "1'234.50 CHF", "12:30", "12/05/2020", "A5", "图中有5只鸟和2只猫")),
    *((f"{bound} 5", None) for bound in ("More than", "There are over", "No more than", "It is greater than")),
    *((f"There are {bound} 5 birds.", None) for bound in ("up to", "less than", "fewer than")),
    ("At least 3", "3"),
    *(
        (f"{text}鸟", None)
        for text in ("超过5只", "10多只", "少于5只", "第5排有", "3.5万只", "3万5千只", "1点3分有4只")
    ),
    *((text, None) for text in ("5羽未満", "5番目", "3:45pm", "Ａ5", "1250\n15", "The demand is 36.1 billion dollars")),
    *((f"{text} up to 16.", "16") for text in ("They add", "That adds", "It comes", "It rises", "The bar reaches")),
    *((text, "5") for text in ("答案是5。", "图中有5只鸟", "前排2只，后排3只，共有5只", "The car drives over 5")),
    *((f"There are {text} birds.", "1250") for text in ("1’250", "1'250")),
    *((f"{time} 24 birds sat there.", "24") for time in ("At 10:30", "In 2020")),
    ("鳥は5羽ではありません。", None),
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
]
VALUES = [
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
    ("3 4", None),
    ("3 .5", None),
    ("", None),
    ("5 @", None),
    ("(" * 60 + "1", None),
    ("9^{9^{9}}", None),
    ("1000!", None),
    ("1/0", None),
    ("\\sqrt{-1}", None),
    ("7" * 401, None),
]
PLAIN = Dialect(names={"\\pi": 3.141592653589793}, functions={}, lenient=True)


def stopped(reply: str) -> Any:
    return reply_from(Completion(text=reply, finish_reason="stop"))


@pytest.mark.parametrize(("answer", "reference"), SAME)
def test_answers_that_say_the_same(answer: str, reference: str) -> None:
    assert same_maths(answer, reference) == 1


@pytest.mark.parametrize(("answer", "reference"), DIFFERENT)
def test_answers_that_differ(answer: str, reference: str) -> None:
    assert same_maths(answer, reference) == 0


@pytest.mark.parametrize(("reply", "answer"), COUNTS)
def test_a_number_is_read_where_it_is_said_clearly(reply: str, answer: str | None) -> None:
    found = number(stopped(reply), BIRDS) if reply else None
    assert (found.text if found else None) == answer


def test_a_number_that_is_only_denied_is_no_rival() -> None:
    for text, status, rivals in (
        ("There aren't 3", "unparsed", ()),
        ("There aren't 3, there are 4", "ambiguous", ("3", "4")),
    ):
        answer = number(stopped(text), BIRDS)
        assert (answer.status, answer.rivals) == (status, rivals)


def test_a_cut_reply_gives_only_what_it_declared() -> None:
    for text, answer in (("There are 3", None), ("The answer is 3. To see why, consider", "3")):
        assert number(reply_from(Completion(text=text, finish_reason="length")), BIRDS).text == answer


@pytest.mark.parametrize(("reply", "reference"), FORMULAS)
def test_a_formula_is_read_where_it_is_the_answer(reply: str, reference: str | None) -> None:
    answer = formula(stopped(reply), BIRDS).text
    assert answer is None if reference is None else answer and same_maths(answer, reference)


@pytest.mark.parametrize(
    ("reply", "label"),
    [("12 cm", "B"), ("The length is $\\frac{24}{2}$.", "B"), ("C", "C"), ("0.5", None), ("7", None)],
)
def test_a_formula_that_equals_one_choice_alone_is_that_choice(reply: str, label: str | None) -> None:
    choices = {"A": "10 cm", "B": "$12 \\mathrm{~cm}$", "C": "\\frac{1}{2}", "D": "1/2"}
    assert formula(stopped(reply), Question(id="1", text="?", choices=choices)).text == label


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("[0, 2, 1]", "[0, 2, 1]"),
        ("The list is [1,2.5].", "[1, 2.5]"),
        ("First [1], then [2, 3]", "[2, 3]"),
        ("0, 2, three", "[0, 2, 3]"),
        ("[a, b]", None),
        ("none", None),
    ],
)
def test_a_list_of_numbers_is_read(reply: str, answer: str | None) -> None:
    assert numbers(stopped(reply), BIRDS).text == answer


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
