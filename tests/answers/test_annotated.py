import json
from pathlib import Path
from typing import Any

import pytest

from tests.answers.sample import annotation, ten_answers, write_annotations, write_results
from vqa_client.answers.annotated import METRICS as TABLE
from vqa_client.answers.annotated import ScoreReport, score_files
from vqa_client.answers.predictions import stem_of
from vqa_client.errors import DataError, UsageError
from vqa_client.records import RecordLog
from vqa_client.settings.score import METRICS, ScoreSettings
from vqa_client.types import Record


def scored(folder: Path, answers: Any, *annotations: dict[str, Any], **options: Any) -> ScoreReport:
    return score_files(
        ScoreSettings(
            predictions=write_results(folder / "model_results.json", answers),
            annotations=write_annotations(folder / "annotations.json", *annotations),
            **options,
        )
    )


def percent(report: ScoreReport, metric: str = "normalised") -> float:
    value = report.summary.overall[metric].value
    assert value is not None
    return round(100 * value, 2)


def said(report: ScoreReport, words: str) -> bool:
    return any(words in note for note in report.notes)


def test_whole_files_need_no_note(tmp_path: Path) -> None:
    report = scored(tmp_path, {1: "yes"}, annotation(1, "yes", "no"), metrics=("normalised", "official"))
    assert (report.notes, report.counts["n_scored"], percent(report)) == ([], 1, 100.0)


def test_questions_of_one_file_alone_are_counted_named_and_not_scored(tmp_path: Path) -> None:
    answers = dict.fromkeys(range(1, 8), "yes")
    report = scored(tmp_path, answers, *(annotation(n, "yes") for n in range(5, 11)))
    counts = report.counts
    assert (counts["n_questions"], counts["n_predictions"], counts["n_annotations"], counts["n_scored"]) == (
        10,
        7,
        6,
        3,
    )
    assert (counts["n_without_annotation"], counts["n_without_prediction"]) == (4, 3)
    assert said(report, "4 predictions (1, 2, 3, ...) without annotation, not scored")
    assert said(report, "3 annotated questions (8, 9, 10) without a prediction, not scored")
    assert percent(report) == 100.0
    assert report.summary.if_missing_were_wrong["normalised"] == 0.5


def test_files_without_a_common_question_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the first ids are '1' and '2'"):
        scored(tmp_path, {1: "yes"}, annotation(2, "yes"))


def test_several_rows_of_a_question_are_counted_and_the_last_one_counts(tmp_path: Path) -> None:
    report = scored(tmp_path, [(1, "no"), (1, "yes")], annotation(1, "no"), annotation(1, "yes"))
    assert (percent(report), report.counts["n_predictions"]) == (100.0, 1)
    assert said(report, "1 question (1) with several predictions (1 of them differ): the last one counts")
    assert said(report, "1 question (1) with several annotations: the last one counts")


def test_ids_as_numbers_and_as_text_are_one_question(tmp_path: Path) -> None:
    report = scored(tmp_path, {"1": "yes", "2": "yes"}, annotation(1, "yes"), annotation(2, "yes"))
    assert (report.counts["n_scored"], said(report, '42 and "42" are taken for one question')) == (2, True)


def test_empty_and_failed_answers_are_0_by_every_metric(tmp_path: Path) -> None:
    report = scored(tmp_path, {1: "", 2: None, 3: "\n"}, *(annotation(n, "yes") for n in (1, 2, 3)), metrics=METRICS)
    assert {percent(report, metric) for metric in METRICS} == {0.0}
    assert said(report, "3 answers empty, right only where annotators left theirs blank")


def test_the_gap_and_its_causes_are_reported(tmp_path: Path) -> None:
    report = scored(
        tmp_path,
        {1: "Yes.", 2: "yes", 3: "Red.", 4: "blue"},
        annotation(1, "yes"),
        annotation(2, "yes"),
        annotation(3, "red", "blue"),
        annotation(4, "red", "blue"),
    )
    gap = report.summary.gap
    assert gap is not None
    assert (percent(report, "normalised"), percent(report, "official")) == (100.0, 75.0)
    assert (gap.value, gap.by_unanimous, gap.unanimous, gap.unanimous_share, gap.differing) == (0.25, 0.25, 2, 0.5, 1)


