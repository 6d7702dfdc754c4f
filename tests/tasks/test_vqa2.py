import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tasks.declared import benchmark_of, task_of, template_of
from vqa_client.errors import UsageError
from vqa_client.runner import judge
from vqa_client.scoring.vqa_accuracy import HumanAnswer
from vqa_client.tasks.vqa2.data import kind_of
from vqa_client.types import Completion, Question

PUBLISHED = Path(__file__).parents[3] / "shared/data/seed000_vqa2coco/results/vqa2_results_coco_20250801_194855.json"
TASK = task_of("vqa2")


def asked(text: str, *answers: str, gold: str | None = None, ids: bool = True) -> Question:
    given_answers = tuple(HumanAnswer(answer=a, answer_id=n if ids else None) for n, a in enumerate(answers))
    gold = gold or (answers[0] if answers else None)
    return Question(
        id="1",
        text=text,
        images=("/images/COCO_val2014_000000000001.jpg",),
        references=answers,
        groups={"kind": kind_of(text, gold), "answer_type": "other", "question_type": "unknown"},
        cluster="1",
        extra={
            "question_id": 1,
            "image_id": 1,
            "image_filename": "COCO_val2014_000000000001.jpg",
            "multiple_choice_answer": gold,
            "answers": given_answers,
        },
    )


DAY = asked("Is it day?", *["yes"] * 10)
BOAT = asked("What color is the boat?", *["red"] * 7, "maroon", "maroon", "dark red")


def reply(text: str, finish_reason: str = "stop", reasoning: str | None = None) -> Completion:
    return Completion(text=text, finish_reason=finish_reason, reasoning=reasoning)


def test_the_prompt_is_the_bare_question() -> None:
    assert TASK.prompt(BOAT) == "What color is the boat?"
    assert TASK.content(BOAT)[:-1] == tuple(range(1, len(BOAT.images) + 1))


def test_a_configs_template_replaces_the_default() -> None:
    task = task_of("vqa2", prompt_template="{question} Answer in one word.")
    assert task.prompt(BOAT) == "What color is the boat? Answer in one word."


@pytest.mark.parametrize(("template", "why"), [("{question}\n{choices}", "choices"), ("Describe it.", "question")])
def test_a_template_of_another_benchmark_is_ignored_with_a_note(template: str, why: str) -> None:
    chosen, note = template_of("vqa2", template)
    assert (chosen, f"{{{why}}}" in note) == ("{question}", True)
    assert task_of("vqa2", prompt_template=template).prompt(BOAT) == BOAT.text


def test_an_unknown_placeholder_is_refused() -> None:
    with pytest.raises(UsageError, match=r"\{image\}"):
        task_of("vqa2", prompt_template="{image} {question}")


def test_every_score_is_a_part_and_the_headline_is_the_normalised_accuracy() -> None:
    assert [each.field for each in benchmark_of("vqa2").description().breakdowns] == ["kind", "answer_type"]
    answer, score = judge(reply("Red."), BOAT, TASK)
    assert (answer.status, answer.text, answer.rule) == ("ok", "Red.", "whole_reply")
    assert score.value == score.parts[TASK.headline] == 1.0
    assert list(score.parts) == [
        "normalised",
        "official",
        "simple",
        "enhanced",
        "simple_whole_word",
        "enhanced_whole_word",
    ]


def test_partial_agreement_earns_partial_credit() -> None:
    _, score = judge(reply("maroon"), BOAT, TASK)
    assert score.value == pytest.approx(0.6)


def test_the_official_score_leaves_unanimous_questions_as_they_are() -> None:
    _, score = judge(reply("Yes."), DAY, TASK)
    assert (score.parts["normalised"], score.parts["official"]) == (1.0, 0.0)


def test_the_official_score_takes_equal_answers_without_ids_for_one() -> None:
    question = asked("Is it day?", *["yes"] * 10, ids=False)
    _, score = judge(reply("yes"), question, TASK)
    assert (score.parts["normalised"], score.parts["official"]) == (1.0, 0.0)


