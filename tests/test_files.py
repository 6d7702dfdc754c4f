import errno
import fcntl
import json
import os
import subprocess
import sys
from math import nan
from pathlib import Path
from typing import Any

import pytest

from vqa_client import files
from vqa_client.errors import OutputError, forbidden, unreadable
from vqa_client.files import check_output, checked_nesting, replacing, unwritable, write_json

TEXTS = ["a\u2028b\x85c\x0bd", "答案 ✓", "=1+1", 'line1\nline2 "q" \r \x00']


def strict(path: Path) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(path.read_bytes(), parse_constant=refuse)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    value = {"texts": TEXTS, "accuracy": None, "nested": {"a": [1, 2.5, {}]}}
    write_json(tmp_path / "report.json", value)
    assert strict(tmp_path / "report.json") == value
    write_json(tmp_path / "small.json", {"a": [1]})
    assert (tmp_path / "small.json").read_bytes() == b'{\n  "a": [\n    1\n  ]\n}\n'
    assert "答案".encode() in (tmp_path / "report.json").read_bytes()


def test_an_undecodable_file_name_does_not_stop_a_report(tmp_path: Path) -> None:
    write_json(tmp_path / "report.json", {"images_dir": "/pages/\udcff", "n": [1, nan]})
    assert strict(tmp_path / "report.json") == {"images_dir": "/pages/?", "n": [1, None]}


def test_folders_are_made_and_an_old_report_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "report.json"
    write_json(path, {"n": 1})
    write_json(path, {"n": 2})
    assert strict(path) == {"n": 2}
    assert [entry.name for entry in path.parent.iterdir()] == ["report.json"]


def test_a_link_stays_a_link_to_the_new_report(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}")
    (tmp_path / "link.json").symlink_to("old.json")
    write_json(tmp_path / "link.json", {"n": 1})
    assert (tmp_path / "link.json").is_symlink()
    assert strict(tmp_path / "old.json") == {"n": 1}


def test_a_report_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_json(tmp_path / "report.json", {})
    assert (tmp_path / "report.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_place_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    other, file = "choose another --output", tmp_path / "file"
    for path, reason, hint in (
        (file / "report.json", f"{file} is a file, not a folder", other),
        (tmp_path / "folder", "it is not a file", "name a replaceable file"),
        (Path("/proc/nowhere/report.json"), "/proc is not writable", other),
    ):
        with pytest.raises(OutputError) as caught:
            write_json(path, {})
        assert (str(caught.value), caught.value.hint) == (f"can't write {path}: {reason}", hint)
    with pytest.raises(
        OutputError, match=rf"^--output {file}/a can't be written: {file} is a file, not a folder$"
    ) as no:
        check_output(file / "a")
    assert no.value.hint == other
    full = unwritable(tmp_path / "a", OSError(errno.ENOSPC, "No space left on device"))
    assert str(full) == f"can't write {tmp_path}/a: No space left on device"
    assert full.hint == "make room or allow writing there, then run the same command again"


def test_settings_may_be_nested_a_hundred_levels_deep() -> None:
    for wrapped in (lambda inner: [0, inner], lambda inner: {"a": inner}):
        value: Any = {}
        for _ in range(99):
            value = wrapped(value)
        assert checked_nesting(value) is value
        with pytest.raises(ValueError, match=r"^it is nested more than 100 levels deep$"):
            checked_nesting(wrapped(value))


def test_a_missing_right_has_its_own_hint() -> None:
    missing, broken = (
        PermissionError(errno.EACCES, "Permission denied", "a.csv"),
        OSError(errno.EIO, "Input/output error"),
    )
    right = "this user needs the right to it and to its folders"
    for error, said, hint in (
        (forbidden(missing), "a.csv: Permission denied", right),
        (unreadable("a.csv", missing, "save it again"), "can't read a.csv: Permission denied", right),
        (unreadable("a.csv", broken, "save it again"), "can't read a.csv: Input/output error", "save it again"),
        (unreadable("a.csv", OSError("odd")), "can't read a.csv: odd", ""),
    ):
        assert (str(error), error.hint) == (said, hint)


def test_a_device_is_never_replaced_by_a_file() -> None:
    with pytest.raises(OutputError, match=r"^can't write /dev/null: it is not a file$") as caught:
        write_json("/dev/null", {})
    assert caught.value.hint == "name a replaceable file"
    assert not Path("/dev/null").is_file()


def test_a_block_that_ends_well_replaces(tmp_path: Path) -> None:
    with replacing(tmp_path / "table.csv") as file:
        file.write(b"a,b\r\n")
        assert not (tmp_path / "table.csv").exists()
    assert (tmp_path / "table.csv").read_bytes() == b"a,b\r\n"


WRITER = """
import os, sys, time
from vqa_client.files import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"x" * 1000)
    file.flush()
    print("begun", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_writer_left_is_removed_at_the_next_start_and_what_a_living_one_writes_is_not(
    tmp_path: Path,
) -> None:
    foreign = [".notes.tmp", ".0123456789abcdef.tmp", "vqa-client-0.tmp", ".vqa-client-mine.tmp"]
    for name in foreign:
        (tmp_path / name).write_text("precious")
    other_host = tmp_path / f".vqa-client-00000000-{'0' * 16}.tmp"
    long_ago = tmp_path / f".vqa-client-00000000-{'1' * 16}.tmp"
    (tmp_path / f".vqa-client-{files._HOST}-{'2' * 16}.tmp").symlink_to(tmp_path / ".notes.tmp")
    command = [sys.executable, "-c", WRITER]
    with (
        subprocess.Popen([*command, str(tmp_path / "a")], stdout=subprocess.PIPE) as living,
        subprocess.Popen([*command, str(tmp_path / "b")], stdout=subprocess.PIPE) as killed,
    ):
        for one in (living, killed):
            assert one.stdout
            assert one.stdout.readline() == b"begun\n"
        killed.kill()
        killed.wait()
        for path in (other_host, long_ago):
            path.write_text("half a report")
        os.utime(long_ago, (1, 1))
        before = set(os.listdir(tmp_path))
        files._swept.clear()
        write_json(tmp_path / "report.json", {})
        gone = before - set(os.listdir(tmp_path))
        living.kill()
    assert long_ago.name in gone
    assert len(gone) == 2
    assert all((tmp_path / name).read_text() == "precious" for name in foreign)
    assert other_host.exists()
    files._swept.clear()
    write_json(tmp_path / "report.json", {})
    left = {name for name in os.listdir(tmp_path) if name.startswith(".vqa-client-")}
    assert left == {other_host.name, f".vqa-client-{files._HOST}-{'2' * 16}.tmp", ".vqa-client-mine.tmp"}


def test_a_file_that_was_taken_for_a_leftover_before_it_was_locked_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_json(tmp_path / "report.json", {"n": 1})
    lock, lost = fcntl.flock, []

    def too_late(file: Any, how: int) -> None:
        if not lost:
            lost.append(file.name)
            os.unlink(file.name)
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", too_late)
    write_json(tmp_path / "report.json", {"n": 2})
    assert (strict(tmp_path / "report.json"), len(lost)) == ({"n": 2}, 1)


def test_a_file_system_without_locks_takes_reports_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / f".vqa-client-{files._HOST}-{'2' * 16}.tmp"
    left.write_text("somebody may be writing it")

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    write_json(tmp_path / "report.json", {"n": 1})
    assert sorted(os.listdir(tmp_path)) == [left.name, "report.json"]
