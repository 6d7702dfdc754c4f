import json
import signal
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tests.pages.sheets_of_paper import WORDS, clean_folder, paper
from tests.tasks.documents import mc_record
from vqa_client.errors import DataError, UsageError
from vqa_client.pages.documents import ShownDocuments, shown
from vqa_client.pages.legibility import Legibility, _reader, legibility, words
from vqa_client.shipped import install

pytest.importorskip("tesserocr")
LARGE = (700, 160)


def folder(root: Path, *texts: str) -> ShownDocuments:
    """Documents d1, d2 ... of one page each, which all show WORDS twice."""
    images = root / "clean" / "images"
    images.mkdir(parents=True)
    for number, _ in enumerate(texts, start=1):
        paper(f"{WORDS} {WORDS}", size=LARGE).resize((1400, 320)).save(images / f"d{number}_page_001.png")
    data = root / "data.json"
    data.write_text(json.dumps([mc_record(f"d{n}", context=text) for n, text in enumerate(texts, start=1)]))
    return shown(data, images)


def read(of: ShownDocuments, workers: int = 1) -> Legibility:
    pages: list[int] = []
    found = legibility(of, workers=workers, advance=pages.append)
    assert sum(pages) == of.page_count
    return found


def test_words_count_as_often_as_the_text_has_them(tmp_path: Path) -> None:
    found = read(folder(tmp_path, f"{WORDS}. {WORDS}!", f"{WORDS} {WORDS} {WORDS} {WORDS}", "Ferry, never."))
    assert (found.documents, found.pages) == (3, 3)
    assert (found.worst.words, found.worst.found) in {(44, 22), (2, 1)}
    assert found.worst.share == 0.5
    assert found.mean == pytest.approx((1 + 0.5 + 0.5) / 3)


def test_processes_change_nothing(tmp_path: Path) -> None:
    of = folder(tmp_path, WORDS, f"{WORDS} unseen")
    assert read(of, workers=2) == read(of)
    assert read(of).worst.id == "d2"


def test_words_are_compared_in_lower_case_and_without_punctuation() -> None:
    assert words("The ﬁrst “Co\u00adoperative”, ＡＢＣ; don’t.") == ["the", "first", "cooperative", "abc", "don", "t"]


def test_a_limit_takes_the_first_documents(tmp_path: Path) -> None:
    of = folder(tmp_path, WORDS, WORDS, WORDS)
    assert list(shown(of.place, tmp_path / "clean" / "images", limit=2).pages) == ["d1", "d2"]


def test_a_page_that_is_no_image_is_named(tmp_path: Path) -> None:
    of = folder(tmp_path, WORDS)
    (tmp_path / "clean" / "images" / "d1_page_001.png").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"d1_page_001\.png"):
        read(of)


def test_a_document_without_a_word_doesnt_count(tmp_path: Path) -> None:
    assert read(folder(tmp_path, WORDS, "...")).documents == 1
    with pytest.raises(DataError, match=r": no document has a word$") as caught:
        read(folder(tmp_path / "b", "..."))
    assert caught.value.hint == "give the data file with the documents' texts"


def test_only_documents_with_pages_are_read(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path, "d1_page_001.png")
    data = tmp_path / "data.json"
    data.write_text(json.dumps([mc_record("d0"), mc_record("d1"), mc_record("d1x")]))
    assert list(shown(data, clean / "images").pages) == ["d1"]


def test_a_reader_without_its_model_names_the_extra_and_leaves_the_process_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lacks(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(_reader(), "distribution", lacks)
    monkeypatch.delenv("TESSDATA_PREFIX", raising=False)
    before = signal.getsignal(signal.SIGINT), [*sys.path]
    with pytest.raises(UsageError, match=r"eng\.traineddata not found") as raised:
        _reader.__wrapped__()
    assert raised.value.hint == install("reader")
    assert (signal.getsignal(signal.SIGINT), sys.path) == before
