"""POPE's figures from sums over questions, and how lmms-eval (75571cfe) reads a reply and counts what it reads.

lmms-eval wants the word alone. Of what is there it misses only what the model says "no" to, so that any other reply
raises its recall; what can't be computed is 0.
"""

from collections.abc import Callable
from typing import Any

from vqa_client.scoring.reply import Reply
from vqa_client.types import Answer, Question, group_values


def lmms_eval(reply: Reply, question: Question) -> Answer:
    """lmms-eval's reader: the reply is the word, but for case and outer spaces."""
    del question
    said = reply.completion.text.strip().lower()
    known = said in ("yes", "no")
    return Answer(text=said if known else None, status="ok" if known else "unparsed", rule="the word alone")


def counts(scored: Any) -> tuple[int, ...]:
    """Rightly said "yes", said "yes", there, there but said "no", and all, once for each file that a question is in."""
    there, said = scored.question.references == ("yes",), scored.answer
    files = len(group_values(scored.question.groups.get("kind", "")))
    parts = (there and said == "yes", said == "yes", there, there and said == "no", True)
    return tuple(files * part for part in parts)


def once(scored: Any) -> tuple[int, ...]:
    """The same once for a question, however many files it is in."""
    return tuple(min(1, part) for part in counts(scored))


def within(kind: str) -> Callable[[Any], tuple[int, ...] | None]:
    """The same of a kind, None of others."""
    return lambda scored: once(scored) if kind in group_values(scored.question.groups["kind"]) else None


def precision(hits: float, said: float, *others: float) -> float:
    """Of what is said to be there, what is."""
    return hits / said


def recall(hits: float, said: float, there: float, *others: float) -> float:
    """Of what is there, what is said to be."""
    return hits / there


def f1(hits: float, said: float, there: float, *others: float) -> float:
    """The harmonic mean of both."""
    of_said, of_there = hits / said, hits / there
    return 2 * of_said * of_there / (of_said + of_there)


def recall_lmms(hits: float, said: float, there: float, denied: float, n: float) -> float:
    """lmms-eval's recall."""
    return hits / (hits + denied) if hits else 0.0


def f1_lmms(hits: float, said: float, there: float, denied: float, n: float) -> float:
    """lmms-eval's F1."""
    return f1(hits, said, hits + denied) if hits else 0.0


def yes_share(hits: float, said: float, there: float, denied: float, n: float) -> float:
    """How much of what is asked is said to be there."""
    return said / n
