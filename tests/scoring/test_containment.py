import unicodedata
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from tests.linear_time import RATIO, growth
from vqa_client.scoring.short_answers import contains
from vqa_client.scoring.strict.containment import contains_strict, count_numbers

GIVEN = [
    ("5", "There are 5."),
    ("5", "The distance is 5 km."),
    ("5", "5km"),
    ("5", "+5"),
    ("-5", "−5"),
    ("-5", "It is (−5)."),
    (".5", "0.5"),
    ("12,500", "12500"),
    ("12500", "There were 12,500 people."),
    ("12500", "12\u202f500"),
    ("100000", "1,00,000"),
    ("5,000 km", "5000km"),
    ("20", "The answer is 20%."),
    ("20", "It costs $20."),
    ("20%", "20 percent"),
    ("60%", "60%"),
    ("45°", "45 °"),
    ("$1,000", "$1000"),
    ("42", "[42]"),
    ("42", "42!"),
    ("42", "_42_"),
    ("7421", "**7421**"),
    ("7421", "\\boxed{7421}"),
    ("7421", "$7421$"),
    ("7421", "The number—7421—is secret."),
    ("7421", "答案是7421。"),
    ("0", "The answer is 0."),
    ("007", "007"),
    ("2024-05-12", "It is 2024-05-12."),
    ("3/4", "3/4"),
    ("café", "cafe\u0301"),
    ("O’Hara", "o'hara"),
    ("Ａ１", "A1"),
    ("٧٤٢١", "7421"),
    ("Straße", "STRASSE"),
    ("New York", "New\n  York"),
    ("Washington, D.C.", "It is Washington, D.C."),
    ("Paris.", "paris"),
    ("gold", "gold's"),
    ("東京", "答えは東京です"),
    ("A", "A"),
    ("?", "?"),
    ("the", "the cat"),
    ("naïve", "naive"),
    ("3.5", "3,5"),
    ("3847", "٣٬٨٤٧"),
    ("a golden key", "It is the golden key."),
    ("an owl", "Owl"),
]
NOT_GIVEN = [
    ("The Who", "who"),
    ("an owl", "a bowl"),
    ("a b", "b"),
    ("5", "five"),
    ("5", "There are 15."),
    ("5", "5.0 km"),
    ("1", "1.0"),
    ("1.0", "10"),
    ("3.14", "314"),
    ("14", "3.14"),
    ("17", "317"),
    ("12", "12,500"),
    ("500", "12,500"),
    ("-5", "5"),
    ("5", "-5"),
    ("5", "3-5"),
    ("102", "10²"),
    ("3", "10^3"),
    ("51", "5½"),
    ("5", "5G"),
    ("1", "1st"),
    ("19", "covid-19"),
    ("12", "ABC-12"),
    ("2024", "2024-05-12"),
    ("2", "v1.2.3"),
    ("7", "007"),
    ("20%", "20"),
    ("$20", "20"),
    ("A1", "A12"),
    ("iron", "environment"),
    ("iron", "iron_rich"),
    ("gold", "golden"),
    ("gold", "marigold"),
    ("Hara", "O’Hara"),
    ("the", "cat"),
    ("?", "anything"),
    ("A", "cat"),
    ("", "text"),
    (" \u200b", "text"),
    ("5", ""),
    ("none", '{"answer": null}'),
]
COMMITTED = [
    ("7421", "The secret number was not easy to find, but 7421 is there."),
    ("7421", 'The secret number isn\'t explicitly labelled, but 7421 appears on page 3 as "the secret number".'),
    ("7421", "The secret number is 7421 (mentioned on page 3)."),
    ("7421", "The secret number is 7421, found on page 3 of 12."),
    ("7421", "It is 7421, not 1183."),
    ("7421", "The secret number is not 1183, it is 7421."),
    ("7421", "I'm not sure, but it is 7421."),
    ("7421", "According to the 2019 report, the secret number is 7421."),
    ("7421", "The document is 12 pages long. The secret number is 7421."),
    ("7421", "On page 3: 7421"),
    ("7421", "7421 (found 3 times)"),
    ("7421", "1. 7421"),
    ("7421", "Number: 7421\nPage: 3"),
    ("7421", '{"answer": 7421, "page": 3}'),
    ("7421", "7421, that is 7,421."),
    ("7421", "The answer is 7421, which is 7000 + 421."),
    ("7421", "<think>1183 or 9920?</think>7421"),
    ("20%", "It is 20% (not 30%)."),
    ("5", "Step 1: read. Step 2: count. The answer is 5."),
    ("ruby", "Not emerald, ruby."),
    ("Vienna", "Vienna, Austria"),
    ("gold", "The secret colour is gold, and it is bright."),
    ("7421", "My answer: 7421. (Other numbers: 1183, 9920.)"),
]
NO_SECRETS = [
    ("42", "x = 42"),
    ("3", "It is on page 3."),
    ("5530", "5530 is the number of passengers."),
    ("5530", "5530 passengers were carried."),
    ("8", "The dress costs 8 dollars, the hat 5."),
]
UNCOMMITTED = [
    ("7%", "5%. Then 7%."),
    ("7421", "The secret number isn't mentioned, but there is 7421 on page 3."),
    ("7421", "The secret number isn't visible, but 7421 is printed on the page."),
    ("7421", "There is no secret number, but 7421 appears."),
    ("Oslo", "There is no secret word, but Oslo appears."),
    ("7421", "It is not 7421, it is 1183."),
    ("7421", "It isn't 7421."),
    ("7421", "It is neither 7421 nor 1183."),
    ("7421", "7421 is not the secret number."),
    ("7421", "7421 is wrong; the answer is 1183."),
    ("7421", "Rather than 7421, it is 1183."),
    ("7421", "Is it 7421?"),
    ("7421", "7421, 1183, 9920"),
    ("1183", "7421,1183,9920"),
    ("9920", "[7421, 1183, 9920]"),
    ("7421", "1. 7421\n2. 1183\n3. 9920"),
    ("7421", "* 7421\n* 1183"),
    ("7421", "It may be 1183 or 7421."),
    ("7421", "The first is 7421. The second is 1183."),
    ("7421", "First candidate 7421, second candidate 1183."),
    ("3", "The number is 7421 (page 3)."),
    ("20", "It is 20% or 30%."),
    ("Vienna", "It is not Vienna, it is Prague."),
    ("Vienna", "Vienna isn't the secret city."),
    ("ruby", "There is no ruby."),
    ("Vienna", "Either Vienna or Prague."),
    ("Prague", "Either Vienna or Prague."),
    ("Vienna", "Vienna and Prague"),
    ("emerald", "ruby, emerald, sapphire"),
    ("ruby", "It could be ruby, emerald, or sapphire."),
    ("ruby", "ruby\nemerald\nsapphire"),
]


