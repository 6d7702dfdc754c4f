"""The modes of mc without free text, on real servers: replies restricted to labels, or first-token probabilities."""

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
"""The prompt for free text, so that the modes can be compared."""
BF16 = 0.05
"""The tolerance of probabilities: mlx-vlm's logprobs have eight bits, and vLLM computes its own in another way."""


def asked(server: RealServer, folder: Path, mode: str, *words: str) -> tuple[int, str, dict[str, Record]]:
    """Ask by a mode; returns the exit status, the text on standard error and the records."""
    data, pages = easy.write_longbench(folder / f"{mode}_asked", easy.coloured(COUNT))
    out, leading = folder / mode, config(server, folder, prompt_template=TEMPLATE)
    given: list[str | Path] = ["--data_json", data, "--images_dir", pages, "-o", out, "--config", leading]
    ended = command("mc", *given, "--choice_mode", mode, "--max_workers", "16", *words)
    return ended.returncode, ended.stderr, records(out)


def answers(kept: dict[str, Record]) -> dict[str, str | None]:
    return {name: record.answer for name, record in kept.items()}


def share_right(kept: dict[str, Record]) -> float:
    return sum(record.score == 1.0 for record in kept.values()) / len(kept)


def test_vllm_replies_with_a_label_which_is_also_the_most_probable_one(vllm: RealServer, tmp_path: Path) -> None:
    status, err, structured = asked(vllm, tmp_path, "structured")
    assert (status, len(structured)) == (0, COUNT), err
    assert "asked by structured_outputs" in err
    assert {record.output for record in structured.values()} <= set(LABELS)
    _, err, by_logprob = asked(vllm, tmp_path, "logprob")
    assert "asked by logprob_token_ids" in err
    assert answers(structured) == answers(by_logprob)
    assert share_right(structured) >= 0.9


def test_each_label_has_its_probability_on_vllm(vllm: RealServer, tmp_path: Path) -> None:
    _, err, kept = asked(vllm, tmp_path, "logprob")
    assert len(kept) == COUNT, err
    for record in kept.values():
        assert (record.completion_tokens, record.finish_reason) == (1, None)
        assert isinstance(record.probabilities, dict)
        assert tuple(record.probabilities) == LABELS
        assert 0.0 < sum(record.probabilities.values()) <= 1.0 + 1e-5


def test_both_servers_give_the_same_probabilities(vllm: RealServer, mlx: RealServer, tmp_path: Path) -> None:
    _, _, exact = asked(vllm, tmp_path / "vllm", "logprob")
    status, err, kept = asked(mlx, tmp_path / "mlx", "logprob")
    assert (status, len(kept)) == (0, COUNT), err
    assert "asked by top_logprobs" in err
    assert answers(kept) == answers(exact)
    for name, record in kept.items():
        assert record.parts == pytest.approx(exact[name].parts, abs=BF16)


def test_rotations_have_probabilities_too(vllm: RealServer, tmp_path: Path) -> None:
    status, err, kept = asked(vllm, tmp_path, "logprob", "--circular", "--limit", "6")
    assert (status, len(kept)) == (0, 6), err
    assert {record.status for record in kept.values()} == {"ok"}


def test_mlx_vlm_ignores_choices_so_it_is_asked_no_question(mlx: RealServer, tmp_path: Path) -> None:
    status, err, kept = asked(mlx, tmp_path, "structured")
    assert (status, kept) == (EXIT_SERVER, {})
    assert "structured_outputs is ignored" in err
    assert "--choice_mode logprob" in err


def test_an_mlx_vlm_without_alternative_tokens_is_asked_no_question(other_mlx: RealServer, tmp_path: Path) -> None:
    status, err, kept = asked(other_mlx, tmp_path, "logprob", "--api_key", SECRET)
    assert (status, kept) == (EXIT_SERVER, {})
    assert "--top-logprobs-k 20" in err
