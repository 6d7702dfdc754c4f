"""The score command as people type it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.answers.sample import annotation, write_annotations, write_results
from vqa_client.cli.main import run_command
from vqa_client.records import RecordLog
from vqa_client.types import Record


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Score = Callable[..., Done]


@pytest.fixture
def score(capsys: pytest.CaptureFixture[str]) -> Score:
    def run(*words: Any) -> Done:
        return Done(run_command(["score", *map(str, words)]), *capsys.readouterr())

    return run


@pytest.fixture
def files(tmp_path: Path) -> tuple[object, ...]:
    predictions = write_results(tmp_path / "m_results.json", {1: "Yes.", 2: "red"})
    annotations = write_annotations(
        tmp_path / "a.json",
        annotation(1, "yes"),
        annotation(2, "red", "blue", answer_type="other", question_type="what color \x1b[31m"),
        annotation(3, "no"),
    )
    return ("--predictions", predictions, "--annotations", annotations)


def test_the_text_has_both_accuracies_and_why_they_differ(
    files: tuple[object, ...], tmp_path: Path, score: Score
) -> None:
    done = score(*files, "-o", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    by_type = "questions normalised official contains normalised: 95 %"
    assert [" ".join(line.split()) for line in done.stdout.splitlines() if line.strip(" ─")] == [
        f"score · {tmp_path / 'm_results.json'}",
        f"2 questions scored of 2 predicted and 3 annotated in {tmp_path / 'a.json'}",
        "metric % 95 % interval % if missing were wrong",
        "normalised 100.00 20.7-100.0 66.67",
        "official 50.00 5.5-94.5 33.33",
        "contains 100.00 20.7-100.0 66.67",
        f"by answer type {by_type}",
        "other 1 100.00 100.00 100.00 20.7-100.0",
        "yes/no 1 100.00 0.00 100.00 20.7-100.0",
        f"by question type {by_type}",
        "is the 1 100.00 0.00 100.00 20.7-100.0",
        "what color \\x1b[31m 1 100.00 100.00 100.00 20.7-100.0",
        "normalised - official = +50.00 points, +50.00 of them from the 1 question (50.0 %) whose annotators all "
        "agree: there the official evaluator compares without normalising, and 1 score differently",
        "1 annotated question (3) without a prediction, not scored",
        "contains: an annotator's answer is in the prediction as whole words; a diagnostic, not an accuracy",
        *(
            str(tmp_path / f"out/m_{name}.json")
            for name in (
                *("leaderboard", "normalised_accuracy", "normalised_evalQA", "normalised_evalQuesType"),
                *("normalised_evalAnsType", "accuracy", "evalQA", "evalQuesType", "evalAnsType", "score"),
            )
        ),
    ]


def test_the_questions_of_a_test_split_have_no_accuracy(tmp_path: Path, score: Score) -> None:
    questions = tmp_path / "q.json"
    questions.write_text(json.dumps({"data_subtype": "test2015", "questions": [{"question_id": 1}]}))
    predictions = write_results(tmp_path / "p.json", {1: "a"})
    assert score("-p", predictions, "-a", questions).stdout.splitlines() == [
        f"score · {predictions}",
        f"0 questions scored of 1 predicted and 1 annotated in {questions}",
        "no accuracy: the questions have no answers to compare with",
        "1 question (1) without any answer to compare with, not scored",
        "",
    ]


@pytest.mark.parametrize(
    ("words", "usage", "shown", "hidden"),
    [
        ([], "--predictions PATH", {"--predictions", "--annotations", "--metrics", "--task"}, {"--missing", "--data"}),
        (
            ["--task", "mmmu"],
            "--task mmmu --predictions PATH",
            {"--predictions", "--missing", "--data", "--split", "--choice_mode"},
            {"--annotations", "--circular", "--shuffle_choices", "--shots", "--shots_from", "--prompt_form"},
        ),
        (["--task", "mp-docvqa"], "--task mp-docvqa --predictions PATH", {"--pages"}, {"--dpi", "--max_pages"}),
    ],
)
def test_one_page_of_help_shows_the_options_for_annotations_or_those_for_a_benchmark(
    words: list[str], usage: str, shown: set[str], hidden: set[str], score: Score
) -> None:
    done = score(*words, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: vqa-client score {usage} [OPTIONS]\n\nScore answers from a file")
    assert (done.stdout.count("Usage:"), done.stdout.count("─ Data ─")) == (1, 1)
    options = set(re.findall(r"^│[* ]+(--\w+)", done.stdout, re.MULTILINE))
    assert (shown - options, hidden & options) == (set(), set())


def test_json_is_alone_on_standard_output_and_names_the_files(
    files: tuple[object, ...], tmp_path: Path, score: Score
) -> None:
    done = score(*files, "-o", tmp_path / "out", "--json", "--metrics", "normalised", "simple")
    found = json.loads(done.stdout)
    assert found["summary"]["overall"]["normalised"]["value"] == 1.0
    assert found["summary"]["per_answer_type"]["yes/no"]["simple"]["n"] == 1
    assert all(Path(path).exists() for path in found["files"])
    assert len(found["files"]) == 6


def test_failed_questions_of_a_run_count_as_wrong_and_give_exit_code_1(
    files: tuple[object, ...], tmp_path: Path, score: Score
) -> None:
    path = tmp_path / "m.records.jsonl"
    with RecordLog(path) as log:
        log.append(Record(question_id="1", status="ok", answer="yes"))
        log.append(Record(question_id="2", status="timeout"))
    done = score("-p", path, *files[2:])
    assert done.returncode == 1
    assert "1 question timeout, scored 0" in done.stdout
    assert "50.00" in done.stdout


def test_a_table_has_three_metrics_and_twelve_question_types(tmp_path: Path, score: Score) -> None:
    asked = [annotation(number, "yes", question_type=f"type {number:02}") for number in range(13)]
    annotations = write_annotations(tmp_path / "a.json", *asked)
    predictions = write_results(tmp_path / "m_results.json", dict.fromkeys(range(13), "yes"))
    metrics = ("normalised", "official", "simple", "contains")
    shown = score("-p", predictions, "-a", annotations, "--metrics", *metrics).stdout
    heads = [line.split() for line in shown.splitlines() if "by question type" in line]
    assert [head[4:-3] for head in heads] == [["normalised", "official", "simple"], ["contains"]]
    assert (shown.count(" type 11 "), shown.count(" type 12 ")) == (2, 0)
    assert "and 1 more question type: --json has all\n" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--metrics", "bleu"), "error: --metrics is 'bleu'"),
        (("--variant", "blur"), "error: "),
        (("-p", "missing.json"), "error: missing.json does not exist"),
    ],
)
def test_files_that_cannot_be_scored_are_one_line_and_exit_code_2(
    words: tuple[str, ...], message: str, files: tuple[object, ...], score: Score
) -> None:
    done = score(*(files[2:] if "-p" in words else files), *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
