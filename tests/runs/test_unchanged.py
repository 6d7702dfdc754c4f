"""Whether a record is still of the same prompt and image files."""

import hashlib
import os
import time
from collections.abc import Callable
from math import isnan
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from vqa_client.files import stamp, state_of
from vqa_client.records import RecordLog
from vqa_client.runner import kept_prompt, stamps
from vqa_client.runs.resume import Unchanged
from vqa_client.types import Record, SentImage

LATER_NS = 1 << 62
"""The time of a first start, after which no file was written."""


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


def test_neighbours_with_one_path_are_distinguished_by_the_sent_image(tmp_path: Path) -> None:
    path = page(tmp_path / "a.png", b"new page")
    unchanged = Unchanged(since_ns=0)
    new, old = record(sent(path, b"new page")), record(sent(path, b"old page"))
    assert [unchanged(one, "What?", (path,)) for one in (new, old, new, new)] == [True, False, True, True]


def test_neighbours_that_failed_before_their_images_were_ready_are_distinguished_by_path(tmp_path: Path) -> None:
    there, gone = page(tmp_path / "a.png"), str(tmp_path / "b.png")
    unchanged, failed = Unchanged(since_ns=LATER_NS), record()
    assert [unchanged(failed, "What?", (path,)) for path in (there, gone, there)] == [True, False, True]
    assert not Unchanged(since_ns=0)(failed, "What?", (there,)), "it was written after the run's first start"


def test_a_question_without_images_is_always_unchanged() -> None:
    assert Unchanged(since_ns=0)(record(), "What?", ())


def test_the_files_of_neighbours_are_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def rewritten(path: str) -> None:
    """Write other bytes of the same length to the same file, and set its old times."""
    before = os.stat(path)
    with open(path, "r+b") as file:
        file.write(b"PAGE")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def another(path: str) -> None:
    """Replace the file by another one with the same length and time."""
    before = os.stat(path)
    Path(path).rename(f"{path}.old")
    page(Path(path), b"PAGE")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def copied(path: str) -> None:
    """Replace the file by another one with the same bytes."""
    page(Path(f"{path}.new"))
    Path(f"{path}.new").replace(path)


def untouched(path: str) -> None:
    """Change nothing."""


@pytest.mark.parametrize("first_start", ["long ago", "after all"])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(("change", "same"), [(untouched, True), (copied, True), (rewritten, False), (another, False)])
def test_a_file_is_compared_by_state_and_digest_with_any_clock(
    tmp_path: Path, change: Callable[[str], None], same: bool, several: bool, first_start: str
) -> None:
    paths = tuple(page(tmp_path / name) for name in (("a.png", "b.png") if several else ("a.png",)))
    kept = msgspec.structs.replace(
        record(*map(sent, paths)), image_stamps=stamps([stamp(state_of(os.stat(path))) for path in paths])
    )
    change(paths[-1])
    assert Unchanged(since_ns=LATER_NS if first_start == "after all" else 0)(kept, "What?", paths) == same


def test_an_older_record_is_compared_by_digest_if_the_clock_was_ahead(tmp_path: Path) -> None:
    path = page(tmp_path / "a.png")
    kept = record(sent(path))
    assert Unchanged(since_ns=time.time_ns() + 10**12)(kept, "What?", (path,))
    rewritten(path)
    assert not Unchanged(since_ns=time.time_ns() + 10**12)(kept, "What?", (path,))


@pytest.mark.parametrize(("change", "same"), [(untouched, True), (rewritten, False), (another, False)])
def test_a_question_with_a_bad_image_is_unchanged_while_the_file_is(
    tmp_path: Path, change: Callable[[str], None], same: bool
) -> None:
    paths = tuple(page(tmp_path / name) for name in ("a.png", "b.png"))
    kept = msgspec.structs.replace(record(), image_stamps=stamp(state_of(os.stat(paths[1]))))
    change(paths[1])
    assert Unchanged(since_ns=LATER_NS)(kept, "What?", paths) == same


