"""The JSON reports of mc and niah: the published form, then keys of our own.

Published keys keep their names, order and units; their accuracies are in per cent of all questions. Our accuracies and
intervals are in per cent, too. A group without questions has a null accuracy. A value that the published script doesn't
know comes after the known ones, so that totals add up.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import asdict

from vqa_client.json_stream import SpooledList, SpooledMembers, place, write_json_list, write_json_streamed
from vqa_client.reports.run import Pairs, Run, common_keys, in_percent, tally
from vqa_client.reports.record_counts import count_kinds
from vqa_client.reports.summary import DOCUMENTS, Summary, Tally, summarise, summary_of
from vqa_client.scoring.choices.modes import Calibrating, weights
from vqa_client.types import ANSWERED, Question, Record, Status

DEPTHS = ("0-20%", "20-40%", "40-60%", "60-80%", "80-100%")
LISTED = {breakdown.field: breakdown.order for breakdown in DOCUMENTS} | {"needle_depth": DEPTHS}
"""The published values of each field, in their order."""


def share(total: int, correct: int) -> dict[str, Any]:
    """A group in the published form: accuracy in per cent, null for a group without questions."""
    return {"total": total, "correct": correct, "accuracy": in_percent(correct / total) if total else None}


def grouped(summary: Summary, field: str) -> dict[str, Any]:
    """The groups of a field by value: the published values in their order, then the others."""
    tallies = summary.breakdowns.get(field, {})
    return {value: _group(tallies.get(value)) for value in _values(field, tallies)}


def crossed(summary: Summary, outer: str, inner: str) -> dict[str, Any]:
    """The groups of every value of one field with every value of another."""
    cells: Mapping[str, Mapping[str, Tally]] = summary.crossings.get((outer, inner), {})
    inners = _values(inner, summary.breakdowns.get(inner, {}))
    return {
        value: {other: _group(cells.get(value, {}).get(other)) for other in inners}
        for value in _values(outer, summary.breakdowns.get(outer, {}))
    }


def _values(field: str, met: Iterable[str]) -> list[str]:
    return [*LISTED[field], *sorted(set(met) - set(LISTED[field]))]


def _group(tally: Tally | None) -> dict[str, Any]:
    fields = share(tally.total, tally.correct) if tally else share(0, 0)
    return fields if tally is None or tally.accuracy is not None else fields | {"accuracy": None}


Scored = TypeVar("Scored")

_CONNECTION: frozenset[Status] = frozenset({"connection", "timeout"})
_CONTEXT_END_CHARS = 200


_SCORE_NAMES = {"published": "seed"}
"""The scores that have another name in the report of mc."""


def mc_scores(scores: Mapping[str, Scored]) -> dict[str, Scored]:
    """Scores by their names in the report of mc."""
    return {_SCORE_NAMES.get(name, name): score for name, score in scores.items()}


def mc_result(question: Question, record: Record) -> dict[str, Any]:
    """The result of one multiple-choice question."""
    answered = record.status in ANSWERED
    return {
        "instance_id": question.id,
        "question": question.text,
        "choices": question.choices,
        "ground_truth": question.references[0],
        **({"prompt": _bare_prompt(record.prompt, question)} if answered else {}),
        "model_output": record.output,
        "extracted_answer": (record.answer or "") if answered else None,
        **_ending(question, record, correct=record.score >= 1.0, scores=mc_scores(record.parts)),
    }


def niah_result(question: Question, record: Record) -> dict[str, Any]:
    """The result of one needle question."""
    return {
        "instance_id": question.cluster,
        "question_idx": question.extra["question_idx"],
        "question": question.text,
        "ground_truth": question.references[0],
        "model_output": record.output,
        **_ending(question, record, correct=published_score(record) >= 1.0, scores=record.parts),
    }


def published_status(status: Status) -> str:
    """A status in the published script's words; its success is any reply, with or without an answer."""
    if status in ANSWERED:
        return "success"
    return "connection_error" if status in _CONNECTION else "error"


def published_score(record: Record) -> float:
    """The score of a record by the published script of niah."""
    return record.parts.get("published", record.score)


def _ending(question: Question, record: Record, *, correct: bool, scores: dict[str, float]) -> dict[str, Any]:
    return {
        "correct": correct,
        "num_images": len(record.images) or len(question.images) - record.truncated_pages,
        "status": published_status(record.status),
        **({"error": record.error.message} if record.error else {}),
        "question_id": record.question_id,
        "outcome": record.status,
        "rule": record.rule,
        "rivals": record.rivals,
        "source": record.source,
        "scores": scores,
        **({"probabilities": record.probabilities} if record.probabilities else {}),
        "groups": record.groups,
        "finish_reason": record.finish_reason,
        **({"reasoning": record.reasoning} if record.reasoning else {}),
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "images": record.images,
        "truncated_pages": record.truncated_pages,
    }


