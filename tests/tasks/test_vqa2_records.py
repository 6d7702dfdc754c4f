import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.errors import DataError
from vqa_client.tasks.vqa2 import records as vqa2_records
from vqa_client.tasks.vqa2.records import read_records

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=6), VALUES, max_size=3), max_size=12)


def read(path: Path) -> list[Any]:
    found = read_records(path, "questions")
    return [json.loads(record) for _, record in found.file.records()]


def numbered(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"answers": [{"answer": "a}, {"}, {"answer": "]"}], "question_id": n} | r for n, r in enumerate(records)]


@given(records=RECORDS, indent=st.sampled_from([None, 1, 4]), block=st.integers(30, 400), bom=st.booleans())
def test_every_record_is_found_wherever_blocks_end(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any], indent: int | None, block: int, bom: bool
) -> None:
    path = tmp_path_factory.mktemp("data") / "q.json"
    expected = numbered(records)
    text = json.dumps({"info": {"n": 1}, "questions": expected, "data_subtype": "val2014"}, indent=indent)
    path.write_text(text, encoding="utf-8-sig" if bom else "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vqa2_records, "BLOCK_BYTES", block)
        patch.setattr(vqa2_records, "_TAIL_BYTES", block // 2)
        assert read(path) == expected


def test_a_list_alone_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text(' [ {"question_id": 1} , {"question_id": 2} ] ')
    assert [record["question_id"] for record in read(path)] == [1, 2]


@pytest.mark.parametrize("at", ["before", "behind", "nowhere"])
def test_the_split_is_read_wherever_it_is_said(tmp_path: Path, at: str) -> None:
    path = tmp_path / "q.json"
    said = {"data_subtype": "test2015"}
    head, tail = {"before": (said, {}), "behind": ({}, said), "nowhere": ({}, {})}[at]
    path.write_text(json.dumps({**head, "questions": [{"question_id": 1}], **tail}))
    assert read_records(path, "questions").subtype == ("" if at == "nowhere" else "test2015")


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text('{"questions": [{"question_id": 1}]}')
    first = read_records(path, "questions")
    path.write_text('{"questions": [{"question_id": 1}, {"question_id": 22}]}')
    second = read_records(path, "questions")
    assert (len(first.file), len(second.file)) == (1, 2)
    assert first.file.sha256 != second.file.sha256


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"questions": [{"question_id": 1}, {"question_', "line 1.*'{\"question_'"),
        ('{"questions": [\n{"question_id": 1},\n{"question_id": 2}\n', "line 4.*the end of the file"),
        ('{"questions": [{"question_id": 1} {"question_id": 2}]}', "broken"),
        ('{"questions": [{"question_id": 1},]}', "broken"),
        ('{"questions": [1, 2]}', "broken"),
        ('{"annotations": []}', "has no list `questions`"),
        ("", "is empty"),
    ],
)
def test_a_file_of_another_form_is_named_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "q.json"
    path.write_text(text)
    with pytest.raises(DataError, match=told) as caught:
        read(path)
    assert "q.json" in str(caught.value)
    assert caught.value.hint


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"can't read .*absent\.json"):
        read_records(tmp_path / "absent.json", "questions")
