"""Settings of `vqa-client run` for every declared benchmark, and of `vqa-client ask` for your own questions."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from cyclopts import Group, Parameter
from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.settings.choices import ChoiceOptions
from vqa_client.settings.run import ASKED, DATA, IMAGES, JUDGE, OneModelSettings, RunSettings
from vqa_client.settings.validation import AtLeast, Several, Switch


class _Effect(Struct, frozen=True):
    """The effect of a benchmark's own option, as a mark in its annotation."""

    decides: Literal["asks", "reads"]


ASKS: Final = _Effect("asks")
"""Marks an option that changes what is asked: with another value it is another run."""
READS: Final = _Effect("reads")
"""Marks an option that changes how replies are read: with another value, saved replies are scored again."""
ALL_PAGES, EVIDENCE, RETRIEVED = "all", "evidence", "retrieved:"


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkSettings(OneModelSettings):
    """Settings of `vqa-client run`; a benchmark with options of its own adds fields, each with a default.

    `benchmark` is the name of one that `vqa-client list` shows, or the path of a file that declares one.
    """

    benchmark: Annotated[str, Parameter(parse=False)] = ""
    data: Annotated[Path | None, DATA, Parameter(alias="-d")] = None
    """The benchmark's data: its folder, or one of its files."""
    images: Annotated[Path | None, DATA, Parameter(alias="-i")] = None
    """Folder of the images. Default: the data file's."""
    split: Annotated[str, DATA] = ""
    """The split to ask. Default: the one usually reported."""
    prompt_form: Annotated[str, ASKED] = ""
    """Use the prompt of another published evaluation, such as lmms_eval, if the benchmark declares it."""
    shots: Annotated[int, AtLeast(0), ASKED] = 0
    """Send N worked examples with their answers before each question, drawn by --seed."""
    shots_from: Annotated[str, ASKED] = ""
    """Where worked examples are from: a data file or folder, or a split. Default: as the benchmark declares."""
    output: Annotated[Path, DATA, Parameter(alias="-o")] = Path("results")
    """Folder for the report and the records, or the report's FILE.json."""

    submission: Annotated[Switch, DATA] = False
    """Also write the file that the benchmark's test server takes."""

    judge: Annotated[Several[str], JUDGE] = ()
    """The config of a model that judges the replies after the run, asked where its base_url says; once more for each
    further judge. See `vqa-client judge`."""

    yes: Annotated[Switch, DATA] = False
    """Fetch data that --data hf://owner/name names without asking."""

    def __post_init__(self) -> None:
        super(BenchmarkSettings, self).__post_init__()
        if self.judge and (self.variations or self.shard):
            raise UsageError(
                "--judge needs a whole run with one form of each question",
                hint="vqa-client judge RESULTS judges it later",
            )
        if self.shots_from and not self.shots:
            raise UsageError("--shots_from needs --shots", hint="--shots N")

    def named(self, benchmark: str) -> Self:
        """The same settings for another benchmark."""
        return replace(self, benchmark=benchmark)


@dataclass(frozen=True, kw_only=True)
class PageOptions(RunSettings):
    """Options of benchmarks on documents: which pages a question is sent with, and how PDF pages are drawn."""

    pages: Annotated[str, IMAGES] = ALL_PAGES
    """all; evidence: those that the data names; retrieved:K: the K that match the question best (BM25 over their text).
    Several with commas ask each question in each form."""
    dpi: Annotated[int | None, AtLeast(20), IMAGES] = None
    """Resolution at which PDF pages are drawn. Default: as the benchmark publishes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for form in self.page_forms:
            number = form.removeprefix(RETRIEVED)
            if form not in (ALL_PAGES, EVIDENCE) and not (form != number and number.isdecimal() and int(number)):
                raise UsageError(
                    f"--pages {form!r} is unknown", hint="all, evidence, or retrieved:K such as retrieved:3"
                )

    @property
    def page_forms(self) -> tuple[str, ...]:
        """The forms in which each question is asked."""
        return tuple(dict.fromkeys(form.strip() for form in self.pages.split(",")))

    @property
    def variations(self) -> tuple[str, ...]:
        """The options of every benchmark, and several forms of pages."""
        return (*super().variations, *(["--pages"] if len(self.page_forms) > 1 else []))


@dataclass(frozen=True, kw_only=True, slots=True)
class PageSettings(PageOptions, BenchmarkSettings):
    """Settings of a declared benchmark on documents."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChoiceSettings(ChoiceOptions, BenchmarkSettings):
    """Settings of a declared benchmark that has choices."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChoicePageSettings(PageOptions, ChoiceSettings):
    """Settings of a declared benchmark on documents that has choices."""


COLUMNS = Parameter(group=Group("Columns", sort_key=1))


@dataclass(frozen=True, kw_only=True, slots=True)
class AskSettings(ChoiceSettings):
    """Settings of `vqa-client ask`; a column that no option names is detected."""

    benchmark: Annotated[str, Parameter(parse=False)] = "ask"
    question: Annotated[str, COLUMNS] = ""
    """Column of the question; a.b reaches into an object."""
    image: Annotated[str, COLUMNS] = ""
    """Column of the image; several, comma-separated."""
    choices: Annotated[str, COLUMNS] = ""
    """Column of the choices, or several; or the choices themselves for all rows, such as yes,no."""
    answer: Annotated[str, COLUMNS] = ""
    """Column of the answer; `folder` is an image's folder."""
    id: Annotated[str, COLUMNS] = ""
    """Column of the question's id."""
    document: Annotated[str, COLUMNS] = ""
    """Column of what several questions share, such as a document. Default: the first image."""
    group: Annotated[str, COLUMNS] = ""
    """Columns to break the result down by, comma-separated."""
    prompt: Annotated[str, COLUMNS] = ""
    """The prompt: {question}, {choices} or any column in braces; {image}, {image 2} place images."""
    answer_from: Annotated[Literal["letter", "text", "0", "1", ""], COLUMNS, Parameter(show_choices=False)] = ""
    """How answers name a choice: letter, text, or 0 or 1 for its place counted from there."""
    choices_separator: Annotated[str, COLUMNS] = ""
    """Split a text with all choices here. Default: never."""
    answers_separator: Annotated[str, COLUMNS] = ""
    """Split a text of several answers here. Default: never."""
    score: Annotated[
        Literal["choice", "exact", "contains", "anls", "vqa", "relaxed", "f1", "none", ""],
        COLUMNS,
        Parameter(show_choices=False),
    ] = ""
    """The headline: choice, exact, contains, anls, vqa, relaxed, f1 or none; all are computed. Default: choice for
    questions with choices, else contains (vqa with ten answers each)."""
    image_urls: Annotated[Literal["refuse", "send", "fetch"], COLUMNS] = "refuse"
    """Images at http(s) addresses are an error, go to the server as addresses, or are fetched (at most 64 MB and 60 s
    each); the record says which."""
    skip_faulty: Annotated[Switch, COLUMNS] = False
    """Leave out rows that can't be asked; the report names them."""
    show: Annotated[int, COLUMNS] = 3
    """With --dry_run: print the first N questions as the model gets them."""
    to: Annotated[Path | None, COLUMNS] = None
    """Write the columns found as a new benchmark file (FILE.py), and ask nothing."""

    @property
    def hands_over(self) -> bool:
        """Whether images at addresses go to the server as addresses."""
        return self.image_urls == "send"

    @property
    def prompt_template(self) -> str | None:
        """None: --prompt is filled from columns, and does not replace a config's template."""
        return None
