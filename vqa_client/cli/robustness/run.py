"""`vqa-client robustness run`: any benchmark, asked clean and under each corruption and level."""

from typing import Annotated

from cyclopts import App, Parameter

from vqa_client.cli.benchmark import settings_command, taken
from vqa_client.cli.command_line import HELP_FLAGS, Options
from vqa_client.cli.evaluate import evaluate
from vqa_client.cli.exits import EXIT_OK
from vqa_client.errors import UsageError
from vqa_client.settings.corrupted import CORRUPTIONS, RobustnessRun
from vqa_client.tasks import registry

ALIASES = {"explain": "vqax"}
"""What `--task` takes beside the benchmarks' own names."""
_ALL = RobustnessRun()


def run(
    *options: Options,
    task: Annotated[
        str | None,
        Parameter(
            group=CORRUPTIONS,
            help="The benchmark, required: vqa2, mc, niah, vqax, actx, esnlive, vcr, another that `vqa-client list` "
            "shows, or a file. Takes all options of its own command too: --task NAME --help shows them.",
        ),
    ] = None,
    corrupted: RobustnessRun = _ALL,
) -> int:
    """Run the benchmark with its own options, as its own command takes them."""
    if HELP_FLAGS.intersection(options):
        from vqa_client.cli.app import app  # which imports this one

        app.help_print(["robustness", "run"])
        return _show_help(task)
    if task is None:
        raise UsageError("--task is missing: the benchmark to run", hint="--task mc; `vqa-client list` shows all")
    name = ALIASES.get(task, task)
    settings = taken(_command(name), options)
    if settings is None:
        return EXIT_OK
    return evaluate(settings.named(name), corrupted=corrupted)


def _show_help(benchmark: str | None) -> int:
    """Print the options of the benchmark's own command, where one is named."""
    if benchmark is not None:
        _command(ALIASES.get(benchmark, benchmark)).help_print([])
    return EXIT_OK


def _command(benchmark: str) -> App:
    return settings_command(f"vqa-client robustness run --task {benchmark}", registry.find(benchmark).settings)
