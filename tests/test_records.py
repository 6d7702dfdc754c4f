"""The record log: written records stay, torn lines are repaired, and only one process writes."""

import errno
import fcntl
import json
import os
import tracemalloc
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client import compact_index, files
from vqa_client.errors import OutputError, UsageError
from vqa_client.records import RecordLog, damaged_beside, locked
from vqa_client.reports.log_reader import LogReader
from vqa_client.types import FAILED, Failure, Record, Status


def record(name: str, status: Status = "ok", **fields: object) -> Record:
    return Record(question_id=name, status=status, **fields)  # type: ignore[arg-type]


def kept(log: RecordLog, name: str, form: str = "") -> Record:
    record = log.get((name, form))
    assert record is not None
    return record


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.records.jsonl"


def fill(path: Path, *records: Record) -> None:
    with RecordLog(path) as log:
        for each in records:
            log.append(each)


def test_records_come_back_equal_whatever_line_ends_a_reply_holds(path: Path) -> None:
    odd = record("1", output="a\u2028b\x85c\x0bd\r\n\x00e", prompt="Größe 图像")
    fill(path, odd, record("2"))
    assert path.read_bytes().count(b"\n") == 2
    with RecordLog(path) as log:
        assert kept(log, "1") == odd


def test_the_last_record_of_a_question_counts(path: Path) -> None:
    fill(path, record("1", "timeout"), record("2"), record("1", output="B"))
    with RecordLog(path) as log:
        assert len(log) == 2
        assert kept(log, "1").output == "B"
        assert log.is_done(("1", ""))


def test_a_record_of_another_form_is_named_with_the_way_out(path: Path) -> None:
    fill(path, record("1"))
    text = path.read_bytes().partition(b',"crc"')[0].replace(b'"groups":{}', b'"groups":[]')
    path.write_bytes(b'%b,"crc":"%08x"}\n' % (text, crc32(text)))
    with RecordLog(path) as log, pytest.raises(UsageError) as caught:
        log.get(("1", ""))
    assert str(caught.value).startswith(f"{path}: the record of '1' can't be read: Expected `object`, got `array`")
    assert caught.value.hint == "was it edited? --fresh moves the records aside and starts over"


