"""Settings of the robustness commands that read finished runs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.validation import check

RUNS_HELP = (
    "Robustness runs: folders of them, *_robustness.json, *.run.json or *.records.jsonl; or a folder of result files, "
    "{Transform_Lk}/{Model}_{Transform_Lk}.json."
)
Runs = Annotated[tuple[Path, ...], Parameter(negative="", help=RUNS_HELP)]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class EvaluateSettings:
    """Settings of `vqa-client robustness evaluate`: how the models of finished runs bear corruptions."""

    runs: Runs
    output: Annotated[
        Path | None,
        Parameter(alias="-o", help="Folder for robustness_evaluation.json and .csv. Default: none are written."),
    ] = field(default=None, kw_only=True)
    weights: Annotated[
        tuple[str, ...],
        Parameter(
            consume_multiple=True,
            negative="",
            help="Weights in VRE of first drop, range of error, error rate, average error and average difference. "
            "Default: 0.2 each.",
            show_default=False,
        ),
    ] = field(default=("0.2", "0.2", "0.2", "0.2", "0.2"), kw_only=True)
    sort_levels: Annotated[
        bool,
        Parameter(negative="", help="Put the levels of each corruption in rising order of error, as published."),
    ] = field(default=False, kw_only=True)
    csv_safe: Annotated[
        bool, Parameter(negative="", help="Prefix cells that a spreadsheet would run as formulas with '.")
    ] = field(default=False, kw_only=True)
    json: Annotated[bool, Parameter(negative="", help="Print the evaluation as JSON to standard output.")] = field(
        default=False, kw_only=True
    )

    def __post_init__(self) -> None:
        check(self)
        _need_runs(self.runs)
        self.shares  # noqa: B018  (raises where they can't be used)

    @property
    def shares(self) -> list[float]:
        """The weights as numbers, given apart or with commas."""
        given = [self.weights] if isinstance(self.weights, str) else self.weights
        try:
            return [float(word) for text in given for word in str(text).split(",") if word.strip()]
        except ValueError as error:
            raise UsageError(
                f"--weights: {error}", hint="five numbers, such as 0.6,0.1,0.1,0.1,0.1; runs are named before"
            ) from None


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class PlotSettings:
    """Settings of `vqa-client robustness plot`: the same as figures, each as PNG and SVG."""

    runs: Runs
    output: Annotated[Path, Parameter(alias="-o", help="Folder for the figures.")] = field(kw_only=True)
    image: Annotated[
        Path | None,
        Parameter(help="An image for the contact sheet. Default: the first of the runs, if its file still exists."),
    ] = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check(self)
        _need_runs(self.runs)


def _need_runs(runs: Sequence[Path]) -> None:
    if not runs:
        raise UsageError("there is no run to look at", hint="name robustness runs: their folders or files")
