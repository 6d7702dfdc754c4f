"""The commands on answers that are there already."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vqa_client.cli.commands import HELP_FLAGS
from vqa_client.settings.judge import JudgeSettings, LabelSettings
from vqa_client.settings.score import DATA

_JUDGE, _LABEL = JudgeSettings(), LabelSettings()


def score(
    *options: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    task: Annotated[
        str | None,
        Parameter(
            group=DATA,
            help="A benchmark that `vqa-client list` shows, or a file: scores answers to its questions. Takes its data "
            "options too: --task NAME --help shows them.",
        ),
    ] = None,
) -> int:
    from vqa_client.cli import score as scoring

    if HELP_FLAGS.intersection(options):
        from vqa_client.cli.app import app  # which imports this one

        app.help_print(["score"])
    return scoring.score(task, options)


def judge(results: Path, /, settings: Annotated[JudgeSettings, Parameter(name="*")] = _JUDGE) -> int:
    """Judge.

    Parameters
    ----------
    results
        A finished run: its *.records.jsonl, its report, or a folder of runs.
    """
    from vqa_client.cli import judge as judging

    return judging.judge(replace(settings, results=results))


def label(results: Path, /, settings: Annotated[LabelSettings, Parameter(name="*")] = _LABEL) -> int:
    """Label.

    Parameters
    ----------
    results
        A finished run: its *.records.jsonl, its report or its folder.
    """
    from vqa_client.cli import label as labelling

    return labelling.label(replace(settings, results=results))
