"""VQA 2.0: open questions on photographs, each answered by ten people."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from vqa_client import template
from vqa_client.errors import DataError
from vqa_client.scoring import vqa2 as published
from vqa_client.scoring.answers import texts
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.vqa_accuracy import question_accuracy
from vqa_client.task import Loaded, Task
from vqa_client.tasks.vqa2.files import ImageFolders, Vqa2Files
from vqa_client.tasks.vqa2.records import read_records
from vqa_client.tasks.vqa2.rows import AnnotationRow, QuestionRow, kind_of
from vqa_client.tasks.vqa2.selection import Pairing, askable, lost, oddities, pair
from vqa_client.types import UNKNOWN, Answer, Question, Score

DEFAULT_TEMPLATE = "{question}"
HEADLINE = "normalised"
SCORING_VERSION = "2"
SAMPLE = 20
SEED = 42
_SHORT_REASONING = 300
"""Characters of reasoning that may be the answer itself, put into the wrong field by the server's parser."""
_IMAGE_HINT = (
    'name the files so, or name them in the questions, "image_id": "photo_01.jpg" or "photo_01"; --images FOLDER says '
    "where they are"
)

_Metric = Callable[[str, Question], float]
METRICS: Final[dict[str, _Metric]] = {
    HEADLINE: lambda said, question: question_accuracy(said, question.extra["answers"], "normalised"),
    "official": lambda said, question: question_accuracy(said, question.extra["answers"], "official"),
    "simple": lambda said, question: float(published.simple_correct(_gold(question), said)),
    "enhanced": lambda said, question: published.enhanced_score(_gold(question), said),
    "simple_whole_word": lambda said, question: float(published.simple_correct_by_words(_gold(question), said)),
    "enhanced_whole_word": lambda said, question: published.enhanced_score_by_words(_gold(question), said),
}
"""VQA accuracy against all ten answers, then the published framework's scores against the most frequent one."""
_SHOWS_ANSWER: Final = (HEADLINE, "simple", "simple_whole_word")


class _Questions(Struct, frozen=True, kw_only=True):
    paired: Pairing
    images: ImageFolders
    variant: str

    def __iter__(self) -> Iterator[Question]:
        for row, annotation in self.paired.rows():
            yield _question(row, annotation, self.images.path(row.image_id), self.variant)


def _question(row: QuestionRow, annotation: AnnotationRow | None, image: str, variant: str) -> Question:
    known = annotation or AnnotationRow(question_id=row.question_id)
    gold = known.gold if annotation else None
    return Question(
        id=str(row.question_id),
        variant=variant,
        text=row.question,
        images=(image,),
        references=tuple(texts(known.given)),
        groups={
            "kind": kind_of(row.question, gold),
            "answer_type": known.answer_type or UNKNOWN,
            "question_type": known.question_type or UNKNOWN,
        },
        cluster=str(row.image_id),
        extra={
            "question_id": row.question_id,
            "image_id": row.image_id,
            "image_filename": image.rpartition("/")[2],
            "multiple_choice_answer": gold,
            "answers": known.given,
        },
    )


def load(
    files: Vqa2Files,
    *,
    variant: str = "",
    num_questions: int | None = SAMPLE,
    seed: int = SEED,
    limit: int | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Loaded:
    """Pair questions with annotations, draw `num_questions` of those that have both, and find their images.

    The order is that of the draw; 0 or None asks all, in the order of the file. `limit` keeps the first of these.
    Left out, by id, are "no_annotation", "no_question", "duplicate_question", "duplicate_annotation" and, of those
    drawn, "no_image" and "no_answer". Raises DataError, also where every drawn question lacks its image.
    """
    questions = read_records(files.questions, "questions")
    annotations = read_records(files.annotations, "annotations") if files.annotations else None
    paired, left_out = pair(questions, annotations)
    drawn = paired.sample(num_questions, seed)
    drawn = drawn.picked(range(len(drawn))[:limit])
    images = ImageFolders(files.image_roots, questions.subtype)
    asked, without = askable(drawn, images)
    if "no_image" in without:
        _tell_lost(drawn, images, len(without["no_image"]), note)
    for oddity in oddities(asked):
        note(oddity)
    digests = questions.file.sha256 + (annotations.file.sha256 if annotations else "")
    return Loaded(
        questions=_Questions(paired=asked, images=images, variant=variant),
        count=len(asked),
        left_out={reason: tuple(ids) for reason, ids in (left_out | without).items()},
        data_sha256=hashlib.sha256(digests.encode()).hexdigest(),
    )


def _tell_lost(drawn: Pairing, images: ImageFolders, count: int, note: Callable[[str], None]) -> None:
    if count == len(drawn):
        raise DataError(f"no image of {count:,} drawn questions is there; {lost(drawn, images)}", hint=_IMAGE_HINT)
    note(f"no image: {lost(drawn, images)}")


def choose_template(prompt_template: str | None) -> tuple[str, str]:
    """The template to use, and a note where it isn't the one given: see `template.question_alone`."""
    return template.question_alone(
        prompt_template, DEFAULT_TEMPLATE, instead="vqa2 asks the bare question, without the config's template"
    )


def task(*, prompt_template: str | None = None) -> Task:
    """Build the task; raises UsageError for an unknown placeholder."""
    chosen, _ = choose_template(prompt_template)
    return Task(
        name="vqa2",
        prompt=lambda question: template.fill(chosen, question=question.text),
        parse=_parse,
        score=_score,
        scoring={"version": SCORING_VERSION, "published": published.VERSION},
        headline=HEADLINE,
    )


def _parse(reply: Reply, question: Question) -> Answer:
    """Take all that was said as the answer; a reply cut before the answer has none."""
    said = reply.text
    if reply.status or not said or (reply.source == "reasoning" and len(said) > _SHORT_REASONING):
        return reply.without_answer()
    if reply.cut and not (question.references and any(METRICS[name](said, question) for name in _SHOWS_ANSWER)):
        return Answer(status="truncated", rule="cut")
    if reply.declines:
        return Answer(status="refused", rule="refusal")
    return Answer(text=said, rule="whole_reply", source=reply.source)


def _score(answer: Answer, reply: Reply, question: Question) -> Score:
    """Nothing for a reply without answer; no parts at all where nobody knows the answer.

    The published scores look at what was said with its wrappers on, as their scripts do.
    """
    if not question.references:
        return Score(value=0.0)
    if not answer.text:
        return Score(value=0.0, parts=dict.fromkeys(METRICS, 0.0))
    parts = {
        name: metric(answer.text if name == HEADLINE else reply.visible, question) for name, metric in METRICS.items()
    }
    return Score(value=parts[HEADLINE], parts=parts)


def _gold(question: Question) -> str:
    return str(question.extra["multiple_choice_answer"])
