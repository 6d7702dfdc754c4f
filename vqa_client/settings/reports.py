"""Settings of the commands on finished runs."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.validation import AtLeast, CheckedSettings, CsvSafe, Several, Switch, check

FORMS = Group("Forms", help="Without any of these the HTML page is written.", sort_key=1)
RUN_HELP = "a folder, a report, a *.run.json or a *.records.jsonl, of any benchmark."


@dataclass(frozen=True, slots=True)
class ReportSettings(CheckedSettings):
    """Settings of `vqa-client report`: a run's record log, made into forms for people and programs."""

    runs: Annotated[Several[Path], Parameter(help=f"Runs: {RUN_HELP}")]
    _: KW_ONLY
    output: Annotated[
        Path | None, Parameter(alias="-o", help="Folder for what is written. Default: beside each log.")
    ] = None
    html: Annotated[Switch, Parameter(group=FORMS, help="One page that opens from disk: NAME.html.")] = False
    csv: Annotated[Switch, Parameter(group=FORMS, help="One row per question: NAME.records.csv.")] = False
    jsonl: Annotated[Switch, Parameter(group=FORMS, help="A JSON object per question: NAME.table.jsonl.")] = False
    json: Annotated[Switch, Parameter(group=FORMS, help="The numbers: NAME.summary.json.")] = False
    parquet: Annotated[Switch, Parameter(group=FORMS, help="One typed row per question: NAME.records.parquet.")] = False
    md: Annotated[Switch, Parameter(group=FORMS, help="The numbers as Markdown: NAME.md.")] = False
    html_images: Annotated[
        Literal["thumbs", "full", "none"],
        Parameter(group=FORMS, help="Pictures inside the page: small ones, ones to read, or none."),
    ] = "thumbs"
    csv_safe: Annotated[CsvSafe, Parameter(group=FORMS)] = False

    def __post_init__(self) -> None:
        check(self)
        if not self.runs:
            raise UsageError("report needs a run", hint=f"name one: {RUN_HELP}")


@dataclass(frozen=True, slots=True)
class MergeSettings(CheckedSettings):
    """Settings of `vqa-client merge`: the shards of runs, joined."""

    folder: Annotated[
        Path, Parameter(help="The folder with the shards' logs and run files, or a folder of such folders.")
    ]
    _: KW_ONLY
    partial: Annotated[Switch, Parameter(help="Merge what is there, though shards are missing or unfinished.")] = False
    tidy: Annotated[Switch, Parameter(help="Delete the shards' files once all of a run is merged.")] = False
    json: Annotated[Switch, Parameter(help="Print the summaries as JSON to standard output.")] = False


@dataclass(frozen=True, slots=True)
class CtlSettings(CheckedSettings):
    """Settings of `vqa-client ctl`: what a run in progress is to change."""

    run: Annotated[Path, Parameter(help="The run's --output folder, or its report, *.run.json or *.records.jsonl.")]
    _: KW_ONLY
    max_workers: Annotated[
        int | None, AtLeast(1), Parameter(help="Requests in flight at once from now on; of several shards together.")
    ] = None
    pause: Annotated[Switch, Parameter(help="Ask no further question until --resume; questions in flight end.")] = False
    resume: Annotated[Switch, Parameter(help="End the pause.")] = False
    stop: Annotated[Switch, Parameter(help="Stop as Ctrl-C does; the same command resumes.")] = False

    def __post_init__(self) -> None:
        check(self)
        if self.pause and self.resume:
            raise UsageError("--pause and --resume can't be combined")


@dataclass(frozen=True, slots=True)
class ViewSettings(CheckedSettings):
    """Settings of `vqa-client view`: a run's page, served on this machine alone."""

    run: Annotated[Path, Parameter(help=f"A run: {RUN_HELP}")]
    _: KW_ONLY
    port: Annotated[int, AtLeast(0, most=65_535), Parameter(help="The port to listen on; 0: any that is free.")] = 0


_RUN = "a run folder, a report, a *.run.json or a *.records.jsonl"


@dataclass(frozen=True, slots=True)
class CompareSettings(CheckedSettings):
    """Settings of `vqa-client compare`: two or more runs over the same questions."""

    runs: Annotated[
        Several[Path], Parameter(help=f"Each {_RUN}; a folder is all runs in it. All are compared with the first.")
    ]
    _: KW_ONLY
    output: Annotated[
        Path | None,
        Parameter(
            alias="-o",
            help="Folder for compare.json, .csv and .html, and compare_groups.csv. Default: none are written.",
        ),
    ] = None
    html_images: Annotated[int, AtLeast(0), Parameter(help="Pictures in compare.html, at most.")] = 200
    csv_safe: CsvSafe = False
    json: Annotated[Switch, Parameter(help="Print the comparison as JSON to standard output.")] = False

    def __post_init__(self) -> None:
        check(self)
        if not self.runs:
            raise UsageError("there are no runs to compare", hint=f"name two or more, each {_RUN}")


@dataclass(frozen=True, slots=True)
class LeaderboardSettings(CheckedSettings):
    """Settings of `vqa-client leaderboard`: any finished runs."""

    runs: Annotated[Several[Path], Parameter(help=f"Each {_RUN}; a folder is all runs in it.")]
    _: KW_ONLY
    output: Annotated[
        Path | None,
        Parameter(alias="-o", help="Folder for leaderboard.json and leaderboard.html. Default: none are written."),
    ] = None
    json: Annotated[Switch, Parameter(help="Print the table as JSON to standard output.")] = False


@dataclass(frozen=True, slots=True)
class ParseSettings(CheckedSettings):
    """Settings of `vqa-client parse`: why an answer of a run was read as it was."""

    run: Annotated[Path, Parameter(help=f"Where the question was asked: {_RUN}.")]
    _: KW_ONLY
    explain: Annotated[str, Parameter(help="The question's id.")]
    variant: Annotated[
        str | None, Parameter(help="The variant, if the question was asked in several: a page folder, or snow/3.")
    ] = None
    json: Annotated[Switch, Parameter(help="Print the same as JSON to standard output.")] = False


@dataclass(frozen=True, slots=True)
class RescoreSettings(CheckedSettings):
    """Settings of `vqa-client rescore`: kept replies read and scored as today, without asking."""

    run: Annotated[Path, Parameter(help=f"{_RUN[0].upper()}{_RUN[1:]}; of a folder, every run in it.")]
    _: KW_ONLY
    write: Annotated[Switch, Parameter(help="Write the new readings into the record log. Default: only show them.")] = (
        False
    )
    json: Annotated[Switch, Parameter(help="Print the differences as JSON to standard output.")] = False
