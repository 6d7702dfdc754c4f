"""What a run's figures mean: its benchmark's declaration, as the run file keeps it."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from vqa_client.reports.summary import Part
from vqa_client.task import Breakdown, Description

DOCUMENTS: Final = (
    Breakdown("difficulty", ("easy", "medium", "hard"), crossed_with="length"),
    Breakdown("length", ("short", "medium", "long")),
    Breakdown("context_length", ("<8k", "8k-16k", "16k-24k", "24k-32k", "32k-48k", "48k-64k", ">=64k"), steps=True),
    Breakdown("needle_depth", crossed_with="context_length", steps=True),
)
"""What documents are broken down by; a context's length is in tokens of cl100k_base."""
_OLD_HEADLINES: Final = {"niah": "containment"}
_OLD_MEASURES: Final = {"vqa2": "VQA accuracy (ten answers)", "niah": "accuracy by containment"}
_OLD_UNITS: Final = {"niah": "document", "mc": "question"}
_OLD_TYPES: Final = {"vqa2": "question_type", "vqax": "answer_kind", "mc": "domain", "niah": "domain"}


def description_of(
    identity: Mapping[str, Any], scoring: Mapping[str, Any], described: Mapping[str, Any]
) -> Description:
    """The description in a run file; of an earlier version's, which has none, what its fields say."""
    try:
        return msgspec.convert(described["benchmark"], Description)
    except (KeyError, msgspec.ValidationError):
        return _of_old(str(identity.get("task") or ""), scoring)


def _of_old(task: str, scoring: Mapping[str, Any]) -> Description:
    rule = scoring.get("parser") or scoring.get("parsing")
    if task in _OLD_MEASURES:
        measure = _OLD_MEASURES[task]
    elif "choice_mode" in scoring:
        measure = f"accuracy by --choice_mode {scoring['choice_mode']}"
    else:
        measure = f"accuracy by the {rule} parser" if rule else "accuracy"
    unit, question_type = _OLD_UNITS.get(task, "image"), _OLD_TYPES.get(task, "")
    return Description(
        headline=_OLD_HEADLINES.get(task, ""),
        measure=measure,
        breakdowns=DOCUMENTS,
        unit=unit,
        question_type=question_type,
    )


def gap_words(parts: Mapping[str, Part], headline: str) -> str:
    """How far the published score is from the headline; "" where they are the same, or where there is no such score."""
    if not {headline, "published"} <= parts.keys():
        return ""
    found, published = parts[headline].overall.value, parts["published"].overall.value
    if found is None or published is None or found == published:
        return ""
    words = f"published - {headline.replace('_', ' ')} = {100 * (published - found):+.2f} points"
    if headline != "containment":
        return words
    where = "thoughts and refusals" if published > found else "the field of the reasoning"
    return f"{words}: references that are only in {where}"
