"""Verdicts of another model on a finished run, as a benchmark whose data is the run's record log.

Resuming, retries, statuses, cost and several servers work as in any run. A verdict is an answer. Without a verdict a
question is undecided and in no accuracy: "judged" is the score of decided questions, "at_least" and "at_most" take all
undecided ones as wrong and as right.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from vqa_client.benchmark import Answer, Benchmark, Loaded, Metric, Part, Question, Source
from vqa_client.errors import DataError, ServerUnusable, UsageError
from vqa_client.files import sha256_of, write_json
from vqa_client.judge.kinds import JUDGE_VERSION, NONE, SEVERAL, Judged, part_of, read, worth
from vqa_client.judge.loading import JudgedRun, given_rubric, judged_logs
from vqa_client.judge.people import read_sheet, scales_of
from vqa_client.log_lines import run_name
from vqa_client.model_config import names_config
from vqa_client.reports.judged import reason
from vqa_client.reports.log_reader import JUDGED_BY, LOG_ENDING, file_beside, find_logs, run_file_of
from vqa_client.reports.names import safe_name
from vqa_client.reports.run import Pairs, Run
from vqa_client.reports.summary import Summary, summarise
from vqa_client.runs.reopened import settings_of
from vqa_client.runs.run_file import RunFile
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.short_answers import folded
from vqa_client.settings.judge import JudgeKind, JudgeSettings
from vqa_client.task import Walk
from vqa_client.types import Record

SCORING_VERSION = "2"
CONTROL = "control/"
PASSES = 0.9
"""The share of each kind of control that a judge must get right."""
_UNDECIDED = "undecided"
_EXAMPLES, _MOST_WANTED = 2, 3
_BY_PEOPLE: Final[tuple[JudgeKind, ...]] = ("match", "extract", "correct", "grade")
_CRITERIA = ("judged", "kind", "prompt_version", "with_images", "lowest_grade", "highest_grade", "rubric_sha256")
_MEASURES = {"grade": "grade by the judge", "pair": "better by the judge"}


def kind_of(settings: JudgeSettings) -> JudgeKind:
    """The kind of judgement: as given, as the benchmark declares, else `match` if it has choices, else `correct`."""
    if settings.kind is not None:
        return settings.kind
    log = find_logs(settings.results)[0]
    file = RunFile.read(run_file_of(log))
    if file is None:
        raise UsageError(
            f"{run_file_of(log)} is missing, which says what was asked",
            hint="put it back beside the log; the run's own command writes it again",
        )
    of_run, entry = settings_of(file)
    judged = entry.make(of_run)
    if judged.judge is not None:
        return judged.judge.asks
    return "match" if judged.labels else "correct"


def only_run(settings: JudgeSettings) -> JudgeSettings:
    """The settings with the single run that people judge; raises UsageError for several runs."""
    logs = judged_logs(settings.results)
    if len(logs) > 1:
        raise UsageError(f"{settings.results} contains {len(logs)} runs", hint="name the one that people judge")
    return replace(settings, results=logs[0])


def for_people(settings: JudgeSettings, sheet: Path | None) -> JudgeSettings:
    """The settings with the kind of judgement that people give, and the scale of their grades.

    By default a sheet says whether it is grades; without a sheet the run's judges do, if all are of one kind.
    """
    graded = bool(scales_of(read_sheet(sheet))) if sheet else None
    kinds: list[JudgeKind] = [kind for kind in _BY_PEOPLE if judges_beside(settings.results, kind)]
    fitting = [kind for kind in kinds if graded is None or (kind == "grade") == graded]
    if settings.kind is None and (graded or len(fitting) == 1):
        settings = replace(settings, kind="grade" if graded else fitting[0])
    return _with_scale(replace(settings, kind=kind_of(settings)), sheet)


def _with_scale(settings: JudgeSettings, sheet: Path | None) -> JudgeSettings:
    """The settings with the scale of people's grades: that of the sheet, else that of the run's judges.

    Raises UsageError for another --scale, and for several scales without --scale; DataError for an unknown scale in a
    sheet.
    """
    if settings.kind != "grade":
        return settings
    log, known = settings.results, scales_of(read_sheet(sheet)) if sheet else set()
    where = f"grades in {sheet}" if known else f"judges' grades of {log}"
    if not known:
        files = [RunFile.read(run_file_of(judge)) for judge in judges_beside(log, settings.kind)]
        identities = [file.identity for file in files if file]
        known = {f"{identity.get('lowest_grade', 0)}-{identity['highest_grade']}" for identity in identities}
    scales = " and ".join(sorted(known))
    if settings.scale is not None:
        scale = f"{settings.grades[0]}-{settings.grades[-1]}"
        if known and scale not in known:
            raise UsageError(f"--scale is {scale}, and {where} are on {scales}", hint="leave --scale out")
        return settings
    if len(known) > 1:
        way_out = "give --scale to judge --labels, or to judge --for_people N, which writes it into the sheet"
        raise UsageError(f"{where} are on {scales}", hint=way_out)
    try:
        return replace(settings, scale=scales or None)
    except UsageError:
        raise DataError(f"{where} are on {scales!r}", hint="leave the column scale as it was drawn") from None


def judges_beside(log: Path, kind: JudgeKind) -> list[Path]:
    """The logs of all judges of this kind beside a run's log; a judge that was asked with and without its name once."""
    nameless, start = log_of(log, kind, None), file_beside(log, f"{JUDGED_BY}{kind}-").name
    with_name = sorted(path for path in log.parent.glob(f"*{LOG_ENDING}") if path.name.startswith(start))
    is_another = nameless.exists() and not any(_are_same_judge(nameless, path) for path in with_name)
    return [nameless, *with_name] if is_another else with_name


