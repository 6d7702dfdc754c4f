"""Data that `ask` refuses: the message names row and column, and nothing is asked."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.contract.ask_forms import ask, report
from tests.contract.forms import draw
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import likeliest_token, oracle
from vqa_client.tasks.ask.columns import Column, mapped
from vqa_client.tasks.ask.rows import state_of
from vqa_client.tasks.ask.survey import _columns

HEAD = "image,question,A,B,answer\n"
FAULTS = [
    ("rows.csv", HEAD + "1.png,What?,red,blue,E\n", "row 1, column `answer`: 'E' is not one of A, B"),
    ("rows.csv", HEAD + "9.png,What?,red,blue,A\n", "9.png does not exist; looked in /"),
    ("rows.csv", HEAD + "1.png,What?,red,blue,A\n1.png,Who?,red,blue,red\n",
     "'red' is of the texts of choices, earlier ones of letters\n"),
    ("rows.csv", HEAD + "/etc/passwd,What?,red,blue,A\n", "is outside"),
    ("rows.csv", HEAD + "../1.png,What?,red,blue,A\n", "is outside"),
    ("rows.csv", HEAD + "1.png,,red,blue,A\n", "row 1, column `question`: the question is missing"),
    ("rows.csv", HEAD + "1.png,What?,red,red,A\n", "column `A, B`: two choices are 'red'"),
    ("rows.csv", HEAD + "1.png,What?,red,blue,A\n1.png,Which?,red,,A\n", "`A, B`: 1 choice; there must be 2 to 26"),
    ("rows.csv", HEAD + "1.png,What?,red\n", "3 fields, the header has 5; nothing for `B`"),
    ("rows.csv", HEAD + "https://x.example/1.png,What?,red,blue,A\n", "is an address"),
    ("rows.csv", "picture_of,asks,right\n1.png,What?,x\n", "rows.csv is the question\n"
     "hint: --question COLUMN, of picture_of, asks, right; or --prompt"),
    ("rows.csv", "front,back,question\n1.png,1.png,What?\n", "columns front, back have images\n"
     "hint: say which: --image front,back"),
    ("rows.csv", "question,answer,label\nWhat?,x,y\n", "the answer is in `answer` or `label`\n"
     "hint: say which: --answer answer"),
    ("rows.csv", "question,A,B,options\nWhat?,x,y,\"['x','y']\"\n", "the choices are columns A, B or column `options`\n"
     "hint: say which: --choices A,B"),
    ("rows.csv", "question,options,answer\nQ,\"['a','b','c']\",1\nR,\"['a','b','c']\",2\n",
     "column `answer` can be read as places counted from 0 or places counted from 1\n"
     "hint: say which: --answer_from 0 or --answer_from 1"),
    ("rows.csv", "question,A,B,answer\nQ,1,2,1\nR,2,1,2\n",
     "column `answer` can be read as places counted from 1 or the texts of choices\n"
     "hint: say which: --answer_from 1 or --answer_from text"),
    ("rows.csv", "id,question,answer\n1,What?,x\n1,Who?,y\n", "row 2, column `id`: two rows have the id '1'"),
    ("rows.csv", "", "is empty"),
    ("rows.csv", "question,answer\n", "has no rows\nhint: a data file has a question per row"),
    ("rows.csv", "question,answer\n\xe9,x\n", "is not UTF-8"),
    ("rows.json", '[{"question": "Is <image 2> new?", "image": "1.png", "answer": "x"}]', "names image 2"),
    ("rows.json", '[{"question": "What?", "image": 7, "answer": "x"}]', "column `image`: expected an image's path"),
    ("rows.json", '[{"question": "What?", "answer": {"a": 1}}]', "column `answer`"),
    ("rows.json", '[{"question": "What?", "choices": ["a", "b"], "answer": ["A", "B"]}]', "only one is right"),
    ("rows.json", '[{"question": "What?", "answer": "x"}, {"question": ', "rows.json"),
    ("rows.json", '[{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, '
     '{"role": "user", "content": "c"}, {"role": "user", "content": "d"}]}]', "turn 4 has the role 'user'"),
    ("rows.json", '[{"messages": [{"role": "user", "content": "<image 2> a"}]}]', "names image 2"),
    ("rows.json", '[{"messages": "hello"}]', "expected a list of turns"),
    ("rows.json", '{"data": [{"question": "a"}], "rows": [{"question": "b"}]}', "several lists of rows: data, rows"),
    ("rows.json", '{"images": [{"id": 1}], "annotations": [{"image_id": 2, "question": "a"}]}', "row 1: `images` has"),
    ("rows.json", '[{"question": "a", "answer": NaN}]', "NaN in item 1, field `answer`"),
    ("rows.jsonl", '{"question": "a"}\n{"question": "a", "x": [1, -Infinity]}', "row 2: -Infinity in field `x[1]`"),
    ("rows.csv", "question,choices,answer\nWhat?,a|b,a\n", "1 choice; there must be 2 to 26 (--choices_separator"),
    ("rows.csv", "picture_of\n1.png\n", "or --prompt TEXT asks the same of each row"),
    ("rows.json", '[{"question": "What?", "image": "data:image/png;base64,@@@@", "answer": "x"}]', "broken base64"),
    ("rows.jsonl", '{"image": {"path": "9.png"}, "question": {"text": "a"}}\n' * 2, "2 of 2 rows are faulty"),
    ("rows.tsv", "question\tA\tB\tanswer\nWhat?\tx\ty\tA\nWho?\tx\ty\n", "row 2: 3 fields, the header has 4; nothing"),
    ("rows.tsv", "question\tA\tB\tanswer\nWhat?\tx\ty\tC\n", "row 1, column `answer`: 'C' is not one of A, B"),
    ("rows.csv", HEAD + ".,What?,red,blue,A\n", "/. is a folder"),
    ("rows.csv", 'question,choices,answer\nWhat?,"[""a"", ""b""",A\n', "column `choices`: the list can't be read: "
     "'[\"a\", \"b\"'; it is neither JSON nor Python"),
    ("rows.json", '[{"question": "What?", "answers": ["x", null]}]', "column `answers`: expected a text, got null"),
    ("rows.json", '[{"question": "What?", "answers": [["x"]]}]', "column `answers`: expected a text, got a list"),
    ("rows.json", '[{"question": "a", "choices": ["x", null]}]', "column `choices`: expected a text, got null"),
    ("rows.json", '[{"question": "Is <image 0> new?", "image": "1.png"}]', "column `question`: the text names image 0"),
    ("rows.json", '[{"question": " ", "image": "1.png"}]', "row 1, column `question`: the question is missing"),
    ("rows.json", '[{"question": ["a", "b"]}]', "row 1, column `question`: expected a text, got a list"),
    ("rows.json", '[{"messages": [{"role": "user", "content": " "}]}]', "the last turn of the user is empty"),
    ("rows.json", "[" * 200_000, "the JSON is nested too deeply"),
    ("rows.jsonl", '{"question": "a", "answer": "x"},\n' * 2, "row 1: JSON is malformed: trailing characters"),
    ("rows.jsonl", '{"question": "a"}\n["b"]\n', "row 2: Expected `object`, got `array`"),
    ("rows.jsonl", '{"question": "a"}\n{"question": "b", "ans', "row 2: the JSON breaks off"),
    ("rows.parquet", [{"question": "What?", "image": 7}], "expected an image's path or bytes, got int"),
    ("rows.parquet", [{"question": {"text": "a"}}], "row 1, column `question`: expected a text, got an object"),
    ("rows.parquet", [{"question": b"a"}], "row 1, column `question`: expected a text, got an image"),
    ("rows.parquet", [{"question": "a", "answer": {"x": 1}}], "row 1, column `answer`: expected a text, got an object"),
    ("rows.parquet", "PAR1" + "\0" * 100, "it may be cut"),
    ("rows.csv.gz", "\x1f\x8b\x08", "is gzip"),
    ("rows.xlsx", "PK\x03\x04", "save the sheet as CSV"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), FAULTS)
