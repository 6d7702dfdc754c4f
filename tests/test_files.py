import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vqa_client import files
from vqa_client.errors import UsageError
from vqa_client.files import replacing, write_json
from vqa_client.json_stream import write_json_list

TEXTS = ["a\u2028b\x85c\x0bd", "答案 ✓", "=1+1", 'line1\nline2 "q" \r \x00']


def strict(path: Path) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(path.read_bytes(), parse_constant=refuse)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    value = {"texts": TEXTS, "accuracy": None, "nested": {"a": [1, 2.5, {}]}}
    write_json(tmp_path / "report.json", value)
    assert strict(tmp_path / "report.json") == value
    assert "答案".encode() in (tmp_path / "report.json").read_bytes()


@pytest.mark.parametrize("head", [{}, {"a": 1}, {"a": {"b": {}}, "c": [], "d": "}"}])
@pytest.mark.parametrize("items", [[], [{"x": 1}], [{"x": text} for text in TEXTS]])
def test_a_streamed_list_is_one_object(tmp_path: Path, head: dict[str, Any], items: list[dict[str, Any]]) -> None:
    write_json_list(tmp_path / "report.json", head, "results", iter(items))
    assert strict(tmp_path / "report.json") == {**head, "results": items}


def test_no_nan_and_no_infinity_reach_a_file(tmp_path: Path) -> None:
    write_json_list(tmp_path / "report.json", {"a": float("nan")}, "results", [{"b": float("inf")}])
    assert strict(tmp_path / "report.json") == {"a": None, "results": [{"b": None}]}


def test_an_undecodable_file_name_does_not_stop_a_report(tmp_path: Path) -> None:
    write_json(tmp_path / "report.json", {"images_dir": "/pages/\udcff", "n": 1})
    assert strict(tmp_path / "report.json") == {"images_dir": "/pages/?", "n": 1}


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


def test_a_place_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "report.json", tmp_path / "folder", Path("/proc/nowhere/report.json")):
        with pytest.raises(UsageError) as caught:
            write_json(path, {})
        assert str(path) in str(caught.value)
        assert caught.value.hint


def test_a_device_is_never_replaced_by_a_file() -> None:
    with pytest.raises(UsageError, match="/dev/null"):
        write_json("/dev/null", {})
    assert not Path("/dev/null").is_file()


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    program = (
        "import resource, signal, sys\n"
        "from vqa_client.errors import UsageError\n"
        "from vqa_client.json_stream import write_json_list\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))\n"
        "try:\n"
        "    write_json_list(sys.argv[1], {}, 'results', ({'x': 'y' * 1000} for _ in range(5000)))\n"
        "except UsageError as error:\n"
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


def test_a_block_that_ends_well_replaces(tmp_path: Path) -> None:
    with replacing(tmp_path / "table.csv") as file:
        file.write(b"a,b\r\n")
        assert not (tmp_path / "table.csv").exists()
    assert (tmp_path / "table.csv").read_bytes() == b"a,b\r\n"