def _are_same_judge(a: Path, b: Path) -> bool:
    """Whether two logs have the same judge and questions, asked once with the judge's name and once without."""
    files = [RunFile.read(run_file_of(log)) for log in (a, b)]
    return None not in files and len({run_name(file.identity) for file in files if file}) == 1


def split_by_criteria(log: Path, kind: JudgeKind, asked: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The logs of judges of this kind with the same criteria as those `asked`, which come first; and the other logs."""

    def criteria(of: Path) -> list[object]:
        file = RunFile.read(run_file_of(of))
        return [file.identity.get(name) for name in _CRITERIA] if file else []

    others = [judge for judge in judges_beside(log, kind) if judge not in asked]
    if (nameless := log_of(log, kind, None)) in asked:
        others = [judge for judge in others if not _are_same_judge(nameless, judge)]
    known = [criteria(judge) for judge in asked]
    same = [judge for judge in others if criteria(judge) in known]
    return [*asked, *same], [judge for judge in others if judge not in same]


def name_of(config: str) -> str:
    """A judge's name in the names of its files: that of its config, or of the served model."""
    path = Path(config)
    return safe_name(path.stem if names_config(config) else path.name)


def report_of(log: Path, kind: JudgeKind, config: str | None) -> Path:
    """The path of a judge's report on a run; its log is beside it."""
    name = f"{kind}-{name_of(config)}" if config else kind
    return file_beside(log, f"{JUDGED_BY}{name}.json")


def log_of(log: Path, kind: JudgeKind, config: str | None) -> Path:
    """The path of a judge's log on a run."""
    return report_of(log, kind, config).with_suffix(LOG_ENDING)


def benchmark(settings: JudgeSettings) -> Benchmark:
    """The judgements of one run by one judge, as a benchmark."""
    kind, grades = kind_of(settings), settings.grades
    [log] = find_logs(settings.results)
    judged_run = cache(partial(JudgedRun, settings, kind))
    choosing = judged_run().choosing if settings.choice_mode != "text" else None

    def parse(reply: Reply, question: Question) -> Answer:
        return read(reply, question, kind, choosing)

    def decided(reply: Reply, question: Question) -> Answer:
        answer = reply.without_answer() if reply.status else parse(reply, question)
        return Answer(text=answer.rule if answer.rule in (NONE, SEVERAL) else answer.text or _UNDECIDED)

    def value(verdict: str, question: Question) -> float | None:
        if verdict == _UNDECIDED:
            return None
        if kind in ("match", "extract"):
            asked = question.row_as(Judged).question
            return 0.0 if verdict in (NONE, SEVERAL) else judged_run().value(verdict, asked)
        return worth(kind, verdict, part_of(question.variant, kind)[1], grades)

    def bound(of_undecided: float, verdict: str, question: Question) -> float:
        if sort_of(question.variant):
            return float(_is_expected(verdict, question.references))
        score = value(verdict, question)
        return of_undecided if score is None else score

    def load(source: Source) -> list[Part]:
        return [_part(judged_run(), source)]

    return Benchmark(
        name=settings.benchmark,
        load=load,
        parse=parse,
        metrics=(
            Metric("at_least", partial(bound, 0.0), "undecided as wrong"),
            Metric("judged", value, "the score of what is decided", read=decided),
            Metric("at_most", partial(bound, 1.0), "undecided as right", read=decided),
        ),
        measure=f"{_MEASURES.get(kind, 'right by the judge')}, at least",  # undecided ones count as wrong
        choosing=choosing,
        prompt=lambda question: question.text,
        compares_answers=kind != "extract",
        gate=_gate(settings),
        names_model=True,
        identity={
            "kind": kind,
            "prompt_version": JUDGE_VERSION,
            "with_images": settings.with_images,
            **({"choice_mode": choosing.mode} if choosing else {}),
            **({"highest_grade": grades[-1]} if kind == "grade" else {}),
            **({"lowest_grade": grades[0]} if kind == "grade" and grades[0] else {}),
            **(
                {"rubric_sha256": hashlib.sha256(rubric.encode()).hexdigest()}
                if (rubric := given_rubric(settings))
                else {}
            ),
        },
        scoring={"kind": kind},
        version=SCORING_VERSION,
        report_path=lambda part, config: report_of(log, kind, config),
    )


def _part(run: JudgedRun, source: Source) -> Part:
    count, left_out, controls = run.survey()
    digest = sha256_of(run.log)
    return Part(
        name=str(run.run.file.identity.get("task") or ""),
        loaded=Loaded(questions=Walk(run.questions), count=count, left_out=left_out, data_sha256=digest),
        gate=Loaded(questions=controls, count=len(controls), data_sha256=digest),
        data_path=run.log,
        images_dir=run.log.parent if source.settings.with_images else None,
        identity={"judged": run.identity},
    )


def control_in_record(record: Record) -> bool:
    """Whether a judge gave the verdict that a control expects."""
    return record.answer is not None and _is_expected(record.answer, record.references)


def _is_expected(verdict: str, references: Sequence[str]) -> bool:
    return folded(verdict) in map(folded, references)


def sort_of(variant: str) -> str:
    """The kind of control that a variant is: right, wrong or injected; "" for a judgement."""
    return variant.split("/")[1] if variant.startswith(CONTROL) else ""


def _gate(settings: JudgeSettings) -> Any:
    def write(path: Path, run: Run, pairs: Pairs) -> Summary:
        """Write the report of the controls; raises ServerUnusable if the judge fails them, unless --no_check."""
        counts: dict[str, list[int]] = {}
        failed: list[str] = []
        for _, record in pairs():
            tally = counts.setdefault(sort_of(record.variant), [0, 0])
            passed = control_in_record(record)
            tally[0] += passed
            tally[1] += 1
            if not passed and len(failed) < _EXAMPLES:
                verdict = record.answer or reason(record.rule or record.status)
                expected = " or ".join(dict.fromkeys(record.references[-_MOST_WANTED:]))
                failed.append(f"{record.question_id} ({record.variant}): {verdict}, expected {expected}")
        summary = summarise(record for _, record in pairs())
        write_json(path, {"controls": counts, "failed": failed})
        shares = ", ".join(f"{sort} {passed}/{n}" for sort, (passed, n) in counts.items())
        is_complete = sum(n for _, n in counts.values()) == run.expected
        if settings.check and is_complete and any(passed < PASSES * n for passed, n in counts.values()):
            raise ServerUnusable(
                f"{run.model} fails the controls ({shares}), such as {'; '.join(failed)}: nothing is judged",
                hint="take another judge, or --fresh for a repaired one; --no_check asks it anyway, and the report "
                "shows how often it errs",
            )
        return summary

    return write