def test_data_that_can_not_be_asked_names_row_and_column_and_asks_nothing(
    tmp_path: Path,
    fault_server: StartsServers,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: str | list[dict[str, Any]],
    words: str,
) -> None:
    (tmp_path / "1.png").write_bytes(draw(1))
    if isinstance(content, str):
        (tmp_path / name).write_bytes(content.encode("latin-1"))
    else:
        parquet.write_table(pa.Table.from_pylist(content), tmp_path / name)
    server = fault_server("A")
    assert ask(tmp_path / name, server.base_url) == 2
    assert words in capsys.readouterr().err
    assert not server.requests


def test_all_faults_are_reported_together_and_may_be_left_out(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "1.png").write_bytes(draw(1))
    path = tmp_path / "rows.csv"
    good, strange = "1.png,[[q{}]] What?,red,blue,A\n", "1.png,What?,red,blue,E\n"
    path.write_text(HEAD + good.format(0) + strange * 7 + "9.png,Which?,red,blue,A\n" + good.format(1))
    server = fault_server(oracle({"[[q0]]": "A", "[[q1]]": "A"}))
    assert ask(path, server.base_url) == 2
    answers = [
        f"  rows.csv row {row}, column `answer`: 'E' is not one of A, B, nor a choice's text" for row in range(2, 7)
    ]
    assert capsys.readouterr().err.splitlines()[-9:] == [
        f"error: {path} can't be asked: 8 of 10 rows are faulty",
        *answers,
        "  and 2 more, column `answer`",
        f"  rows.csv row 9, column `image`: {tmp_path}/9.png does not exist; looked in {tmp_path}",
        "hint: mend them (rows count from 1, without a header); --skip_faulty leaves them out and says so in the "
        "report",
    ]
    assert ask(path, server.base_url, "--skip_faulty", "--limit", "1") == 0
    assert len(report(tmp_path)["left_out"]["faulty"]) == 8
    assert {chat.prompt[:6] for chat in server.chats if "[[" in chat.prompt} == {"[[q0]]"}


