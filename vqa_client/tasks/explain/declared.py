"""The declaration that all datasets of answers with explanations share: `<answer> because <explanation>`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from msgspec.structs import asdict, replace

from vqa_client.benchmark import Benchmark, Metric, Parse, Prompt
from vqa_client.errors import UsageError
from vqa_client.files import sha256_of
from vqa_client.reports.run import Pairs, Run
from vqa_client.scoring.short_answers import same
from vqa_client.scoring.published.explained_answer import PLACEHOLDERS, READINGS, UNKNOWN
from vqa_client.scoring.reply import Reply
from vqa_client.settings.own_commands import ExplainSettings
from vqa_client.task import Loaded, Part, Source
from vqa_client.tasks.explain import accuracy_grid
from vqa_client.tasks.explain.dataset import Dataset, check_mode, find_file, load, read_questions
from vqa_client.tasks.explain.prompts import prompt
from vqa_client.tasks.explain.report import ExplainSummary, csv_path, export_captions, judge_explanations
from vqa_client.tasks.explain.report import write_scores, write_table
from vqa_client.types import Answer, Question

SCORING_VERSION = "3"
_SAYS: Final = {
    "published": "as the published script reads them",
    "published_latest": "as that script's last version reads them",
}


def declared(options: ExplainSettings, dataset: Dataset[Any]) -> Benchmark:
    """The benchmark of a dataset; raises UsageError for a parser or a mode that it doesn't have."""
    name, mode = options.task, options.vcr_mode
    check_mode(name, mode)
    if options.parser != "robust" and not dataset.published:
        raise UsageError(f"--parser {options.parser} has no reading of --vcr_mode {mode}", hint="leave --parser out")
    shots = options.prompt_mode or dataset.prompt_mode
    readings = {reading: _published_reading(dataset, reading) for reading in READINGS if dataset.published}
    return Benchmark(
        name=name,
        load=_loader(options, dataset),
        prompt=Prompt(lambda question: prompt(question, dataset.wording, shots), images="last"),
        parse=_robust_reading(dataset),
        metrics=(
            Metric("robust", _is_right, "answers as our parser reads them", normalise=dataset.normalise),
            *(Metric(reading, _is_right_text, _SAYS[reading], read=read) for reading, read in readings.items()),
            *dataset.metrics,
            Metric(
                "explained",
                lambda answer, question: 1.0,
                "replies with an explanation",
                read=readings.get(options.parser),
                rationale=True,
            ),
        ),
        headline=options.parser,
        measure=f"accuracy by the {options.parser} parser",
        breakdowns=dataset.breakdowns,
        question_type=dataset.question_type,
        ideal_reply=lambda question: f"{question.extra['gold']} because {question.rationales[0]}",
        report_path=lambda part, config: csv_path(
            options.results_dir,
            model=options.model_label,
            task=name,
            split=options.split,
            conditions=options.conditions,
        ),
        write=_writer(options, dataset),
        identity={"prompt_mode": shots, "vcr_mode": mode},
        scoring={"benchmark": name, "parsing": options.parser, "vcr_mode": mode},
        version=SCORING_VERSION,
    )


def _loader(options: ExplainSettings, dataset: Dataset[Any]) -> Callable[[Source], list[Part]]:
    def parts(source: Source) -> list[Part]:
        path = find_file(dataset, options.split, options.data_root)
        if not source.finds_images:
            questions, _ = read_questions(dataset, path, split=dataset.split_read(options.split))
            loaded = Loaded(questions=questions, count=len(questions), data_sha256=sha256_of(path))
        else:
            accuracy_grid.read_tables(options.results_dir)  # raises before the first request
            if notice := dataset.split_notice(options.split):
                source.notify(notice)
            limits = [limit for limit in (options.n_samples, options.limit) if limit is not None]
            loaded = load(
                dataset,
                options.split,
                options.data_root,
                n_samples=None if options.sample else min(limits, default=None),
                require_images=options.require_images,
            )
        return [Part(name=options.split, loaded=loaded, data_path=path, images_dir=options.data_root / "images")]

    return parts


def _robust_reading(dataset: Dataset[Any]) -> Parse:
    def read(reply: Reply, question: Question) -> Answer:
        answer = dataset.read(reply, question)
        if reply.source == "content":
            return answer
        return replace(answer, source="reasoning") if answer.status == "ok" else Answer(status="empty", rule="no_text")

    return read


def _published_reading(dataset: Dataset[Any], name: str) -> Parse:
    """A published reading; a reply that it can't read has the status of our reading."""
    robust = _robust_reading(dataset)

    def read(reply: Reply, question: Question) -> Answer:
        text, explanation = READINGS[name](dataset.name, reply.raw, list(question.choices.values()))
        rationale = None if explanation in PLACEHOLDERS else explanation
        if text not in (UNKNOWN, ""):
            return Answer(text=text, rule=name, rationale=rationale)
        ours = reply.without_answer() if reply.status else robust(reply, question)
        return Answer(status="unparsed" if ours.status == "ok" else ours.status, rule=name, rationale=rationale)

    return read


def _is_right(answer: str, question: Question) -> float:
    return float(same(answer, question.extra["gold"]))


def _is_right_text(answer: str, question: Question) -> float:
    return float(same(answer, question.extra.get("gold_text", question.extra["gold"])))


def _writer(options: ExplainSettings, dataset: Dataset[Any]) -> Callable[[Path, Run, Pairs], ExplainSummary]:
    def write(path: Path, run: Run, pairs: Pairs) -> ExplainSummary:
        summary = write_table(path, options.task, pairs, csv_safe=options.csv_safe)
        if summary.overall.total < run.expected:
            return ExplainSummary(**asdict(summary))
        judged = judge_explanations(pairs())
        write_scores(path.with_suffix(".explanations.json"), run, judged)
        if options.coco_captions:
            export_captions(path.with_suffix(""), pairs())
        entry = accuracy_grid.entry_of(
            run,
            summary,
            title=dataset.title,
            model=options.model_label,
            split=options.split,
            conditions=options.conditions,
            images=options.recoding,
        )
        if entry:
            accuracy_grid.update(options.results_dir, entry)
        return ExplainSummary(**asdict(summary), explanations=judged)

    return write
