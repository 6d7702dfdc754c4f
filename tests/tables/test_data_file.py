import csv
import hashlib
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from pyarrow import parquet

from tests.contract.forms import draw
from tests.tables.test_forms import B64, ROWS, Row, content, load, question
from tests.tasks.documents import BOM, write_lines, write_list
from vqa_client.benchmark import Beside, Columns, Form, Join, Picture, Place, Question
from vqa_client.errors import DataError
from vqa_client.tables import loading
from vqa_client.tables.data_file import read_index
from vqa_client.tables.delimited import DelimitedTable
from vqa_client.tables.inside import open_table

GOLDENS = Path(__file__).parents[3] / "shared" / "data" / "benchmarks"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
RECORDS = st.lists(st.dictionaries(st.text(), VALUES, max_size=4), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Numbers of files in one folder: making a folder per example takes longer than all else."""
    folder = tmp_path_factory.mktemp("examples")
    return (folder / str(number) for number in count())


def read_all(path: Path) -> list[object]:
    return [msgspec.json.decode(record) for _, record in read_index(path).records()]


@given(records=RECORDS, bom=st.booleans(), ascii_only=st.booleans(), indent=st.sampled_from([None, 0, 2]))
def test_a_json_list_is_read_as_the_json_module_reads_it(
    places: Iterator[Path], records: list[object], bom: bool, ascii_only: bool, indent: int | None
) -> None:
    path = next(places).with_suffix(".json")
    text = json.dumps(records, ensure_ascii=ascii_only, indent=indent)
    path.write_bytes((BOM if bom else b"") + text.encode("utf-8", "surrogatepass"))
    assert read_all(path) == records


@given(records=RECORDS, bom=st.booleans())
def test_json_lines_are_read_one_record_per_line(places: Iterator[Path], records: list[object], bom: bool) -> None:
    assert read_all(write_lines(next(places).with_suffix(".jsonl"), records, bom=bom)) == records


def test_unicode_line_separators_do_not_split_a_record(tmp_path: Path) -> None:
    record = {"_id": "a", "question": "a\u2028b\x85c\x0bd\u2029e"}
    assert read_all(write_lines(tmp_path / "data.jsonl", [record, record])) == [record, record]


def test_windows_line_ends_and_a_missing_last_one_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"_id": "a"}\r\n\r\n{"_id": "b"}')
    assert read_all(path) == [{"_id": "a"}, {"_id": "b"}]


def test_records_nested_deeper_than_any_benchmark_are_found(tmp_path: Path) -> None:
    record = {"_id": "a", "extra": {"a": [{"b": [{"c": [[["}"]]]}]}]}}
    assert read_all(write_list(tmp_path / "data.json", [record])) == [record]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"[]", "has no record"),
        (b"  \n", "not a list of records"),
        (b"question,answer\n", "looks like CSV, not JSON"),
        ("[]".encode("utf-16"), "not a list of records"),
        (b"%PDF-1.7", "is a PDF file, not JSON; `vqa-client render --pdf` draws its pages"),
        (b'a"b,c', "looks like CSV"),
        (b"hello wonderful world", "begins with 'hello wonder': not a list of records"),
        (b"[1, 2]", r"record 1: not an object: line 1, at '1, 2\]'$"),
        (b"[%b]" % (b"1" * 60), f"record 1: not an object: line 1, at '{'1' * 40}'$"),
        (b'[{"_id": "a"},\n{"_id": {"b": }},\n{"_id": "c"}]', 'record 2: .*line 2, at \'{"_id": {"b": }},\'$'),
        (b'[{"_id": "a"}, {"_id": "b"', 'record 2: .*line 1, at \'{"_id": "b"\'$'),
        (b'[{"_id": "a"}, "b"]', "record 2"),
        (b'[{"_id": "a"} {"_id": "b"}]', "record 2"),
        (b'[{"_id": "a"},]', "record 2"),
        (b'[{"_id": "a"}', "record 2"),
        (b'[{"_id": "a"}] more', "record 2"),
        (b'{"_id": "a"}\n{"_id": "b', "line 2"),
        (b'{"_id": "a"}\n]', "record 2"),
    ],
)
def test_a_file_of_another_form_is_refused_and_named(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=says) as caught:
        read_index(path)
    assert str(path) in str(caught.value)
    assert caught.value.hint == "a data file is a JSON list of records, or one JSON record per line, in UTF-8"


def test_a_missing_file_and_a_folder_are_refused_and_named(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.json", tmp_path):
        with pytest.raises(DataError, match=str(path)):
            read_index(path)


def test_the_digest_is_that_of_the_file(tmp_path: Path) -> None:
    path = write_list(tmp_path / "data.json", [{"_id": "a"}])
    assert read_index(path).sha256 == hashlib.sha256(b'[{"_id": "a"}]').hexdigest()


def test_the_digest_of_a_large_file_is_of_its_size_and_both_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large"
    sizes = loading.WHOLE_DIGEST_BYTES, loading._ENDS_BYTES
    assert sizes == (1_073_741_824, 1_048_576), "another one would refuse runs that are on disk"
    for name, number in {"WHOLE_DIGEST_BYTES": 8, "_ENDS_BYTES": 2}.items():
        monkeypatch.setattr(loading, name, number)
    digests = []
    for text in (
        b"ab......yz",
        b"ab......yz",
        b"ab.#..#.yz",
        b"ac......yz",
        b"ab......xz",
        b"ab.......yz",
        b"ab....yz",
    ):
        path.write_bytes(text)
        digests.append(loading.digest([path]))
    assert digests[0] == digests[1] == digests[2] == hashlib.sha256(b"10\nabyz").hexdigest()
    assert len(set(digests)) == 5
    assert digests[-1] == hashlib.sha256(b"ab....yz").hexdigest()
    assert loading.digest([path, path]) == hashlib.sha256(2 * digests[-1].encode()).hexdigest()


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = write_list(tmp_path / "data.json", [{"_id": "a"}])
    assert read_all(path) == [{"_id": "a"}]
    write_list(path, [{"_id": "a"}, {"_id": "b"}])
    assert read_all(path) == [{"_id": "a"}, {"_id": "b"}]


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no limit on the memory of a process's own")
def test_a_file_of_many_megabytes_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    line = 'The boats \\"lay\\" at the quay, {all} of [them].\\n'
    with open(path, "w") as file:
        file.write("[")
        for number in range(100):
            comma = "," if number else ""
            file.write(f'{comma}{{"_id": "{number}", "context": "{line * (1_500_000 // len(line))}"}}\n')
        file.write("]")
    program = (
        "import resource, sys; from vqa_client.tables.data_file import read_index\n"
        "own = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmData'))\n"
        "resource.setrlimit(resource.RLIMIT_DATA, ((own << 10) + (24 << 20),) * 2)\n"
        "file = read_index(sys.argv[1]); assert sum(1 for _ in file.records()) == 100\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)


def read(path: Path) -> list[Any]:
    return [json.loads(record) for _, record in read_index(path, "questions").records()]


def numbered(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"answers": [{"answer": "a}, {"}, {"answer": "]"}], "question_id": n} | r for n, r in enumerate(records)]


@given(records=RECORDS, beside=st.dictionaries(st.text(max_size=6), VALUES), indent=st.sampled_from([None, 1, 4]))
def test_every_record_of_a_list_in_an_object_is_found(
    places: Iterator[Path], records: list[Any], beside: dict[str, Any], indent: int | None
) -> None:
    path = next(places).with_suffix(".json")
    expected = numbered(records)
    head = {"info": {"questions": [{}]}} | beside
    text = json.dumps({**head, "questions": expected, "data_subtype": "val2014"}, indent=indent)
    path.write_text(text, encoding="utf-8-sig" if indent == 1 else "utf-8")
    assert read(path) == expected


def test_a_list_without_an_object_is_also_read(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text(' [ {"question_id": 1} , {"question_id": 2} ] ')
    assert [record["question_id"] for record in read(path)] == [1, 2]


@pytest.mark.parametrize("at", ["before", "behind", "nowhere"])
def test_texts_before_and_after_the_list_are_read(tmp_path: Path, at: str) -> None:
    path = tmp_path / "q.json"
    said = {"data_subtype": "test2015"}
    head, tail = {"before": (said, {}), "behind": ({}, said), "nowhere": ({}, {})}[at]
    path.write_text(json.dumps({"info": {}, **head, "questions": [{"question_id": 1}], **tail}))
    assert read_index(path, "questions").texts == ({} if at == "nowhere" else said)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"questions": [{"question_id": 1}, {"question_', "record 2: .*line 1.*'{\"question_'"),
        ('{"questions": [\n{"question_id": 1},\n{"question_id": 2}\n', "record 3: .*line 4.*the end of the file"),
        ('{"questions": [{"question_id": 1} {"question_id": 2}]}', "record 2: .*expected ',' .*line 1"),
        ('{"questions": [{"question_id": 1},]}', "record 2: .*trailing comma"),
        ('{"questions": [1, 2]}', "record 1: not an object.*'1, 2"),
        ('{"questions": [{"question_id": NaN}]}', "record 1: NaN in field `question_id`.*line 1"),
        ('{"info": {"questions": 1}, "questions": [{}, {"a" 1}]}', 'record 2: .*\'{"a" 1}'),
        ('{"info": NaN}', "NaN in field `info`"),
        ('{"questions": 5}', "has no list `questions`"),
        ('{"annotations": []}', "has no list `questions`"),
        ('{"questions": []}', "has no record"),
        ("", "is empty"),
    ],
)
def test_a_broken_list_is_named_with_record_and_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "q.json"
    path.write_text(text)
    with pytest.raises(DataError, match=says) as caught:
        read(path)
    assert str(path) in str(caught.value)
    form = 'a file of this kind is a JSON object with a list of records, {"questions": [...]}, in UTF-8'
    assert caught.value.hint == form


QUESTIONS = "give the file with the questions, or a folder of images"
NOT_ROWS = [
    (b"\x1f\x8b\x08", "gzip", "gunzip it first"),
    (b"\x28\xb5\x2f\xfd", "Zstandard", "unpack it first by `unzstd`"),
    (b"PK\3\4", "a ZIP archive, or a spreadsheet", "unpack it, or save the sheet as CSV in UTF-8"),
    (b"ARROW1", "an Arrow file", "save it as Parquet"),
    (b"\xff\xfea\0", "text in UTF-16", "save it as UTF-8"),
    (b"\xfe\xff\0a", "text in UTF-16", "save it as UTF-8"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "run `git lfs pull` where it came from"),
    (b"\xff\xd8\xff\xe0", "a JPEG image", QUESTIONS),
    (b"\x89PNG", "a PNG image", QUESTIONS),
    (b"\xef\xbb\xbf <p>", "markup", "the server may have sent a page in its place; fetch it again"),
]


@pytest.mark.parametrize(("content", "what", "hint"), NOT_ROWS)
def test_a_file_without_rows_is_named_with_a_hint(content: bytes, what: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        open_table(path)
    assert (str(caught.value), caught.value.hint) == (f"{path} is {what}: these are not rows", hint)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tar"])
def test_a_file_that_is_removed_before_its_rows_are_read_is_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "rows.tar":
        with tarfile.open(path, "w") as file:
            file.addfile(tarfile.TarInfo("a.json"))
    else:
        path.write_text("a,b\n1,2\n")
    table = open_table(path)
    path.unlink()
    for read in (lambda: list(table.rows()), lambda: open_table(path)):
        with pytest.raises(DataError, match=rf"{name} does not exist"):
            read()


def tsv(path: Path, *rows: list[str]) -> DelimitedTable:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows(rows)
    found = open_table(path)
    assert isinstance(found, DelimitedTable)
    return found


@pytest.mark.skipif(not GOLDENS.exists(), reason="../shared/data has the goldens")
def test_cells_of_a_tsv_are_read_as_pandas_reads_them(tmp_path: Path) -> None:
    cases = [json.loads(line) for line in (GOLDENS / "tsv_reading.jsonl").read_text().splitlines()]
    assert len(cases) == 52
    for case in cases:
        cells = case.get("cells") or [case["cell"], "other text"]
        expected = case.get("str_of_values") or [case["value"], "other text"]
        table = tsv(tmp_path / "x.tsv", ["index", "A"], *([str(at), cell] for at, cell in enumerate(cells)))
        assert [row["A"] for _, row in table.rows()] == expected, case


def test_a_tsv_row_may_refer_to_another_rows_image_and_lost_options_are_counted(tmp_path: Path) -> None:
    header = ["index", "text", "A", "B", "image"]
    rows = [
        ["7", "x?", "2", "N/A", B64[0]],
        ["8", "y?", "", "b", "7"],
        ["9", "z?", "3", "b", f"['{B64[1]}', '{B64[2]}']"],
        ["10", "w?", "3", "b", "9"],
    ]
    message = "left out, as in VLMEvalKit: words for a missing value, such as None or N/A"
    table = tsv(tmp_path / "x.tsv", header, *rows)
    assert table.notes == (f"x.tsv: 1 option {message}",)
    assert tsv(tmp_path / "y", header, *rows, rows[0]).notes == (f"y: 2 options {message}",)

    class WithChoices(Struct):
        text: str
        image: tuple[Picture, ...]
        choices: dict[str, str]

    def made(row: WithChoices, place: Place) -> Question:
        return Question(id=str(place.number), text=row.text, images=row.image, choices=row.choices)

    form = Form("x.tsv", columns={"choices": Columns("A", "B", "C"), "image": "image"})
    found = list(load(tmp_path, form, row=WithChoices, made=made).questions)
    assert [each.choices for each in found[:3]] == [{"A": "2.0"}, {"B": "b"}, {"A": "3.0", "B": "b"}]
    assert [[content(name) for name in each.images] for each in found[:3]] == [[draw(0)], [draw(0)], [draw(1), draw(2)]]
    assert (found[0].images, found[2].images) == (found[1].images, found[3].images)
    assert found[2].images == (f"{tmp_path}/x.tsv#2:image[0]", f"{tmp_path}/x.tsv#2:image[1]")
    for columns, told in ((Columns("AB"), "column `AB`"), (Columns("D", "E"), "columns `D`, `E`")):
        with pytest.raises(DataError, match=re.escape(f"row 1: field `choices` is missing ({told})")):
            load(tmp_path, Form("x.tsv", columns={"choices": columns, "image": "image"}), row=WithChoices, made=made)


class OneImage(Struct):
    id: str
    text: str
    answer: str
    image: Picture = ""


JOINED = Form("a.jsonl", join=Join("b.jsonl", on="photo", key="name"))


@pytest.mark.parametrize(
    ("files", "form", "said", "hint"),
    [
        (["a"], JOINED, "{here} has no b.jsonl", "the questions are in two files, and need both"),
        (
            ["a", "b"],
            JOINED,
            "{here}/a.jsonl: row 1: no row of b.jsonl has name z",
            "its columns are id, text, answer, photo, image",
        ),
        (
            ["a"],
            Form("a.jsonl", columns={"image": Beside("{name}.png")}),
            "{here}/a.jsonl: row 1: `image`: there is no column `name`",
            "its columns are id, text, answer, photo, image",
        ),
        (
            ["a"],
            Form("a.jsonl"),
            "{here}/a.jsonl: row 1: `image`: 2 images, where one is expected",
            "its columns are id, text, answer, photo, image",
        ),
    ],
)
def test_a_row_that_makes_no_question_is_named_with_the_columns(
    files: list[str], form: Form, said: str, hint: str, tmp_path: Path
) -> None:
    rows = {"a": '{"id": 1, "text": "?", "answer": "x", "photo": "z", "image": ["1", "2"]}', "b": '{"name": "y"}'}
    for name in files:
        (tmp_path / f"{name}.jsonl").write_text(rows[name])
    with pytest.raises(DataError) as caught:
        load(tmp_path, form, row=OneImage)
    assert (str(caught.value), caught.value.hint) == (said.replace("{here}", str(tmp_path)), hint)


def test_no_python_in_the_data_is_run(tmp_path: Path) -> None:
    text = "[__import__('os').system('touch ran')]"
    (tmp_path / "rows.jsonl").write_text(json.dumps({"id": 1, "text": "t", "answer": "a", "image": [], "more": text}))

    class Lists(Row):
        more: tuple[str, ...] = ()

    found: list[Any] = []
    load(tmp_path, row=Lists, made=lambda row, place: found.append(row) or question(row, place))
    assert found[0].more == (text,)
    assert not (tmp_path / "ran").exists()


def test_a_column_that_unfolds_to_gigabytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.tables.parquet_table.BOMB_BYTES", 1000)
    rows = [{**ROWS[0], "text": "a" * 5_000_000}]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet", compression="zstd", use_dictionary=False)
    with pytest.raises(
        DataError, match=r"^column text unfolds from \d+ to \d+ bytes; at most 200 times as many are read$"
    ):
        load(tmp_path)