def _bare_prompt(prompt: str, question: Question) -> str:
    """The prompt without the document's text of a text-only run, which the published report doesn't repeat.

    A record keeps only both ends of a long prompt, so the text is recognised by its end.
    """
    context = question.extra.get("context")
    if context is None:
        return prompt
    _, separator, bare = prompt.rpartition(f"{context[-_CONTEXT_END_CHARS:]}\n\n")
    return bare if separator else prompt


INSTANCES = "instance_accuracies"
RESULTS = "results"


def write_mc(path: Path, run: Run, pairs: Pairs, *, added: Mapping[str, Any] | None = None) -> Summary:
    """Write the multiple-choice report and return its summary; raises OutputError where `path` can't be written.

    `added` has further keys, for example about the order of choices.
    """
    with SpooledList(path) as results:
        passed = results.passing(pairs(), lambda pair: mc_result(*pair))
        summary = summarise((record for _, record in passed), crossings=[("difficulty", "length")])
        detailed = {
            "by_difficulty": grouped(summary, "difficulty"),
            "by_length": grouped(summary, "length"),
            "by_difficulty_and_length": crossed(summary, "difficulty", "length"),
        }
        head = _published_head(run, summary) | {"detailed_analysis": detailed}
        head |= common_keys(run, summary, in_percent) | choice_keys(run, pairs) | dict(added or {})
        head["scores"] = mc_scores(head["scores"])
        write_json_list(path, head, RESULTS, results)
    return summary


def write_niah(path: Path, run: Run, pairs: Pairs) -> Summary:
    """Write the needle report and return its summary; arguments and errors are those of `write_mc`.

    The published keys, and the interval of their accuracy, are of the published script's score; breakdowns and the
    summary are of the answers.
    """
    with SpooledList(path) as results, SpooledMembers(path) as instances:
        records = _niah_records(pairs(), results, instances)
        counts, pairs_of_fields = count_kinds(records), [("context_length", "needle_depth")]
        summary = summary_of(counts, crossings=pairs_of_fields)
        published = summary_of(counts.scored_by("published"), crossings=pairs_of_fields)
        detailed = {
            "by_context_length": grouped(published, "context_length"),
            "by_needle_depth": grouped(published, "needle_depth"),
            "by_length_and_depth": crossed(published, "context_length", "needle_depth"),
        }
        head = _published_head(run, published) | {
            "case_sensitive": run.scoring.get("case_sensitive") == "true",
            INSTANCES: place(INSTANCES),
            "detailed_analysis": detailed,
        }
        head |= common_keys(run, summary, in_percent) | tally(published.overall, in_percent) | {RESULTS: place(RESULTS)}
        write_json_streamed(path, head, {INSTANCES: instances, RESULTS: results})
    return summary


def _niah_records(
    pairs: Iterable[tuple[Question, Record]], results: SpooledList, instances: SpooledMembers
) -> Iterator[Record]:
    """The records; their results and the share of each document, whose questions are neighbours, are spooled."""
    for document, neighbours in groupby(pairs, key=lambda pair: pair[1].cluster):
        total = correct = 0
        for question, record in neighbours:
            result = niah_result(question, record)
            results.append(result)
            total, correct = total + 1, correct + result["correct"]
            yield record
        instances.add(document, share(total, correct))


def _published_head(run: Run, summary: Summary) -> dict[str, Any]:
    overall = summary.overall
    return {
        "subdirectory": run.folder,
        "model": run.model,
        "config": run.config,
        "text_only_mode": run.text_only,
        "data_path": run.data_path,
        "images_dir": run.images_dir,
        "total_questions": overall.total,
        "correct": overall.correct,
        "accuracy": in_percent(overall.accuracy),
        "errors": overall.failed,
        "context_length_analysis": {"by_context_length": grouped(summary, "context_length")},
    }


def choice_keys(run: Run, pairs: Pairs) -> dict[str, Any]:
    """The choice mode and, by logprob, the calibration over questions with probabilities, in [0, 1]."""
    mode = run.scoring.get("choice_mode", "text")
    return {"choice_mode": mode} | ({"calibration": _calibration(pairs)} if mode == "logprob" else {})


def _calibration(pairs: Pairs) -> dict[str, Any]:
    """The calibration; an ambiguous answer counts as wrong, with the share of its labels."""
    calibrating = Calibrating()
    for question, record in pairs():
        shares = weights(record.probabilities or {}, question.references[0], tuple(question.choices))
        if shares is not None:
            calibrating.add(shares.top, record.score >= 1.0, shares.brier)
    return asdict(calibrating.calibration())
