"""A reply that the server has let be nothing but a label: anything else was not constrained, and is no answer."""

from collections.abc import Sequence
from typing import Final

from vqa_client.scoring.finish import is_cut
from vqa_client.scoring.structured import answer_in_json
from vqa_client.types import Answer, Completion

RULE: Final = "constrained"


def constrained(text: str, labels: Sequence[str]) -> str | None:
    """The label that a reply consists of, alone or as the answer of a JSON object; None for every other reply."""
    said = text.strip()
    if said.startswith("{"):
        said = answer_in_json(said) or ""
    return said if said in labels else None


def read_constrained(completion: Completion, labels: Sequence[str]) -> Answer:
    """The label that is the whole reply; free text is "unparsed", whatever it says."""
    label = constrained(completion.text, labels)
    if label is not None:
        return Answer(text=label, rule=RULE)
    if is_cut(completion.finish_reason):
        return Answer(status="truncated", rule=RULE)
    return Answer(status="unparsed" if completion.text.strip() else "empty", rule=RULE)
