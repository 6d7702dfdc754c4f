"""300 questions through the whole command: the records have the model's own answers, and these are right."""

from pathlib import Path

from tests.servers.real import easy
from tests.servers.real.answers import Offline
from tests.servers.real.commands import command, config, records
from tests.servers.real.serving import RealServer

COUNT, WORKERS = 300, 32


def test_300_answers_at_32_workers_are_the_models_own_and_right(
    server: RealServer, offline: Offline, tmp_path: Path
) -> None:
    asked = {each.id: each for each in easy.asked(COUNT)}
    folder = easy.write_vqa2(tmp_path / "materials", list(asked.values()))
    out = tmp_path / "results"
    ended = command(
        *("vqa2", "--data_dir", folder, "-o", out, "--num_questions", "0", "--max_workers", str(WORKERS)),
        *("--model", config(server, tmp_path)),
    )
    assert ended.returncode == 0, ended.stderr
    kept = records(out)
    assert kept.keys() == asked.keys()
    assert {record.status for record in kept.values()} == {"ok"}
    right = sum(record.score == 1.0 for record in kept.values())
    assert right >= 0.98 * COUNT
    own = offline.answers([(kept[number].prompt, each.pictures) for number, each in asked.items()])
    assert [(kept[number].output or "").strip() for number in asked] == [text.strip() for text in own]
