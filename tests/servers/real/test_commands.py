"""The other commands with real servers: the records have the model's own answers, and these are right."""

from collections.abc import Sequence
from pathlib import Path

from tests.servers.real import easy
from tests.servers.real.answers import Offline
from tests.servers.real.commands import command, config, records
from tests.servers.real.easy import Asked
from tests.servers.real.serving import MOST_IMAGES, RealServer
from vqa_client.types import Record

COUNT, WORKERS = 24, ("--max_workers", "16")


def mc(server: RealServer, folder: Path, asked: Sequence[Asked], *words: str) -> dict[str, Record]:
    data, pages = easy.write_longbench(folder, asked)
    ended = command(
        *("mc", "--data_json", data, "--images_dir", pages, "-o", folder / "out"),
        *("--config", config(server, folder), *WORKERS, *words),
    )
    assert ended.returncode == 0, ended.stderr
    return records(folder / "out")


def assert_own_answers(kept: dict[str, Record], asked: Sequence[Asked], offline: Offline) -> None:
    """Assert that each record has the model's own answer to the record's prompt and the question's pictures."""
    assert kept.keys() == {each.id for each in asked}
    own = offline.answers([(kept[each.id].prompt, each.pictures) for each in asked])
    assert [(kept[each.id].output or "").strip() for each in asked] == [text.strip() for text in own]


def share_right(kept: dict[str, Record]) -> float:
    return sum(record.score == 1.0 for record in kept.values()) / len(kept)


def test_choices_are_asked_and_read(server: RealServer, offline: Offline, tmp_path: Path) -> None:
    asked = easy.coloured(COUNT)
    kept = mc(server, tmp_path, asked)
    assert_own_answers(kept, asked, offline)
    assert share_right(kept) >= 0.9


def test_pages_arrive_in_their_order(server: RealServer, offline: Offline, tmp_path: Path) -> None:
    asked = easy.several(COUNT, MOST_IMAGES)
    kept = mc(server, tmp_path, asked)
    assert_own_answers(kept, asked, offline)
    assert {len(record.images) for record in kept.values()} == {2, 3, 4}
    own, backwards = (
        offline.answers([(kept[each.id].prompt, each.pictures[::step]) for each in asked]) for step in (1, -1)
    )
    assert own != backwards
    if server.knows_our_prompts:
        assert share_right(kept) >= 0.7


def test_explanations_are_asked_for_and_separated_from_answers(
    server: RealServer, offline: Offline, tmp_path: Path
) -> None:
    asked = easy.coloured(COUNT)
    root = easy.write_vqax(tmp_path / "root", asked)
    ended = command(
        *("explain", "--task", "vqax", "--data_root", root, "-o", tmp_path / "out", "--n_samples", "all", *WORKERS),
        *("--model", config(server, tmp_path)),
    )
    assert ended.returncode == 0, ended.stderr
    kept = records(tmp_path / "out")
    assert_own_answers(kept, asked, offline)
    if server.knows_our_prompts:
        assert share_right(kept) >= 0.9
        assert all(record.rationale for record in kept.values())
