"""`vqa-client robustness run`: any benchmark, asked clean and under each corruption and level."""

from collections.abc import Sequence
from typing import Annotated, cast

from cyclopts import App, Parameter

from vqa_client.cli.evaluate import evaluate
from vqa_client.cli.robustness_tables import as_robustness_tables
from vqa_client.settings import ExplainSettings, McSettings, NiahSettings, RunSettings, Vqa2Settings
from vqa_client.settings.corrupted import RobustnessRun

BENCHMARKS: dict[str, type[RunSettings]] = {
    "vqa2": Vqa2Settings,
    "mc": McSettings,
    "niah": NiahSettings,
    "explain": ExplainSettings,
}


def run(benchmark: str, options: Sequence[str], corrupted: RobustnessRun) -> int:
    """Run the benchmark with its own options, as its own command takes them."""
    return evaluate(_settings(benchmark, options), as_robustness_tables, corrupted=corrupted)


def _settings(benchmark: str, options: Sequence[str]) -> RunSettings:
    kind = BENCHMARKS[benchmark]
    command = App(name=f"vqa-client robustness run --task {benchmark}", help_flags=[], version_flags=[])

    @command.default
    def take(settings: Annotated[kind, Parameter(name="*")]) -> RunSettings:  # type: ignore[valid-type]
        return cast(RunSettings, settings)

    return cast(RunSettings, command(list(options), result_action="return_value"))
