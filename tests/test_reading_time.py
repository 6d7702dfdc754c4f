"""Reading any text takes time proportional to its length, and never blocks the event loop for long."""

import asyncio
import inspect
import threading
from collections.abc import Iterator
from typing import Final

import pytest
from msgspec.structs import replace

from tests.linear_time import PARTS, RATIO, Reads, growth
from tests.tasks.declared import task_of
from vqa_client import runner
from vqa_client.client.failures import error_message, excerpt
from vqa_client.images.prepare import ImagePreparer
from vqa_client.runner import judge
from vqa_client.scoring import numbers
from vqa_client.scoring.explanation_metrics.ptb import ptb_tokens
from vqa_client.scoring.maths import same_maths
from vqa_client.scoring.published import choice_readers
from vqa_client.scoring.readings import short_answer
from vqa_client.scoring.refusal import refuses
from vqa_client.scoring.reply import READ_CHARACTERS, Reply, read_part, reply_from
from vqa_client.scoring.short_answers import relaxed
from vqa_client.scoring.vqa2 import enhanced_score, enhanced_score_by_words, simple_correct_by_words
from vqa_client.scoring.vqa_accuracy import contains_answer, question_accuracy
from vqa_client.scoring.yes_no import yes_or_no
from vqa_client.task import Task
from vqa_client.tasks import mathvision, mathvista
from vqa_client.tasks.mmmu import open_right
from vqa_client.types import Answer, Completion, Question, Request

LENGTH: Final = 8_000
REPLY_LENGTH: Final = 6_000
"""The length of whole replies, which many rules read; the loop itself reads less than a quarter of it."""
LOOP: Final = 100
"""Times the reference work: not noticeable."""
UNITS: Final = (
    *("A ", "x", "a,", "a/", "(a) ", "1,", "1.", "not ", "no ", "is ", "and ", "or ", "é", "中", "😀", "e\u0301", "हि"),
    *(
        "\n",
        " ",
        "\t",
        ".",
        "!",
        "-",
        "_",
        "*a",
        "**",
        "`",
        "#",
        "|",
        "~",
        "(",
        "[",
        "{",
        "<",
        "<b>",
        "\\",
        "\\boxed{A} ",
    ),
    *("&", "&lt;", '"', "'", "n't ", "@", "a@", "http://", "www.-", "a.", ".com ", "-LRB-", "data:a;base64,", "<title"),
    *("answer: ", "the answer is ", "(A) ", "option ", "because ", ", since ", "yes ", "neutral ", "reason: ", "137 "),
    *("<think>", "</think>", "<|", "[THINK]", "question: ", "\nquestion:", "red bus ", '{"answer": ', "I can't "),
    *("1", "1e", "Answer:", "answer is ", "is =", "(A", "A.", "ANSWER ", "\n\n"),
    *(
        "a-",
        "5 p.m. ",
        ". wait no",
        "everything but ",
        "giving ",
        "A. A ",
        "除了",
        "^ \\circ",
        "Ja. ",
        "no doubt ",
        "two ",
        " so it is",
    ),
)
TOKEN_UNITS: Final = (
    "😀",
    "हि",
    "a@",
    "a@😀",
    "www.-",
    "a,",
    "a.",
    "a/",
    "😀.",
    "<a ",
    "-LRB-",
    "a-",
    ".com",
    "1.",
    "n't",
    "a.b1,",
    "word ",
    "a'",
    "(",
    "&a;",
    '<a b="',
    "x-y.",
)
CHOICES: Final = {"A": "a blue car", "B": "the red bus", "C": "green because it is", "D": "none of the above"}
REASONS: Final = {"E": "it is wet", "F": "it is dry", "G": "it is late", "H": "it is early"}


def question(gold: str, **more: object) -> Question:
    extra = {"gold": gold, "columns": {}, "reasons": REASONS, "multiple_choice_answer": gold, "answers": [gold] * 10}
    return Question(id="1", text="?", references=(gold,), choices=CHOICES, extra=extra | more)


def tasks() -> Iterator[tuple[str, Task, Question]]:
    for parser in ("robust", "published"):
        yield f"mc {parser}", task_of("mc", parser=parser), question("B")
    for gold in ("137", "red bus"):
        yield f"niah {gold}", task_of("niah"), question(gold)
    for name in ("vqa2", "chartqa"):
        yield name, task_of(name), question("red bus")
    for name in ("vqax", "esnlive"):  # ACT-X is read as VQA-X is
        for parser in ("robust", "published"):
            yield f"{name} {parser}", task_of(name, parser=parser), question("yes")
    yield "vcr q2ar", task_of("vcr", vcr_mode="q2ar"), question("B because F")


