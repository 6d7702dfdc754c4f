"""`vqa-client robustness`: how a model bears corrupted images."""

from typing import Annotated

from cyclopts import Parameter

from vqa_client.cli.commands import HELP_FLAGS
from vqa_client.settings.corrupted import CORRUPTIONS, RobustnessRun
from vqa_client.settings.robustness import GenerateSettings
from vqa_client.settings.robustness_reports import EvaluateSettings, PlotSettings

_ALL = RobustnessRun()


def generate(settings: Annotated[GenerateSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli.robustness import generate as making

    return making.generate(settings)


def run(
    *options: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    task: Annotated[
        str | None,
        Parameter(
            group=CORRUPTIONS,
            help="The benchmark, required: vqa2, mc, niah, vqax, actx, esnlive, vcr, another that `vqa-client list` "
            "shows, or a file. Takes all options of its own command too: --task NAME --help shows them.",
        ),
    ] = None,
    corrupted: Annotated[RobustnessRun, Parameter(name="*")] = _ALL,
) -> int:
    from vqa_client.cli.robustness import run as running

    if HELP_FLAGS.intersection(options):
        from vqa_client.cli.app import app  # which imports this one

        app.help_print(["robustness", "run"])
        return running.show_help(task)
    return running.run(task, options, corrupted)


def evaluate(settings: Annotated[EvaluateSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli.robustness import evaluate as judging

    return judging.evaluate(settings)


def plot(settings: Annotated[PlotSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli.robustness import plot as drawing

    return drawing.plot(settings)
