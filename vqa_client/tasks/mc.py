"""LongBench-v2 as page images: four choices, one right."""

from functools import partial
from collections.abc import Iterator


from vqa_client.benchmark import Benchmark, Metric, Parse, Prompt, choice
from vqa_client.errors import UsageError
from vqa_client.reports.summary import DOCUMENTS
from vqa_client.reports.names import first_of, report_name
from vqa_client.scoring.published.choice_readers import READINGS
from vqa_client.scoring.reply import Reply
from vqa_client.settings.own_commands import McSettings
from vqa_client.task import Loaded, Walk
from vqa_client.tasks.longbench.report import write_mc
from vqa_client.tasks import longbench
from vqa_client.tasks.choices import right
from vqa_client.tasks.longbench import Documents, PathLike, Selection, Wanted, select
from vqa_client.types import Answer, Question

DEFAULT_TEMPLATE = "{question}\n\n{choices}\n\n"
SCORING_VERSION = "5"
LABELS = ("A", "B", "C", "D")

_EMPTY_CELLS = frozenset({"nan", "<na>", "nat", "#n/a"})
_SHOWN_IDS = 5
_HINT = "a record needs _id, question, choice_A to choice_D and answer; a file with `questions` is one for niah"


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


def _questions(selection: Selection[_Row]) -> Iterator[Question]:
    wanted = selection.wanted
    for row, images, context_length in selection.rows():
        yield Question(
            id=row.name,
            folder=wanted.folder,
            text=row.question,
            images=images,
            references=(row.gold(),),
            choices=row.choices(),
            groups=row.groups(context_length),
            extra=wanted.extra(row),
        )


def load(data_json: PathLike, wanted: Wanted) -> Loaded:
    """Check the data file and find the pages of each instance.

    Left out are "blacklisted", "no_images" and, in a text-only run, "no_context". Raises DataError.
    """
    empty: list[str] = []
    selection = select(
        data_json, _Row, wanted, hint=_HINT, on_chosen=lambda row: empty.append(row.name) if row.has_no_text() else None
    )
    odd = f"questions with a choice that says nan, as an empty cell of a table does: {len(empty)}"
    return Loaded(
        questions=Walk(partial(_questions, selection)),
        count=len(selection.indices),
        left_out=selection.left_out,
        data_sha256=selection.file.sha256,
        notes=(f"{selection.file.path}: {odd} ({first_of(empty, _SHOWN_IDS)})",) if empty else (),
    )


def benchmark(options: McSettings) -> Benchmark:
    """The benchmark; raises UsageError for a parser with a mode that has no free text to read."""
    mode = options.choice_mode
    if mode != "text" and options.parser != "robust":
        raise UsageError(f"--parser reads free text, and --choice_mode {mode} has none", hint="leave --parser out")
    return Benchmark(
        name="mc",
        load=Documents(load=load, settings=options, data=options.data, images=options.images),
        prompt=Prompt(DEFAULT_TEMPLATE, frame=longbench.frame(options)),
        parse=choice,
        metrics=(
            Metric("robust", right, "answers as our parser reads them"),
            Metric("longbench", right, "as LongBench-v2's own script reads them", read=published("longbench")),
            Metric("published", right, "as the published script reads them", read=published("published")),
        ),
        headline=options.parser,
        measure=f"accuracy by the {options.parser} parser",
        ideal_reply=lambda question: f"The correct answer is ({question.references[0]})",
        breakdowns=DOCUMENTS,
        question_type="domain",
        unit="question",
        labels=LABELS,
        report_path=lambda part, config: options.output / report_name(part, "mc"),
        write=write_mc,
        identity={"text_only": options.text_only},
        scoring={"parser": options.parser},
        version=SCORING_VERSION,
    )


def published(name: str) -> Parse:
    """A published reading; a reply that it can't read has the status of our reading."""

    def read(reply: Reply, question: Question) -> Answer:
        label, rule = READINGS[name](reply.raw)
        if label in question.choices:
            return Answer(text=label, rule=f"{name}: {rule}")
        ours = choice(reply, question)
        return Answer(status="unparsed" if ours.status == "ok" else ours.status, rule=name, rivals=ours.rivals)

    return read
