"""Read the chosen label out of a reply to a multiple-choice question, or say why there is none; never guess.

A reply is read in four steps, and each file of this room is one of them:

1. `peel`: thoughts, tokens and wrappers are off already (`scoring.reply`). Places become letters ("the second option"),
   and a further question that a model invents is cut off with all that follows.
2. `options` and `grammar`: labels and texts of the question are compiled once for all replies to it. A letter is a
   label only where it stands by itself: not in a formula ("c_1"), a word ("I think") or a name ("vitamin C").
3. `declared`: a phrase of one of the kinds in `grammar.CUES` ("The answer is B", "B is correct"), an answer that markup
   sets apart (\\boxed{B}), a line that is nothing but the letter, a table of verdicts, the value in which the working
   ends. The last declaration decides; a weak one ("points to option B") only where nothing else is declared and all
   weak ones agree. `refuted` takes away what its sentence denies, doubts, supposes or lends to others.
4. Where nothing is declared: `undeclared` reads the one letter that is set apart, or that is left when all others are
   excluded; `by_text` reads the text of a choice, another form of it, or the word that only it has; `by_sense` reads
   a yes or no, and that nobody can tell.

`RULES` is the order of reading: the first rule that finds something decides. One label is the answer, several are an
ambiguity, none is a declared non-answer. Of a reply that was cut off, only declarations count. `trace` shows what each
rule would have said. The other files of this room read what is not free text, or add up what was read.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from vqa_client.scoring.choices import by_sense, by_text, undeclared
from vqa_client.scoring.choices.declared import declared
from vqa_client.scoring.choices.grammar import ChoiceReply, Found, reply_of
from vqa_client.scoring.choices.peel import own_reply, text_read
from vqa_client.scoring.reply import Reply, reply_from
from vqa_client.types import Answer, Completion, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A way to read plain text; `explicit` rules also hold for a reply that was cut off after them."""

    name: str
    find: Callable[[ChoiceReply], Found | None]
    explicit: bool = False


def read_choice(completion: Completion, choices: dict[str, str]) -> Answer:
    """What `choice_in` reads in the reply of a completion."""
    return choice_in(reply_from(completion), choices)


def choice_in(reply: Reply, choices: dict[str, str]) -> Answer:
    """The label in `choices` that the reply commits to.

    In a reply that was cut, and in what a model put into the field of its reasoning, only an explicit declaration
    counts.
    """
    text = text_read(reply, choices)
    if reply.status or not text:
        return reply.without_answer()
    if reply.source == "reasoning":
        found = declared(reply_of(text, choices))
        if found is None or len(found.labels) != 1:
            return Answer(status="empty", rule="no_text")
        return Answer(text=found.labels[0], rule=found.rule, rivals=found.rivals, source="reasoning")
    own, cut, found = _read(text, tuple(choices.items()), cut=reply.cut)
    return _answer(found, choices, cut=cut) if found else _unread(reply, own, cut=cut)


@lru_cache(maxsize=8)
def _read(text: str, choices: tuple[tuple[str, str], ...], *, cut: bool) -> tuple[ChoiceReply, bool, Found | None]:
    """The reply's own part, whether that is cut off, and what the first rule finds; kept for the next metric."""
    own = own_reply(text, dict(choices))
    cut = cut and len(own.text) == len(text)  # what comes before an invented turn is whole
    return own, cut, next(filter(None, (rule.find(own) for rule in RULES if rule.explicit or not cut)), None)


def _answer(found: Found, choices: dict[str, str], *, cut: bool) -> Answer:
    if len(found.labels) == 1:
        return Answer(text=found.labels[0], rule=found.rule, rivals=_ordered(found.rivals, choices))
    status: Status = "ambiguous" if found.labels else "truncated" if cut else "unparsed"
    return Answer(status=status, rule=found.rule, rivals=_ordered((*found.labels, *found.rivals), choices))


def _unread(reply: Reply, words: ChoiceReply, *, cut: bool) -> Answer:
    """The status of a reply that no rule could read."""
    if cut:
        return Answer(status="truncated")
    if reply.declines:
        return Answer(status="refused", rule="refusal")
    rivals = _ordered(undeclared.mentioned(words), words.texts.labels)
    return Answer(status="ambiguous" if len(rivals) > 1 else "unparsed", rivals=rivals)


def _ordered(labels: Iterable[str], choices: Iterable[str]) -> tuple[str, ...]:
    wanted = set(labels)
    return tuple(label for label in choices if label in wanted)


RULES: Final[tuple[Rule, ...]] = (
    Rule(name="declaration", find=declared, explicit=True),
    Rule(name="exact text", find=by_text.exact_text),
    Rule(name="tick", find=undeclared.ticked),
    Rule(name="leading label", find=undeclared.leading_label),
    Rule(name="leading text", find=by_text.leading_text),
    Rule(name="emphasis", find=undeclared.emphasised),
    Rule(name="brackets", find=undeclared.bracketed),
    Rule(name="predicate", find=undeclared.predicate),
    Rule(name="last word", find=undeclared.last_word),
    Rule(name="exclusion", find=undeclared.left_over),
    Rule(name="list", find=undeclared.not_denied),
    Rule(name="text", find=by_text.contained_text),
    Rule(name="opening", find=by_text.opening),
    Rule(name="parts", find=by_text.parts),
    Rule(name="difference", find=by_text.difference),
    Rule(name="truth", find=by_text.truth),
    Rule(name="paraphrase", find=by_text.said_otherwise),
    Rule(name="yes or no", find=by_sense.yes_or_no),
    Rule(name="undetermined", find=by_sense.undetermined),
)
