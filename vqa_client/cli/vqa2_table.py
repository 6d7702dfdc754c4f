"""The tables of vqa2: the published one, what kind of question a model can answer, and the models side by side."""

from collections.abc import Iterator, Sequence

from vqa_client.cli.score_tables import gap_text
from vqa_client.reports.names import count, cut, interval_text, percent
from vqa_client.reports.overview import tally_text
from vqa_client.reports.sections import Section
from vqa_client.scoring.vqa_accuracy import LONG_WORDS
from vqa_client.tasks.vqa2.benchmark import TEN_ANSWERS
from vqa_client.tasks.vqa2.figures import KindFigures, Vqa2Summary

FRAMEWORK = "VQA accuracy (framework)"
"""The published framework's partial credit; VQA's own score has the same name."""
ANSWER_CHARACTERS = 48
OFFICIAL_TYPES = 10
"""How many official question types a table shows, the most frequent; the report has all."""
MARKS = {True: "right", False: "wrong", None: "-"}


def vqa2(summaries: Sequence[Vqa2Summary], *, verbose: bool) -> Iterator[Section]:
    """A row or a column for each summary; `verbose` adds the single questions."""
    first, names = summaries[0], [summary.name for summary in summaries]
    scores = f"accuracy and {FRAMEWORK} in %: the published framework's scores, against the most frequent answer"
    yield Section(
        title=f"vqa2 · {count(first.overall.total)}", notes=[scores, "questions without a reply count as wrong"]
    )
    yield Section(
        columns=["model", "correct", "accuracy", _two_lines(FRAMEWORK), "average time", "assessment"],
        rows=[_published_row(summary) for summary in summaries],
        notes=["in % of the questions of a kind, by the published accuracy"],
    )
    kinds = dict.fromkeys(kind for summary in summaries for kind in summary.kinds)
    rows = [[kind, *(_share(summary, summary.kinds.get(kind)) for summary in summaries)] for kind in kinds]
    yield Section(columns=["kind", *names], rows=rows)
    types = [summary.breakdowns.get("question_type", {}) for summary in summaries]
    if any(len(of) > 1 for summary, of in zip(summaries, types, strict=True) if summary.scored):
        totals = {name: max(of[name].total for of in types if name in of) for of in types for name in of}
        frequent = sorted(totals, key=lambda name: (-totals[name], name))[:OFFICIAL_TYPES]
        yield Section(notes=[f"by official question type, {TEN_ANSWERS} in %"])
        rows = [[name, *(tally_text(of.get(name)) for of in types)] for name in frequent]
        yield Section(columns=["question type", *names], rows=rows)
    against = f"{TEN_ANSWERS} in %, with its 95 % interval: against all answers of a question; times in s"
    yield Section(notes=[against])
    yield Section(
        columns=[
            *("model", _two_lines(TEN_ANSWERS), "interval", "official", "whole words", "replied", "median", "p95")
        ],
        rows=[_ten_answers(summary) for summary in summaries],
        notes=[f"{summary.name}: {line}" for summary in summaries for line in _why(summary)],
    )
    if verbose:
        yield Section(notes=_questions(summaries))


def _published_row(summary: Vqa2Summary) -> list[str]:
    return [
        summary.name,
        "-" if summary.correct is None else f"{summary.correct:,}/{summary.overall.total:,}",
        percent(summary.simple_accuracy),
        percent(summary.vqa_accuracy),
        _seconds(summary.times.mean, " s"),
        summary.assessment,
    ]


def _ten_answers(summary: Vqa2Summary) -> list[str]:
    overall = summary.overall
    return [
        summary.name,
        percent(overall.accuracy),
        interval_text(overall.interval),
        _part(summary, "official"),
        _part(summary, "simple_whole_word"),
        percent(summary.success_rate),
        _seconds(summary.times.median),
        _seconds(summary.times.p95),
    ]


def _share(summary: Vqa2Summary, kind: KindFigures | None) -> str:
    if kind is None or not kind.total:
        return "-"
    if not summary.scored:
        return f"- ({kind.total:,})"
    return f"{percent(kind.accuracy)} ({kind.correct:,}/{kind.total:,})"


def _why(summary: Vqa2Summary) -> Iterator[str]:
    """What the official score takes amiss that a person would not."""
    if summary.gap:
        yield gap_text(summary.gap)
    if summary.sentences:
        long = f"{count(summary.sentences, 'answer')} of more than {LONG_WORDS} words"
        yield f"{long}, where VQA accuracy wants a short answer: a config's prompt_template can ask for one"


def _two_lines(score: str) -> str:
    """A column as narrow as its name allows: the tables have to fit into a terminal."""
    return score.replace(" (", "\n(")


def _part(summary: Vqa2Summary, name: str) -> str:
    part = summary.parts.get(name)
    return percent(part.overall.value if part else None)


def _seconds(value: float | None, unit: str = "") -> str:
    return "-" if value is None else f"{value:.2f}{unit}"


def _questions(summaries: Sequence[Vqa2Summary]) -> list[str]:
    """Each question with its kind and answer, and what each model says to it."""
    lines: list[str] = []
    samples = [{sample.id: sample for sample in summary.shown} for summary in summaries]
    asked = {name: sample for of_model in samples for name, sample in of_model.items()}
    for name, sample in asked.items():
        gold = "" if sample.gold is None else f" · {sample.gold}"
        lines.append(f"{name} · {sample.kind} · {sample.question}{gold}")
        lines += [
            f"    {MARKS[reply.correct]} {summary.name}: {cut(reply.answer, ANSWER_CHARACTERS)}"
            for summary, of_model in zip(summaries, samples, strict=True)
            if (reply := of_model.get(name))
        ]
    return lines
