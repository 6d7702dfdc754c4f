"""Links and other things that are no files where a command wants to write."""

import os
from pathlib import Path

import pytest

from tests.fakes.fixtures import StartsServers
from tests.faults.commands import ran
from tests.faults.questions import Questions

NAMES = ("clean_mc_eval.json", "clean_mc_eval.run.json", "clean_mc_eval.records.jsonl")


def test_a_linked_output_folder_is_written_through(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path / "of", 2)
    (tmp_path / "disk").mkdir()
    of.output.symlink_to(tmp_path / "disk")
    done = ran(of.arguments(fault_server().base_url))
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert {path.name for path in (tmp_path / "disk").iterdir()} >= set(NAMES)


def test_links_to_files_stay_links_and_the_run_goes_on(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path / "of", 2)
    server = fault_server()
    assert ran(of.arguments(server.base_url)).code == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in NAMES:
        (of.output / name).rename(elsewhere / name)
        (of.output / name).symlink_to(elsewhere / name)
    before = {name: (elsewhere / name).read_bytes() for name in NAMES}
    assert ran(of.arguments(server.base_url, "--parser", "seed")).code == 0
    assert all((of.output / name).is_symlink() for name in NAMES)
    assert (elsewhere / NAMES[0]).read_bytes() != before[NAMES[0]]
    assert len(server.chats) == 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["loop", "folder", "pipe", "device"])
def test_what_is_no_file_is_one_message_and_stays_as_it_is(
    kind: str, name: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path / "of", 2)
    of.output.mkdir()
    path = of.output / name
    match kind:
        case "loop":
            path.symlink_to(path)
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            path.symlink_to("/dev/null")
    done = ran(of.arguments(fault_server().base_url, "--wait_for_server", "2"))
    assert done.is_clean(), done.text
    if (kind, name) == ("loop", NAMES[0]):  # the report takes its place
        assert done.code == 0, done.text
        return
    assert done.code == 2, done.text
    assert name in done.err
    assert os.path.lexists(path)


def test_an_unfinished_file_is_never_written_through_a_link(tmp_path: Path, fault_server: StartsServers) -> None:
    """What stands beside a report under a name that could be guessed is not opened by it."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    of = Questions(tmp_path / "of", 1)
    of.output.mkdir()
    for name in NAMES:
        for guess in (f"{name}.tmp", f".{name}.tmp", f"{name}~", f"{name}.lock"):
            (of.output / guess).symlink_to(victim)
    assert ran(of.arguments(fault_server().base_url)).code == 0
    assert victim.read_text() == "precious"
