"""VQA 2.0: open questions on photographs, each answered by ten people."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from vqa_client.benchmark import Benchmark, Metric
from vqa_client.errors import DataError, UsageError
from vqa_client.reports.names import safe_name
from vqa_client.reports.report import Report
from vqa_client.reports.run import Pairs, Run
from vqa_client.reports.summary import Summary
from vqa_client.scoring import vqa2 as published
from vqa_client.scoring.finish import GIVEN
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.vqa_accuracy import Mode, question_accuracy, texts, texts_if_distinct
from vqa_client.scoring.vqa_normalise import plainest
from vqa_client.scoring.wrappers import Unwrapped, above_explanation, labelled, own_answer
from vqa_client.settings.own_commands import Vqa2Settings
from vqa_client.tables.data_file import read_index
from vqa_client.task import Loaded, Part, Source, Walk
from vqa_client.tasks.vqa2.data import SAMPLE, ImageFolders, Vqa2Files, copy_sample, find_files
from vqa_client.tasks.vqa2 import report
from vqa_client.tasks.vqa2.report import Setup, combine, model_name
from vqa_client.tasks.vqa2.data import AnnotationRow, Paired, QuestionRow, askable, kind_of, lost, oddities, pair
from vqa_client.types import UNKNOWN, Answer, Note, Question

HEADLINE = "normalised"
SCORING_VERSION = "2"
DATE_CHARACTERS = len("20250801_194855")
TEN_ANSWERS: Final = "VQA accuracy (ten answers)"
"""The name of the headline: the published framework calls its partial credit VQA accuracy too."""
_SHORT_REASONING = 300
"""The longest reasoning, in characters, that may be an answer which the server's parser put into the wrong field."""
_IMAGE_HINT = (
    'name the files so, or name them in the questions, "image_id": "photo_01.jpg" or "photo_01"; --images FOLDER says '
    "where they are"
)


def _questions(paired: Paired, images: ImageFolders) -> Iterator[Question]:
    for row, annotation in paired.rows():
        yield _question(row, annotation, images.path(row.image_id))


def _question(row: QuestionRow, annotation: AnnotationRow | None, image: str) -> Question:
    known = annotation or AnnotationRow(question_id=row.question_id)
    gold = known.gold if annotation else None
    return Question(
        id=str(row.question_id),
        text=row.question,
        images=(image,),
        references=tuple(texts(known.all_answers)),
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
            "answers": texts_if_distinct(known.all_answers),
        },
    )


def load(
    files: Vqa2Files,
    *,
    num_questions: int | None,
    seed: int = 42,
    limit: int | None = None,
    note: Note = lambda _: None,
    finds_images: bool = True,
) -> Loaded:
    """Pair questions with annotations, draw `num_questions` of the pairs, and find their images.

    Questions are in the order of the draw; with 0 or None all are asked, in the order of the file. `limit` keeps the
    first ones. Left out, by id, are "no_annotation", "no_question", "duplicate_question", "duplicate_annotation" and,
    of the drawn questions, "no_image" and "no_answer". Raises DataError, also where no drawn question has its image.
    """
    questions = read_index(files.questions, "questions")
    annotations = read_index(files.annotations, "annotations") if files.annotations else None
    paired, left_out = pair(questions, annotations)
    drawn = paired.sample(num_questions, seed)
    drawn = drawn.picked(range(len(drawn))[:limit])
    images = ImageFolders(files.image_roots, questions.texts.get("data_subtype", ""))
    asked, without = askable(drawn, images if finds_images else None)
    if lacking := len(without.get("no_image", ())):
        first = lost(drawn, images)
        if lacking == len(drawn):
            raise DataError(f"no image of {lacking:,} drawn questions is there; {first}", hint=_IMAGE_HINT)
        note(f"no image: {first}")
    for oddity in oddities(asked):
        note(oddity)
    digests = questions.sha256 + (annotations.sha256 if annotations else "")
    return Loaded(
        questions=Walk(partial(_questions, asked, images)),
        count=len(asked),
        left_out={reason: tuple(ids) for reason, ids in (left_out | without).items()},
        data_sha256=hashlib.sha256(digests.encode()).hexdigest(),
    )


def benchmark(options: Vqa2Settings) -> Benchmark:
    """The benchmark: VQA accuracy against all ten answers, and the published framework's scores against one answer."""
    files = cache(lambda: _files(options))

    def parts(source: Source) -> list[Part]:
        loaded = _load_questions(options, files(), source)
        return [Part(loaded=loaded, data_path=files().questions, images_dir=files().image_roots[0])]

    def write(path: Path, run: Run, pairs: Pairs) -> Summary:
        annotations = files().annotations
        setup = Setup(
            mode=options.mode,
            num_questions=options.sample or options.num_questions,
            seed=options.seed,
            raw_images=options.raw_images,
            annotations_path=str(annotations) if annotations else None,
        )
        return report.write(path, run, pairs, setup)

    return Benchmark(
        name="vqa2",
        load=parts,
        parse=_read,
        metrics=METRICS,
        measure=TEN_ANSWERS,
        breakdowns=("kind", "answer_type"),
        question_type="question_type",
        report_path=lambda part, config: options.results_dir / _report_name(options, config),
        write=write,
        combine=partial(combine_reports, options),
        identity={"mode": options.mode},
        scoring={"published": published.VERSION},
        version=SCORING_VERSION,
    )


