"""Settings of the commands on finished runs."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.validation import AtLeast, CheckedSettings, CsvSafe, Several, Switch, check

FORMS = Parameter(group=Group("Forms", help="Without any of these the HTML page is written.", sort_key=1))
RUN_HELP = "a folder, a report, a *.run.json or a *.records.jsonl, of any benchmark."


@dataclass(frozen=True, slots=True)
class ReportSettings(CheckedSettings):
    """Settings of `vqa-client report`: a run's records as HTML, CSV, JSON Lines, JSON, Parquet and Markdown."""

    runs: Annotated[Several[Path], Parameter(help=f"Runs: {RUN_HELP}")]
    _: KW_ONLY
    output: Annotated[Path | None, Parameter(alias="-o")] = None
    """Folder for what is written. Default: beside each log."""
    html: Annotated[Switch, FORMS] = False
    """One page that opens from disk: NAME.html."""
    csv: Annotated[Switch, FORMS] = False
    """One row per question: NAME.records.csv."""
    jsonl: Annotated[Switch, FORMS] = False
    """A JSON object per question: NAME.table.jsonl."""
    json: Annotated[Switch, FORMS] = False
    """The numbers: NAME.summary.json."""
    parquet: Annotated[Switch, FORMS] = False
    """One typed row per question: NAME.records.parquet."""
    md: Annotated[Switch, FORMS] = False
    """The numbers as Markdown: NAME.md."""
    html_images: Annotated[Literal["thumbs", "full", "none"], FORMS] = "thumbs"
    """Pictures inside the page: small ones, ones to read, or none."""
    csv_safe: Annotated[CsvSafe, FORMS] = False

    def __post_init__(self) -> None:
        check(self)
        if not self.runs:
            raise UsageError("report needs a run", hint=f"name one: {RUN_HELP}")


@dataclass(frozen=True, slots=True)
class MergeSettings(CheckedSettings):
    """Settings of `vqa-client merge`: join the shards of runs."""

    folder: Path
    """The folder with the shards' logs and run files, or a folder of such folders."""
    _: KW_ONLY
    partial: Switch = False
    """Merge what is there, though shards are missing or unfinished."""
    tidy: Switch = False
    """Delete the shards' files once all of a run is merged."""
    json: Switch = False
    """Print the summaries as JSON to standard output."""


@dataclass(frozen=True, slots=True)
class CtlSettings(CheckedSettings):
    """Settings of `vqa-client ctl`: changes to a run in progress."""

    run: Path
    """The run's --output folder, or its report, *.run.json or *.records.jsonl."""
    _: KW_ONLY
    max_workers: Annotated[int | Literal["auto"] | None, AtLeast(1)] = None
    """Requests in flight at once from now on, of all shards together; auto lets the run find the number."""
    pause: Switch = False
    """Ask no further question until --resume; questions in flight end."""
    resume: Switch = False
    """End the pause."""
    stop: Switch = False
    """Stop as Ctrl-C does; the same command resumes."""

    def __post_init__(self) -> None:
        check(self)
        if self.pause and self.resume:
            raise UsageError("--pause and --resume can't be combined")


@dataclass(frozen=True, slots=True)
class ViewSettings(CheckedSettings):
    """Settings of `vqa-client view`: serve a run's page on this machine."""

    run: Annotated[Path, Parameter(help=f"A run: {RUN_HELP}")]
    _: KW_ONLY
    port: Annotated[int, AtLeast(0, most=65535)] = 0
    """The port to listen on; 0: any that is free."""


_RUN = "a run folder, a report, a *.run.json or a *.records.jsonl"


@dataclass(frozen=True, slots=True)
class CompareSettings(CheckedSettings):
    """Settings of `vqa-client compare`: compare runs over the same questions."""

    runs: Annotated[
        Several[Path], Parameter(help=f"Each {_RUN}; a folder is all runs in it. All are compared with the first.")
    ]
    _: KW_ONLY
    output: Annotated[Path | None, Parameter(alias="-o")] = None
    """Folder for compare.json, .csv and .html, and compare_groups.csv. Default: none are written."""
    html_images: Annotated[int, AtLeast(0)] = 200
    """Pictures in compare.html, at most."""
    csv_safe: CsvSafe = False
    json: Switch = False
    """Print the comparison as JSON to standard output."""

    def __post_init__(self) -> None:
        check(self)
        if not self.runs:
            raise UsageError("no runs are given", hint=f"name two or more, each {_RUN}")


@dataclass(frozen=True, slots=True)
class LeaderboardSettings(CheckedSettings):
    """Settings of `vqa-client leaderboard`: any finished runs in one table."""

    runs: Annotated[Several[Path], Parameter(help=f"Each {_RUN}; a folder is all runs in it.")]
    _: KW_ONLY
    output: Annotated[Path | None, Parameter(alias="-o")] = None
    """Folder for leaderboard.json and leaderboard.html. Default: none are written."""
    json: Switch = False
    """Print the table as JSON to standard output."""


@dataclass(frozen=True, slots=True)
class ParseSettings(CheckedSettings):
    """Settings of `vqa-client parse`: explain how a reply was read."""

    run: Annotated[Path, Parameter(help=f"Where the question was asked: {_RUN}.")]
    _: KW_ONLY
    explain: str
    """The question's id."""
    variant: str | None = None
    """The variant, if the question was asked in several: a page folder, or snow/3."""
    json: Switch = False
    """Print the same as JSON to standard output."""


@dataclass(frozen=True, slots=True)
class RescoreSettings(CheckedSettings):
    """Settings of `vqa-client rescore`: read and score saved replies again, without a server."""

    run: Annotated[Path, Parameter(help=f"{_RUN[0].upper()}{_RUN[1:]}; of a folder, every run in it.")]
    _: KW_ONLY
    write: Switch = False
    """Write the new readings into the record log. Default: only show them."""
    json: Switch = False
    """Print the differences as JSON to standard output."""
