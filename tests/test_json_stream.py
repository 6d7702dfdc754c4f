import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.soak.disk import small_disk
from tests.test_files import TEXTS, strict
from vqa_client import files, json_stream
from vqa_client.errors import OutputError
from vqa_client.files import write_json
from vqa_client.json_stream import SpooledList, SpooledMembers, place, write_json_list, write_json_streamed

ITEMS: list[list[Any]] = [[], [{}], [{"x": text} for text in (*TEXTS, "\udcff")]]


@pytest.mark.parametrize("head", [{}, {"a": 1}, {"a": {"b": {}}, "c": [], "d": "}"}])
@pytest.mark.parametrize("items", [[], [{"x": 1}], [{"x": text} for text in TEXTS]])
def test_a_streamed_list_is_one_object(tmp_path: Path, head: dict[str, Any], items: list[dict[str, Any]]) -> None:
    write_json_list(tmp_path / "report.json", head, "results", iter(items))
    assert strict(tmp_path / "report.json") == {**head, "results": items}


def test_no_nan_and_no_infinity_reach_a_file(tmp_path: Path) -> None:
    write_json_list(tmp_path / "report.json", {"a": float("nan")}, "results", [{"b": float("inf")}])
    assert strict(tmp_path / "report.json") == {"a": None, "results": [{"b": None}]}


class _BugError(Exception):
    pass


def test_an_error_half_way_leaves_the_old_report_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_json(path, {"n": 1})

    def broken() -> Iterator[dict[str, int]]:
        yield {"x": 1}
        raise _BugError

    with pytest.raises(_BugError):
        write_json_list(path, {}, "results", broken())
    assert strict(path) == {"n": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.parametrize(
    "written",
    [
        "write_json_list(sys.argv[1], {}, 'results', ({'x': 'y' * 1000} for _ in range(5000)))",
        "with SpooledList(sys.argv[1]) as items: all(items.append({'x': 'y' * 1000}) is None for _ in range(5000))",
    ],
)
def test_a_full_disk_leaves_no_half_file(written: str, tmp_path: Path) -> None:
    program = (
        "import resource, signal, sys\n"
        "from vqa_client.errors import OutputError\n"
        "from vqa_client.json_stream import SpooledList, write_json_list\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))\n"
        "try:\n"
        f"    {written}\n"
        "except OutputError as error:\n"
        "    print(error)\n"
    )
    path = tmp_path / "report.json"
    command = [sys.executable, "-c", program, str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert str(path) in shown
    assert os.listdir(tmp_path) == []


def test_results_are_written_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BUFFER_BYTES", 4_096)
    sizes = []

    def items() -> Iterator[dict[str, str]]:
        for _ in range(100):
            sizes.append(sum(entry.stat().st_size for entry in tmp_path.iterdir()))
            yield {"x": "y" * 1_000}

    write_json_list(tmp_path / "report.json", {}, "results", items())
    assert sizes[-1] > 90_000


@pytest.mark.parametrize("items", ITEMS)
def test_what_waited_on_disk_stands_as_if_it_had_been_at_hand(tmp_path: Path, items: list[dict[str, Any]]) -> None:
    write_json_list(tmp_path / "straight.json", {"n": 1}, "results", items)
    with SpooledList(tmp_path / "spooled.json") as spooled:
        for item in items:
            spooled.append(item)
        write_json_list(tmp_path / "spooled.json", {"n": 1}, "results", spooled)
    assert (tmp_path / "spooled.json").read_bytes() == (tmp_path / "straight.json").read_bytes()


def test_members_and_items_stand_where_their_places_are(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    with SpooledMembers(path) as members, SpooledList(path) as items:
        for number in range(3):
            members.add(f"document\n{number}", {"n": number})
            items.append(number)
        content = {"a": {"by_document": place("members")}, "b": 2, "results": place("items")}
        write_json_streamed(path, content, {"members": members, "items": items})
    by_document = {"document\n0": {"n": 0}, "document\n1": {"n": 1}, "document\n2": {"n": 2}}
    assert strict(path) == {"a": {"by_document": by_document}, "b": 2, "results": [0, 1, 2]}
    assert b'\n    "by_document": {\n      "document\\n0": ' in path.read_bytes()


def test_an_item_longer_than_the_buffer_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "BUFFER_BYTES", 64)
    items = ["x" * length for length in (1, 63, 64, 65, 500)]
    with SpooledList(tmp_path / "report.json") as spooled:
        for item in items:
            spooled.append(item)
        write_json_list(tmp_path / "report.json", {}, "results", spooled)
    assert strict(tmp_path / "report.json") == {"results": items}


def test_it_waits_where_the_report_really_is_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "big").mkdir()
    (tmp_path / "report.json").symlink_to(tmp_path / "big" / "new" / "report.json")
    with SpooledList(tmp_path / "report.json") as spooled:
        assert (tmp_path / "big" / "new").is_dir()
        spooled.append("x" * 3_000_000)
    assert os.listdir(tmp_path / "big" / "new") == []


def test_nothing_is_left_of_a_process_that_was_killed(tmp_path: Path) -> None:
    program = (
        "import os, pathlib, signal, sys\n"
        "from vqa_client.json_stream import SpooledList\n"
        "spooled = SpooledList(pathlib.Path(sys.argv[1]))\n"
        "spooled.append('y' * 3_000_000)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path / "report.json")], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == []


def test_a_disk_that_fills_up_while_it_waits_names_the_report(tmp_path: Path) -> None:
    program = (
        "import pathlib, resource, signal, sys\n"
        "from vqa_client.errors import OutputError\n"
        "from vqa_client.json_stream import SpooledList\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))\n"
        "try:\n"
        "    with SpooledList(pathlib.Path(sys.argv[1])) as spooled:\n"
        "        for _ in range(5000):\n"
        "            spooled.append('y' * 1000)\n"
        "except OutputError as error:\n"
        "    print(error)\n"
    )
    path = tmp_path / "report.json"
    command = [sys.executable, "-W", "error", "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"can't write {path}: ")
    assert done.stderr == ""
    assert os.listdir(tmp_path) == []


def test_a_disk_with_room_for_one_of_the_two_keeps_the_old_report(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 3_000_000) as disk:
        if not disk.mounted:
            pytest.skip("this user may not mount a small disk")
        path = disk.folder / "report.json"
        write_json(path, {"n": 1})
        with SpooledList(path) as spooled:
            for _ in range(2000):
                spooled.append("y" * 1000)
            with pytest.raises(OutputError, match=r"can't write .*report\.json: No space"):
                write_json_list(path, {}, "results", spooled)
        assert strict(path) == {"n": 1}
        assert os.listdir(disk.folder) == ["report.json"]


def test_a_folder_that_is_a_file_names_the_report(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(OutputError, match=r"can't write .*taken/report\.json"):
        SpooledList(tmp_path / "taken" / "report.json")
