"""What real servers say of themselves while a run goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.runs.sample import Sample
from tests.servers.real.serving import RealServer
from vqa_client.evaluation import arun
from vqa_client.progress import Progress
from vqa_client.reports.limiting import WORDS


class Heard(Progress):
    """What a run says of its servers."""

    def __init__(self) -> None:
        self.served: list[str] = []

    def serving(self, text: str) -> None:
        self.served.append(text)


async def figures(
    server: RealServer, sample: Sample, output: str, heard: Progress | None = None, **changes: Any
) -> dict[str, Any]:
    """The run file's figures of a run of its own."""
    config = sample.root / "config.json"
    config.write_text(json.dumps(server.config(max_tokens=8)))
    sample.output = sample.root / output
    await arun(sample.settings(server.base_url, config=str(config), **changes), progress=heard)
    run = json.loads((sample.output / "clean_mc_eval.run.json").read_text())
    session: dict[str, Any] = run["sessions"][-1]
    return session


async def test_vllm_s_hit_rates_are_those_of_the_run_alone(vllm: RealServer, tmp_path: Path) -> None:
    sample, heard = Sample(tmp_path, 120), Heard()
    first = await figures(vllm, sample, "first", heard)
    again = await figures(vllm, sample, "again")
    (new,), (seen,) = first["server_metrics"], again["server_metrics"]
    assert new["mm_hit_rate"] < 0.1
    assert seen["mm_hit_rate"] > 0.9
    assert new["generation_tokens_s"] * new["watched_s"] == pytest.approx(first["completion_tokens"], rel=0.2)
    assert first.get("limited_by") in {None, *WORDS}  # None: over in less than two seconds
    assert 0 <= new["kv_use"] <= new["kv_use_max"] < 1
    assert " running · " in heard.served[-1]


async def test_mlx_vlm_s_figures_are_read(mlx: RealServer, tmp_path: Path) -> None:
    (told,) = (await figures(mlx, Sample(tmp_path, 160), "out"))["server_metrics"]
    assert told["running"] + told["waiting"] > 1
    assert told["generation_tokens_s"] > 0
