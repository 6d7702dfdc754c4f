"""Whether a kept answer is still to the question that would be asked now."""

import hashlib
import os
from pathlib import Path

import pytest

from vqa_client.runs.resume import Unchanged
from vqa_client.types import Record, SentImage

LATER_NS = 1 << 62
"""A first start after which no file was written."""


def page(path: Path, content: bytes = b"page") -> str:
    path.write_bytes(content)
    return str(path)


def sent(path: str, content: bytes = b"page") -> SentImage:
    return SentImage(name=os.path.basename(path), sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))


def record(*images: SentImage) -> Record:
    return Record(question_id="1", status="ok", prompt="What?", images=images)


def test_the_prompt_and_the_files_decide(tmp_path: Path) -> None:
    path = page(tmp_path / "a.png")
    unchanged = Unchanged(since_ns=LATER_NS)
    assert unchanged(record(sent(path)), "What?", (path,))
    assert not unchanged(record(sent(path)), "Who?", (path,))
    assert not unchanged(record(sent(path)), "What?", (path, path))
    assert not unchanged(record(sent(path, b"longer page")), "What?", (path,))
    assert not unchanged(record(sent(str(tmp_path / "b.png"))), "What?", (path,))
    assert not unchanged(record(sent(path)), "What?", (str(tmp_path / "gone" / "a.png"),))


def test_neighbours_of_one_path_are_told_apart_by_what_was_sent(tmp_path: Path) -> None:
    path = page(tmp_path / "a.png", b"new page")
    unchanged = Unchanged(since_ns=0)
    new, old = record(sent(path, b"new page")), record(sent(path, b"old page"))
    assert [unchanged(one, "What?", (path,)) for one in (new, old, new, new)] == [True, False, True, True]


def test_neighbours_that_failed_before_their_images_were_ready_are_told_apart_by_path(tmp_path: Path) -> None:
    there, gone = page(tmp_path / "a.png"), str(tmp_path / "b.png")
    unchanged, failed = Unchanged(since_ns=LATER_NS), record()
    assert [unchanged(failed, "What?", (path,)) for path in (there, gone, there)] == [True, False, True]
    assert not Unchanged(since_ns=0)(failed, "What?", (there,)), "it was written after the run's first start"


def test_a_question_without_images_has_none_that_could_change() -> None:
    assert Unchanged(since_ns=0)(record(), "What?", ())


def test_the_files_of_neighbours_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = tuple(page(tmp_path / name) for name in ("a.png", "b.png"))
    looked: list[str] = []
    real = os.stat

    def stat(path: str) -> os.stat_result:
        looked.append(path)
        return real(path)

    unchanged = Unchanged(since_ns=LATER_NS)
    with monkeypatch.context() as patched:
        patched.setattr("vqa_client.runs.resume.os.stat", stat)
        kept = [unchanged(record(*map(sent, paths)), "What?", paths) for _ in range(5)]
    assert kept == [True] * 5
    assert looked == list(paths)
