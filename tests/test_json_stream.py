import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vqa_client import json_stream
from vqa_client.errors import UsageError
from vqa_client.json_stream import Spool, place, write_json_list, write_json_streamed

ITEMS: list[list[Any]] = [[], [{}], [{"x": text} for text in ('line\nfeed "q"', "a\u2028b", "答案", "\udcff")]]


@pytest.mark.parametrize("items", ITEMS)
def test_what_waited_on_disk_stands_as_if_it_had_been_at_hand(tmp_path: Path, items: list[dict[str, Any]]) -> None:
    write_json_list(tmp_path / "straight.json", {"n": 1}, "results", items)
    with Spool(tmp_path / "spooled.json") as spool:
        for item in items:
            spool.item(item)
        write_json_list(tmp_path / "spooled.json", {"n": 1}, "results", spool)
    assert (tmp_path / "spooled.json").read_bytes() == (tmp_path / "straight.json").read_bytes()


def test_members_and_items_stand_where_their_places_are(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    with Spool(path, "{}") as members, Spool(path) as items:
        for number in range(3):
            members.member(f"document\n{number}", {"n": number})
            items.item(number)
        content = {"a": {"by_document": place("members")}, "b": 2, "results": place("items")}
        write_json_streamed(path, content, {"members": members, "items": items})
    by_document = {"document\n0": {"n": 0}, "document\n1": {"n": 1}, "document\n2": {"n": 2}}
    assert json.loads(path.read_bytes()) == {"a": {"by_document": by_document}, "b": 2, "results": [0, 1, 2]}
    assert b'\n    "by_document": {\n      "document\\n0": ' in path.read_bytes()


def test_an_item_longer_than_the_buffer_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "BUFFER_BYTES", 64)
    items = ["x" * length for length in (1, 63, 64, 65, 500)]
    with Spool(tmp_path / "report.json") as spool:
        for item in items:
            spool.item(item)
        write_json_list(tmp_path / "report.json", {}, "results", spool)
    assert json.loads((tmp_path / "report.json").read_bytes()) == {"results": items}


def test_nothing_is_left_of_what_waited(tmp_path: Path) -> None:
    with Spool(tmp_path / "new" / "report.json") as spool:
        spool.item("x" * 3_000_000)
    assert os.listdir(tmp_path / "new") == []


def test_a_full_disk_names_the_report_and_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "import pathlib, resource, signal, sys\n"
        "from vqa_client.errors import UsageError\n"
        "from vqa_client.json_stream import Spool\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))\n"
        "try:\n"
        "    with Spool(pathlib.Path(sys.argv[1])) as spool:\n"
        "        for _ in range(5000):\n"
        "            spool.item('y' * 1000)\n"
        "except UsageError as error:\n"
        "    print(error)\n"
    )
    path = tmp_path / "report.json"
    command = [sys.executable, "-W", "error", "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"can't write {path}: ")
    assert done.stderr == ""
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_a_file_names_the_report(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageError, match=r"can't write .*taken/report\.json"):
        Spool(tmp_path / "taken" / "report.json")
