import json
from pathlib import Path
from typing import Any

import pytest

from vqa_client.errors import UsageError
from vqa_client.files import replacing, write_json

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


def test_a_block_that_ends_well_replaces(tmp_path: Path) -> None:
    with replacing(tmp_path / "table.csv") as file:
        file.write(b"a,b\r\n")
        assert not (tmp_path / "table.csv").exists()
    assert (tmp_path / "table.csv").read_bytes() == b"a,b\r\n"
