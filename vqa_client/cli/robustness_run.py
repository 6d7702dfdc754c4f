"""`vqa-client robustness run`: any benchmark, asked clean and under each corruption and level."""

from collections.abc import Sequence
from dataclasses import MISSING, fields
from inspect import Parameter
from typing import Annotated, Any, cast

from cyclopts import App
from cyclopts import Parameter as CommandParameter

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
    kind: Any = BENCHMARKS[benchmark]
    command = App(name=f"vqa-client robustness run --task {benchmark}", help_flags=[], version_flags=[])
    needs = [field for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING]
    default = Parameter.empty if needs else kind()

    def take(settings: Any = default) -> RunSettings:
        return cast(RunSettings, settings)

    take.__annotations__["settings"] = Annotated[kind, CommandParameter(name="*")]
    command.default(take)
    return cast(RunSettings, command(list(options), result_action="return_value"))
