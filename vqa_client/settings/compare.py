"""Settings of the commands that look at finished runs: compare, parse, rescore."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.validation import check

_RUN = "a run folder, a report, a *.run.json or a *.records.jsonl"


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class CompareSettings:
    """Settings of `vqa-client compare`: two or more runs over the same questions."""

    runs: Annotated[
        tuple[Path, ...],
        Parameter(negative="", help=f"Each {_RUN}; a folder is all runs in it. All are compared with the first."),
    ]
    output: Annotated[
        Path | None,
        Parameter(
            alias="-o",
            help="Folder for compare.json, .csv and .html, and compare_groups.csv. Default: none are written.",
        ),
    ] = field(default=None, kw_only=True)
    html_images: Annotated[int, Parameter(help="Pictures in compare.html, at most.")] = field(default=200, kw_only=True)
    csv_safe: Annotated[
        bool, Parameter(negative="", help="Prefix cells that a spreadsheet would run as formulas with '.")
    ] = field(default=False, kw_only=True)
    json: Annotated[bool, Parameter(negative="", help="Print the comparison as JSON to standard output.")] = field(
        default=False, kw_only=True
    )

    def __post_init__(self) -> None:
        check(self)
        if not self.runs:
            raise UsageError("there are no runs to compare", hint=f"name two or more, each {_RUN}")
        if self.html_images < 0:
            raise UsageError(f"--html_images is {self.html_images}; it must be a number of at least 0")


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class LeaderboardSettings:
    """Settings of `vqa-client leaderboard`: any finished runs."""

    runs: Annotated[tuple[Path, ...], Parameter(negative="", help=f"Each {_RUN}; a folder is all runs in it.")]
    output: Annotated[
        Path | None,
        Parameter(alias="-o", help="Folder for leaderboard.json and leaderboard.html. Default: none are written."),
    ] = field(default=None, kw_only=True)
    json: Annotated[bool, Parameter(negative="", help="Print the table as JSON to standard output.")] = field(
        default=False, kw_only=True
    )

    def __post_init__(self) -> None:
        check(self)


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class ParseSettings:
    """Settings of `vqa-client parse`: why an answer of a run was read as it was."""

    run: Annotated[Path, Parameter(help=f"Where the question was asked: {_RUN}.")]
    explain: Annotated[str, Parameter(help="The question's id.")] = field(kw_only=True)
    variant: Annotated[
        str | None, Parameter(help="The variant, if the question was asked in several: a page folder, or snow/3.")
    ] = field(default=None, kw_only=True)
    json: Annotated[bool, Parameter(negative="", help="Print the same as JSON to standard output.")] = field(
        default=False, kw_only=True
    )

    def __post_init__(self) -> None:
        check(self)


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class RescoreSettings:
    """Settings of `vqa-client rescore`: kept replies read and scored as today, without asking."""

    run: Annotated[Path, Parameter(help=f"{_RUN[0].upper()}{_RUN[1:]}; of a folder, every run in it.")]
    write: Annotated[
        bool, Parameter(negative="", help="Write the new readings into the record log. Default: only show them.")
    ] = field(default=False, kw_only=True)
    json: Annotated[bool, Parameter(negative="", help="Print the differences as JSON to standard output.")] = field(
        default=False, kw_only=True
    )

    def __post_init__(self) -> None:
        check(self)
