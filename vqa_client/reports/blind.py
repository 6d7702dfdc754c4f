"""The report of a run that asks every question with its images and without them."""

from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from vqa_client.files import write_json
from vqa_client.reports.common_keys import percent
from vqa_client.reports.run import Pairs, Run
from vqa_client.reports.varied import VariedSummary, by_question, by_variant, head, rest, share, summarised
from vqa_client.scoring.paired import Difference
from vqa_client.scoring.repeats import BlindFigures, BlindScores, Pairing

SEEN, BLIND = "seen", "blind"


class BlindSummary(VariedSummary, frozen=True, kw_only=True):
    """What both forms say together."""

    figures: BlindFigures


def write(path: Path, run: Run, pairs: Pairs, *, comparable: bool) -> BlindSummary:
    """Write the report; `comparable` says whether equal answers are equal texts. Raises UsageError for a full disk."""
    scores = BlindScores(comparable=comparable)
    for question, records in by_question(pairs):
        forms = {one.variant: one for one in records}
        if len(forms) < 2:
            scores.unfinished += 1
            continue
        seen, blind = forms[SEEN], forms[BLIND]
        scores.add(
            (seen.score, blind.score),
            (seen.answer, blind.answer),
            cluster=seen.cluster,
            groups=seen.groups,
            choices=len(question.choices),
        )
    figures, summary = scores.figures(), summarised(pairs)
    write_json(path, head(run) | _figures(figures) | {"by_form": by_variant(summary)} | rest(run, summary))
    return BlindSummary(**asdict(summary), figures=figures)


def _figures(figures: BlindFigures) -> dict[str, Any]:
    return {
        "images_matter": _pairing(figures.overall),
        "right_without_images_of_those_right_with": share(figures.kept),
        "same_answer": share(figures.same) if figures.same else None,
        "chance": percent(figures.chance),
        "unfinished_questions": figures.unfinished,
        "by_group": {
            field: {value: _pairing(of) for value, of in values.items()} for field, values in figures.groups.items()
        },
    }


def _pairing(of: Pairing) -> dict[str, Any]:
    return {
        "questions": of.questions,
        "seen": share(of.seen),
        "blind": share(of.blind),
        "gain": _difference(of.gain) if of.gain else None,
    }


def _difference(of: Difference) -> dict[str, Any]:
    in_percent = {name: percent(value) for name, value in (("value", of.value), ("low", of.low), ("high", of.high))}
    return asdict(of) | in_percent