def test_questions_without_ten_answers_have_a_note(tmp_path: Path) -> None:
    rows = [
        annotation(n, answers=[{"answer": text, "answer_id": i} for i, text in enumerate(answers)])
        for n, answers in enumerate((["x"], ["x"] * 2, ["x"] * 2, ["x"] * 4, ["x"] * 10, ["x"] * 12), start=1)
    ]
    report = scored(tmp_path, dict.fromkeys(range(1, 7), "x"), *rows)
    assert report.counts["answers_per_question"] == {1: 1, 2: 2, 4: 1, 10: 1, 12: 1}
    assert percent(report) == round(100 * (0 + 1 / 3 + 1 / 3 + 1 + 1 + 1) / 6, 2)
    assert said(report, "1 question with a single answer: VQA accuracy is 0 whatever the prediction")
    assert said(report, "2 questions with two or three answers, where VQA accuracy can't reach 100 %")
    assert said(report, "4 questions with fewer than ten answers, 1 with more")


def test_answers_without_ids_have_a_note(tmp_path: Path) -> None:
    nameless = [{"answer": "red", "answer_confidence": "yes"}] * 10
    report = scored(tmp_path, {1: "red"}, annotation(1, answers=nameless))
    assert (percent(report, "normalised"), percent(report, "official")) == (100.0, 0.0)
    assert said(report, "1 question with answers without answer_id")


def test_questions_without_answers_have_no_accuracy_but_a_result_file(tmp_path: Path) -> None:
    questions = {"data_subtype": "test2015", "questions": [{"question_id": 1, "image_id": 1, "question": "?"}]}
    (tmp_path / "q.json").write_text(json.dumps(questions))
    predictions = write_results(tmp_path / "model_results.json", {1: " a dog\n"})
    report = score_files(
        ScoreSettings(predictions=predictions, annotations=tmp_path / "q.json", output=tmp_path / "out")
    )
    assert report.summary.overall["normalised"].value is None
    assert (report.counts["n_without_answers"], report.counts["n_scored"]) == (1, 0)
    assert said(report, "1 question (1) without any answer to compare with, not scored")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["model_leaderboard.json", "model_score.json"]
    assert json.loads((tmp_path / "out/model_leaderboard.json").read_text()) == [{"question_id": 1, "answer": "dog"}]


def test_annotations_without_any_answer_are_refused_before_a_file_is_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no answers, so 1 prediction can't be scored") as caught:
        scored(tmp_path, {1: "a dog"}, {"question_id": 1, "answers": []}, output=tmp_path / "out")
    wanted = 'annotations have "answers": [{"answer", "answer_id"}]; for a test split give its question file'
    assert caught.value.hint == wanted
    assert not (tmp_path / "out").exists()


def test_predictions_are_no_annotations_and_neither_are_questions_of_a_published_split(tmp_path: Path) -> None:
    predictions = write_results(tmp_path / "p.json", {1: "a dog"})
    questions = tmp_path / "q.json"
    questions.write_text(json.dumps({"data_subtype": "val2014", "questions": [{"question_id": 1}]}))
    (tmp_path / "rows.json").write_text(json.dumps([{"question_id": 1, "answer": "a dog"}]))
    for annotations in (predictions, questions, tmp_path / "rows.json"):
        with pytest.raises(DataError, match="has no answers, so 1 prediction"):
            score_files(ScoreSettings(predictions=predictions, annotations=annotations))


def logged(folder: Path, **fields: Any) -> Path:
    path = folder / "run.records.jsonl"
    with RecordLog(path) as log:
        log.append(Record(question_id="1", status="ok", answer="yes", **fields))
    return path


def test_ids_as_text_in_our_own_log_need_no_note(tmp_path: Path) -> None:
    annotations = write_annotations(tmp_path / "a.json", annotation(1, "yes", "no"))
    settings = ScoreSettings(predictions=logged(tmp_path), annotations=annotations, metrics=("normalised",))
    assert score_files(settings).notes == []


