"""Links and other things that are not files, at paths where a command writes."""

import os
from pathlib import Path

import pytest

from tests.fakes.fixtures import StartsServers
from tests.faults.commands import ran
from tests.faults.questions import Questions
from tests.html.samples import record, write_run
from vqa_client.cli.main import run_command

NAMES = ("clean_mc_eval.json", "clean_mc_eval.run.json", "clean_mc_eval.records.jsonl")


def test_a_linked_output_folder_is_written_through(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path / "of", 2)
    (tmp_path / "disk").mkdir()
    of.output.symlink_to(tmp_path / "disk")
    done = ran(of.arguments(fault_server().base_url))
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert {path.name for path in (tmp_path / "disk").iterdir()} >= set(NAMES)


def test_links_to_files_stay_links_and_the_run_continues(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path / "of", 2)
    server = fault_server()
    assert ran(of.arguments(server.base_url)).code == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in NAMES:
        (of.output / name).rename(elsewhere / name)
        (of.output / name).symlink_to(elsewhere / name)
    before = {name: (elsewhere / name).read_bytes() for name in NAMES}
    assert ran(of.arguments(server.base_url, "--parser", "published")).code == 0
    assert all((of.output / name).is_symlink() for name in NAMES)
    assert (elsewhere / NAMES[0]).read_bytes() != before[NAMES[0]]
    assert len(server.chats) == 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["loop", "folder", "pipe", "device"])
def test_what_is_not_a_file_is_one_message_and_stays_unchanged(
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
    if (kind, name) == ("loop", NAMES[0]):  # the report replaces it
        assert done.code == 0, done.text
        return
    assert done.code == 2, done.text
    assert name in done.err
    assert os.path.lexists(path)


FORMS = {
    ".html": b'<!doctype html>\n<html lang="en"><head><title>My notes</title></head></html>',
    ".records.csv": b"name,question_id\n",
    ".summary.json": b'{"task": "mine"}',
    ".records.parquet": b"no parquet",
    ".md": b"# My notes: all of them\n\nNo table.\n",
}
COMPARED = {
    "compare.html": FORMS[".html"],
    "compare.csv": FORMS[".records.csv"],
    "compare.json": FORMS[".summary.json"],
    "compare_groups.csv": b"a,b\n",
}


def written_by(name: str, folder: Path) -> tuple[list[str], Path]:
    """A command that writes a file with that name or ending, and its path."""
    log = write_run(folder / "a", [record(n) for n in range(3)])
    if name in COMPARED:
        write_run(folder / "b", [record(n) for n in range(3)])
        return ["compare", str(folder / "a"), str(folder / "b"), "-o", str(folder / "out")], folder / "out" / name
    words = ["report", str(log), "-o", str(folder / "out"), f"--{name.rpartition('.')[2]}"]
    return words, folder / "out" / f"clean_mc_eval{name}"


@pytest.mark.parametrize("name", [*FORMS, *COMPARED])
def test_a_page_or_a_table_replaces_only_its_own_kind_and_never_a_link(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="extra parquet is not installed")
    words, path = written_by(name, tmp_path)
    path.parent.mkdir()
    path.write_bytes((FORMS | COMPARED)[name])
    assert run_command(words) == 2
    assert f"{path} is there already, and not from this program" in capsys.readouterr().err
    assert path.read_bytes() == (FORMS | COMPARED)[name]
    path.write_bytes(b"")
    assert run_command(words) == 0
    made = path.read_bytes()
    path.write_bytes(made + b" ")
    assert run_command(words) == 0
    assert path.read_bytes() == made
    victim = tmp_path / "victim"
    path.rename(victim)
    for target in (victim, tmp_path / "nothing"):
        path.symlink_to(target)
        capsys.readouterr()
        assert run_command(words) == 2
        assert f"{path} is a link" in capsys.readouterr().err
        path.unlink()
    assert victim.read_bytes() == made
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_run_leaves_what_is_in_the_place_of_its_page_and_ends_well(
    kind: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path / "of", 2)
    of.output.mkdir()
    page, victim = of.output / "clean_mc_eval.html", tmp_path / "victim"
    victim.write_bytes(FORMS[".html"])
    page.write_bytes(FORMS[".html"]) if kind == "file" else page.symlink_to(victim)
    done = ran(of.arguments(fault_server().base_url))
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert f"no page: {page} is" in done.err
    assert page.read_bytes() == victim.read_bytes() == FORMS[".html"]


def test_an_unfinished_file_is_never_written_through_a_link(tmp_path: Path, fault_server: StartsServers) -> None:
    """A file beside a report with a name that could be guessed is not opened."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    of = Questions(tmp_path / "of", 1)
    of.output.mkdir()
    for name in NAMES:
        for guess in (f"{name}.tmp", f".{name}.tmp", f"{name}~", f"{name}.lock"):
            (of.output / guess).symlink_to(victim)
    assert ran(of.arguments(fault_server().base_url)).code == 0
    assert victim.read_text() == "precious"
