"""Explain how a choice was read: what every rule finds in the reply, not only the one that decides."""

from msgspec import Struct

from vqa_client.scoring.choices.choice import RULES, choice_in, prepared, read
from vqa_client.scoring.choices.choice_reply import ChoiceReply
from vqa_client.scoring.choices.declared import declarations, declared
from vqa_client.scoring.choices.refuted import mentioned
from vqa_client.scoring.finish import is_cut
from vqa_client.scoring.plain import EMPHASIS, MARKED
from vqa_client.scoring.published.choice_readers import READINGS
from vqa_client.scoring.reply import reply_from, said_in
from vqa_client.types import Answer, Completion

SHOWN = str.maketrans({EMPHASIS[0]: "*", EMPHASIS[1]: "*", MARKED[0]: "[answer: ", MARKED[1]: "]"})
"""How the marks of emphasis and set-apart answers are shown to people."""
SNIPPET = 40


class RuleView(Struct, frozen=True, kw_only=True):
    """What one rule finds; a rule is `passed_over` if only declarations count in this reply."""

    name: str
    labels: tuple[str, ...] | None
    how: str = ""
    rivals: tuple[str, ...] = ()
    fired: bool = False
    passed_over: bool = False


class DeclarationView(Struct, frozen=True, kw_only=True):
    """A place where the reply declares an answer; weak ones count only if nothing else is declared."""

    rule: str
    labels: tuple[str, ...]
    weak: bool
    around: str


class ChoiceView(Struct, frozen=True, kw_only=True):
    """Every step from a reply to its label; `read` is the text that the rules saw, with marks for its markup."""

    answer: Answer
    read: str
    source: str
    unclosed: bool
    cut: bool
    rules: tuple[RuleView, ...]
    declared: tuple[DeclarationView, ...]
    mentioned: tuple[str, ...]
    parsers: dict[str, tuple[str | None, str]]


def explain_choice(completion: Completion, choices: dict[str, str]) -> ChoiceView:
    """Read as `choice_in` does, and show what each rule finds."""
    reply = reply_from(completion)
    answer = choice_in(reply, choices)
    from_reasoning = reply.source == "reasoning"
    text = prepared(reply.peeled, choices, cut=reply.cut) or reply.peeled
    own = ChoiceReply(text, choices) if from_reasoning else read(text, tuple(choices.items()), cut=reply.cut)[0]
    whole, limited = len(own.text) == len(text), is_cut(completion.finish_reason)
    return ChoiceView(
        answer=answer,
        read=own.text.translate(SHOWN),
        source=reply.source,
        unclosed=reply.cut and not limited,
        cut=limited and whole,
        rules=_views(
            own,
            only_explicit=(reply.cut and whole) or from_reasoning,
            unread=from_reasoning and answer.source != "reasoning",
        ),
        declared=tuple(_declared_views(own)),
        mentioned=tuple(label for label in choices if label in mentioned(own)),
        parsers={"robust": (answer.text, answer.rule)}
        | {name: read(completion.text) for name, read in READINGS.items()},
    )


def _views(reply: ChoiceReply, *, only_explicit: bool, unread: bool) -> tuple[RuleView, ...]:
    """What each rule finds; the first find fires, unless the text is left `unread`."""
    views: list[RuleView] = []
    fired = unread
    for rule in RULES if reply.text else ():
        result = rule.find(reply)
        found = None if result is None else rule.found(result)
        passed_over = only_explicit and rule.find is not declared
        first = found is not None and not passed_over and not fired
        fired = fired or first
        views.append(
            RuleView(
                name=rule.name,
                labels=found.labels if found else None,
                how=found.rule if found else "",
                rivals=found.rivals if found else (),
                fired=first,
                passed_over=passed_over,
            )
        )
    return tuple(views)


def _declared_views(reply: ChoiceReply) -> list[DeclarationView]:
    return [
        DeclarationView(
            rule=claim.rule,
            labels=claim.labels,
            weak=claim.weak,
            around=" ".join(reply.text[max(0, claim.at - SNIPPET) : claim.end + SNIPPET // 2].translate(SHOWN).split()),
        )
        for claim in declarations(reply)
    ]


def peeled_off(text: str) -> list[str]:
    """The parts of a reply that are not read for an answer: thoughts, special tokens, role names, later turns."""
    left: list[str] = []
    end = len(text)
    for line in reversed(said_in(text).split("\n")):
        at = text.rfind(line.strip(), 0, end)  # from the end: a thought often has the same line earlier
        if at >= 0:
            left.append(text[at + len(line.strip()) : end])
            end = at
    left.append(text[:end])
    return [piece.strip() for piece in reversed(left) if piece.strip()]