def test_a_choice_mode_asks_only_rows_with_choices(tmp_path: Path, fault_server: StartsServers) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"question": "[[q0]] How many?", "answer": "12"}\n{"question": "[[q2]] Who?"}\n'
        '{"question": "[[q1]] Which?", "answer": "A", "choices": ["red", "green"]}\n'
        '{"question": "[[q3]] Where?", "choices": ["here", "there"]}\n'
    )
    server = fault_server(likeliest_token(lambda received: {"A": 1.0} if "[[" in received.prompt else {"red": 1.0}))
    assert ask(path, server.base_url, "--choice_mode", "structured") == 0
    assert {chat.prompt for chat in server.chats if "[[" in chat.prompt} == {
        "[[q1]] Which?\n\nA. red\nB. green\n\nAnswer with the letter alone.",
        "[[q3]] Where?\n\nA. here\nB. there\n\nAnswer with the letter alone.",
    }
    found = report(tmp_path, "ask_choice")
    assert (found["accuracy"], found["left_out"]) == (1.0, {"open": ["rows#0", "rows#1"]})


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (
            ["--question", "queston"],
            "--question: column `queston` is not there\nhint: the columns are question, A, answer",
        ),
        (
            ["--split", "val"],
            "your own data has no splits, and --split is 'val'\n"
            "hint: name a split's own file, or hf://owner/name:SPLIT\n",
        ),
        (["--prompt", "{queston}"], "{queston} in --prompt is not a column\nhint: known are "),
        (["--choices", "A,Z"], "--choices: column `Z` is not there\nhint: the columns are question, A, answer"),
        (
            ["--choice_mode", "structured"],
            "--choice_mode structured: no question of ask has choices\nhint: leave it out",
        ),
        (["--score", "choice"], "--score choice needs choices, and the data has none\nhint: --choices COLUMN\n"),
        (["--choices", "x,y", "--answer_from", "1"], "of choices, --answer_from 1 says places counted from 1"),
        (
            ["--images", "."],
            "--images . is given, and no column is the image\nhint: --image COLUMN, of question, A, answer",
        ),
        (["--images", "gone", "--image", "A"], "column `A`: gone/x does not exist; gone does not exist"),
        (
            ["--system", "A"],
            "--system A is a column, and a system message is one text for all rows\n"
            "hint: --prompt with {A} puts the column before each question",
        ),
    ],
)
def test_options_that_do_not_fit_the_columns_are_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str], words: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("question,A,answer\nWhat?,x,y\n")
    assert ask(path, "http://127.0.0.1:1", *option) == 2
    assert words in capsys.readouterr().err