@pytest.mark.parametrize(("gold", "reply"), GIVEN)
def test_a_whole_token_is_found_in_any_spelling(gold: str, reply: str) -> None:
    assert contains_strict(gold, reply)


@pytest.mark.parametrize(("gold", "reply"), NOT_GIVEN)
def test_a_part_of_a_token_or_another_number_is_not_the_answer(gold: str, reply: str) -> None:
    assert not contains_strict(gold, reply)


@pytest.mark.parametrize(("gold", "reply"), COMMITTED)
def test_numbers_that_cannot_be_answers_do_not_compete(gold: str, reply: str) -> None:
    assert contains_strict(gold, reply)


@pytest.mark.parametrize(("gold", "reply"), NO_SECRETS)
def test_a_page_a_date_and_an_amount_may_be_answers_but_never_secrets(gold: str, reply: str) -> None:
    assert contains_strict(gold, reply, secret=False)
    assert not contains_strict(gold, reply)


@pytest.mark.parametrize("gold", ["5", "20"])
def test_an_amount_competes_with_another_number_if_the_answer_is_not_a_secret(gold: str) -> None:
    assert not contains_strict(gold, "He paid 20 and got 5 back.", secret=False)


@pytest.mark.parametrize(("gold", "reply"), UNCOMMITTED)
def test_a_denied_answer_or_one_of_several_is_contained_but_not_given(gold: str, reply: str) -> None:
    assert contains(gold, reply)
    assert not contains_strict(gold, reply)


PREFERS = ("but", "however", "really", "instead", "now", "current", "currently", "latest", "therefore", "thus", "hence")
CORRECTS = ("wait", "actually", "correction", "corrects it to", "sorry", "scratch that", "strike that", "I mean")
LOOKS = ("second look", "second thought", "second thoughts", "second glance", "closer look", "further reading")


