import json
from pathlib import Path

import pytest

from tests.answers.sample import write_results
from vqa_client.answers.predictions import Predictions, note_file_faults, read_explained, read_predictions
from vqa_client.errors import DataError, UsageError
from vqa_client.records import RecordLog
from vqa_client.types import Record

ROWS = {"1": "yes", "2": "a red\u2028car", "3": 'it is, he said, "big"'}


def texts(found: Predictions) -> dict[str, str | None]:
    return {key: prediction.text for key, prediction in found.by_id.items()}


def written(folder: Path) -> dict[str, Path]:
    rows = [{"question_id": int(key), "answer": answer} for key, answer in ROWS.items()]
    quoted = "".join(f'{key},"{answer.replace(chr(34), chr(34) * 2)}"\r\n' for key, answer in ROWS.items())
    contents = {
        "a_results.json": json.dumps(rows, ensure_ascii=False),
        "a.jsonl": "\n\n".join(json.dumps(row, ensure_ascii=False) for row in rows),
        "bom.json": "\ufeff" + json.dumps(rows, ensure_ascii=False),
        "bom.jsonl": "\ufeff" + "\n".join(json.dumps(row, ensure_ascii=False) for row in rows),
        "a.csv": "question_id,answer\r\n" + quoted,
        "bom.csv": "\ufeffid,prediction\r\n" + quoted,
        "a.tsv": "image\tquestion_id\tanswer\n"
        + "".join(f'x\t{key}\t"{answer.replace(chr(34), chr(34) * 2)}"\n' for key, answer in ROWS.items()),
        "gqa.json": json.dumps([{"questionId": key, "prediction": answer} for key, answer in ROWS.items()]),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content.encode())
    return {name: folder / name for name in contents}


def test_every_form_has_the_same_predictions(tmp_path: Path) -> None:
    for path in written(tmp_path).values():
        assert texts(read_predictions(path)) == ROWS, path.name


def test_the_record_log_of_a_run_is_read_with_its_statuses(tmp_path: Path) -> None:
    path = tmp_path / "run.records.jsonl"
    with RecordLog(path) as log:
        log.append(Record(question_id="1", status="timeout"))
        log.append(Record(question_id="1", status="ok", output="Yes.", answer="Yes."))
        log.append(Record(question_id="2", status="unparsed", output="hm", cluster="image 7"))
        log.append(Record(question_id="3", status="bad_image"))
    with path.open("a") as file:
        file.write('{"question_id": "4", "sta')
    path.write_text("{\n" + path.read_text())  # a line that ended too soon may be the first one, too
    found = read_predictions(path)
    assert texts(found) == {"1": "Yes.", "2": None, "3": None}
    assert [prediction.status for prediction in found.by_id.values()] == ["ok", "unparsed", "bad_image"]
    assert (found.by_id["2"].cluster, found.unreadable, found.repeated) == ("image 7", 2, {"1": 2})


def test_one_of_several_variants_must_be_selected(tmp_path: Path) -> None:
    path = tmp_path / "run.records.jsonl"
    with RecordLog(path) as log:
        for variant in ("", "gaussian_noise/3"):
            log.append(Record(question_id="1", variant=variant, status="ok", answer=variant or "clean"))
    with pytest.raises(UsageError, match="contains several variants, among them '' and 'gaussian_noise/3'") as several:
        read_predictions(path)
    assert several.value.hint == "--variant NAME scores one of them"
    with pytest.raises(UsageError, match="contains no variant 'clean'") as none:
        read_predictions(path, "clean")
    assert none.value.hint == "it contains '', 'gaussian_noise/3'"
    assert texts(read_predictions(path, "")) == {"1": "clean"}
    assert texts(read_predictions(path, "gaussian_noise/3")) == {"1": "gaussian_noise/3"}
    with pytest.raises(UsageError, match="no variant 'blur'"):
        read_predictions(path, "blur")
    with RecordLog(path) as log:
        log.append(Record(question_id="1", folder="dpi_56", status="ok", answer="small"))
        log.append(Record(question_id="1", folder="dpi_56", variant="snow/1", status="ok", answer="white"))
    assert texts(read_predictions(path, "dpi_56")) == {"1": "small"}
    assert texts(read_predictions(path, "snow/1")) == {"1": "white"}


def test_the_last_of_several_answers_counts_and_ids_are_compared_as_text(tmp_path: Path) -> None:
    path = write_results(tmp_path / "r.json", [(1, "no"), ("1", "yes"), (2, "red"), (2, "red"), (3, "x")])
    found = read_predictions(path)
    assert texts(found) == {"1": "yes", "2": "red", "3": "x"}
    assert (found.repeated, found.differing) == ({"1": 2, "2": 2}, {"1"})
    assert found.id_kinds == {int, str}


