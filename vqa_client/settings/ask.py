"""Settings of `vqa-client ask`: one's own questions and images."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from vqa_client.settings.declared import ChoiceSettings
from vqa_client.settings.validation import Switch

COLUMNS = Group("Columns", sort_key=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class AskSettings(ChoiceSettings):
    """Settings of `vqa-client ask`; a column that no option names is detected."""

    benchmark: Annotated[str, Parameter(parse=False)] = "ask"
    question: Annotated[str, Parameter(group=COLUMNS, help="Column of the question; a.b reaches into an object.")] = ""
    image: Annotated[str, Parameter(group=COLUMNS, help="Column of the image; several, comma-separated.")] = ""
    choices: Annotated[
        str,
        Parameter(
            group=COLUMNS,
            help="Column of the choices, or several; or the choices themselves for all rows, such as yes,no.",
        ),
    ] = ""
    answer: Annotated[str, Parameter(group=COLUMNS, help="Column of the answer; `folder` is an image's folder.")] = ""
    id: Annotated[str, Parameter(group=COLUMNS, help="Column of the question's id.")] = ""
    document: Annotated[
        str,
        Parameter(
            group=COLUMNS, help="Column of what several questions share, such as a document. Default: the first image."
        ),
    ] = ""
    group: Annotated[str, Parameter(group=COLUMNS, help="Columns to break the result down by, comma-separated.")] = ""
    prompt: Annotated[
        str,
        Parameter(
            group=COLUMNS,
            help="The prompt: {question}, {choices} or any column in braces; {image}, {image 2} place images.",
        ),
    ] = ""
    answer_from: Annotated[
        Literal["letter", "text", "0", "1", ""],
        Parameter(
            group=COLUMNS,
            show_choices=False,
            help="How answers name a choice: letter, text, or 0 or 1 for its place counted from there.",
        ),
    ] = ""
    choices_separator: Annotated[
        str, Parameter(group=COLUMNS, help="Split a text with all choices here. Default: never.")
    ] = ""
    answers_separator: Annotated[
        str, Parameter(group=COLUMNS, help="Split a text of several answers here. Default: never.")
    ] = ""
    score: Annotated[
        Literal["choice", "exact", "contains", "anls", "vqa", "relaxed", "f1", "none", ""],
        Parameter(
            group=COLUMNS,
            show_choices=False,
            help="The headline: choice, exact, contains, anls, vqa, relaxed, f1 or none; all are computed. Default: "
            "choice for questions with choices, else contains (vqa with ten answers each).",
        ),
    ] = ""
    image_urls: Annotated[
        Literal["refuse", "send", "fetch"],
        Parameter(
            group=COLUMNS,
            help="Images at http(s) addresses are an error, go to the server as addresses, or are fetched (at most "
            "64 MB and 60 s each); the record says which.",
        ),
    ] = "refuse"
    skip_faulty: Annotated[
        Switch, Parameter(group=COLUMNS, help="Leave out rows that can't be asked; the report names them.")
    ] = False
    show: Annotated[
        int, Parameter(group=COLUMNS, help="With --dry_run: print the first N questions as the model gets them.")
    ] = 3
    to: Annotated[
        Path | None,
        Parameter(group=COLUMNS, help="Write the columns found as a new benchmark file (FILE.py), and ask nothing."),
    ] = None

    @property
    def hands_over(self) -> bool:
        """Whether images at addresses go to the server as addresses."""
        return self.image_urls == "send"

    @property
    def prompt_template(self) -> str | None:
        """Own prompts are filled from columns, so none takes the place of a config's."""
        return None
