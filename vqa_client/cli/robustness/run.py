"""`vqa-client robustness run`: any benchmark, asked clean and under each corruption and level."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from cyclopts import App

from vqa_client.cli.benchmark import settings_command
from vqa_client.cli.evaluate import evaluate
from vqa_client.cli.exits import EXIT_OK
from vqa_client.cli.robustness.tables import as_robustness_tables
from vqa_client.errors import UsageError
from vqa_client.settings.corrupted import RobustnessRun
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.settings.explain import ExplainSettings
from vqa_client.settings.longbench import McSettings, NiahSettings
from vqa_client.settings.run import RunSettings
from vqa_client.settings.vqa2 import Vqa2Settings
from vqa_client.tasks import registry

BENCHMARKS: dict[str, type[RunSettings]] = {
    "vqa2": Vqa2Settings,
    "mc": McSettings,
    "niah": NiahSettings,
    "explain": ExplainSettings,
}
EXPLAINED = ("vqax", "actx", "esnlive", "vcr")
"""What `--task` of the command `explain` tells apart; here that name is taken."""


def run(benchmark: str | None, options: Sequence[str], corrupted: RobustnessRun) -> int:
    """Run the benchmark with its own options, as its own command takes them."""
    if benchmark is None:
        raise UsageError("--task is missing: the benchmark to run", hint=f"--task {'|'.join(BENCHMARKS)}")
    named = ["--task", benchmark] if benchmark in EXPLAINED else []
    settings = cast(RunSettings, _command(benchmark)([*named, *options], result_action="return_value"))
    if isinstance(settings, BenchmarkSettings):
        settings = replace(settings, benchmark=benchmark)
    return evaluate(settings, as_robustness_tables, corrupted=corrupted)


def show_help(benchmark: str | None) -> int:
    """Print the options of the benchmark's own command, where one is named."""
    if benchmark is not None:
        _command(benchmark).help_print([])
    return EXIT_OK


def _command(benchmark: str) -> App:
    kind = ExplainSettings if benchmark in EXPLAINED else BENCHMARKS.get(benchmark) or registry.find(benchmark).settings
    return settings_command(f"vqa-client robustness run --task {benchmark}", kind)
