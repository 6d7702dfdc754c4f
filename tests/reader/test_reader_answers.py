import pytest
from reader import CANT_FIND, CANT_TELL, NO_PAGES
from reader.answers import answer
from reader.words import Rarity, one_line, roots, sentences

SECRET = "What is the secret {} in the above context?"
TEXT = (
    "The lamp was lit at dusk. The secret city is Lima. Nobody saw the keeper climb the stair.\n"
    "A heron stood on the north pier for the whole of the morning, and the fishermen took it for a good sign."
)
CHOICES = "\n\nA. a gull\nB. a heron\nC. a cormorant\nD. an owl\n\n"
QUESTION = f"Which bird stood on the north pier?{CHOICES}"


def test_a_secret_is_quoted_from_its_sentence():
    assert answer(SECRET.format("city"), [TEXT]) == "The secret city is Lima."
    assert answer(f"{SECRET.format('city')}\nAnswer in a few words.", [TEXT]) == "Lima"


@pytest.mark.parametrize(
    "read",
    [
        "so be it. The secret\ncity is\nLima. The next",
        "so be it. The sec-\nret city is Lima. The next",
        "so be it. The secrot city is Lima. The next",
        "so be it. The secret clty i5 Lima. The next",
        "so be it. THE SECRET CITY IS Lima",
        "so be it. The secret cityis Lima. The next",
        "so be it. Thesecretcity isLima. The next",
        "so be it. The secret city is Lima, The next",
        "one secret: the secret city is Lima.",
    ],
)
def test_a_secret_survives_line_breaks_and_a_wrong_letter(read):
    assert answer(SECRET.format("city"), [read]) == "The secret city is Lima."


def test_a_secret_may_have_several_words_or_a_decimal_point():
    assert answer(SECRET.format("city"), ["The secret city is New York. All"]) == "The secret city is New York."
    assert answer(SECRET.format("number"), ["The secret number is 3.5. All"]) == "The secret number is 3.5."


def test_a_reading_without_wrong_letters_goes_first():
    pages = ["The secret fruil is fig.", "The secrot fruit is date.", "The secret fruit is plum."]
    assert answer(SECRET.format("fruit"), pages) == "The secret fruit is plum."


@pytest.mark.parametrize("pages", [["The secret color is teal."], ["The city is Lima."], ["~ \n | ."], [""]])
def test_a_secret_that_was_not_read_is_not_invented(pages):
    assert answer(SECRET.format("city"), pages) == CANT_FIND


def test_a_choice_is_made_by_the_passage_that_speaks_of_it():
    assert answer(QUESTION, [TEXT]) == "The correct answer is (B)."


@pytest.mark.parametrize(
    ("instruction", "form"),
    [
        ("Format your response as follows: The correct answer is (insert answer here).", "The correct answer is (B)."),
        ("Answer with the option's letter only.", "B"),
        ("Reply with a single letter.", "B"),
        ("Close with a line 'ANSWER: $LETTER'.", "Answer: B"),
        ("Think well.", "The correct answer is (B)."),
    ],
)
def test_the_answer_takes_the_form_that_the_prompt_asks_for(instruction, form):
    assert answer(QUESTION + instruction, [TEXT]) == form


@pytest.mark.parametrize("text", ["", "Nothing of the kind was seen.", "A gull and a heron stood on the north pier."])
def test_no_letter_is_guessed_without_evidence_or_between_equals(text):
    assert answer(QUESTION, [text]) == CANT_TELL


def test_instructions_before_the_question_are_no_part_of_it():
    prompt = "Read the pages about the keeper, the lamp and the stair.\n\n" + QUESTION
    assert answer(prompt, [TEXT]) == "The correct answer is (B)."


def test_a_choice_about_an_amount_needs_the_whole_amount():
    text = "The sale brought 8,600 in May. The loss was 600."
    assert answer("What did the sale bring?\n\nA. 4,600\nB. 8,600", [text]) == "The correct answer is (B)."


def test_letters_out_of_order_are_no_choices():
    prompt = "When did the heron stand there?\nB. Franklin was asked too.\nA. Smith as well."
    assert "heron" in answer(prompt, [TEXT])


def test_any_other_question_gets_the_closest_sentence():
    assert answer("When was the lamp lit?", [TEXT]) == "The lamp was lit at dusk."
    assert answer("Quo vadis?", [TEXT]) == CANT_FIND


def test_without_pages_there_is_nothing_to_read():
    assert answer(SECRET.format("city"), []) == NO_PAGES


def test_a_word_divided_at_the_end_of_a_line_is_whole_again():
    assert one_line("the light-\nhouse\nkeeper") == "the lighthouse keeper"
    assert one_line("in 1914-\n1918") == "in 1914- 1918"


def test_sentences_end_at_their_marks_and_roots_forget_endings():
    assert sentences('He said "no." Then\nhe went! ...') == ['He said "no.', "Then he went!"]
    assert roots("The lighthouses, Lighthouse: 1,500") == {"the", "lighth", "1,500"}


def test_a_root_of_every_sentence_weighs_nothing():
    rarity = Rarity([frozenset({"the", "heron"}), frozenset({"the"})])
    assert rarity.weight(["the"]) == 0
    assert 0 < rarity.weight(["heron"]) < rarity.weight(["unseen"])
