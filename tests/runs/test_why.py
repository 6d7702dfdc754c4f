"""`vqa-client parse`, for runs of every benchmark and for logs without their files."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.compare.logged import failed, put, record
from tests.runs.sample import Sample
from vqa_client.cli.main import run_command
from vqa_client.errors import DataError, UsageError
from vqa_client.runs.why import RULE_REASONS, why
from vqa_client.types import STATUSES, Record


def mc_log(tmp_path: Path, *records: Record) -> tuple[Sample, Path]:
    """A log of multiple choice beside a run file that names its data."""
    of = Sample(tmp_path, 4)
    described = {"settings": {"data_json": str(of.data_json), "output": str(of.output)}}
    scoring = {"parser": "robust"}
    model = {"model": {"model_name": "m", "max_tokens": 5}}
    log = put(of.output, records, task="mc", described=described, scoring=scoring, identity=model)
    return of, log


def said(output: str | None, name: str = "q1", **changes: Any) -> Record:
    return record(name, **({"output": output, "answer": "B", "rule": "answer", "references": ("B",)} | changes))


REASONS = {
    "ok": "an answer was read",
    "unparsed": "there is a reply, and no rule finds an answer in it",
    "ambiguous": "the reply offers several answers and commits to none; nothing is guessed",
    "truncated": "the reply was cut at the token limit before it gave an answer",
    "refused": "the model, or the server for it, declined to answer",
    "empty": "there is no text where the answer should be",
    "bad_image": "an image could not be sent; the question was not asked",
    "too_long": "the question did not fit into the model's context",
    "too_many_images": "the server takes fewer images than the question has",
    "bad_response": "the server's response was not a reply",
    "rate_limited": "the server took no more requests",
    "timeout": "no reply came in time",
    "connection": "the server could not be reached, or the connection broke",
    "server_error": "the server failed",
    "rejected": "the server refused the request",
}
RULES = {
    "whole_reply": "the whole reply is the answer, without its wrapping",
    "wrapper": "the answer is taken out of what it is wrapped in, and the explanation from beside it",
    "cut": "the reply was cut, and what precedes the cut contains no right answer",
    "no_text": "the reply has no text",
    "content_filter": "the server's filter stopped the reply",
    "refusal": "the reply opens with a refusal",
    "constrained": "only a reply that is a label and nothing else counts (--choice_mode structured)",
    "first token": "the label that is most probable as the first token (--choice_mode logprob)",
    "reasoning first": "the first token begins the model's thoughts, so that it says nothing of its answer",
    "no logprobs": "the server reported no logprobs with this reply",
}


def test_every_status_and_rule_is_reported_with_its_reason(tmp_path: Path) -> None:
    records = [said(None, name, status=name, rule="", answer=None) for name in STATUSES]
    records += [said("B", name, rule=name) for name in RULES]
    _, log = mc_log(tmp_path, *records)
    reasons = {record.question_id: why(log, record.question_id, None).why for record in records}
    expected = {name: (reason,) for name, reason in REASONS.items()}
    assert reasons == {**expected, **{name: (REASONS["ok"], reason) for name, reason in RULES.items()}}
    assert set(RULES) == set(RULE_REASONS)


def test_a_choice_is_explained_with_the_texts_of_its_question(tmp_path: Path) -> None:
    _, log = mc_log(tmp_path, said("I'd say it is thing 1C."))
    found = why(log, "q1", None)
    assert found.choice is not None
    assert found.choices["C"] == "thing 1C"
    assert [(rule.name, rule.labels) for rule in found.choice.rules if rule.fired] == [("text", ("C",))]
    assert found.today is not None
    assert found.today.text == "C"
    assert found.today_score is not None
    assert (found.unknown, found.today_score.value) == ("", 0.0)


def test_without_the_data_file_the_choices_are_read_from_the_prompt_with_a_note(tmp_path: Path) -> None:
    of, log = mc_log(tmp_path, said("a tug", prompt="Which?\n\nA. a ferry\nB. a barge\nC. a tug\nD. none\n"))
    of.data_json.unlink()
    found = why(log, "q1", None)
    assert "does not exist" in found.unknown
    assert found.today is None
    assert found.choice is not None
    assert found.choice.answer.text == "C"


def test_a_log_without_run_file_is_known_as_multiple_choice_by_its_scores(tmp_path: Path) -> None:
    parts = {"robust": 1.0, "published": 1.0, "longbench": 0.0}
    put(tmp_path, [said("B", parts=parts), said("a boat", name="q2")], run_file=False)
    assert why(tmp_path, "q1", None).choice is not None
    assert why(tmp_path, "q2", None).choice is None


def test_a_failed_question_has_the_servers_message(tmp_path: Path) -> None:
    _, log = mc_log(tmp_path, failed("q1", error={"message": "no reply within 600 s"}))
    found = why(log, "q1", None)
    assert found.why == ("no reply came in time", "no reply within 600 s")
    assert (found.choice, found.today) == (None, None)


def test_a_blocked_reply_is_explained_as_a_refusal(tmp_path: Path) -> None:
    _, log = mc_log(tmp_path, said("B", status="refused", answer=None, finish_reason="content_filter"))
    found = why(log, "q1", None)
    assert any("'content_filter': a refusal, whatever it says" in line for line in found.why)
    assert found.today is not None
    assert found.today.status == "refused"


def test_answers_are_shown_as_they_are_compared(tmp_path: Path) -> None:
    put(tmp_path, [record("7", answer="The Two kettles.", references=("2 kettles", "a kettle"))])
    found = why(tmp_path, "7", None)
    assert (found.compared_as, found.references_as) == ("2 kettles", ("2 kettles", "kettle"))


def test_published_readings_of_explanations_are_shown(tmp_path: Path) -> None:
    put(tmp_path, [record("7", output="A dog because it barks.")], task="vqax")
    assert why(tmp_path, "7", None).parsers == {"published": "a dog", "published_latest": "a dog"}


def test_one_of_several_variants_has_to_be_chosen(tmp_path: Path) -> None:
    put(tmp_path, [record("7", variant=variant) for variant in ("clean", "snow/3")])
    with pytest.raises(UsageError, match=r"was asked in 2 variants: clean, snow/3$") as caught:
        why(tmp_path, "7", None)
    assert caught.value.hint == "choose one with --variant, or name the run of one"
    assert why(tmp_path, "7", "snow/3").record.variant == "snow/3"


def test_an_unknown_id_gets_similar_ids_as_a_hint(tmp_path: Path) -> None:
    put(tmp_path, [record("kettle-7"), record("boat-1")])
    with pytest.raises(DataError, match="'kettle' was not asked") as one:
        why(tmp_path, "kettle", None)
    assert one.value.hint == "did you mean kettle-7?"
    with pytest.raises(DataError, match="'bolt-2' was not asked") as one:
        why(tmp_path, "bolt-2", None)
    assert one.value.hint == "did you mean boat-1?"
    with pytest.raises(DataError, match="'' was not asked") as one:
        why(tmp_path, "", None)
    assert one.value.hint == "its questions are boat-1, kettle-7"
    with pytest.raises(DataError, match="in the variant 'snow'") as one:
        why(tmp_path, "boat-1", "snow")
    assert one.value.hint == "it has no variants: leave --variant out"
    for model in "ab":
        put(tmp_path / model, [record("7", variant=variant) for variant in ("clean", "snow/3")])
    with pytest.raises(DataError, match="in the variant 'snow'") as one:
        why(tmp_path, "7", "snow")
    assert one.value.hint == "its variants are clean, snow/3"


def test_an_explanation_is_strict_json(tmp_path: Path) -> None:
    _, log = mc_log(tmp_path, said("<think>hm</think>B"))
    text = msgspec.json.encode(why(log, "q1", None))
    assert json.loads(text, parse_constant=pytest.fail)["peeled_off"] == ["<think>hm</think>"]


SHOWN = (
    "mc · q1 · {log}\n"
    "system message:\n    Be brief.\n"
    "worked examples before the question: s1, s2\n"
    "prompt, with the places of its images:\n    See <image 1>.\n"
    "reply:\n    **Answer: B**\n    \n    Wait, maybe A. The answer could be C.\n"
    "reasoning, in a field of its own:\n    hm\n"
    "choices: A. thing 1A  B. thing 1B  C. thing 1C  D. thing 1D\n"
    "read, from the content:\n    *Answer: B*\n    Wait, maybe A. The answer could be C.\n"
    "the reply was cut at the token limit: only an explicit declaration counts\n"
    "declarations (the last one counts, weak ones only alone; 4 found):\n"
    "    B by answer: ... *Answer: B* Wait, maybe A. The ...\n"
    "    A by correction: ... *Answer: B* Wait, maybe A. The answer could b ...\n"
    "    A by possibility, weak: ... *Answer: B* Wait, maybe A. The answer could b ...\n"
    "    C by hedge, weak: ... : B* Wait, maybe A. The answer could be C. ...\n"
    "rules, in the order of reading; the first that finds something decides:\n"
    "    =>declaration: A (by correction; rivals B)\n"
    "      exact text: -\n"
)
END = (
    "parsers: robust A (by correction), published B (by letter), longbench -\n"
    "in the log: ok, answer 'B' (by answer; rivals A)\n"
    "    an answer was read\n"
    "    finish reason length, score 1, robust 1, published 0.5\n"
    "right answer: 'B'\n"
    "read again today: ok, answer 'A' (by correction; rivals B), score 0 (vqa-client rescore shows all such)\n"
)
TOKENS = {"B": -0.1, "C": -2.5} | {f"t{n}": -9.0 - n for n in range(9)}
FIRST_TOKEN = (
    "mc · q2 · {log}\n"
    "reply:\n    B\n"
    "first token, with its probability:\n    'B' 0.905  'C' 0.0821"
    "  't0' 0.000123  't1' 4.54e-05  't2' 1.67e-05  't3' 6.14e-06  't4' 2.26e-06  't5' 8.32e-07  't6' 3.06e-07"
    "  't7' 1.13e-07\n"
    "labels: none among them\n"
    "in the log: ok, answer 'B' (by first token)\n"
    "    an answer was read\n"
    "    the label that is most probable as the first token (--choice_mode logprob)\n"
    "    finish reason stop, score 1, logprob 1\n"
    "right answer: 'B'\n"
)


def test_parse_prints_its_explanation_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = {"prompt": "See <image 1>.", "reasoning": "hm", "system": "Be brief.", "shots": ("s1", "s2")}
    reply = "**Answer: B**\n\nWait, maybe A. The answer could be C."
    of, log = mc_log(
        tmp_path,
        said(reply, finish_reason="length", rivals=("A",), parts={"robust": 1.0, "published": 0.5}, **shown),
        said("B", "q2", first_token=TOKENS, probabilities={}, rule="first token", parts={"logprob": 1}),
        said("\n".join(f"Answer: {letter}" for letter in "ABABABABABA"), "q5"),
        said("a" * 3_000 + "b" * 3_000, "q3", answer=None, status="unparsed", rule=""),
        said(None, "q0", answer=None, status="timeout", rule="", references=("B", "B", "C")),
        said("<think>hm</think>The answer is none of the above.", "q4", answer=None, status="unparsed", rule=""),
    )

    def explained(question_id: str) -> str:
        assert run_command(["parse", str(log), "--explain", question_id]) == 0
        return capsys.readouterr().out

    several = explained("q5")
    assert "(the last one counts, weak ones only alone; 11 found):\n" in several
    assert several.count(" by answer: ...") == 10
    whole = explained("q1")
    assert whole.startswith(SHOWN.format(log=log))
    assert whole.endswith(END)
    gone = explained("q4")
    assert "\npeeled off before reading:\n    <think>hm</think>\nread, from the content:\n" in gone
    assert gone.endswith("\nnot read again: the data file no longer has this question\n")
    assert "that nothing declares" not in whole
    again = "read again today: ok, answer 'B' (by own line), score 0 (vqa-client rescore shows all such)\n"
    assert explained("q2") == FIRST_TOKEN.format(log=log) + again
    assert f"reply:\n    {'a' * 2_000}\n    [... 2,000 characters left out ...]\n    {'b' * 2_000}\n" in explained("q3")
    assert explained("q0").startswith(f"mc · q0 · {log}\nreply: none came\nin the log: timeout\n")
    assert explained("q0").endswith("right answer: 'B' x2, 'C'\n")
    (tmp_path / "other").mkdir()
    other = mc_log(tmp_path / "other", said("(A) and (D) are near. The answer is B."))[1]
    assert run_command(["parse", str(other), "--explain", "q1"]) == 0
    assert "labels in the reply that nothing declares: A, D\n" in capsys.readouterr().out
    of.data_json.unlink()
    assert explained("q2").startswith(FIRST_TOKEN.format(log=log) + "not read again: vqa2_results.records.jsonl needs ")