def test_a_value_that_first_comes_late_is_known() -> None:
    blocks = [["a"] * 16, ["a"] * 16, ["a"] * 15 + ["b"], [""]]
    table: Any = SimpleNamespace(rows=lambda: enumerate({"shop": value} for block in blocks for value in block))
    columns, rows = _columns([table])
    assert (rows, columns["shop"].present, columns["shop"].values) == (49, 48, {"a", "b"})


@pytest.mark.parametrize(("values", "is_group"), [(50, True), (51, False)])
def test_a_column_of_many_values_is_not_a_group(values: int, is_group: bool) -> None:
    column = Column()
    for number in range(values):
        column.add(str(number))
    assert (column.values is not None) == is_group


KNOWN = {
    "messages": "messages conversations conversation",
    "question": "question query prompt instruction input text",
    "image": "image images image_path image_paths image_file img img_path filename file_name file_names pictures "
    "picture photo path url image_url image_base64 base64 image_b64 image_data image_bytes bytes",
    "choices": "choices options candidates multiple_choices",
    "answer": "answer answers target label gold ground_truth gt reference references response output correct solution "
    "caption folder",
    "id": "question_id id _id qid index idx uid sample_id key __key__",
    "groups": "category l2-category type question_type answer_type difficulty subject subset split source task length",
    "document": "image_id doc_id document docId page_id",
}


@pytest.mark.parametrize("role", KNOWN)
def test_a_column_is_known_by_each_of_its_names(role: str) -> None:
    for name in KNOWN[role].split():
        columns = {each: Column() for each in dict.fromkeys(("question", name) if role != "question" else (name,))}
        for column in columns.values():
            column.add("a")
            column.add("b")
        found = getattr(mapped(columns, 2, {}, is_file=lambda name: False), role)
        assert found == (name if isinstance(found, str) else (name,)), name


@pytest.mark.parametrize(
    ("names", "role", "found"),
    [
        ("Question", "question", "Question"),
        ("QUES-TION x", "question", "QUES-TION"),
        ("choice_A choice_B choice_10", "choices", "choice_A choice_B choice_10"),
        ("option2 option1 Option3", "choices", "option1 option2 Option3"),
        ("image_2 image_1", "image", "image_1 image_2"),
        ("pictures_a pictures_b", "image", "pictures_a pictures_b"),
        ("image_1", "image", ""),
        ("A B C", "choices", "A B C"),
        ("B C", "choices", ""),
    ],
)
def test_names_are_compared_without_case_and_signs_and_series_are_in_order(names: str, role: str, found: str) -> None:
    columns = {name: Column() for name in names.split()}
    for column in columns.values():
        column.add("a")
    value = getattr(mapped(columns, 1, {}, is_file=lambda name: False), role)
    assert (value if isinstance(value, str) else " ".join(value)) == found


def test_the_column_of_image_ids_is_preferred_among_columns_of_documents() -> None:
    columns = {name: Column() for name in ("question", "doc_id", "image_id", "answer")}
    for column in columns.values():
        column.add("a")
    found = mapped(columns, 1, {}, is_file=lambda name: False)
    assert (found.document, found.question, found.answer) == ("image_id", "question", "answer")


def test_a_score_of_words_leaves_questions_with_choices_to_their_letter(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "[[q0]] Which?", "choices": ["ash", "bay"], "answer": "A"}\n')
    assert ask(path, fault_server("A").base_url, "--score", "anls") == 0
    assert report(tmp_path, "ask")["accuracy"] == 1


def test_data_is_read_again_after_a_change_of_any_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/rows.csv").write_text("question\nWhat?\n")
    (tmp_path / "a/notes.txt").write_text("a")
    for data in (tmp_path / "a", tmp_path / "a/rows.csv", tmp_path / "a/*.csv"):
        before = state_of(data)
        (tmp_path / "a/notes.txt").write_text("more of them")
        assert state_of(data) == before
        with (tmp_path / "a/rows.csv").open("a") as file:
            file.write("Who?\n")
        assert state_of(data) != before
