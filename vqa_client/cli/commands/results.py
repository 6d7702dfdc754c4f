"""The commands on answers that are there already."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vqa_client.cli.commands import HELP_FLAGS
from vqa_client.settings.compare import CompareSettings, LeaderboardSettings, ParseSettings, RescoreSettings
from vqa_client.settings.judge import JudgeSettings, LabelSettings
from vqa_client.settings.reports import CtlSettings, MergeSettings, ReportSettings, ViewSettings
from vqa_client.settings.score import DATA
from vqa_client.settings.score_explanations import ScoreExplanationsSettings

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


def score_explanations(settings: Annotated[ScoreExplanationsSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import score_explanations as scoring

    return scoring.score_explanations(settings)


def merge(settings: Annotated[MergeSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import merge as merging

    return merging.merge(settings)


def ctl(settings: Annotated[CtlSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import ctl as controlling

    return controlling.ctl(settings)


def report(settings: Annotated[ReportSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import report as reporting

    return reporting.report(settings)


def view(settings: Annotated[ViewSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import view as viewing

    return viewing.view(settings)


def compare(settings: Annotated[CompareSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import compare as comparing

    return comparing.compare(settings)


def leaderboard(settings: Annotated[LeaderboardSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import leaderboard as board

    return board.leaderboard(settings)


def parse(settings: Annotated[ParseSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import parse as explaining

    return explaining.parse(settings)


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


def rescore(settings: Annotated[RescoreSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import rescore as scoring

    return scoring.rescore(settings)