@pytest.mark.parametrize(
    "reply",
    [
        *(f"The secret is 3847, {word} the secret is 1183." for word in (*PREFERS, "so", "until")),
        *(f"3847. {word}, 1183." for word in (*CORRECTS, "I meant", "make that", "no", "いや")),
        *(f"It is 3847, {word} 1183." for word in ("or rather", *(f"on {look}" for look in LOOKS))),
        "The secret is 3847. On second thoughts, the secret is 1183.",
        "비밀은 3847, 아니, 1183입니다.",
    ],
)
def test_an_answer_after_a_correction_counts(reply: str) -> None:
    assert [gold for gold in ("3847", "1183") if contains_strict(gold, reply)] == ["1183"]


@pytest.mark.parametrize(
    ("gold", "reply", "expected"),
    [
        ("5", "15", True),
        ("iron", "environment", True),
        ("O’Hara", "It is O'HARA", True),
        ("New York", "New\u00a0\nYork", True),
        ("−5", "-5", True),
        ("12,500", "12500", False),
        ("", "anything", False),
        (" \n", "a b", False),
        ("\u200b", "anything", False),
    ],
)
def test_the_published_measure_is_a_substring_after_folding(gold: str, reply: str, expected: bool) -> None:
    assert contains(gold, reply) is expected


@pytest.mark.parametrize("read", [contains, contains_strict])
def test_the_case_option_changes_nothing_but_case(read: Callable[..., bool]) -> None:
    assert read("ABC-12", "abc-12")
    assert not read("ABC-12", "abc-12", case_sensitive=True)
    assert read("O’Hara  café Ａ", "O'Hara cafe\u0301 A", case_sensitive=True)
    assert not read("", "x", case_sensitive=True)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("", 0),
        ("none", 0),
        ("It may be 17, 42 or 99.", 3),
        ("7421,1183,9920", 3),
        ("12,500 people on 2024-05-12 at 10:30", 3),
        ("A12 and covid-19 and 5km and 60%", 2),
        ("1,2,3", 3),
        ("−5 and .5", 2),
    ],
)
def test_a_number_is_counted_once_and_digits_in_words_never(reply: str, expected: int) -> None:
    assert count_numbers(reply) == expected


MISREAD = [
    "Gizli şehir Oslo'dur.",  # an ending after an apostrophe
    "violin cello oboe",
    "¬violin",
    "1183 and 9920 are not secret. 3847 is.",  # a negation that two subjects share
    "All numbers but 9627 are page numbers.",
    "False: the number is 6394.",
    "It was due at 14:30, but it left at 15:10.",
    "Nothing beats this: eat a sandwich in Dolores Park.",
    "First choice Oslo, second choice Bergen.",
    "There's no mention of a secret number; there is a secret city, Oslo.",
    "heron, stork",
    "Every bird but the heron is ruled out.",
    'To answer "heron" would be to guess.',
    "The sticker says 4410, underneath it says 5926; the secret is the one underneath.",
    "Not all of the pages say 5926, but most do.",
    "Page 5 contradicts page 4, which says 8250.",
    "eighty-two fifty",
    "The tulip bulb.",
    "Zurich, unless the footnote is right, in which case Basel.",
    "Zurich: yes\nBasel: no",
    "Zurich (confidence 0.2), Basel (confidence 0.8)",
    "Like Basel, Zurich is on the Rhine.",
    "The secret city isn't mentioned by name, but the coat of arms is Zurich's.",
    "The sum on page 4 is 7733; what you're after is 6120.",
    "The falcon was last year's secret animal; this year's is the lynx.",
    "The falcon doesn't appear until page 9, where it's named as the secret animal.",
    "Out of lynx, otter and falcon, the last is the secret one.",
    "Among 33 lockers, the one marked secret has the number 70415.",
    "Note that 9053 isn't the page number (that's 6) but the secret number.",
    "One reader wrote in the margin that the secret tree is the walnut, but that note is crossed out.",
    "Violin - sorry, that's the caption. The text has cello.",
    "My daughter plays the cello, the letter says; the secret instrument is named elsewhere: the oboe.",
    "I wrote basil above; please read nutmeg.",
    "It was 31878 in the draft; the final version has 31877 as the secret number.",
    "secret_number,page\n9164,6",
    "Instrument: violin (the viola belongs to the secretary)",
    '"Lapis" is Latin for stone.',
    "No text on the page can be read; the only thing legible is 2586 in the corner.",
    "The answer depends on the edition: 2586 in the first, 2587 in the second.",
    "<answer></answer> The only number I noticed was 2586.",
    "Перевезено 2586 пассажиров.",
    "Could you tell me what you mean by secret number? The only longish number is 5081.",
    "Earlier I answered 5081. On reflection that was the case number.",
    '{"key": "secret number", "value": "3360", "samples": 120}',
]


