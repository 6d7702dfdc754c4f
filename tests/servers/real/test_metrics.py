"""The /metrics of real servers during a run."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runs.sample import Sample
from tests.servers.real.serving import RealServer
from vqa_client.evaluation import arun
from vqa_client.progress import Progress
from vqa_client.reports.limiting import WORDS


class ServerLines(Progress):
    """Collects the lines about servers that a run reports."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def serving(self, text: str) -> None:
        self.lines.append(text)


async def figures(
    server: RealServer, sample: Sample, output: str, progress: Progress | None = None, **changes: Any
) -> dict[str, Any]:
    """Make a run and return the figures in its run file."""
    config = sample.root / "config.json"
    config.write_text(json.dumps(server.config(max_tokens=8)))
    sample.output = sample.root / output
    await arun(sample.settings(server.base_url, config=str(config), **changes), progress=progress)
    run = json.loads((sample.output / "clean_mc_eval.run.json").read_text())
    session: dict[str, Any] = run["sessions"][-1]
    return session


async def test_vllm_s_hit_rates_are_those_of_the_run_alone(vllm: RealServer, tmp_path: Path) -> None:
    sample, progress = Sample(tmp_path, 120), ServerLines()
    first = await figures(vllm, sample, "first", progress)
    again = await figures(vllm, sample, "again")
    (new,), (seen,) = first["server_metrics"], again["server_metrics"]
    assert new["mm_hit_rate"] < 0.1
    assert seen["mm_hit_rate"] > 0.9
    assert new["generation_tokens_s"] * new["watched_s"] == pytest.approx(first["completion_tokens"], rel=0.2)
    assert first.get("limited_by") in {None, *WORDS}  # None: the run took less than two seconds
    assert 0 <= new["kv_use"] <= new["kv_use_max"] < 1
    assert " running · " in progress.lines[-1]


async def test_mlx_vlm_s_figures_are_read(mlx: RealServer, tmp_path: Path) -> None:
    (metrics,) = (await figures(mlx, Sample(tmp_path, 160), "out"))["server_metrics"]
    assert metrics["running"] + metrics["waiting"] > 1
    assert metrics["generation_tokens_s"] > 0
