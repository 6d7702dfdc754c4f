"""LongBench-v2 as page images: four choices, one right."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.scoring.choice import read_choice
from vqa_client.scoring.choice_published import READINGS
from vqa_client.tasks import choice_modes, longbench, template
from vqa_client.tasks.longbench import Pages, PathLike
from vqa_client.tasks.selection import Selection, Wanted, read_blacklist, select
from vqa_client.tasks.task import Loaded, Task
from vqa_client.types import Answer, ChoiceMode, Completion, Question, Score

DEFAULT_TEMPLATE = "{question}\n\n{choices}\n\n"
SCORING_VERSION = "1"
LABELS = ("A", "B", "C", "D")

_HINT = "a record needs _id, question, choice_A to choice_D and answer; a file with `questions` is one for niah"
PARSERS = ("robust", *READINGS)
_EMPTY_CELLS = frozenset({"nan", "<na>", "nat"})
_SHOWN_IDS = 5


class _Row(longbench.Row, frozen=True, kw_only=True):
    question: str
    choice_A: str  # noqa: N815  the benchmark's own field names
    choice_B: str  # noqa: N815
    choice_C: str  # noqa: N815
    choice_D: str  # noqa: N815
    answer: str

    def choices(self) -> dict[str, str]:
        return dict(zip(LABELS, (self.choice_A, self.choice_B, self.choice_C, self.choice_D), strict=True))

    def gold(self) -> str:
        return self.answer.strip().upper()

    def has_no_text(self) -> bool:
        """Whether a choice is an empty cell of a table, as pandas writes it."""
        return any(choice.strip().lower() in _EMPTY_CELLS for choice in self.choices().values())

    def fault(self) -> str:
        known = self.gold() in self.choices()
        return super().fault() or ("" if known else f"field `answer` is {self.answer!r}, not one of A, B, C, D")


class _Questions(Struct, frozen=True, kw_only=True):
    selection: Selection[_Row]

    def __iter__(self) -> Iterator[Question]:
        wanted = self.selection.wanted
        for row, images, context_length in self.selection.shown():
            yield Question(
                id=row.name,
                variant=wanted.variant,
                text=row.question,
                images=images,
                references=(row.gold(),),
                choices=row.choices(),
                groups=row.groups(context_length),
                extra=wanted.extra(row),
            )


def load(
    data_json: PathLike,
    *,
    variant: str = "",
    pages: Pages | None,
    blacklist: PathLike | None = None,
    limit: int | None = None,
    text_only: bool = False,
) -> Loaded:
    """Check the data file and find the pages of each instance; `limit` counts instances after the blacklist.

    Left out are "blacklisted", "no_images" and, text only, "no_context". Raises DataError.
    """
    wanted = Wanted(variant=variant, pages=pages, blacklist=read_blacklist(blacklist), limit=limit, text_only=text_only)
    empty: list[str] = []
    selection = select(
        data_json, _Row, wanted, hint=_HINT, on_chosen=lambda row: empty.append(row.name) if row.has_no_text() else None
    )
    return Loaded(
        questions=_Questions(selection=selection),
        count=len(selection.indices),
        left_out=selection.left_out,
        data_sha256=selection.file.sha256,
        notes=tuple(_notes(selection.file.path, empty)),
    )


def _notes(path: str, empty: list[str]) -> Iterator[str]:
    if empty:
        shown = ", ".join(empty[:_SHOWN_IDS]) + (", ..." if len(empty) > _SHOWN_IDS else "")
        yield f"{path}: questions with a choice that says nan, as an empty cell of a table does: {len(empty)} ({shown})"


def task(
    *,
    prompt_template: str | None = None,
    parser: str = "robust",
    choice_mode: ChoiceMode = "text",
    text_only: bool = False,
) -> Task:
    """Build the task; `parser` reads free text, so it belongs to the mode "text".

    Raises UsageError for an unknown parser, mode or placeholder.
    """
    if parser not in PARSERS:
        raise UsageError(f"unknown parser {parser!r}", hint=f"known are {', '.join(PARSERS)}")
    choosing = choice_modes.choosing_of(choice_mode, LABELS) if choice_mode != "text" else None
    chosen = prompt_template or DEFAULT_TEMPLATE + (choice_modes.LETTER_ALONE if choosing else "")
    template.check(chosen)

    def prompt(question: Question) -> str:
        text = template.fill(chosen, question=question.text, choices=choices_text(question.choices))
        return longbench.with_context(text, question.extra["context"]) if text_only else text

    if choosing:
        return Task(
            name="mc",
            prompt=prompt,
            parse=choice_modes.parse_with(choosing),
            score=choice_modes.score_with(choosing),
            scoring={"choice_mode": choice_mode, "version": choice_modes.SCORING_VERSION},
            headline=choice_mode,
            choosing=choosing,
        )
    return Task(
        name="mc",
        prompt=prompt,
        parse=_parse_with(parser),
        score=_score_with(parser),
        scoring={"parser": parser, "version": SCORING_VERSION},
        headline=parser,
    )


def choices_text(choices: dict[str, str]) -> str:
    """Write the choices as the model sees them, one a line in the order of their letters."""
    return "\n".join(f"{label}. {text}" for label, text in sorted(choices.items()))


def _parse_with(parser: str) -> Callable[[Completion, Question], Answer]:
    def parse(completion: Completion, question: Question) -> Answer:
        robust = read_choice(completion, question.choices)
        if parser == "robust":
            return robust
        text, rule = READINGS[parser](completion.text)
        if text in question.choices:
            return Answer(text=text, rule=f"{parser}: {rule}")
        return Answer(status="unparsed" if robust.status == "ok" else robust.status, rule=parser, rivals=robust.rivals)

    return parse


def _score_with(parser: str) -> Callable[[Answer, Completion, Question], Score]:
    def score(answer: Answer, completion: Completion, question: Question) -> Score:
        gold = question.references[0]
        robust = answer if parser == "robust" else read_choice(completion, question.choices)
        parts = {"robust": float(robust.text == gold)}
        parts |= {name: float(read(completion.text)[0] == gold) for name, read in READINGS.items()}
        return Score(value=parts[parser], parts=parts)

    return score