def test_the_official_evaluator_gets_the_whole_reply_of_a_record(tmp_path: Path) -> None:
    predictions = logged(tmp_path, output="<think>no?</think><answer>yes</answer>", rule="whole_reply")
    annotations = write_annotations(tmp_path / "a.json", annotation(1, "yes", "no"))
    report = score_files(
        ScoreSettings(predictions=predictions, annotations=annotations, metrics=("normalised", "official"))
    )
    assert (percent(report), percent(report, "official")) == (percent(report, "normalised"), 0.0)
    assert percent(report) > 0


def test_explanations_are_for_another_command(tmp_path: Path) -> None:
    predictions = logged(tmp_path, rationale="it is bright")
    known, strange = (write_annotations(tmp_path / f"{n}.json", annotation(n, "yes")) for n in (1, 2))
    wanted = f"use `vqa-client score-explanations -p {predictions}`"
    assert said(score_files(ScoreSettings(predictions=predictions, annotations=known)), wanted)
    with pytest.raises(DataError) as caught:
        score_files(ScoreSettings(predictions=predictions, annotations=strange))
    assert wanted in caught.value.hint


def test_a_table_of_explanations_is_for_another_command(tmp_path: Path) -> None:
    table = tmp_path / "vqax_val_eval.csv"
    table.write_text("image_id,question,generated_answer,generated_explanation\n1,?,yes,it is bright\n")
    with pytest.raises(DataError, match="has the columns") as caught:
        score_files(ScoreSettings(predictions=table, annotations=table))
    assert f"use `vqa-client score-explanations -p {table}`" in caught.value.hint


BLANKS = [
    (" ", ["one wont", "one wont", "one wont", "one wont", "one wont", " ", " ", "x", "x", "x"], 60.0),
    ("", ["", "x", "y", "z", "", "u", "", "v", "w", ""], 100.0),
    ("\n\t", ["", "x", "x", "x", "x", "x", "x", "x", "x", "x"], 30.0),
    (" ", ["", " "], 100.0),
    (" ", ["yes"], 0.0),
    ("x", ["", " "], 0.0),
    ("x", ["x", ""], 100.0),
    (None, ["", " "], 0.0),
]


@pytest.mark.parametrize(("prediction", "answers", "accuracy"), BLANKS)
@pytest.mark.parametrize("mode", ["normalised", "official"])
def test_a_blank_is_compared_as_the_evaluator_does(
    tmp_path: Path, prediction: str | None, answers: list[str], accuracy: float, mode: str
) -> None:
    report = scored(tmp_path, {1: prediction}, annotation(1, answers=ten_answers(*answers)), metrics=(mode,))
    assert (report.counts["n_scored"], report.counts["n_without_answers"]) == (1, 0)
    assert percent(report, mode) == accuracy
    assert said(report, "1 question with some blank answers") == any(not text.strip() for text in answers)


def test_sentences_have_a_note_and_score_by_containment(tmp_path: Path) -> None:
    report = scored(tmp_path, {1: "The label reads north harbor today."}, annotation(1, "north harbor", "x"))
    assert (percent(report, "official"), percent(report, "contains")) == (0.0, 100.0)
    assert said(report, "1 prediction of more than 5 words")
    assert said(report, "contains: an annotator's answer is in the prediction")


def test_the_non_standard_metrics_have_a_note(tmp_path: Path) -> None:
    report = scored(tmp_path, {1: "yes"}, annotation(1, "yes"), metrics=("enhanced", "simple-words"))
    assert said(report, "enhanced: a non-standard ladder")
    assert (percent(report, "enhanced"), percent(report, "simple-words"), report.summary.gap) == (100.0, 100.0, None)


def test_intervals_are_clustered_by_image(tmp_path: Path) -> None:
    answers = {n: "yes" if n < 4000 else "no" for n in (1000, 1001, 2000, 2001, 4000, 4001)}
    mean = scored(tmp_path, answers, *(annotation(n, "yes") for n in answers)).summary.overall["normalised"]
    assert mean.interval is not None
    assert (mean.n, mean.interval.clusters) == (6, 3)