class Reply(Struct):
    set: str
    kind: str
    gold: str
    reply: str
    strict: bool


ADVERSARIAL = [
    msgspec.json.decode(line, type=Reply)
    for line in Path(__file__).with_name("strict_replies.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture(scope="module")
def found() -> list[Reply]:
    """The adversarial replies that are read as if they gave their gold answer."""
    return [row for row in ADVERSARIAL if contains_strict(row.gold, row.reply)]


@pytest.mark.parametrize("name", sorted({row.set for row in ADVERSARIAL}))
def test_precision_and_recall_on_adversarial_replies_are_above_95_per_cent(name: str, found: list[Reply]) -> None:
    given = [row for row in found if row.set == name]
    right = sum(row.strict for row in given)
    assert right > 0.95 * len(given)
    assert right > 0.95 * sum(row.strict for row in ADVERSARIAL if row.set == name)


def test_only_known_adversarial_replies_are_misread(found: list[Reply]) -> None:
    said = {id(row) for row in found}
    misread = {row.reply for row in ADVERSARIAL if (id(row) in said) != row.strict}
    assert misread == set(MISREAD)


@pytest.mark.parametrize(("characters", "is_read"), [(15_999, True), (16_000, True), (16_001, False)])
def test_the_middle_of_a_runaway_reply_is_not_read(characters: int, is_read: bool) -> None:
    rain = "It rains here. " * 532
    reply = f"{rain}The secret is Montevideo. {rain}{rain}"[:characters]
    assert 0 < reply.index("Montevideo") - 7_990 < 10
    assert contains_strict("Montevideo", reply) == is_read


@given(st.text(max_size=40), st.text(max_size=80), st.booleans())
def test_an_answer_that_is_given_is_in_the_reply_and_an_empty_one_never_is(
    gold: str, reply: str, case_sensitive: bool
) -> None:
    assert not contains_strict("", reply, case_sensitive=case_sensitive)
    for read in (contains, contains_strict):
        assert not read(gold, "", case_sensitive=case_sensitive)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_a_number_answers_itself_in_every_spelling_and_no_other(gold: int, other: int) -> None:
    for reply in (f"The answer is {gold}.", f"{gold:,}", f"**{gold}**", f"{gold} km", f"{gold}".replace("-", "−")):
        assert contains_strict(str(gold), reply)
        assert contains_strict(f"{gold:,}", reply)
    assert contains_strict(str(gold), f"The answer is {other}.") == (gold == other)


@given(st.from_regex(r"[a-zà-öø-ÿ]{2,12}", fullmatch=True))
def test_a_word_is_found_alone_and_never_inside_a_longer_one(word: str) -> None:
    assert contains_strict(word, f"“{unicodedata.normalize('NFD', word.title())}”!")
    assert not contains_strict(word, f"x{word}")
    assert not contains_strict(word, f"{word}x")


PARTS = (
    "7", "7421 ", "7421, 1183, ", "7421 (1183 ", "(", "not ", "1-", "1,", "gold ", "is the ", "is7421", " ", "1. \n",
    "gold, ", "**", "~~", "<box>", "{", "[", "five ", "7 421 ", "answer: ", "the secret is ", "gold-", "if ", "不",
    "- 7421\n", "7421?", "would be 7421 if ", "maybe gold or ", "no ", "wait, ", "3.847.", "the first one ", "é", "| ",
    "|a|\n|-|\n",
)  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_time_is_linear_in_the_length_of_a_reply(part: str) -> None:
    def searched(reply: str) -> None:
        for gold in ("7421", "gold"):
            contains_strict(gold, reply)
        count_numbers(reply)

    assert growth(searched, part, 10_000).ratio < RATIO
