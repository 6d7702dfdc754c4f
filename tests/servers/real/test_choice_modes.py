"""The modes of mc that read no free text, on real servers: held to the labels, or weighed by the first token."""

from pathlib import Path

import pytest

from tests.servers.real import easy
from tests.servers.real.commands import command, config, records
from tests.servers.real.serving import SECRET, RealServer
from vqa_client.cli.streams import EXIT_SERVER
from vqa_client.types import Record

COUNT = 24
LABELS = ("A", "B", "C", "D")
TEMPLATE = "{question}\n\n{choices}\n\n"
"""The prompt of free text, so that the modes can be compared."""
BF16 = 0.05
"""mlx-vlm's logprobs have eight bits, vLLM's are worked out otherwise."""


def asked(server: RealServer, folder: Path, mode: str, *words: str) -> tuple[int, str, dict[str, Record]]:
    """Exit status, what was said on standard error, and the records."""
    data, pages = easy.write_longbench(folder / f"{mode}_asked", easy.coloured(COUNT))
    out, leading = folder / mode, config(server, folder, prompt_template=TEMPLATE)
    given: list[str | Path] = ["--data_json", data, "--images_dir", pages, "-o", out, "--config", leading]
    ended = command("mc", *given, "--choice_mode", mode, "--max_workers", "16", *words)
    return ended.returncode, ended.stderr, records(out)


def answers(kept: dict[str, Record]) -> dict[str, str | None]:
    return {name: record.answer for name, record in kept.items()}


def share_right(kept: dict[str, Record]) -> float:
    return sum(record.score == 1.0 for record in kept.values()) / len(kept)


def test_vllm_is_held_to_the_labels_and_says_what_weighs_most(vllm: RealServer, tmp_path: Path) -> None:
    status, said, held = asked(vllm, tmp_path, "structured")
    assert (status, len(held)) == (0, COUNT), said
    assert "asked by structured_outputs" in said
    assert {record.output for record in held.values()} <= set(LABELS)
    _, said, weighed = asked(vllm, tmp_path, "logprob")
    assert "asked by logprob_token_ids" in said
    assert answers(held) == answers(weighed)
    assert share_right(held) >= 0.9


def test_each_label_has_its_probability_on_vllm(vllm: RealServer, tmp_path: Path) -> None:
    _, said, kept = asked(vllm, tmp_path, "logprob")
    assert len(kept) == COUNT, said
    for record in kept.values():
        assert (record.completion_tokens, record.finish_reason) == (1, None)
        assert isinstance(record.probabilities, dict)
        assert tuple(record.probabilities) == LABELS
        assert 0.0 < sum(record.probabilities.values()) <= 1.0 + 1e-5


def test_both_servers_weigh_alike(vllm: RealServer, mlx: RealServer, tmp_path: Path) -> None:
    _, _, exact = asked(vllm, tmp_path / "vllm", "logprob")
    status, said, kept = asked(mlx, tmp_path / "mlx", "logprob")
    assert (status, len(kept)) == (0, COUNT), said
    assert "asked by top_logprobs" in said
    assert answers(kept) == answers(exact)
    for name, record in kept.items():
        assert record.parts == pytest.approx(exact[name].parts, abs=BF16)


def test_rotations_are_weighed_too(vllm: RealServer, tmp_path: Path) -> None:
    status, said, kept = asked(vllm, tmp_path, "logprob", "--circular", "--limit", "6")
    assert (status, len(kept)) == (0, 6), said
    assert {record.status for record in kept.values()} == {"ok"}


def test_mlx_vlm_ignores_choices_and_is_asked_nothing(mlx: RealServer, tmp_path: Path) -> None:
    status, said, kept = asked(mlx, tmp_path, "structured")
    assert (status, kept) == (EXIT_SERVER, {})
    assert "structured_outputs is ignored" in said
    assert "--choice_mode logprob" in said


def test_an_mlx_vlm_that_tells_no_alternatives_is_asked_nothing(other_mlx: RealServer, tmp_path: Path) -> None:
    status, said, kept = asked(other_mlx, tmp_path, "logprob", "--api_key", SECRET)
    assert (status, kept) == (EXIT_SERVER, {})
    assert "--top-logprobs-k 20" in said
