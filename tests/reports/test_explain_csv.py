import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.reports.explained_records import asked, lost, replied
from vqa_client.errors import OutputError
from vqa_client.tasks.explain.report import csv_path, write_table
from vqa_client.types import Question, Record

PUBLISHED = {
    "vqax": "image_id,question,gt_answer,generated_answer,gt_explanation,generated_explanation,correct",
    "actx": "image_id,gt_label,generated_label,gt_explanation,generated_explanation,correct",
    "esnlive": "image_name,image_numeric_id,hypothesis,gt_label,generated_label,gt_explanation,"
    "generated_explanation,correct",
    "vcr": "image_name,question,gt_answer,generated_answer,gt_explanation,generated_explanation,correct",
}
HARD = [
    "=1+1",
    "a,b",
    "line1\nline2",
    '"q"',
    "\r",
    "\r\n",
    "\x00",
    "'",
    "",
    " x ",
    "é寿",
    "-1",
    "@x",
    "a\tb",
    '"',
    "''",
]


def table(
    path: Path, pairs: list[tuple[Question, Record]], benchmark: str = "vqax", **options: Any
) -> tuple[list[str], list[dict[str, str]]]:
    write_table(path, benchmark, lambda: pairs, **options)
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert all(len(row) == len(header) for row in rows)
    return header, [dict(zip(header, row, strict=True)) for row in rows]


@pytest.mark.parametrize("benchmark", PUBLISHED)
def test_the_published_columns_come_first_in_their_order(tmp_path: Path, benchmark: str) -> None:
    header, (row,) = table(tmp_path / "r.csv", [(asked("1", benchmark), replied("1"))], benchmark)
    assert ",".join(header).startswith(PUBLISHED[benchmark] + ",")
    assert len(set(header)) == len(header)
    assert all(row[column] for column in PUBLISHED[benchmark].split(","))


def test_a_row_has_the_question_the_reply_and_the_right_answer(tmp_path: Path) -> None:
    _, (row,) = table(tmp_path / "r.csv", [(asked("1"), replied("1"))])
    wanted = {
        "image_id": "7",
        "question": "What stands on the stove?",
        "gt_answer": "kettle",
        "generated_answer": "kettle",
        "gt_explanation": "it steams",
        "generated_explanation": "it steams",
        "correct": "1",
        "sample_id": "1",
        "status": "ok",
        "output": "kettle because it steams",
        "robust": "1.0",
        "seed": "0.0",
        "soft_vqa": "0.6",
        "majority": "clear",
        "image_sha256": "ab" * 32,
    }
    assert {column: row[column] for column in wanted} == wanted
    assert json.loads(row["references"]) == ["kettle", "pot"]
    assert json.loads(row["gt_explanations"]) == ["it steams", "there is a lid"]


def test_a_question_without_a_known_explanation_has_an_empty_cell(tmp_path: Path) -> None:
    _, (row,) = table(tmp_path / "r.csv", [(replace(asked("1"), rationales=()), replied("1"))])
    assert (row["gt_explanation"], json.loads(row["gt_explanations"])) == ("", [])


def test_a_failed_question_has_a_row_and_no_verdict(tmp_path: Path) -> None:
    pairs = [(asked("1"), replied("1")), (asked("2"), lost("2")), (asked("3"), replied("3", right=False))]
    _, rows = table(tmp_path / "r.csv", pairs)
    assert [row["correct"] for row in rows] == ["1", "", "0"]
    assert (rows[1]["status"], rows[1]["error"], rows[1]["output"]) == ("timeout", "no reply within 60 s", "")
    assert write_table(tmp_path / "r.csv", "vqax", lambda: pairs).overall.accuracy_answered == 0.5


def test_two_questions_on_one_image_have_rows_of_their_own(tmp_path: Path) -> None:
    pairs = [(asked(name, text=f"{name}?"), replied(name, answer=name)) for name in ("a", "b")]
    _, rows = table(tmp_path / "r.csv", pairs)
    assert [(row["question"], row["generated_answer"]) for row in rows] == [("a?", "a"), ("b?", "b")]


def test_a_letter_is_written_as_the_text_of_its_choice(tmp_path: Path) -> None:
    question = asked("1", "vcr", choices={"A": "He waves.", "B": "She sits."}, references=("A",))
    pairs = [(question, replied("1", answer="B")), (question, replied("1", answer="A because F"))]
    _, rows = table(tmp_path / "r.csv", pairs, "vcr")
    assert [row["generated_answer"] for row in rows] == ["She sits.", "He waves."]
    assert [row["answer"] for row in rows] == ["B", "A because F"]
    assert rows[0]["options"] == "He waves. || She sits."


def test_a_run_without_records_is_a_header(tmp_path: Path) -> None:
    header, rows = table(tmp_path / "r.csv", [])
    assert ",".join(header).startswith(PUBLISHED["vqax"])
    assert rows == []


def test_hard_texts_read_back_letter_by_letter(tmp_path: Path) -> None:
    pairs = [(asked(str(at)), replied(str(at), output=text, rationale=text)) for at, text in enumerate(HARD)]
    _, rows = table(tmp_path / "r.csv", pairs)
    assert [row["output"] for row in rows] == HARD
    assert [row["generated_explanation"] for row in rows] == HARD


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=4))
def test_any_text_reads_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    pairs = [(asked(str(at), text=text), replied(str(at), output=text)) for at, text in enumerate(texts)]
    _, rows = table(tmp_path_factory.getbasetemp() / "any.csv", pairs)
    assert [row["output"] for row in rows] == [row["question"] for row in rows] == texts


def test_lone_surrogates_do_not_stop_the_table(tmp_path: Path) -> None:
    _, (row,) = table(tmp_path / "r.csv", [(asked("1"), replied("1", output="a\ud800b"))])
    assert row["output"] == "a?b"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+cmd", "'+cmd"),
        ("-x", "'-x"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("\n=1", "'\n=1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("-1.5", "-1.5"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_formulas_are_left_alone_unless_the_table_is_to_be_safe(tmp_path: Path, text: str, cell: str) -> None:
    pairs = [(asked("1"), replied("1", output=text))]
    assert table(tmp_path / "r.csv", pairs)[1][0]["output"] == text
    assert table(tmp_path / "r.csv", pairs, csv_safe=True)[1][0]["output"] == cell


def test_all_lines_end_in_the_same_way_and_the_file_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "llava_results" / "vqax_val_eval.csv"
    table(path, [(asked("1"), replied("1"))])
    table(path, [(asked("2"), replied("2"))])
    content = path.read_bytes()
    assert b"\r" not in content
    assert content.count(b"\n") == 2
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert next(csv.DictReader(io.StringIO(content.decode())))["sample_id"] == "2"


def test_a_path_that_cant_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"file/r\.csv"):
        write_table(tmp_path / "file" / "r.csv", "vqax", lambda: [])


def test_tables_are_named_by_model_task_split_and_options() -> None:
    results = Path("results")
    assert csv_path(results, model="llava", task="vqax", split="val") == Path("results/llava_results/vqax_val_eval.csv")
    other = csv_path(results, model="org/x", task="vcr", split="test", conditions=("q2a", "3shot"))
    assert other.name == "vcr_test_eval-q2a-3shot.csv"
    assert len(other.parts) == 3
