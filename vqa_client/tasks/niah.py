"""Needles in a haystack: secrets hidden in a document, each asked for by one question on its page images."""

from functools import partial
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from vqa_client.benchmark import Benchmark, Metric, Prompt, verbatim
from vqa_client.errors import UsageError
from vqa_client.reports.summary import DOCUMENTS
from vqa_client.reports.names import count, report_name
from vqa_client.scoring.short_answers import contains, folded
from vqa_client.scoring.wrappers import own_answer
from vqa_client.scoring.strict.containment import contains_strict, count_numbers
from vqa_client.scoring.reply import Reply
from vqa_client.settings.own_commands import NiahSettings
from vqa_client.task import Loaded, Walk
from vqa_client.tasks.longbench.report import write_niah
from vqa_client.tasks import longbench
from vqa_client.tasks.longbench import Documents, PathLike, Selection, Wanted, select
from vqa_client.types import UNKNOWN, Answer, Question

SCORING_VERSION = "5"

_HINT = "a record needs _id, questions and answers, lists of one length; a file with `choice_A` is one for mc"


class _Row(longbench.Row, frozen=True, kw_only=True):
    questions: tuple[str, ...]
    answers: tuple[str | int | float | None, ...]
    question_depths: tuple[str | None, ...] | None = None

    def depth(self, index: int) -> str:
        depths = self.question_depths or ()
        return longbench.group(depths[index]) if index < len(depths) else UNKNOWN

    def fault(self) -> str:
        n, expected = len(self.answers), len(self.questions)
        return super().fault() or (
            "" if n == expected else f"field `answers` has {count(n, 'item')} for {count(expected)}"
        )

    def scorable(self) -> list[tuple[int, str]]:
        """The number and the answer of each question whose answer can be looked for."""
        return [
            (index, gold)
            for index, answer in enumerate(self.answers)
            if answer is not None and (gold := str(answer).strip()) and (gold.isascii() or folded(gold))
        ]


def _questions(selection: Selection[_Row]) -> Iterator[Question]:
    wanted = selection.wanted
    for row, images, context_length in selection.rows():
        name, groups, extra = row.name, row.groups(context_length), wanted.extra(row)
        for index, gold in row.scorable():
            yield Question(
                id=question_id(name, index),
                folder=wanted.folder,
                text=row.questions[index],
                images=images,
                references=(gold,),
                groups={**groups, "needle_depth": row.depth(index)},
                cluster=name,
                extra={"question_idx": index, **extra},
            )


def question_id(document_id: str, index: int) -> str:
    """A question's id: the document's id, "#", and its index in `questions`, from 0."""
    return f"{document_id}#{index}"


def load(data_json: PathLike, wanted: Wanted) -> Loaded:
    """Check the data file and find the pages of each document.

    Left out are, by document, "blacklisted", "no_images" and, in a text-only run, "no_context", and, by question,
    "unscorable": questions without an answer to look for. Raises DataError.
    """
    count = 0
    unscorable: list[str] = []

    def count_scorable(row: _Row) -> None:
        nonlocal count
        scorable = row.scorable()
        count += len(scorable)
        if len(scorable) < len(row.questions):
            by_index = dict(scorable)
            unscorable.extend(question_id(row.name, i) for i in range(len(row.questions)) if i not in by_index)

    selection = select(data_json, _Row, wanted, hint=_HINT, on_chosen=count_scorable)
    return Loaded(
        questions=Walk(partial(_questions, selection)),
        count=count,
        left_out=selection.left_out | ({"unscorable": tuple(unscorable)} if unscorable else {}),
        data_sha256=selection.file.sha256,
    )


def benchmark(options: NiahSettings) -> Benchmark:
    """The benchmark; raises UsageError where the options don't name the data and its images."""
    data, images = _input(options)
    case_sensitive = options.case_sensitive

    def parse(reply: Reply, question: Question) -> Answer:
        """The whole reply is the answer; a reply that is cut or refuses before the needle has no answer."""
        if not reply.text:
            return reply.without_answer()
        text = own_answer(reply.visible)
        if (reply.cut or reply.declines) and not contained(text, question):
            return Answer(status="truncated", rule="cut") if reply.cut else Answer(status="refused", rule="refusal")
        return Answer(text=own_answer(reply.text), rule="whole_reply", source=reply.source)

    def with_wrappers(reply: Reply, question: Question) -> Answer:
        """The answer with its wrappers: the needle may be in another part of a wrapper."""
        answer = reply.without_answer() if reply.status else parse(reply, question)
        return replace(answer, text=own_answer(reply.visible)) if answer.text else answer

    def contained(answer: str, question: Question) -> float:
        return float(contains(question.references[0], answer, case_sensitive=case_sensitive))

    def strict(answer: str, question: Question) -> float:
        return float(contains_strict(question.references[0], answer, case_sensitive=case_sensitive))

    return Benchmark(
        name="niah",
        load=Documents(load=load, settings=options, data=data, images=images),
        prompt=Prompt(frame=longbench.frame(options)),
        parse=parse,
        metrics=(
            Metric("containment", contained, "the reference is in the answer, without thoughts", read=with_wrappers),
            Metric("published", contained, "the reference is in the whole reply, as published", read=verbatim),
            Metric("strict", strict, "as a word of its own that the answer stands by"),
            Metric("n_numbers", lambda answer, question: float(count_numbers(answer)), "numbers in the answer"),
        ),
        answers_by="strict",
        measure="accuracy by containment in the answer",
        breakdowns=DOCUMENTS,
        question_type="domain",
        unit="document",
        compares_answers=False,
        report_path=lambda part, config: options.output / report_name(part, "niah"),
        write=write_niah,
        identity={"text_only": options.text_only},
        scoring={"case_sensitive": str(case_sensitive).lower()},
        version=SCORING_VERSION,
    )


def _input(options: NiahSettings) -> tuple[Path, Path | None]:
    """The data file and the place of the images, from either form of the command."""
    if options.input is not None:
        if options.data or options.images:
            raise UsageError("--input replaces --data and --images", hint="give one or the other")
        return options.input / "data.json", options.input
    if options.data is None:
        raise UsageError("niah needs questions", hint="--data FILE with --images DIR, or --input DIR with both")
    return options.data, options.images