def combine_reports(
    settings: Vqa2Settings, reports: Sequence[Report], errors: Mapping[str, Exception], notify: Note
) -> None:
    """Write the report of all models, dated as the first report, where there are several and one has a report."""
    if not reports or len(reports) + len(errors) < 2:
        return
    date = reports[0].path.stem[-DATE_CHARACTERS:]
    output = settings.results_dir / f"vqa2_results_{settings.mode}_{date}.json"
    failed = {model_name(config, ""): str(error) for config, error in errors.items()}
    combine([report.path for report in reports], output, errors=failed)
    notify(f"all models: {output}")


def _load_questions(options: Vqa2Settings, files: Vqa2Files, source: Source) -> Loaded:
    """The drawn questions; of our own sample the first questions, as published; where a run is read again, all."""
    if not source.finds_images:
        return load(files, num_questions=None, note=source.notify, finds_images=False)
    num_questions, limit = None if options.sample else options.num_questions or None, options.limit
    if options.mode == SAMPLE:
        limit = min((number for number in (num_questions, limit) if number is not None), default=None)
        num_questions = None
    return load(files, num_questions=num_questions, seed=options.seed, limit=limit, note=source.notify)


def _files(options: Vqa2Settings) -> Vqa2Files:
    if options.mode == SAMPLE:
        if options.dry_run:
            raise UsageError("a dry run writes nothing, and --mode sample begins by writing its pictures")
        return copy_sample(options.results_dir / "vqa2_sample")
    return find_files(options.data_dir, options.questions_file, options.annotations_file, options.images)


def _report_name(options: Vqa2Settings, config: str | None) -> str:
    name = f"{safe_name(model_name(config, ''))}_" if config else ""
    return f"vqa2_results_{name}{options.mode}_{{started}}.json"


def _read(reply: Reply, question: Question) -> Answer:
    """A blank is an answer in a file of answers, as in the official evaluator, and not an answer in a model's reply."""
    if reply.status == "empty" and reply.completion.finish_reason == GIVEN:
        return Answer(text="", status="empty", rule="blank")
    return reply.without_answer() if reply.status else _parse(reply, question)


def _parse(reply: Reply, question: Question) -> Answer:
    """The whole reply is the answer; a reply that is cut before its answer has none."""
    whole = reply.unwrapped
    own = above_explanation(own_answer(whole.answer))
    answer = (labelled(own) or Unwrapped(own)).answer
    if not answer or (reply.source == "reasoning" and len(answer) > _SHORT_REASONING):
        return reply.without_answer()
    cut = reply.cut and own == whole.answer  # a text above an invented question or an explanation is complete
    if cut and not (question.references and any(metric.of(answer, question) for metric in _SHOWS_ANSWER)):
        return Answer(status="truncated", rule="cut")
    if reply.declines:
        return Answer(status="refused", rule="refusal")
    return Answer(text=answer, rule="whole_reply", source=reply.source)


def _with_wrappers(reply: Reply, question: Question) -> Answer:
    """The answer with its wrappers, which the published scores look at."""
    answer = _read(reply, question)
    return replace(answer, text=reply.visible) if answer.text else answer


def _score_by_people(mode: Mode) -> Callable[[str, Question], float]:
    return lambda answer, question: question_accuracy(answer, question.extra["answers"], mode)


def _score_by_gold(score: Callable[[str, str], float]) -> Callable[[str, Question], float]:
    return lambda answer, question: float(score(str(question.extra["multiple_choice_answer"]), answer))


METRICS: Final = tuple(
    Metric(name, of, says, read=_read if name == HEADLINE else _with_wrappers, normalise=plainest)
    for name, of, says in (
        (HEADLINE, _score_by_people("normalised"), f"{TEN_ANSWERS}, all normalised"),
        ("official", _score_by_people("official"), "the same as the official evaluator has it"),
        ("simple", _score_by_gold(published.simple_correct), "published framework: right or wrong"),
        ("enhanced", _score_by_gold(published.enhanced_score), "published framework: partial credit"),
        ("simple_whole_word", _score_by_gold(published.simple_correct_by_words), "right or wrong, by whole words"),
        ("enhanced_whole_word", _score_by_gold(published.enhanced_score_by_words), "partial credit, by whole words"),
    )
)
_SHOWS_ANSWER: Final = tuple(metric for metric in METRICS if metric.name in (HEADLINE, "simple", "simple_whole_word"))