def test_an_answer_that_is_not_text_is_counted_and_a_blank_one_has_its_status(tmp_path: Path) -> None:
    found = read_predictions(write_results(tmp_path / "r.json", {1: 2, 2: None, 3: " \n", 4: 2.5}))
    assert texts(found) == {"1": "2", "2": None, "3": " \n", "4": "2.5"}
    assert [prediction.status for prediction in found.by_id.values()] == ["ok", "empty", "empty", "ok"]
    assert list(note_file_faults(found)) == ["2 answers not written as text, taken as they stand"]


NEEDED = "each row needs an id (question_id, questionId, id) and an answer (answer, prediction, model_answer)"
FORMS = "a file is a JSON list, one JSON object per line, or CSV or TSV by its name, all in UTF-8"
QUOTED = 'quote an answer that contains the separator: 42,"yes, it is"'


@pytest.mark.parametrize(
    ("name", "content", "message", "hint"),
    [
        ("r.json", "", "r.json is empty", FORMS),
        ("r.json", "[]", "r.json contains no prediction", NEEDED),
        ("r.json", '[{"question_id": 1, "answer": "a"}, {"question_id": 2}]', "r.json, item 2 has no answer", NEEDED),
        ("r.json", '[{"answer": "a"}]', "r.json, item 1 has no id", NEEDED),
        (
            "r.json",
            '[{"question_id": [1], "answer": "a"}]',
            r"Expected `int | str`, got `array` - at `\$\[0\]\.question_id`; it begins with '.*'",
            "",
        ),
        ("r.json", "yes", "it begins with 'yes'", FORMS),
        ("r.json", "\0\1" * 5, "it begins with the bytes 00 01 00 01 00 01 00 01, which are not text", FORMS),
        ("r.json", '{\n"question_id": 1,\n', "r.json: the JSON breaks off", NEEDED),
        (
            "r.jsonl",
            '{"question_id": 1, "answer": "a"}\n{"quest',
            "r.jsonl, line 2: the JSON breaks off; it begins with '{\"quest'",
            FORMS,
        ),
        ("r.csv", "question,reply\n1,a\n", "r.csv has the columns question, reply", NEEDED),
        ("r.csv", "question_id,answer\n1,yes, it is\n", "r.csv, row 1 has more cells than columns", QUOTED),
        ("r.csv", "question_id,answer\n,yes\n", "r.csv, row 1 has no id", NEEDED),
        ("r.csv", "question_id,answer\n", "r.csv contains no prediction", NEEDED),
        (
            "r.csv",
            "question_id,answer\n1,\udce9\n",
            "r.csv as CSV in UTF-8: 'utf-8' codec can't decode byte 0xe9.*",
            "",
        ),
    ],
)
def test_a_malformed_file_is_refused_with_the_reason(
    name: str, content: str, message: str, hint: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, "utf-8", "surrogateescape")
    with pytest.raises(DataError, match=f"{message}$") as caught:
        read_predictions(tmp_path / name)
    assert caught.value.hint == hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for name in ("missing.json", "missing.csv"):
        with pytest.raises(DataError, match=name):
            read_predictions(tmp_path / name)


def test_a_vqa2_report_is_scored_model_by_model(tmp_path: Path) -> None:
    rows = [{"question_id": 1, "model_answer": "red", "is_correct": True, "answers": ["red"], "status": "ok"}]
    lost = [{"question_id": 1, "model_answer": None, "status": "timeout"}]
    path = tmp_path / "vqa2_results_coco_20250801_194855.json"
    content = {"a": {"question_results": rows}, "b": {"question_results": lost}, "c": {"error": "gone"}}
    path.write_text(json.dumps({"experiment_metadata": {}, "results": content}, indent=2))
    assert texts(read_predictions(path, "a")) == {"1": "red"}
    assert read_predictions(path, "b").by_id["1"].status == "timeout"
    with pytest.raises(UsageError, match="'a' and 'b'"):
        read_predictions(path)
    content["b"] = {"question_results": [*lost, {"question_id": 2}]}
    path.write_text(json.dumps({"results": content}))
    with pytest.raises(DataError, match=f"{path.name}, b, item 2 has no answer$"):
        read_predictions(path, "b")
    path.write_text(json.dumps({"results": {"a": {"question_results": rows}}}))
    assert texts(read_predictions(path)) == {"1": "red"}


def test_the_statuses_of_a_table_of_explanations_are_kept(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("id,answer,rationale,status\n1,a,b,timeout\n2,a,b,ok\n3,a,b,odd\n4,a,b,refused\n")
    found = read_explained(tmp_path / "e.csv", lambda cells: "", None).by_id
    assert [prediction.status for prediction in found.values()] == ["timeout", "ok", "ok", "refused"]


def test_a_csv_file_may_have_semicolons(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("question_id;answer\n1;yes, it is\n2\n")
    assert texts(read_predictions(tmp_path / "r.csv")) == {"1": "yes, it is", "2": ""}  # a cell is missing