TASKS: Final = {name: (task, asked) for name, task, asked in tasks()}
VISTA: Final = mathvista.Row(
    pid="1",
    image="1.jpg",
    question_type="multi_choice",
    answer_type="text",
    question="?",
    answer="a",
    choices=("a", "b c"),
)
OPEN: Final = Question(id="1", text="How many red buses are there?", references=("137",))
SHARED: Final = Question(id="1", text="What is the ratio of buses to cars?", references=("3:2",))
PUBLISHED: Final = [
    (each, len(inspect.signature(each).parameters))
    for name, each in vars(choice_readers).items()
    if inspect.isfunction(each) and not name.startswith("_")
]
"""Readings with the number of their arguments: the text, and for most the choices."""
READINGS: Final[dict[str, Reads]] = {
    "tokens": ptb_tokens,
    "refusal": refuses,
    "polarity": yes_or_no,
    "relaxed": lambda text: relaxed(text, "137"),
    "accuracy": lambda text: question_accuracy(text, ["red bus"] * 9 + [text]),
    "contains": lambda text: contains_answer(text, ["red bus"]),
    "published vqa2": lambda text: (enhanced_score("red bus", text), enhanced_score("yes", text)),
    "vqa2 by words": lambda text: [
        (enhanced_score_by_words(gold, text), simple_correct_by_words(gold, text)) for gold in ("red bus", "yes")
    ],
    "error message": lambda text: error_message(text.encode()),
    "excerpt": lambda text: excerpt(text.encode()),
    "published choices": lambda text: [read(*(text, CHOICES)[:takes]) for read, takes in PUBLISHED],
    **{
        read.__name__: lambda text, read=read: read(reply_from(Completion(text=text)), OPEN)
        for read in (numbers.number, numbers.numbers, numbers.formula)
    },
    "unfinished number": lambda text: numbers.number(reply_from(Completion(text=f"{text};")), OPEN),
    "ratio": lambda text: short_answer(reply_from(Completion(text=text)), SHARED),
    "maths": lambda text: same_maths(text, "137"),
    "published MATH-Vision": lambda text: mathvision.right(text, OPEN),
    "published MathVista": lambda text: mathvista.right(text, VISTA),
    "published MMMU": lambda text: open_right(text, ["137", "red bus"]),
}


def judging(name: str) -> Reads:
    task, asked = TASKS[name]
    return lambda text: judge(Completion(text=text, finish_reason="stop"), asked, task)


@pytest.mark.parametrize("name", READINGS)
def test_a_text_takes_little_more_than_four_times_as_long_as_a_quarter_of_it(name: str) -> None:
    units = TOKEN_UNITS if name == "tokens" else UNITS
    slow = {unit: ratio for unit in units if (ratio := growth(READINGS[name], unit, LENGTH).ratio) >= RATIO}
    assert not slow


@pytest.mark.parametrize("name", TASKS)
def test_a_reply_takes_little_more_than_four_times_as_long_as_a_quarter_and_the_loop_takes_that_for_an_instant(
    name: str,
) -> None:
    assert runner.LOOP_CHARACTERS <= REPLY_LENGTH / PARTS
    read = judging(name)
    read("The answer is B.")  # patterns are made once
    took = {unit: growth(read, unit, REPLY_LENGTH, limit=PARTS * LOOP) for unit in UNITS}
    assert not {unit: each for unit, each in took.items() if each.ratio >= RATIO or min(each.part, each.whole) >= LOOP}


def test_long_replies_and_a_task_s_first_one_are_read_beside_the_loop() -> None:
    task, asked = TASKS["mc robust"]
    threads: list[str] = []

    def parse(reply: Reply, question: Question) -> Answer:
        threads.append(threading.current_thread().name.partition("_")[0])
        return task.parse(reply, question)

    class Says:
        async def complete(self, request: Request) -> Completion:
            return Completion(text=texts.pop(0), finish_reason="stop")

    short, long = "The answer is B.", "so " * runner.LOOP_CHARACTERS + "B."
    texts = [short, short, long, short]
    line = runner.Pipeline(
        task=replace(task, name="never read", parse=parse),
        chat=Says(),
        images_for=lambda _: ImagePreparer(),
        max_pages=None,
    )

    async def ask() -> list[str | None]:
        return [(await runner.answer_one(asked, line)).answer for _ in range(4)]

    assert asyncio.run(ask()) == ["B"] * 4
    assert threads == ["reading", "MainThread", "reading", "MainThread"]


def test_a_record_has_times_in_microseconds_and_the_number_of_replaced_characters() -> None:
    task, asked = TASKS["mc robust"]
    said = Completion(text="B \ufffd", reasoning="\ufffd", latency_s=0.12345678, ttft_s=0.01234567, attempts=2)
    kept = runner.record_of(asked, said, task)
    assert (kept.latency_s, kept.ttft_s, kept.replaced_characters, kept.attempts) == (0.123457, 0.012346, 2, 2)


def test_the_record_of_an_answer_that_is_only_a_text_names_no_rule() -> None:
    task, asked = TASKS["mc robust"]
    kept = runner.record_of(asked, Completion(text="B"), replace(task, parse=lambda *_: Answer(text="B")))
    assert (kept.answer, kept.status, kept.rule, kept.rivals, kept.source) == ("B", "ok", "", (), "content")


def test_of_a_runaway_reply_both_ends_are_read_and_a_thought_s_end_between_them() -> None:
    short = "A" * READ_CHARACTERS
    assert read_part(short) == short
    long = "B because " + "la " * READ_CHARACTERS + "The answer is C."
    assert len(read_part(long)) == READ_CHARACTERS + 1
    assert (read_part(long)[:10], read_part(long)[-16:]) == ("B because ", "The answer is C.")
    thought = f"<think>{'la ' * READ_CHARACTERS}</think>{'so ' * READ_CHARACTERS}The answer is C."
    assert read_part(thought).count("</think>") == 1
    task, asked = TASKS["mc robust"]
    for text in (long, thought):
        assert judge(Completion(text=text, finish_reason="stop"), asked, task)[0].text == "C"
