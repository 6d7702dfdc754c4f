"""Every form of predictions against every form of references."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.answers.explained_sample import (
    REFERENCES,
    SAID,
    data_root,
    full,
    score,
    write_annotations,
    write_captions,
    write_csv,
    write_log,
    write_published,
)
from tests.tasks.explain.samples import actx, esnlive, put, vcr_evil, vcr_nlx
from vqa_client.answers.explained import ExplanationReport
from vqa_client.errors import DataError, UsageError
from vqa_client.types import Record


def means(report: ExplanationReport) -> dict[str, float | None]:
    return {name: accuracy.mean.value for name, accuracy in report.accuracies.items()}


def rouge(report: ExplanationReport) -> list[float | None]:
    """In the order of the ids."""
    return [*report.explanations.scores.unfiltered.metrics["ROUGE_L"].each]


def ours(path: Path) -> Path:
    rows = [(key, answer, "ok", answer, explanation, "1") for key, (answer, explanation) in SAID.items()]
    columns = ("sample_id", "answer", "status", "generated_answer", "generated_explanation", "correct")
    return write_csv(path, columns, rows)


def several(path: Path) -> Path:
    """A table with several columns for the same field; only one of them counts."""
    rows = [("0", key, "blue", answer, "none", "it glows", explanation) for key, (answer, explanation) in SAID.items()]
    columns = ("id", "question_id", "generated_label", "generated_answer", "rationale", "explanation")
    return write_csv(path, (*columns, "generated_explanation"), rows)


FORMS: dict[str, Callable[[Path], Path]] = {
    "vqax_val_eval.records.jsonl": lambda path: write_log(path, SAID),
    "vqax_val_eval.csv": ours,
    "vqax_val_eval-several.csv": several,
    "vqax_val_eval-published.csv": lambda path: write_published(path, SAID),
    "vqax_val_eval_pred_full.json": lambda path: write_captions(path, full(SAID)),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_predictions_has_the_same_scores_against_the_file_in_its_name(name: str, tmp_path: Path) -> None:
    report = score(FORMS[name](tmp_path / name), data_root=data_root(tmp_path))
    assert means(report) == {"accuracy": 0.5, "soft_vqa": pytest.approx((0.9 + 1 + 0 + 1) / 4), "any_of_ten": 0.75}
    assert rouge(report)[1] == rouge(report)[3] == 1.0
    scores, evil = report.explanations.scores, report.explanations.evil
    assert scores.filtered is not None
    assert scores.half_right is not None
    assert (scores.unfiltered.n, scores.filtered.n, scores.half_right.n) == (4, 2, 3)
    assert evil.s_t.value == pytest.approx(2.9 / 4)
    assert evil.n_right == 3
    assert (report.task, report.counts["n_scored"], report.counts["n_without_prediction"]) == ("vqax", 4, 0)


def test_explanations_alone_have_no_accuracy_and_one_scope(tmp_path: Path) -> None:
    predictions = write_captions(tmp_path / "vqax_val_eval_exp.json", {key: text for key, (_, text) in SAID.items()})
    report = score(predictions, data_root=data_root(tmp_path))
    assert report.accuracies == {}
    assert report.explanations.scores.filtered is None
    assert report.explanations.evil.s_e.value is None
    assert rouge(report)[3] == 1.0
    assert any("has no answers: accuracy" in note for note in report.notes)


@pytest.mark.parametrize("by_id", [True, False])
def test_caption_annotations_are_references_too(by_id: bool, tmp_path: Path) -> None:
    texts = {key: record["explanation"] for key, record in REFERENCES.items()}
    references = write_annotations(tmp_path / "annot_exp.json", texts)
    if by_id:
        references.write_text(json.dumps(texts))
    whole = write_annotations(
        tmp_path / "annot_full.json", {key: [f"yes because {each}" for each in held] for key, held in texts.items()}
    )
    said = write_captions(tmp_path / "pred_full.json", full(SAID))
    alone, answered = score(said, references=references), score(said, references=whole)
    nle = score(said, references=data_root(tmp_path) / "nle_data/VQA-X/vqaX_val.json")
    assert rouge(alone) == rouge(answered) == rouge(nle)
    assert alone.notes == [
        f'{said}: the captions are taken for "answer because explanation"',
        f"{references}: the captions are taken for explanations without answers",
        f"{references} has no answers: accuracy and the scores of right answers alone are left out",
    ]
    assert (means(alone), means(answered)) == ({}, {"accuracy": 0.25})


@pytest.mark.parametrize(
    ("name", "caption", "option", "answered"),
    [
        ("m_full.json", "it is warm here and nobody wears a coat", None, True),
        ("m_exp.json", "yes because it steams", None, False),
        ("m.json", "yes because it steams", None, True),
        ("m.json", "it steams", None, False),
        ("m.json", "the man in the picture is very wet all over because it rains", None, False),
        ("m_exp.json", "yes because it steams", "full", True),
        ("m_full.json", "yes because it steams", "exp", False),
    ],
)
def test_an_option_the_name_or_the_captions_decide_whether_captions_have_answers(
    name: str, caption: str, option: Any, answered: bool, tmp_path: Path
) -> None:
    predictions = write_captions(tmp_path / name, {"12": caption})
    root = data_root(tmp_path)
    report = score(predictions, task="vqax", split="val", data_root=root, captions=option)
    assert bool(report.accuracies) == answered
    assert any("the captions are taken for" in note for note in report.notes)


def test_missing_and_repeated_rows_of_either_file_are_counted_and_noted(tmp_path: Path) -> None:
    said = {key: SAID[key] for key in ("11", "12")} | {"99": ("x", "y")}
    again = Record(question_id="12", status="ok", answer="no", rationale="it is cold")
    path = write_log(tmp_path / "vqax_val_eval.records.jsonl", said, again)
    broken = REFERENCES | {"15": REFERENCES["11"] | {"answers": []}}
    report = score(path, data_root=put(tmp_path, "vqax", "val", broken))
    counts = report.counts
    assert (counts["n_predictions"], counts["n_references"], counts["n_scored"]) == (4, 4, 2)
    assert (counts["n_without_reference"], counts["n_without_prediction"], counts["n_repeated_predictions"]) == (
        1,
        2,
        1,
    )
    assert counts["n_unusable_references"] == 1
    assert report.notes == [
        "1 prediction (99) without reference, not scored",
        "2 questions (13, 14) without a prediction, not scored",
        "1 reference (15) left out: no answer",
        "1 question (12) with several predictions (1 of them differ): the last one counts",
    ]
    assert means(report)["accuracy"] == 0.0
    assert report.accuracies["soft_vqa"].if_missing_were_wrong == pytest.approx(0.9 / 4)


def test_failed_questions_are_wrong_and_without_explanation(tmp_path: Path) -> None:
    failed = Record(question_id="12", status="timeout")
    refused = Record(question_id="13", status="refused", rationale="I can't")
    path = write_log(tmp_path / "vqax_val_eval.records.jsonl", {"14": SAID["14"]}, failed, refused)
    with path.open("a") as file:
        file.write('{"question_id": "11", "sta')
    report = score(path, data_root=data_root(tmp_path))
    assert (report.counts["n_failed"], report.counts["status_counts"]) == (1, {"timeout": 1, "refused": 1, "ok": 1})
    assert means(report)["accuracy"] == pytest.approx(1 / 3)
    assert report.explanations.scores.unfiltered.n_empty == 1
    assert "1 question timeout, counted as wrong" in report.notes
    assert "1 question without a predicted explanation, scored as an empty one" in report.notes
    assert any("can't be read: was the run killed?" in note for note in report.notes)


def test_a_failed_question_counts_by_the_metrics_that_it_has(tmp_path: Path) -> None:
    few = REFERENCES | {"15": REFERENCES["11"] | {"answers": REFERENCES["11"]["answers"][:2]}}
    failed = [Record(question_id=key, status="timeout") for key in ("12", "15")]
    path = write_log(tmp_path / "vqax_val_eval.records.jsonl", {}, *failed)
    report = score(path, data_root=put(tmp_path, "vqax", "val", few))
    assert {name: accuracy.mean.n for name, accuracy in report.accuracies.items()} == {
        "accuracy": 2,
        "soft_vqa": 1,
        "any_of_ten": 2,
    }
    assert set(means(report).values()) == {0.0}


def test_equal_rows_of_the_published_table_belong_to_their_questions_in_order(tmp_path: Path) -> None:
    records = {str(n): esnlive(("neutral", "entailment")[n], explanation=f"word{n}") for n in range(2)}
    put(tmp_path, "esnlive", "test", records)
    columns = ("image_name", "image_numeric_id", "hypothesis", "gt_label", "generated_label", "generated_explanation")
    rows = [("3416050.jpg", "3416050", records["0"]["hypothesis"], "", "neutral", f"word{n}") for n in range(2)]
    report = score(write_csv(tmp_path / "esnlive_test_eval.csv", columns, rows), data_root=tmp_path)
    assert means(report) == {"accuracy": 0.5}
    assert set(rouge(report)) == {1.0}
    assert report.counts["n_repeated_predictions"] == 0


def test_the_published_tables_of_the_other_benchmarks_find_their_questions(tmp_path: Path) -> None:
    put(tmp_path, "actx", "test", {"1": actx(), "2": actx("rowing", number="000000009")})
    put(tmp_path, "vcr", "val", {"1": vcr_nlx()})
    actions = write_csv(
        tmp_path / "actx_val_eval.csv",
        ("image_id", "gt_label", "generated_label", "gt_explanation", "generated_explanation", "correct"),
        [("15601864", "", "playing guitar", "", "he holds a guitar", ""), ("9", "", "rowing", "", "oars", "")],
    )
    still = write_csv(
        tmp_path / "vcr_val_eval.csv",
        ("image_name", "question", "gt_answer", "generated_answer", "gt_explanation", "generated_explanation"),
        [("lsmdc_1/x@0.jpg", vcr_nlx()["question"], "", "He shows person2, who asked for the soup.", "", "a bowl")],
    )
    report = score(actions, data_root=tmp_path)
    assert means(report) == {"accuracy": 1.0}
    assert report.notes[0] == "ACT-X has no val split; test is used"
    assert means(score(still, data_root=tmp_path)) == {"accuracy": 1.0}


def test_letters_are_compared_as_the_mode_in_the_name_says(tmp_path: Path) -> None:
    put(tmp_path, "vcr", "val", [vcr_evil()], file="VCR/vcr_dev_split.json")
    said = {"val-3": ("B", "<det2> carries a bowl")}
    report = score(write_log(tmp_path / "vcr_val_eval-q2a.records.jsonl", said), data_root=tmp_path)
    assert means(report) == {"accuracy": 1.0}
    words = {"val-3": ("He shows <det2> who asked.", "a bowl")}
    log = write_log(tmp_path / "m.records.jsonl", words)
    assert means(score(log, task="vcr", split="val", vcr_mode="q2a", data_root=tmp_path)) == {"accuracy": 1.0}


def test_the_published_scripts_placeholders_are_empty(tmp_path: Path) -> None:
    said = SAID | {"12": ("unknown", "explanation missing"), "14": ("red", "no further details")}
    report = score(write_published(tmp_path / "vqax_val_eval.csv", said), data_root=data_root(tmp_path))
    assert report.explanations.scores.unfiltered.n_empty == 2
    assert means(report)["accuracy"] == 0.25


def test_files_are_written_on_request_and_score_the_same_when_read_again(tmp_path: Path) -> None:
    path = write_log(tmp_path / "vqax_val_eval.records.jsonl", SAID)
    report = score(path, data_root=data_root(tmp_path), output=tmp_path / "out", coco_captions=True)
    out = tmp_path / "out/vqax_val_eval"
    assert [Path(file).name for file in report.files] == [
        *("vqax_val_eval_annot_exp.json", "vqax_val_eval_pred_exp.json"),
        *("vqax_val_eval_annot_full.json", "vqax_val_eval_pred_full.json", "vqax_val_eval_explanation_scores.json"),
    ]
    again = score(Path(f"{out}_pred_full.json"), references=Path(f"{out}_annot_full.json"))
    assert (rouge(again), means(again)["accuracy"]) == (rouge(report), means(report)["accuracy"])
    written = json.loads(Path(f"{out}_explanation_scores.json").read_bytes())
    assert written["explanations"]["half_right"]["n"] == 3
    assert "each" not in json.dumps(written)


def test_without_answers_only_explanations_are_exported(tmp_path: Path) -> None:
    predictions = write_captions(tmp_path / "m_exp.json", {"12": "it steams"})
    references = write_annotations(tmp_path / "annot_exp.json", {"12": ["it steams"]})
    report = score(predictions, references=references, output=tmp_path / "out", coco_captions=True)
    assert [Path(file).name for file in report.files[:-1]] == ["m_exp_annot_exp.json", "m_exp_pred_exp.json"]


NEEDED = (
    "each row needs an id (sample_id, question_id, image_id) or the published table's columns, and an explanation "
    "(rationale, explanation, generated_explanation) or a caption"
)
TABLE = "image_name,question,answer,rationale\nx.jpg,how,a,b\n"
NOTHING = "nothing says what {root}/m.json is compared with"
WAY_OUT = "give --task and --split with --data, or a file with --references"
ITS_FILE = "{root}/nle_data/VQA-X/vqaX_val.json"
SAME = "are they of the same split?"
ROWS = "a file is a JSON list, one JSON object per line, or CSV or TSV by its name, all in UTF-8"
FOLDERS = "--data is a folder with images/ and nle_data/, with nle_data/VQA-X/vqaX_val.json and the like"
OF_VAL = {"task": "vqax", "split": "val"}


@pytest.mark.parametrize(
    ("name", "content", "settings", "message", "hint"),
    [
        ("vqax_val_eval.csv", "a,b\n1,2\n", {}, "{path}, row 1: the columns are a, b", NEEDED),
        (
            "vqax_val_eval.csv",
            "sample_id,answer\n1,2\n",
            {},
            "{path}, row 1: the columns are sample_id, answer",
            NEEDED,
        ),
        ("vqax_val_eval.csv", "image_id,answer,explanation\n,a,b\n", {}, "{path}, row 1 has no id", NEEDED),
        ("vqax_val_eval.csv", "", {}, "{path} contains no prediction", NEEDED),
        ("m.json", '[{"image_id": 12, "caption": "x"}]', {}, NOTHING, WAY_OUT),
        ("m.json", '[{"image_id": 12, "caption": "x"}]', {"task": "vqax"}, NOTHING, WAY_OUT),
        ("m.json", '[{"image_id": 12}]', {}, "{path}, item 1 has no explanation", NEEDED),
        ("m.json", '[{"caption": "x"}]', {}, "{path}, item 1 has no id", NEEDED),
        ("m.json", '[{"image_id": null, "caption": "x"}]', {}, "{path}, item 1 has no id", NEEDED),
        ("m.json", '[{"image_id": "", "caption": "x"}]', {}, "{path}, item 1 has no id", NEEDED),
        (
            *("m.json", '[{"image_id": 1, "caption": "x"}]', OF_VAL),
            *(f"no question of {{path}} is in {ITS_FILE}: the first ids are '1' and '11'", SAME),
        ),
        ("m.json", "", {}, "{path} is empty", ROWS),
        (
            *("vcr_val_eval.csv", TABLE, OF_VAL),
            *(f"no question of {{path}} is in {ITS_FILE}: the first ids are 'x.jpg / how' and '11'", SAME),
        ),
        (
            *("vqax_val_eval.csv", "sample_id,answer,rationale\n12,2,3\n", {"vcr_mode": "q2a"}),
            *("--vcr_mode q2a is for --task vcr, not vqax", "leave it out"),
        ),
        (
            *("actx_train_eval.csv", "sample_id,answer,rationale\n12,2,3\n", {}),
            *("ACT-X: {root}/nle_data/ACT-X/actX_train.json does not exist", FOLDERS),
        ),
    ],
)
def test_what_cannot_be_scored_is_named(
    name: str, content: str, settings: dict[str, Any], message: str, hint: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises((DataError, UsageError)) as caught:
        score(tmp_path / name, data_root=data_root(tmp_path), **settings)
    assert str(caught.value) == message.format(path=tmp_path / name, root=tmp_path)
    assert caught.value.hint == hint


CAPTIONS = "annotations of explanations have image_id and caption; an NLE file has explanation"
RECORDS = "an NLE file is a JSON object of records by id, or a list of them; a .jsonl file has one per line"


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ('{"annotations": [{"image_id": 12, "answers": []}]}', ": an annotation of 12 has no caption", CAPTIONS),
        ('{"annotations": []}', " contains no caption", CAPTIONS),
        ("{", ": the JSON breaks off", RECORDS),
    ],
)
def test_malformed_references_are_named(content: str, message: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "references.json").write_text(content)
    predictions = write_captions(tmp_path / "m_full.json", {"12": "yes because it steams"})
    with pytest.raises(DataError) as caught:
        score(predictions, references=tmp_path / "references.json", task="vqax")
    assert (str(caught.value), caught.value.hint) == (f"{tmp_path / 'references.json'}{message}", hint)


def test_records_without_a_task_are_refused(tmp_path: Path) -> None:
    (tmp_path / "references.json").write_text(json.dumps(REFERENCES))
    predictions = write_captions(tmp_path / "m_full.json", {"12": "yes because it steams"})
    with pytest.raises(UsageError, match=r"the benchmark of .*references\.json is unknown$") as caught:
        score(predictions, references=tmp_path / "references.json")
    assert caught.value.hint == "give --task: vqax, actx, esnlive or vcr"


def test_captions_without_a_folder_for_them_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--coco_captions"):
        score(tmp_path / "m.json", coco_captions=True)