def test_a_long_prompt_is_kept_by_its_ends_and_its_digest() -> None:
    most = "a" * 5_000 + "b" * 5_000
    assert kept_prompt(most) == most
    for given, kept in ((), ""), (("a",), "a"), (("a", ""), ""), (("", "b"), ""), (("a", "b"), "806c5cd3"):
        assert stamps(given) == kept
    longer = "a" * 5_000 + "c" + "b" * 5_000
    digest = hashlib.sha256(longer.encode()).hexdigest()
    left_out = f"[... 1 characters left out, SHA-256 of the whole {digest} ...]"
    assert kept_prompt(longer) == f"{'a' * 5_000}\n{left_out}\n{'b' * 5_000}"


SHOWN = ("a.png", "b.png")
SAME_OR_NOT: list[tuple[str, dict[str, object], dict[str, object], bool]] = [
    ("the same", {}, {}, True),
    ("another prompt", {"prompt": "Who?"}, {}, False),
    ("a prompt in another script", {"prompt": '图\n\u2028"<'}, {"prompt": '图\n\u2028"<'}, True),
    ("a prompt that is kept by its ends", {"prompt": kept_prompt("x" * 20_000)}, {"prompt": "x" * 20_000}, True),
    ("the same system message", {"system": "Be brief."}, {"system": "Be brief."}, True),
    ("another system message", {"system": "Be brief."}, {"system": "Be short."}, False),
    ("no system message any longer", {"system": "Be brief."}, {}, False),
    ("a file less", {}, {"paths": SHOWN[:1]}, False),
    ("files in another order", {}, {"paths": SHOWN[::-1]}, False),
    ("a file that is gone", {}, {"paths": ("a.png", "gone.png")}, False),
    ("an older record, without stamps", {"image_stamps": UNSET}, {}, False),
    ("an older record, and no image now", {"image_stamps": UNSET}, {"paths": ()}, False),
    ("no image", {"image_stamps": UNSET, "images": ()}, {"paths": ()}, True),
    ("no image then", {"image_stamps": UNSET, "images": ()}, {}, False),
]


@pytest.mark.parametrize(
    ("kept", "now", "is_same"), [row[1:] for row in SAME_OR_NOT], ids=[row[0] for row in SAME_OR_NOT]
)
def test_an_unchanged_question_is_known_without_reading_its_record(
    kept: dict[str, object], now: dict[str, object], is_same: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [page(tmp_path / name, name.encode()) for name in SHOWN]
    there = stamps([stamp(state_of(os.stat(path))) for path in paths])
    asked = replace(record(*map(sent, paths)), image_stamps=there, score=0.25, parts={"f1": 0.25})
    with RecordLog(tmp_path / "run.records.jsonl") as log:
        log.append(replace(asked, **kept))
        log.append(replace(asked, question_id="2", parts={}, **kept))
    given = {"prompt": "What?", "system": "", "paths": SHOWN} | now
    given["paths"] = tuple(str(tmp_path / name) for name in given["paths"])  # type: ignore[attr-defined]
    unchanged = Unchanged(since_ns=0)
    with RecordLog(tmp_path / "run.records.jsonl") as log:
        reads: list[int] = []
        read = os.pread
        monkeypatch.setattr(os, "pread", lambda *args: reads.append(1) or read(*args))
        tag = unchanged.tag(**given)  # type: ignore[arg-type]
        for number, name in enumerate(("1", "2")):
            found, is_settled, outcome = log.find((name, ""), tag, {"timeout"})
            assert (found, is_settled) == (number, True)
            assert log.find((name, ""), tag, {"ok"}) == (number, False, None)
            assert (outcome is not None, reads == []) == (is_same, is_same)
            if outcome:
                assert (outcome[0], isnan(outcome[1]) or outcome[1]) == ("ok", True if number else 0.25)
        assert log.find(("3", ""), tag) == (-1, False, None)
