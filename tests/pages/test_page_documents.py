import json
from pathlib import Path

import pytest

from vqa_client.errors import DataError
from vqa_client.pages.documents import Document, checked, read_documents


def written(path: Path, *records: dict) -> Path:
    path.write_text(json.dumps(records, ensure_ascii=False), "utf-8")
    return path


def test_the_records_of_a_data_file_are_documents_as_often_as_asked(tmp_path: Path) -> None:
    file = written(tmp_path / "data.json", {"_id": "a", "context": "één", "choice_A": 1}, {"_id": 7, "context": "two"})
    documents = read_documents(file)
    for _ in range(2):
        assert [(document.id, document.text) for document in documents] == [("a", "één"), ("7", "two")]


def test_the_text_files_of_a_folder_are_documents_in_natural_order(tmp_path: Path) -> None:
    for name in ("d10.txt", "d2.txt", "notes.md"):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + name.encode())
    assert [(document.id, document.text) for document in read_documents(tmp_path)] == [
        ("d2", "d2.txt"),
        ("d10", "d10.txt"),
    ]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"_id": "a"}, "record 1.*`context` is missing"),
        ({"_id": "a", "context": None}, "record 1.*`context` is missing"),
        ({"_id": "a", "context": 5}, "record 1.*not text"),
        ({"_id": "", "context": "x"}, "record 1.*empty"),
        ({"_id": "a", "context": " \n"}, "record 1.*the text is empty"),
        ({"_id": "a/b", "context": "x"}, "'a/b' can't begin the name"),
        ({"_id": "..", "context": "x"}, "can't begin the name"),
        *(
            ({"_id": id, "context": "x"}, "can't begin the name")
            for id in ("a\u0000", "a\u001f", "a\u007f", "a\\b", "~a")
        ),
        ({"_id": "é" * 101, "context": "x"}, "can't begin the name"),
    ],
)
def test_a_record_that_cant_be_drawn_is_named(record: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        list(checked(read_documents(written(tmp_path / "data.json", record))))


def test_an_id_may_have_200_bytes_and_a_nameless_file_is_refused() -> None:
    assert len([*checked([Document(id="é" * 100, text="x"), Document(id="a.~", text="x")])]) == 2
    with pytest.raises(DataError, match="the id '' can't begin the name"):
        list(checked([Document(id="", text="x", place=".txt")]))


@pytest.mark.parametrize("twin", ["a", "A"])
def test_two_documents_never_share_their_page_files(twin: str) -> None:
    documents = [Document(id="a", text="x"), Document(id=twin, text="y", place="the second")]
    with pytest.raises(DataError, match="the second: another document has this id"):
        list(checked(documents))


def test_a_file_that_is_not_in_utf_8_is_named_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9 au lait")
    with pytest.raises(DataError, match=r"latin\.txt is not in UTF-8: .* at byte 3"):
        list(read_documents(tmp_path))


def test_a_folder_without_text_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"contains no \.txt file"):
        read_documents(tmp_path)
