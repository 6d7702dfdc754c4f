"""Lines of the record log: checksums, the run's name, and the records in damaged lines."""

import json
import zlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests.linear_time import RATIO, growth
from tests.test_records import fill, record
from vqa_client.errors import IdentityError
from vqa_client.log_lines import run_name
from vqa_client.records import RecordLog
from vqa_client.reports.log_reader import LogReader

Spoil = Callable[[list[bytes]], list[bytes]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.records.jsonl"


def sealed(text: bytes) -> bytes:
    """The text of a record with its checksum."""
    return b'%b,"crc":"%08x"}' % (text, zlib.crc32(text))


def lines_in(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[:-1]


def test_every_line_ends_with_a_checksum_of_all_before_it_and_the_first_names_the_run(path: Path) -> None:
    identity = {"task": "mc", "model": {"model_name": "größe", "temperature": None}}
    with RecordLog(path, identity) as log:
        for name in ("1", "2"):
            log.append(record(name, output="ü"))
    for _ in range(2):
        for line in lines_in(path):
            assert line == sealed(line.partition(b',"crc":"')[0])
            assert list(json.loads(line))[-1] == "crc"
        assert [json.loads(line).get("run") for line in lines_in(path)] == [run_name(identity), None]
        with RecordLog(path) as log:  # who opens it need not know the run
            log.rewrite(list(log))


@pytest.mark.parametrize("name", ["2", 2, "größe"])
def test_a_runs_name_is_that_of_its_settings_without_those_that_nobody_gave(name: object) -> None:
    given = {"task": "mc", "images": {"max_pages": name}}
    same = {"images": {"quality": None, "max_pages": name}, "server": {"a": 1}, "new": {"x": None}, "task": "mc"}
    assert run_name(given) == run_name(same) != run_name({"task": "mc"})


def test_a_log_of_another_run_is_not_opened(path: Path) -> None:
    with RecordLog(path, {"model": "a"}) as log:
        log.append(record("1"))
    before = path.read_bytes()
    with pytest.raises(IdentityError) as caught:
        RecordLog(path, {"model": "b"})
    first, other = (run_name({"model": name}) for name in "ab")
    named = f"{path} is the log of another run: its first line names {first}, its run file is of {other}"
    way_out = "put back the log or the run file that belongs here, or give the log a folder of its own"
    assert (str(caught.value), caught.value.hint) == (named, way_out)
    assert path.read_bytes() == before
    RecordLog(path, {"model": "a", "server": {"fingerprint": 1}}).close()


def test_a_log_without_a_name_or_checksums_is_any_runs(path: Path) -> None:
    path.write_bytes(b'{"question_id":"1","status":"ok","output":"B"}\n')
    with RecordLog(path, {"model": "a"}) as log:
        assert log.repaired == ""
        assert [record.output for record in log] == ["B"]
        log.append(record("2"))
    assert [set(json.loads(line)) >= {"crc"} for line in lines_in(path)] == [False, True]
    path.unlink()
    with RecordLog(path) as log:
        log.append(record("1"))
    assert "run" not in json.loads(path.read_bytes())


SPOILED: list[tuple[str, Spoil, list[str], str, bytes]] = [
    (
        "two in a line, then garbage",
        lambda one: [one[0], one[1] + one[2], b"garbage \xff", one[3]],
        ["0", "1", "2", "3"],
        "1 unreadable line (3) set aside in run.records.damaged.txt; missing records are asked again; "
        "1 line (2) had several records each, and all remain",
        b"line 3: garbage \xff\n",
    ),
    (
        "two in a line of an older log, with blanks",
        lambda one: [b'{"question_id": "a", "status": "ok"} {"status": "ok", "question_id": "b"}', one[3]],
        ["a", "b", "3"],
        "1 line (1) had several records each, and all remain",
        b"",
    ),
    (
        "the line feed between two became another byte",
        lambda one: [one[0] + b"*" + one[1], one[2]],
        ["0", "1", "2"],
        "1 unreadable line (1) set aside",
        b"line 1: *\n",
    ),
    (
        "half a record, and a whole one behind it",
        lambda one: [one[0], one[1][:60] + one[2], one[3]],
        ["0", "2", "3"],
        "1 unreadable line (2) set aside",
        b'line 2: {"question_id":"1"',
    ),
    (
        "a whole record, and half of one behind it",
        lambda one: [one[0] + one[1][:60], one[2]],
        ["0", "2"],
        "1 unreadable line (1) set aside",
        b'line 1: {"question_id":"1"',
    ),
    (
        "a line feed inside a record",
        lambda one: [one[0], one[1].replace(b"the", b"t\ne"), one[2]],
        ["0", "2"],
        "2 unreadable lines (2, 3) set aside",
        b'line 2: {"question_id":"1"',
    ),
    (
        "a reply that is itself a record",
        lambda one: [msgspec.json.encode(record("0", output=one[1].decode())), one[2]],
        ["0", "2"],
        "",
        b"",
    ),
    (
        "a reply that is a record, in a line that was edited",
        lambda one: [one[0], msgspec.json.encode(record("9", output=one[1].decode()))[:-4], one[2]],
        ["0", "2"],
        "1 unreadable line (2) set aside",
        b'line 2: {"question_id":"9"',
    ),
    (
        "a changed record in a line of two",
        lambda one: [one[0] + one[1].replace(b"the 1", b"the 9"), one[2]],
        ["0", "2"],
        "1 unreadable line (1) set aside",
        b'line 1: {"question_id":"1"',
    ),
    (
        "a whole record with a status of a later version",
        lambda one: [sealed(b'{"question_id":"1","status":"odd"'), one[2]],
        ["2"],
        "1 unreadable line (1) set aside",
        b'line 1: {"question_id":"1","status":"odd","crc":',
    ),
    (
        "line ends of another system",
        lambda one: [one[0] + b"\r", one[1] + b"\r"],
        ["0", "1"],
        "",
        b"",
    ),
    (
        "an older record that has a field of another kind",
        lambda one: [b'{"question_id":"1","status":"ok","output":3}', one[2]],
        ["2"],
        "1 unreadable line (1) set aside",
        b'line 1: {"question_id":"1","status":"ok","output":3}\n',
    ),
]


@pytest.mark.parametrize(
    ("spoil", "kept", "told", "aside"), [row[1:] for row in SPOILED], ids=[row[0] for row in SPOILED]
)
def test_what_is_whole_in_a_damaged_log_is_kept_and_the_rest_set_aside_by_line(
    path: Path, spoil: Spoil, kept: list[str], told: str, aside: bytes
) -> None:
    fill(path, *(record(str(n), output=f"the {n}") for n in range(4)))
    path.write_bytes(b"\n".join(spoil(lines_in(path))) + b"\n")
    reader = LogReader(path)
    assert sorted(one.question_id for one in reader) == sorted(kept)
    with RecordLog(path) as log:
        assert told in log.repaired
        assert bool(told) == bool(log.repaired)
        assert [each.question_id for each in log] == kept
    damaged = path.with_name("run.records.damaged.txt")
    assert (damaged.read_bytes() if damaged.exists() else b"").startswith(aside)
    assert damaged.exists() == bool(aside)
    assert len(lines_in(path)) == len(kept)
    with RecordLog(path) as log:
        assert log.repaired == ""


def test_what_was_set_aside_before_stays(path: Path) -> None:
    for word in (b"one\n", b"two\n"):
        path.write_bytes(word)
        RecordLog(path).close()
    assert path.with_name("run.records.damaged.txt").read_bytes() == b"line 1: one\nline 1: two\n"


@pytest.mark.parametrize("begin", [b'{"question_id":', b'{"question_id":[', b'{"a":{"question_id":"', b"}{", b"} "])
def test_a_line_of_endless_beginnings_is_looked_through_in_time(path: Path, begin: bytes) -> None:
    def looked_through(text: str) -> None:
        path.write_text(text)
        assert LogReader(path).unreadable == 0  # it may still be being written

    assert growth(looked_through, begin.decode(), 400_000).ratio < RATIO