def test_the_published_scores_are_reported_with_their_whole_word_forms() -> None:
    _, score = judge(reply("There is another one."), asked("Is it night?", *["no"] * 10), TASK)
    assert (score.parts["simple"], score.parts["simple_whole_word"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("completion", "status", "text"),
    [
        (reply("The boat is red."), "ok", "The boat is red."),
        (reply("<think>blue? no</think>\n\nRed"), "ok", "Red"),
        (reply("Red<|end|><|endoftext|>"), "ok", "Red"),
        (reply("I cannot determine the color."), "ok", "I cannot determine the color."),
        (reply(" \n"), "empty", None),
        (reply("<think>It is red.</think>"), "empty", None),
        (reply("<think>It is red, or", "length"), "truncated", None),
        (reply("", "length"), "truncated", None),
        (reply("Red\n\nQuestion: What el", "length"), "ok", "Red"),
        (reply("A red boat\n\nQuestion: What el", "length"), "ok", "A red boat"),
        (reply("The color that the boat in this picture", "length"), "truncated", None),
        (reply("The boat is red, and beside it there", "length"), "ok", "The boat is red, and beside it there"),
        (reply("I'm sorry, but I can't assist with that."), "refused", None),
        (reply("Red", "content_filter"), "refused", None),
        (reply("", reasoning="Red."), "ok", "Red."),
        (reply("", reasoning="Let me look. " * 40 + "Red."), "empty", None),
        (reply("", reasoning="a" * 300), "ok", "a" * 300),
        (reply("", reasoning="a" * 301), "empty", None),
        (reply("", "length", reasoning="Red."), "truncated", None),
        (reply("Red", "SAFETY"), "refused", None),
        (reply("The color that the boat in this picture", "MAX_TOKENS"), "truncated", None),
        (reply("抱歉，我無法提供協助。"), "refused", None),
        (reply('{"answer": null}'), "empty", None),
    ],
)
def test_a_reply_without_an_answer_has_a_status_and_a_score_of_0(
    completion: Completion, status: str, text: str | None
) -> None:
    answer, score = judge(completion, BOAT, TASK)
    assert (answer.status, answer.text) == (status, text)
    if status != "ok":
        assert score.value == 0.0
        assert set(score.parts.values()) == {0.0}


@pytest.mark.parametrize(
    ("text", "official"),
    [
        ("<think>blue?</think><answer>red</answer>", 0),
        ("\\boxed{red}", 0),
        ("**Red**", 0),
        ('{"answer": "red"}', 0),
        ('Sure:\n```json\n{"answer": "red"}\n```', 0),
        ("```\nred\n```", 1),
        ("Red。", 0),
        ("Red\u200b", 0),
        ("**Answer:** red", 0),
        ("It is a boat.\nFinal answer: red", 0),
        ("{'answer': 'red'}", 0),
        ("Red\n\nQuestion: What else?\nAnswer: blue", 1),
        ("Red\n\n**Explanation:** The hull is painted red.", 0),
        ("Answer: red\nReasoning: the hull is.", 0),
        ("<|begin_of_box|>red<|end_of_box|>", 1),
    ],
)
def test_wrappers_are_taken_off_for_the_headline_alone(text: str, official: int) -> None:
    question = asked("What color?", *["red"] * 9, "blue")
    answer, score = judge(reply(text), question, TASK)
    assert (score.value, score.parts["official"]) == (1.0, official), answer


def test_an_answer_in_the_wrong_field_is_marked() -> None:
    assert judge(reply("", reasoning="Red."), BOAT, TASK)[0].source == "reasoning"


def test_where_nobody_knows_the_answer_there_is_no_score() -> None:
    answer, score = judge(reply("Red."), asked("What color is the boat?"), TASK)
    assert (answer.text, score.parts) == ("Red.", {})
    assert judge(reply("Red", "length"), asked("What color?"), TASK)[0].status == "truncated"


@given(st.text(max_size=60), st.sampled_from(["stop", "length", "content_filter", ""]))
def test_any_reply_has_a_status_and_scores_from_0_to_1(text: str, finish_reason: str) -> None:
    answer, score = judge(reply(text, finish_reason), BOAT, TASK)
    assert (answer.text is None) == (answer.status != "ok")
    assert all(0.0 <= value <= 1.0 for value in (score.value, *score.parts.values()))


@given(st.sampled_from(["yes", "2", "red", "christmas", "on the left", "ped xing"]))
def test_the_task_given_its_own_references_scores_full(gold: str) -> None:
    _, score = judge(reply(gold), asked("What is it?", *[gold] * 10), TASK)
    assert set(score.parts.values()) == {1.0}


def test_the_published_records_keep_their_scores() -> None:
    if not PUBLISHED.is_file():
        pytest.skip("the published results are not here")
    results = json.loads(PUBLISHED.read_text())["results"]
    records = [record for model in results.values() for record in model["question_results"]]
    for record in records:
        question = asked(record["question"], *[record["ground_truth"]] * 10)
        _, score = judge(reply(record["model_answer"]), question, TASK)
        assert score.parts["simple"] == record["is_correct"]
        assert score.parts["enhanced"] == record["vqa_accuracy"]
    assert len(records) == 100


def test_the_published_questions_are_of_the_published_kinds() -> None:
    if not PUBLISHED.is_file():
        pytest.skip("the published results are not here")
    records = json.loads(PUBLISHED.read_text())["results"]["moondream2"]["question_results"]
    kinds = [kind_of(record["question"], record["ground_truth"]) for record in records]
    assert {kind: kinds.count(kind) for kind in kinds} == {"yes/no": 7, "color": 6, "count": 2, "other": 5}
