import hashlib
import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tasks.documents import BOM, write_lines, write_list
from vqa_client.errors import DataError
from vqa_client.tasks.longbench.data_file import read_index

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
RECORDS = st.lists(st.dictionaries(st.text(), VALUES, max_size=4), min_size=1, max_size=5)


def read_all(path: Path) -> list[object]:
    return [msgspec.json.decode(record) for _, record in read_index(path).records()]


@given(records=RECORDS, bom=st.booleans(), ascii_only=st.booleans(), indent=st.sampled_from([None, 0, 2]))
def test_a_json_list_is_read_as_json_reads_it(
    tmp_path_factory: pytest.TempPathFactory, records: list[object], bom: bool, ascii_only: bool, indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("list") / "data.json"
    text = json.dumps(records, ensure_ascii=ascii_only, indent=indent)
    path.write_bytes((BOM if bom else b"") + text.encode("utf-8", "surrogatepass"))
    assert read_all(path) == records


@given(records=RECORDS, bom=st.booleans())
def test_json_lines_are_read_one_record_a_line(
    tmp_path_factory: pytest.TempPathFactory, records: list[object], bom: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "data.jsonl"
    assert read_all(write_lines(path, records, bom=bom)) == records


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
        (b"[]", "holds no record"),
        (b"  \n", "not a list of records"),
        (b"question,answer\n", "not a list of records"),
        ("[]".encode("utf-16"), "not a list of records"),
        (b"[1, 2]", "record 0"),
        (b'[{"_id": "a"}, "b"]', "record 1"),
        (b'[{"_id": "a"} {"_id": "b"}]', "record 1"),
        (b'[{"_id": "a"},]', "record 1"),
        (b'[{"_id": "a"}', "record 1"),
        (b'[{"_id": "a"}] more', "record 1"),
        (b'{"_id": "a"}\n{"_id": "b', "line 2"),
        (b'{"_id": "a"}\n]', "record 1"),
    ],
)
def test_a_file_of_another_form_is_refused_and_named(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "data.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=says) as caught:
        read_index(path)
    assert str(path) in str(caught.value)
    assert caught.value.hint


def test_a_missing_file_and_a_folder_are_refused_and_named(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.json", tmp_path):
        with pytest.raises(DataError, match=str(path)):
            read_index(path)


def test_the_digest_is_that_of_the_file(tmp_path: Path) -> None:
    path = write_list(tmp_path / "data.json", [{"_id": "a"}])
    assert read_index(path).sha256 == hashlib.sha256(b'[{"_id": "a"}]').hexdigest()


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = write_list(tmp_path / "data.json", [{"_id": "a"}])
    assert read_all(path) == [{"_id": "a"}]
    write_list(path, [{"_id": "a"}, {"_id": "b"}])
    assert read_all(path) == [{"_id": "a"}, {"_id": "b"}]


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB only there")
def test_a_file_of_many_megabytes_costs_few(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    line = 'The boats \\"lay\\" at the quay, {all} of [them].\\n'
    with open(path, "w") as file:
        file.write("[")
        for number in range(100):
            comma = "," if number else ""
            file.write(f'{comma}{{"_id": "{number}", "context": "{line * (1_500_000 // len(line))}"}}\n')
        file.write("]")
    program = (
        "import resource, sys; from vqa_client.tasks.longbench.data_file import read_index\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "file = read_index(sys.argv[1]); assert sum(1 for _ in file.records()) == 100\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    command = [sys.executable, "-c", program, str(path)]
    grown_kib = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert grown_kib < 48 << 10
