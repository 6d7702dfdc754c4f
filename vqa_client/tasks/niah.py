"""Needles in a haystack: secrets hidden in a document, each asked for by one question on its page images."""

from collections.abc import Iterator

from msgspec import Struct

from vqa_client.scoring.containment import contains, contains_strict, count_numbers, folded
from vqa_client.scoring.reply import Reply
from vqa_client.tasks import longbench, template
from vqa_client.tasks.context_length import UNKNOWN
from vqa_client.tasks.longbench import Pages, PathLike
from vqa_client.tasks.selection import Selection, Wanted, read_blacklist, select
from vqa_client.tasks.task import Loaded, Task
from vqa_client.types import Answer, Question, Score

DEFAULT_TEMPLATE = "{question}"
SCORING_VERSION = "2"

_HINT = "a record needs _id, questions and answers, lists of one length; a file with `choice_A` is one for mc"


class _Row(longbench.Row, frozen=True, kw_only=True):
    questions: tuple[str, ...]
    answers: tuple[str | int | float | None, ...]
    question_depths: tuple[str | None, ...] | None = None

    def gold(self, index: int) -> str:
        answer = self.answers[index]
        return "" if answer is None else str(answer).strip()

    def depth(self, index: int) -> str:
        depths = self.question_depths or ()
        return longbench.group(depths[index]) if index < len(depths) else UNKNOWN

    def fault(self) -> str:
        n, expected = len(self.answers), len(self.questions)
        return super().fault() or ("" if n == expected else f"field `answers` has {n} items for {expected} questions")

    def scorable(self) -> Iterator[tuple[int, str]]:
        """Number and answer of each question whose answer can be looked for."""
        golds = map(self.gold, range(len(self.questions)))
        return ((index, gold) for index, gold in enumerate(golds) if folded(gold))


class _Questions(Struct, frozen=True, kw_only=True):
    selection: Selection[_Row]

    def __iter__(self) -> Iterator[Question]:
        wanted = self.selection.wanted
        for row, images, context_length in self.selection.shown():
            groups, extra = row.groups(context_length), wanted.extra(row)
            for index, gold in row.scorable():
                yield Question(
                    id=question_id(row.name, index),
                    variant=wanted.variant,
                    text=row.questions[index],
                    images=images,
                    references=(gold,),
                    groups=groups | {"needle_depth": row.depth(index)},
                    cluster=row.name,
                    extra={"question_idx": index} | extra,
                )


def question_id(document_id: str, index: int) -> str:
    """Name a question: the document's id, "#", and its place in `questions`, counted from 0."""
    return f"{document_id}#{index}"


def load(
    data_json: PathLike,
    *,
    variant: str = "",
    pages: Pages | None,
    blacklist: PathLike | None = None,
    limit: int | None = None,
    text_only: bool = False,
) -> Loaded:
    """Check the data file and find the pages of each document; `limit` counts documents after the blacklist.

    Left out are, by document, "blacklisted", "no_images" and "no_context" (text only), and, by question, "unscorable":
    those without an answer, which would be found in every reply. Raises DataError.
    """
    wanted = Wanted(variant=variant, pages=pages, blacklist=read_blacklist(blacklist), limit=limit, text_only=text_only)
    count = 0
    unscorable: list[str] = []

    def count_scorable(row: _Row) -> None:
        nonlocal count
        scorable = {index for index, _ in row.scorable()}
        count += len(scorable)
        unscorable.extend(question_id(row.name, i) for i in range(len(row.questions)) if i not in scorable)

    selection = select(data_json, _Row, wanted, hint=_HINT, on_chosen=count_scorable)
    return Loaded(
        questions=_Questions(selection=selection),
        count=count,
        left_out=selection.left_out | ({"unscorable": tuple(unscorable)} if unscorable else {}),
        data_sha256=selection.file.sha256,
    )


def choose_template(prompt_template: str | None) -> tuple[str, str]:
    """The template to use, and a note where it isn't the one given: see `template.question_alone`."""
    return template.question_alone(
        prompt_template,
        DEFAULT_TEMPLATE,
        instead=f"niah asks with its own template, {DEFAULT_TEMPLATE!r}, not the config's",
    )


def task(*, prompt_template: str | None = None, case_sensitive: bool = False, text_only: bool = False) -> Task:
    """Build the task; raises UsageError for an unknown placeholder."""
    chosen, _ = choose_template(prompt_template)

    def prompt(question: Question) -> str:
        text = template.fill(chosen, question=question.text)
        return longbench.with_context(text, question.extra["context"]) if text_only else text

    return Task(
        name="niah",
        prompt=prompt,
        parse=lambda reply, question: _parse(reply, question, case_sensitive),
        score=lambda answer, reply, question: _score(answer, reply, question, case_sensitive),
        scoring={"case_sensitive": str(case_sensitive).lower(), "version": SCORING_VERSION},
        headline="containment",
    )


def _parse(reply: Reply, question: Question, case_sensitive: bool) -> Answer:
    """Take all that was said as the answer; one cut short before the needle, or that declines without it, has none."""
    text = reply.text
    if reply.status or not text:
        return reply.without_answer()
    found = contains(question.references[0], reply.visible, case_sensitive=case_sensitive)
    if not found and (reply.cut or reply.declines):
        return Answer(status="truncated", rule="cut") if reply.cut else Answer(status="refused", rule="refusal")
    return Answer(text=text, rule="whole_reply", source=reply.source)


def _score(answer: Answer, reply: Reply, question: Question, case_sensitive: bool) -> Score:
    """Containment in what was said; `published` looks through the whole reply, as the published script does."""
    gold, text, said = question.references[0], answer.text or "", reply.visible if answer.text else ""
    published = contains(gold, reply.raw, case_sensitive=case_sensitive)
    found = published if said == reply.raw else contains(gold, said, case_sensitive=case_sensitive)
    parts = {
        "containment": float(found),
        "published": float(published),
        "strict": float(contains_strict(gold, text, case_sensitive=case_sensitive)),
        "n_numbers": float(count_numbers(text)),
    }
    return Score(value=parts["containment"], parts=parts)
