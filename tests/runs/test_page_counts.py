"""Documents with different numbers of pages in two folders of one command."""

from pathlib import Path

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import oracle
from tests.faults.questions import Notes
from tests.runs.sample import Sample
from vqa_client.tasks.longbench import PageCounts


async def test_pages_missing_in_one_folder_at_a_documents_end_are_noted(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of, notes = Sample(tmp_path, 4, pages=2, folders=("adv_jpeg_10", "clean")), Notes()
    for name in ("q1", "q3"):
        (of.pages_dir / "clean" / "images" / f"{name}_page_002.png").unlink()
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url), progress=notes)
    told = "documents with other numbers of pages in clean than in adv_jpeg_10: 2 (q1 has 1, not 2)"
    assert notes.about("numbers of pages") == [told]


async def test_pages_missing_inside_a_document_are_noted_by_the_first_one(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of, notes = Sample(tmp_path, 4, pages=5), Notes()
    for name, page in (("q1", 2), ("q1", 4), ("q3", 3)):
        (of.pages_dir / "clean" / "images" / f"{name}_page_{page:03d}.png").unlink()
    server = fault_server(oracle(of.replies()))
    await vqa_client.arun(of.settings(server.base_url), progress=notes)
    assert notes.about("gaps") == ["mc clean: documents with gaps: 2; q1 lacks page 2"]


def test_a_missing_document_is_reported_elsewhere() -> None:
    counts, said = PageCounts(), list[str]()
    pages = {"a": ("1", "2"), "b": (), "c": ("1",)}
    others = {"a": ("1", "2"), "b": ("1",), "c": ()}
    for folder, of in (("first", pages), ("other", others)):
        look = counts.counted(folder, lambda name, of=of: of[name])  # type: ignore[misc]
        assert [look(name) for name in "abc"] == list(of.values())
    counts.report(said.append)
    assert said == []
