import json
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.declared import task_of, template_of
from tests.tasks.documents import mc_record, niah_record, two_pages, write_list
from vqa_client.errors import DataError, UsageError
from vqa_client.runner import judge
from vqa_client.scoring.reply import Reply, reply_from
from vqa_client.task import Loaded
from vqa_client.tasks import niah
from vqa_client.tasks.longbench import Wanted
from vqa_client.tasks.longbench.report import DEPTHS
from vqa_client.types import Completion, Question

NIAH = "a record needs _id, questions and answers, lists of one length; a file with `choice_A` is one for mc"
GOLDEN = Path(__file__).parents[3] / "shared/data/seed002_longbench/niah_golden.json"
QUESTION = Question(id="a#0", text="What is the secret metal?", references=("iron",), cluster="a")


def load(tmp_path: Path, records: list[Any], **options: Any) -> Loaded:
    return niah.load(write_list(tmp_path / "data.json", records), Wanted(**({"pages": two_pages} | options)))


def reply(text: str, finish_reason: str = "stop", reasoning: str | None = None) -> Reply:
    return reply_from(Completion(text=text, finish_reason=finish_reason, reasoning=reasoning))


def test_a_record_becomes_a_question_for_each_needle(tmp_path: Path) -> None:
    first, second = load(tmp_path, [niah_record("doc")]).questions
    assert (first.id, first.text, first.references) == (
        "doc#0",
        "What is the secret number in the above context?",
        ("137",),
    )
    assert (second.id, second.references, second.extra) == ("doc#1", ("iron",), {"question_idx": 1})
    assert first.images == second.images == ("/pages/doc_page_001.png", "/pages/doc_page_002.png")
    assert first.cluster == second.cluster == "doc"
    assert first.groups == {
        "difficulty": "hard",
        "length": "medium",
        "context_length": "<8k",
        "domain": "Needle in a Haystack",
        "sub_domain": "Secret Retrieval",
        "needle_depth": "80-100%",
    }
    assert second.groups["needle_depth"] == "0-20%"


def test_the_published_golden_file_loads_whole(tmp_path: Path) -> None:
    if not GOLDEN.is_file():
        pytest.skip("the golden file is not here")
    records = json.loads(GOLDEN.read_text())["output_data_json"]
    loaded = load(tmp_path, records)
    questions = list(loaded.questions)
    assert loaded.count == len(questions) == sum(len(record["questions"]) for record in records) == 16
    assert loaded.left_out == {}
    assert {question.groups["needle_depth"] for question in questions} == set(DEPTHS)


@pytest.mark.parametrize("gold", ["", None, "  ", "\u200b"])
def test_a_needle_without_an_answer_is_left_out_and_named(tmp_path: Path, gold: str | None) -> None:
    loaded = load(tmp_path, [niah_record("a", answers=["137", gold]), niah_record("b")])
    assert [question.id for question in loaded.questions] == ["a#0", "b#0", "b#1"]
    assert loaded.count == 3
    assert loaded.left_out == {"unscorable": ("a#1",)}


def test_the_limit_counts_documents(tmp_path: Path) -> None:
    loaded = load(tmp_path, [niah_record("a"), niah_record("b"), niah_record("c")], limit=2)
    assert [question.id for question in loaded.questions] == ["a#0", "a#1", "b#0", "b#1"]


def test_numbers_as_answers_are_text(tmp_path: Path) -> None:
    first, second = load(tmp_path, [niah_record("a", answers=[137, 2.5])]).questions
    assert (first.references, second.references) == (("137",), ("2.5",))


