"""`vqa-client robustness run`: a benchmark under each corruption and level, with the benchmark's own options."""

from dataclasses import replace
from typing import Annotated

from cyclopts import App, Parameter

from vqa_client.cli.app import HELP_FLAGS, OptionWords, app
from vqa_client.cli.benchmark import parse_options, settings_command
from vqa_client.cli.streams import EXIT_OK
from vqa_client.errors import UsageError
from vqa_client.settings.robustness import CORRUPTIONS, RobustnessRun

ALIASES = {"explain": "vqax"}
"""Other names of benchmarks that `--task` takes."""
_ALL = RobustnessRun()


def run(
    *options: OptionWords,
    task: Annotated[
        str | None,
        CORRUPTIONS,
        Parameter(
            help="The benchmark, required: vqa2, mc, niah, vqax, actx, esnlive, vcr, another that `vqa-client list` "
            "shows, or a file. Takes all options of its own command too: --task NAME --help shows them."
        ),
    ] = None,
    corrupted: RobustnessRun = _ALL,
) -> int:
    """Run the benchmark; it takes the options of its own command."""
    if HELP_FLAGS.intersection(options):
        from vqa_client.cli.help_pages import print_page

        print_page(app, ["robustness", "run"])
        if task is not None:
            print_page(_benchmark_command(ALIASES.get(task, task)))
        return EXIT_OK
    if task is None:
        raise UsageError("--task is missing: the benchmark to run", hint="--task mc; `vqa-client list` shows all")
    name = ALIASES.get(task, task)
    settings = parse_options(_benchmark_command(name), options)
    if settings is None:
        return EXIT_OK
    from vqa_client.cli.evaluate import evaluate

    return evaluate(replace(settings.named(name), corrupted=corrupted))


def _benchmark_command(benchmark: str) -> App:
    from vqa_client.tasks.registry import find

    return settings_command(f"vqa-client robustness run --task {benchmark}", find(benchmark).settings)