def test_the_official_files_have_the_evaluators_form(tmp_path: Path) -> None:
    report = scored(
        tmp_path,
        {2: "Yes.", 1: "3"},
        annotation(1, "3", "4", "5", "6", "7", "8", answer_type="number", question_type="how many"),
        annotation(2, "yes"),
        output=tmp_path / "out",
    )
    files = {Path(path).name: json.loads(Path(path).read_text()) for path in report.files}
    assert files["model_accuracy.json"] == {
        "overall": 30.0,
        "perQuestionType": {"is the": 0.0, "how many": 60.0},
        "perAnswerType": {"yes/no": 0.0, "number": 60.0},
    }
    assert files["model_evalQA.json"] == {"2": 0.0, "1": 60.0}
    assert files["model_evalQuesType.json"] == {"is the": {"2": 0.0}, "how many": {"1": 60.0}}
    assert files["model_evalAnsType.json"] == {"yes/no": {"2": 0.0}, "number": {"1": 60.0}}
    assert files["model_normalised_accuracy.json"]["overall"] == 80.0
    assert files["model_leaderboard.json"] == [
        {"question_id": 2, "answer": "yes"},
        {"question_id": 1, "answer": "3"},
    ]
    assert files["model_score.json"]["counts"]["n_scored"] == 2


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("v2_results.json", "v2"),
        ("v2.json", "v2"),
        ("run.records.jsonl", "run"),
        ("a.b.csv", "a.b"),
        ("x.JSONL", "x"),
        ("plain", "plain"),
    ],
)
def test_the_files_are_named_after_the_predictions(name: str, stem: str) -> None:
    assert stem_of(f"folder.json/{name}") == stem


def test_the_settings_know_every_metric_of_the_table() -> None:
    assert set(METRICS) == set(TABLE)
    with pytest.raises(UsageError, match="--metrics is 'bleu'; it must be any of normalised"):
        ScoreSettings(predictions=Path("p"), annotations=Path("a"), metrics=("raw", "bleu"))


def test_the_text_of_every_note_on_answers_and_metrics(tmp_path: Path) -> None:
    rows = [
        annotation(1, answers=[{"answer": "yes"}, {"answer": " "}]),
        annotation("2", answers=ten_answers("a") + ten_answers("b")),
        annotation(3, answers=[{"answer": "x", "answer_id": 1}]),
        annotation(3, answers=[{"answer": "x", "answer_id": 1}]),
    ]
    report = scored(tmp_path, {1: "yes", 2: "a b c d e f", 3: "x"}, *rows, metrics=("contains", "simple", "enhanced"))
    numbers = {"questions": 3, "predictions": 3, "annotations": 3, "scored": 3, "without_annotation": 0}
    numbers |= dict.fromkeys(("without_prediction", "without_answers", "without_image", "failed"), 0)
    numbers |= {"repeated_predictions": 0, "repeated_annotations": 1, "without_answer_id": 1}
    assert report.counts == {
        **{f"n_{name}": number for name, number in numbers.items()},
        **{"answers_per_question": {1: 1, 2: 1, 20: 1}, "status_counts": {"ok": 3}},
    }
    ladder = "a non-standard ladder of partial credit, for comparison with published numbers only"
    assert report.notes == [
        "1 question (3) with several annotations: the last one counts",
        'ids are numbers in one place and text in another: 42 and "42" are taken for one question',
        "1 question with a single answer: VQA accuracy is 0 whatever the prediction",
        "1 question with two or three answers, where VQA accuracy can't reach 100 %",
        "2 questions with fewer than ten answers, 1 with more",
        "1 question with answers without answer_id: by the official modes equal answers then leave each other out, "
        "and ten equal ones score 0, as in VQA's own evaluator",
        "1 question with some blank answers, which count as answers",
        "1 prediction of more than 5 words, where VQA accuracy wants a short answer",
        "contains: an annotator's answer is in the prediction as whole words; a diagnostic, not an accuracy",
        "simple: the gold answer is a part of the prediction, inside words too",
        f"enhanced: {ladder}",
    ]