@pytest.mark.parametrize(
    ("depths", "expected"),
    [
        (..., ["unknown", "unknown"]),
        (None, ["unknown", "unknown"]),
        (["0-20%"], ["0-20%", "unknown"]),
        (["margin", None], ["margin", "unknown"]),
    ],
)
def test_missing_depths_are_unknown_and_other_depths_stay(tmp_path: Path, depths: Any, expected: list[str]) -> None:
    loaded = load(tmp_path, [niah_record("a", question_depths=depths)])
    assert [question.groups["needle_depth"] for question in loaded.questions] == expected


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"questions": ...}, "questions"),
        ({"questions": "What?"}, "questions"),
        ({"answers": ["137"]}, "answers"),
        ({"answers": ["137", ["iron"]]}, "answers"),
        ({"question_depths": [0.4, 0.9]}, "question_depths"),
    ],
)
def test_a_wrong_field_is_named_with_its_record(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(DataError, match=rf"data\.json: record 1 \(_id 'bad-one'\): .*{field}") as caught:
        load(tmp_path, [niah_record("bad-one", **changes)])
    assert caught.value.hint == NIAH


def test_a_multiple_choice_file_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        load(tmp_path, [mc_record("a")])
    assert "mc" in caught.value.hint


def test_a_config_for_mc_works_for_niah() -> None:
    chosen, note = template_of("niah", "{question}\n\n{choices}\n\nThe correct answer is")
    assert (chosen, "{choices}" in note) == ("{question}", True)
    task = task_of("niah", prompt_template="{question}\n\n{choices}\n\nThe correct answer is")
    assert task.prompt(QUESTION) == "What is the secret metal?"


def test_a_template_without_the_question_is_replaced_with_a_note() -> None:
    chosen, note = template_of("niah", "OCR:")
    assert (chosen, "{question}" in note) == ("{question}", True)


def test_a_niah_template_is_used_as_it_is() -> None:
    template = 'Reply as {"answer": ...}: {question}'
    assert template_of("niah", template) == (template, "")
    assert (
        task_of("niah", prompt_template=template).prompt(QUESTION)
        == 'Reply as {"answer": ...}: What is the secret metal?'
    )
    assert template_of("niah", None) == template_of("niah", "") == ("{question}", "")


def test_an_unknown_placeholder_is_refused_at_the_start() -> None:
    with pytest.raises(UsageError, match=r"\{context\}"):
        task_of("niah", prompt_template="{context} {question}")


@pytest.mark.parametrize(
    ("text", "containment", "strict"),
    [("The secret metal is iron.", 1, 1), ("It lies in the environment.", 1, 0), ("IRON", 1, 1), ("copper", 0, 0)],
)
def test_the_headline_is_containment_with_the_strict_score_beside_it(text: str, containment: int, strict: int) -> None:
    task = task_of("niah")
    score = task.score(task.parse(reply(text), QUESTION), reply(text), QUESTION)
    assert score.value == score.parts["containment"] == containment
    assert score.parts["strict"] == strict


@pytest.mark.parametrize(
    ("completion", "containment", "published", "strict"),
    [
        (reply("<think>It is iron, but", "length"), 0, 1, 0),
        (reply("[THINK]It is iron.[/THINK]copper"), 0, 1, 0),
        (reply("<reasoning>iron</reasoning>It is unknown."), 0, 1, 0),
        (reply("It could be iron, but <answer>copper</answer>"), 1, 1, 0),
        (reply("<thinking>copper, zinc, iron</thinking>\niron"), 1, 1, 1),
        (reply("Here is my thought process: iron.\nHere is my response: copper"), 0, 1, 0),
        (reply("", reasoning="The metal is iron."), 1, 0, 1),
    ],
)
def test_a_thought_is_not_an_answer_and_the_published_score_is_reported_too(
    completion: Reply, containment: int, published: int, strict: int
) -> None:
    task = task_of("niah")
    score = task.score(task.parse(completion, QUESTION), completion, QUESTION)
    parts = {"containment": containment, "published": published, "strict": strict}
    assert score.value == containment
    assert {name: score.parts[name] for name in parts} == parts


def test_numbers_in_a_reply_are_counted() -> None:
    question = Question(id="a#0", text="Which?", references=("42",))
    text = "It may be 17, 42 or 99."
    score = task_of("niah").score(task_of("niah").parse(reply(text), question), reply(text), question)
    assert score.parts["n_numbers"] == 3


def test_case_counts_only_when_asked() -> None:
    task = task_of("niah", case_sensitive=True)
    assert task.score(task.parse(reply("IRON"), QUESTION), reply("IRON"), QUESTION).value == 0.0
    assert task.scoring != task_of("niah").scoring


@pytest.mark.parametrize(
    ("completion", "status", "text"),
    [
        (reply("The metal is iron."), "ok", "The metal is iron."),
        (reply("No idea."), "ok", "No idea."),
        (reply(" \n"), "empty", None),
        (reply("", "length"), "truncated", None),
        (reply("Let me look at the pages, first", "length"), "truncated", None),
        (reply("The metal is iron, and", "length"), "ok", "The metal is iron, and"),
        (reply("", "content_filter"), "refused", None),
        (reply("It is iron", "SAFETY"), "refused", None),
        (reply("<think>It is iron, but", "length"), "truncated", None),
        (reply("<mm:think>It is iron, but"), "truncated", None),
        (reply("I'm sorry, I can't assist with that request."), "refused", None),
        (reply("很抱歉，我无法回答这个问题。"), "refused", None),
        (
            reply("I'm sorry, I can't view images, but it says iron."),
            "ok",
            "I'm sorry, I can't view images, but it says iron.",
        ),
        (reply("I cannot find it in the document."), "ok", "I cannot find it in the document."),
        (reply('{"answer": "iron"}'), "ok", "iron"),
        (reply("", reasoning="It is iron."), "ok", "It is iron."),
        (reply("", reasoning="It is iron. Hmm, let me check again"), "empty", None),
    ],
)
def test_a_reply_without_an_answer_has_its_own_status(completion: Reply, status: str, text: str | None) -> None:
    answer = task_of("niah").parse(completion, QUESTION)
    assert (answer.status, answer.text) == (status, text)


def test_a_task_given_its_own_references_scores_full(tmp_path: Path) -> None:
    task = task_of("niah")
    for question in load(tmp_path, [niah_record("a")]).questions:
        completion = reply(question.references[0])
        score = task.score(task.parse(completion, question), completion, question)
        assert (score.value, score.parts["strict"]) == (1.0, 1.0)


def test_text_only_puts_the_document_before_the_question(tmp_path: Path) -> None:
    loaded = load(tmp_path, [niah_record("a")], text_only=True, pages=None)
    prompt = task_of("niah", text_only=True).prompt(next(iter(loaded.questions)))
    assert prompt == (
        "Context:\nThe secret metal is iron. Much later, the secret number is 137.\n\n"
        "What is the secret number in the above context?"
    )


@pytest.mark.parametrize(
    ("said", "finish_reason", "status", "strict"),
    [
        ("137\n\nQuestion: What is the other number?\nAnswer: 99", "stop", "ok", 1),
        ("99\n\nQuestion: What is the other number?\nAnswer: 137", "stop", "ok", 0),
        ("The number is 137.\n\nQuestion: What is the secret ani", "length", "ok", 1),
        ("137\nuser\nAre you sure?\nassistant\nSorry, 99.", "stop", "ok", 1),
        ("I have read the whole document.\n\nQuestion: What is it?\nAnswer: 137", "stop", "ok", 1),
        ("Here you are:\nQuestion: What is it?\nAnswer: 137", "stop", "ok", 1),
    ],
)
def test_text_after_an_invented_question_is_not_an_answer(
    said: str, finish_reason: str, status: str, strict: float
) -> None:
    question = Question(id="a#0", text="?", references=("137",), cluster="a")
    answer, score = judge(Completion(text=said, finish_reason=finish_reason), question, task_of("niah"))
    assert (answer.status, score.parts["strict"], score.value) == (status, strict, strict)
