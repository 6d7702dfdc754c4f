"""`vqa-client robustness run`: any benchmark, asked clean and under each corruption and level."""

from collections.abc import Sequence
from dataclasses import MISSING, fields
from inspect import Parameter
from typing import Annotated, Any, cast

from cyclopts import App
from cyclopts import Parameter as CommandParameter

from vqa_client.cli.evaluate import evaluate
from vqa_client.cli.exits import EXIT_OK
from vqa_client.cli.robustness.tables import as_robustness_tables
from vqa_client.errors import UsageError
from vqa_client.settings.corrupted import RobustnessRun
from vqa_client.settings.explain import ExplainSettings
from vqa_client.settings.longbench import McSettings, NiahSettings
from vqa_client.settings.run import RunSettings
from vqa_client.settings.vqa2 import Vqa2Settings

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
    settings = _command(benchmark)([*named, *options], result_action="return_value")
    return evaluate(cast(RunSettings, settings), as_robustness_tables, corrupted=corrupted)


def show_help(benchmark: str | None) -> int:
    """Print the options of the benchmark's own command, where one is named."""
    if benchmark is not None:
        _command(benchmark).help_print([])
    return EXIT_OK


def _command(benchmark: str) -> App:
    kind: Any = BENCHMARKS.get(benchmark, ExplainSettings)
    command = App(
        name=f"vqa-client robustness run --task {benchmark}",
        help="",
        help_flags=[],
        version_flags=[],
        help_format="plaintext",
    )
    needs = [field for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING]
    default = Parameter.empty if needs else kind()

    def take(settings: Any = default) -> RunSettings:
        return cast(RunSettings, settings)

    take.__annotations__["settings"] = Annotated[kind, CommandParameter(name="*")]
    command.default(take)
    return command
