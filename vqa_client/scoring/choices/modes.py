"""A choice that is not read from free text: the reply is a label and nothing else, or its first token is weighed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from vqa_client.scoring.choices.logprob import DIGITS, read_first_token, weights
from vqa_client.scoring.finish import is_cut
from vqa_client.scoring.reply import Reply
from vqa_client.scoring.wrappers import answer_in_json
from vqa_client.types import Answer, ChoiceMode, Choosing, Completion, Question, Score

SCORING_VERSION = "2"
LETTER_ALONE: Final = "Answer with the letter alone."
"""How a prompt ends whose author has not written another: a model that begins a sentence has no letter to weigh."""

MEANINGS: Final = {
    "structured": "a reply that is the right label and nothing else",
    "logprob": "the right label is the most probable first token",
    "probability": "what the right label was given",
    "margin": "how far the best label is ahead",
    "mass": "what all labels were given",
}
"""What each metric says."""

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


_READERS: Final[Mapping[ChoiceMode, Callable[[Completion, Sequence[str]], Answer]]] = {
    "structured": read_constrained,
    "logprob": read_first_token,
}


def parse_with(choosing: Choosing) -> Callable[[Reply, Question], Answer]:
    """What gives a reply's label."""
    read = _READERS[choosing.mode]
    return lambda reply, question: read(reply.completion, tuple(question.choices))


def score_with(choosing: Choosing) -> Callable[[Answer, Reply, Question], Score]:
    """What scores it under the mode's name; weighed labels add the right one's share, the margin, and the mass."""

    def score(answer: Answer, reply: Reply, question: Question) -> Score:
        gold = question.references[0]
        parts: dict[str, float] = {choosing.mode: float(answer.text == gold)}
        if choosing.mode == "logprob":
            parts |= _weighed(answer, gold, question)
        return Score(value=parts[choosing.mode], parts=parts)

    return score


def _weighed(answer: Answer, gold: str, question: Question) -> dict[str, float]:
    found = weights(answer.probabilities, gold, tuple(question.choices))
    if found is None:
        return {"probability": 0.0, "margin": 0.0, "mass": 0.0}
    shares = {"probability": found.right, "margin": found.margin, "mass": found.mass}
    return {name: round(share, DIGITS) for name, share in shares.items()}
