"""`vqa-client robustness`: how a model bears corrupted images."""

from typing import Annotated, Literal

from cyclopts import App, Parameter

from vqa_client.settings import GenerateSettings
from vqa_client.settings.corrupted import CORRUPTIONS, RobustnessRun
from vqa_client.settings.robustness_reports import EvaluateSettings, PlotSettings

robustness = App(name="robustness", help="Corrupt images on purpose, and say what that does to a model's answers.")

_ALL = RobustnessRun()
HELP_FLAGS = frozenset({"--help", "-h"})


@robustness.command
def generate(settings: Annotated[GenerateSettings, Parameter(name="*")]) -> int:
    """Make corrupted copies of a folder of images: fourteen corruptions at five levels, a folder for each."""
    from vqa_client.cli.robustness import generate as making

    return making.generate(settings)


@robustness.command(help_flags=[])
def run(
    *options: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    task: Annotated[
        Literal["vqa2", "mc", "niah", "explain", "vqax", "actx", "esnlive", "vcr"] | None,
        Parameter(
            group=CORRUPTIONS,
            help="The benchmark; needed. Those with explanations go by their names; explain is vqax. All options of "
            "its own command are taken too: --task NAME --help shows them.",
        ),
    ] = None,
    corrupted: Annotated[RobustnessRun, Parameter(name="*")] = _ALL,
) -> int:
    """Run a benchmark clean and under each corruption and level, made just before sending; nothing is written."""
    from vqa_client.cli.robustness import run as running

    if HELP_FLAGS.intersection(options):
        from vqa_client.cli.main import app  # which imports this one

        app.help_print(["robustness", "run"])
        return running.show_help(task)
    return running.run(task, options, corrupted)


@robustness.command
def evaluate(settings: Annotated[EvaluateSettings, Parameter(name="*")]) -> int:
    """Judge finished robustness runs together: five metrics, VRE, and each level against the clean images."""
    from vqa_client.cli.robustness import evaluate as judging

    return judging.evaluate(settings)


@robustness.command
def plot(settings: Annotated[PlotSettings, Parameter(name="*")]) -> int:
    """Draw the figures of finished robustness runs, each as PNG and SVG."""
    from vqa_client.cli.robustness import plot as drawing

    return drawing.plot(settings)
