"""The report of a run that asks every question several times."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from vqa_client.json_stream import write_json_list
from vqa_client.reports.run import Pairs, Run
from vqa_client.reports.varied import VariedSummary, by_question, by_variant, head, rest, share, summarised
from vqa_client.scoring.repeats import RepeatFigures, RepeatScores, majority

QUESTIONS = "questions"


class RepeatSummary(VariedSummary, frozen=True, kw_only=True):
    """What repeats say, asked at a `temperature`; None where it was not sent."""

    figures: RepeatFigures
    temperature: float | None


def write(path: Path, run: Run, pairs: Pairs, *, repeats: int, comparable: bool) -> RepeatSummary:
    """Write the report; `comparable` says whether equal answers are equal texts. Raises UsageError for a full disk."""
    scores = RepeatScores(repeats, comparable=comparable)
    for _, records in by_question(pairs):
        scores.add([one.score for one in records], [one.answer for one in records], records[0].cluster)
    figures, summary = scores.figures(), summarised(pairs)
    said = head(run) | _figures(figures) | {"by_repeat": by_variant(summary)} | rest(run, summary)
    write_json_list(path, said, QUESTIONS, _questions(pairs, scores, comparable=comparable))
    return RepeatSummary(**asdict(summary), figures=figures, temperature=run.model_settings.get("temperature"))


def _figures(figures: RepeatFigures) -> dict[str, Any]:
    return {
        "repeats": figures.repeats,
        "questions_with_all_repeats": figures.questions,
        "unfinished_questions": figures.unfinished,
        "pass_at": {str(k): share(of) for k, of in figures.pass_at.items()},
        "majority": share(figures.majority),
        "right_and_wrong": share(figures.turning),
        "several_answers": share(figures.changing) if figures.changing else None,
    }


def _questions(pairs: Pairs, scores: RepeatScores, *, comparable: bool) -> Iterator[dict[str, Any]]:
    for question, records in by_question(pairs):
        found = [one.score for one in records]
        answers = [one.answer for one in records]
        yield {
            "question_id": question.id,
            "correct": sum(score >= 1.0 for score in found),
            "of": len(found),
            "majority": majority(found, scores.votes(found, answers)),
            "scores": found,
            **({"answers": answers} if comparable else {}),
            "outcomes": [one.status for one in records],
        }