def test_reading_and_appending_do_not_disturb_each_other(path: Path) -> None:
    with RecordLog(path) as log:
        for number in range(300):
            log.append(record(str(number), output="x" * (number % 97)))
            for earlier in {0, number // 2, number}:
                assert kept(log, str(earlier)).output == "x" * (earlier % 97)


def test_variants_of_a_question_are_kept_apart(path: Path) -> None:
    fill(path, record("1", variant="clean"), record("1", "timeout", variant="adv_dpi_56"))
    with RecordLog(path) as log:
        assert log.is_done(("1", "clean"))
        assert not log.is_done(("1", "adv_dpi_56"))


@pytest.mark.parametrize("same_hash", [False, True])
def test_a_record_with_a_folder_is_found_as_older_logs_have_it(
    path: Path, monkeypatch: pytest.MonkeyPatch, same_hash: bool
) -> None:
    if same_hash:
        monkeypatch.setattr(compact_index, "hash", lambda _: 7, raising=False)
    older = record("1", variant="clean"), record("2", "timeout", variant="clean")
    fill(path, *older, record("3", folder="clean", output="third"), record("1", variant="blur/1", folder="clean"))
    with RecordLog(path) as log:
        log.append(record("2", folder="clean", output="again"))
        assert [kept(log, name, "clean").output for name in "123"] == [None, "again", "third"]
        assert kept(log, "1", "blur/1").folder == "clean"
        assert not any(log.get((name, "")) for name in "123")
        assert [each.key for each in log] == [("1", "clean"), ("2", "clean"), ("3", "clean"), ("1", "blur/1")]
    assert LogReader(path).keys() == {*((name, "clean") for name in "123"), ("1", "blur/1")}


DONE: list[tuple[Status, bool, bool]] = [
    ("ok", True, True),
    ("unparsed", True, True),
    ("ambiguous", True, True),
    ("truncated", True, True),
    ("refused", True, True),
    ("empty", True, True),
    ("bad_image", True, False),
    ("too_long", True, False),
    ("too_many_images", True, False),
    ("rejected", False, False),
    ("bad_response", False, False),
    ("rate_limited", False, False),
    ("timeout", False, False),
    ("connection", False, False),
    ("server_error", False, False),
]


@pytest.mark.parametrize(("status", "done", "done_when_retrying"), DONE)
def test_only_a_reply_or_a_lasting_failure_is_done(
    path: Path, status: Status, done: bool, done_when_retrying: bool
) -> None:
    fill(path, record("1", status))
    with RecordLog(path) as log:
        assert log.is_done(("1", "")) == done
        assert log.is_done(("1", ""), FAILED) == done_when_retrying


@pytest.mark.parametrize(("transient", "done"), [(False, True), (True, False)])
def test_a_failure_that_may_pass_is_not_done(path: Path, transient: bool, done: bool) -> None:
    fill(path, record("1", "bad_image", error=Failure(message="no memory", transient=transient)))
    with RecordLog(path) as log:
        assert (log.is_done(("1", "")), log.failed_permanently(())) == (done, int(done))


@pytest.mark.parametrize("status", [status for status, *_ in DONE])
def test_a_status_that_is_named_is_asked_again_and_no_other(path: Path, status: Status) -> None:
    fill(path, record("1", status), record("2"))
    with RecordLog(path) as log:
        assert not log.is_done(("1", ""), {status})
        assert log.is_done(("2", ""), {status}) == (status != "ok")


@pytest.mark.parametrize(
    "tail",
    [b'{"question_id": "4", "stat', b'{"question_id":"4","status":"ok","output":"\xe5\x9b', b"{}\n", b"\x00" * 512],
)
def test_a_torn_tail_is_dropped_once_and_the_file_is_whole_after(path: Path, tail: bytes) -> None:
    fill(path, record("1"), record("2"), record("3"))
    path.write_bytes(path.read_bytes() + tail)
    with RecordLog(path) as log:
        aside = "1 unreadable line (4) set aside in run.records.damaged.txt; missing records are asked again"
        assert log.repaired == f"run.records.jsonl: {aside}"
        assert len(log) == 3
        log.append(record("4"))
    lines = path.read_bytes().splitlines()
    assert [json.loads(line)["question_id"] for line in lines] == ["1", "2", "3", "4"]
    with RecordLog(path) as log:
        assert log.repaired == ""


def test_a_whole_last_line_without_its_newline_is_kept(path: Path) -> None:
    fill(path, record("1"), record("2"))
    path.write_bytes(path.read_bytes()[:-1])
    with RecordLog(path) as log:
        assert (len(log), log.repaired) == (2, "")
        log.append(record("3"))
    assert len(path.read_bytes().splitlines()) == 3


def test_blank_lines_do_no_harm(path: Path) -> None:
    fill(path, record("1"))
    path.write_bytes(path.read_bytes() + b"\n  \n")
    with RecordLog(path) as log:
        assert (len(log), log.repaired) == (1, "")


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a log of twenty records, each longer than the one before."""
    path = tmp_path_factory.mktemp("cut") / "log.jsonl"
    fill(path, *(record(str(n), output="ü" * n) for n in range(20)))
    return path


@given(cut=st.integers(min_value=0, max_value=10_000))
def test_a_file_cut_anywhere_keeps_every_whole_line(cut: int, twenty: Path) -> None:
    data, path = twenty.read_bytes(), twenty.with_name("cut.jsonl")
    part = data[: cut % (len(data) + 1)]
    path.write_bytes(part)
    with RecordLog(path) as log:
        whole = part.count(b"\n")
        assert len(log) in (whole, whole + 1)  # one more where only the newline is missing
        assert all(kept(log, str(n)).output == "ü" * n for n in range(whole))


DISK = {
    "read": "check the disk; the log stays as it is, and the same command resumes once it can be read",
    "written": "make room or allow writing there, then run the same command again",
}


def test_a_disk_that_fails_is_one_message_whatever_it_was_asked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, record("1", output="x" * 20_000), record("2"))

    def fails(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    log = RecordLog(path)
    for call in ("fsync", "write", "ftruncate"):
        monkeypatch.setattr(os, call, fails)
    for ask in (log.sync, lambda: log.append(record("3")), log.close):
        with pytest.raises(OutputError, match=r"run\.records\.jsonl can't be written: Input/output error"):
            ask()
    monkeypatch.undo()
    for call, content, said in (("pread", b"", "read"), ("write", b"\n", "written")):
        path.write_bytes(path.read_bytes().removesuffix(content))
        monkeypatch.setattr(os, call, fails)
        with pytest.raises(OutputError, match=rf"run\.records\.jsonl can't be {said}: Input/output error") as caught:
            RecordLog(path)
        assert caught.value.hint == DISK[said]
        monkeypatch.undo()
        with locked(path):
            assert path.exists(), "the lock is free again"
    with RecordLog(path) as log:
        monkeypatch.setattr(os, "pread", fails)
        with pytest.raises(OutputError, match=r"run\.records\.jsonl can't be read: Input/output error"):
            kept(log, "1")


def test_what_keeps_a_log_from_being_locked_or_mended_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OutputError, match=r"run\.records\.jsonl can't be written: No such file"), locked(path):
        raise AssertionError("nothing is locked")
    path.write_bytes(b"{}\n")
    damaged_beside(path).mkdir()
    with pytest.raises(OutputError, match=r"run\.records\.damaged\.txt can't be written: Is a directory"):
        RecordLog(path)

    def fails(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fails)
    with pytest.raises(UsageError, match=r"run\.records\.jsonl can't be locked: No locks available") as caught:
        RecordLog(path)
    assert caught.value.hint == "its file system has no locks: give a local --output"


def test_two_writers_are_refused(path: Path) -> None:
    with RecordLog(path):
        files_before = len(os.listdir("/dev/fd"))
        with pytest.raises(UsageError, match="is being written by another run") as caught:
            RecordLog(path)
        assert caught.value.hint == "wait for it to end, or give another --output"
        assert len(os.listdir("/dev/fd")) == files_before
    with locked(path), pytest.raises(UsageError, match="is being written by another run"), locked(path):
        raise AssertionError("it has two locks")
    RecordLog(path).close()


def test_a_full_disk_leaves_whole_records_and_a_clear_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordLog(path) as log:
        log.append(record("1"))
        write = os.write

        def short(descriptor: int, data: bytes) -> int:
            write(descriptor, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "write", short)
        with pytest.raises(OutputError, match="No space left"):
            log.append(record("2"))
        monkeypatch.undo()
        log.append(record("3"))
    assert [json.loads(line)["question_id"] for line in path.read_bytes().splitlines()] == ["1", "3"]


def test_an_unwritable_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"file/log\.jsonl"):
        RecordLog(tmp_path / "file" / "log.jsonl")


def test_dropped_questions_are_as_if_never_asked(path: Path) -> None:
    fill(path, record("1"), record("2"))
    with RecordLog(path) as log:
        log.drop({("1", "")})
        assert log.get(("1", "")) is None
        log.append(record("3"))
        assert [each.question_id for each in log] == ["2", "3"]


def test_keys_are_told_apart_even_where_their_hashes_are_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact_index, "hash", lambda _: 7, raising=False)
    variants = [f"blur/{level}" for level in range(5)]
    fill(path, *(record(str(n), variant=one, output=f"{n} {one}") for n in range(20) for one in variants))
    with RecordLog(path) as log:
        assert all(kept(log, str(n), one).output == f"{n} {one}" for n in range(20) for one in variants)
        assert log.get(("20", "blur/0")) is None
        log.append(record("3", "timeout", variant="blur/1"))
        assert not log.is_done(("3", "blur/1"))
        assert (len(log), log.answered()) == (100, 99)


def test_lines_that_were_written_otherwise_are_found_too(path: Path) -> None:
    path.write_text('{"status": "ok", "output": "B", "question_id": "\\u0031"}\n')
    with RecordLog(path) as log:
        assert kept(log, "1").output == "B"
        assert log.get(("1", "other")) is None


def test_a_record_takes_a_few_bytes_of_memory(path: Path) -> None:
    fill(path, *(record(f"{n:024x}", output="x" * 200) for n in range(10_000)))
    tracemalloc.start()
    with RecordLog(path) as log:
        assert len(log) == 10_000
        held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held / 10_000 < 34


@pytest.mark.parametrize("new", [["new"], []])
def test_a_log_that_is_replaced_or_removed_while_another_opens_it_is_opened_again(
    new: list[str], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path, record("old"))
    lock, replaced = files.lock, []

    def replace_first(descriptor: int, of: Path, *, shared: bool) -> None:
        if not replaced:
            replaced.append(path.with_suffix(".new"))
            path.unlink()
            if new:
                fill(replaced[0], *map(record, new))
                replaced[0].replace(path)
        lock(descriptor, of, shared=shared)

    monkeypatch.setattr(files, "lock", replace_first)
    with RecordLog(path) as log:
        log.append(record("later"))
    with RecordLog(path) as log:
        assert [each.question_id for each in log] == [*new, "later"]


def test_lines_of_any_length_are_read_in_any_order(path: Path) -> None:
    """A line is read together with the next ones, and may be longer than one read."""
    lengths = {str(number): (number * 7_919) % 21_000 for number in range(40)}
    fill(path, *(record(name, output="x" * length) for name, length in lengths.items()))
    with RecordLog(path) as log:
        for name in [*lengths, *reversed(lengths), *sorted(lengths)]:
            assert kept(log, name).output == "x" * lengths[name]
        log.append(record("last", output="y" * 9_000))
        assert kept(log, "last").output == "y" * 9_000
