"""`vqa-client robustness run`: any benchmark, asked clean and under each corruption and level."""

from collections.abc import Sequence

from cyclopts import App

from vqa_client.cli.benchmark import settings_command, taken
from vqa_client.cli.evaluate import evaluate
from vqa_client.cli.exits import EXIT_OK
from vqa_client.errors import UsageError
from vqa_client.settings.corrupted import RobustnessRun
from vqa_client.tasks import registry

ALIASES = {"explain": "vqax"}
"""What `--task` takes beside the benchmarks' own names."""


def run(benchmark: str | None, options: Sequence[str], corrupted: RobustnessRun) -> int:
    """Run the benchmark with its own options, as its own command takes them."""
    if benchmark is None:
        raise UsageError("--task is missing: the benchmark to run", hint="--task mc; `vqa-client list` shows all")
    name = ALIASES.get(benchmark, benchmark)
    settings = taken(_command(name), options)
    if settings is None:
        return EXIT_OK
    return evaluate(settings.named(name), corrupted=corrupted)


def show_help(benchmark: str | None) -> int:
    """Print the options of the benchmark's own command, where one is named."""
    if benchmark is not None:
        _command(ALIASES.get(benchmark, benchmark)).help_print([])
    return EXIT_OK


def _command(benchmark: str) -> App:
    return settings_command(f"vqa-client robustness run --task {benchmark}", registry.find(benchmark).settings)
