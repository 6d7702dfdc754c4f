"""Whether answers stay with their questions under load: the same marked questions alone, then all at once."""

import re
from collections.abc import Sequence

from vqa_client.client.probing.asks import COLOURS, Ask, Picture, Reply, square
from vqa_client.client.probing.findings import Finding, Sight
from vqa_client.client.probing.sight import PROMPT, code_ask, colour_in

CODES = ("4821", "7036", "1954", "3267", "9405", "6178", "2593", "8740")
NAME = "answers_under_load"
_HINT = "run with --max_workers 1, or another version of the server: more workers would lower the score"


def canary_asks(sight: Sight) -> tuple[Ask, ...]:
    """Eight pictures whose right answers differ: colours, or codes for a server that only reads."""
    if sight == "text":
        return tuple(map(code_ask, CODES))
    return tuple(Ask(prompt=PROMPT, pictures=(Picture(png=square(colour)),)) for colour in COLOURS)


def mark_of(reply: Reply) -> str:
    """What counts of an answer: the colour or the code that it names, else its words in small letters."""
    code = re.search(r"\b\d{4}\b", reply.text)
    return colour_in(reply.text) or (code[0] if code else " ".join(reply.text.lower().split()))


def found_canary(alone: Sequence[Reply], together: Sequence[Reply]) -> Finding:
    """Compare the two; a difference makes the server unusable, one that can't show is said."""
    failed = [reply for reply in together if reply.completion is None]
    pairs = [
        (at, mark_of(before), mark_of(after))
        for at, (before, after) in enumerate(zip(alone, together, strict=True))
        if before.completion and after.completion
    ]
    others = {at: {mark_of(reply) for place, reply in enumerate(alone) if place != at} for at, _, _ in pairs}
    wrong = [(at, before, after) for at, before, after in pairs if before != after]
    if wrong:
        _, before, after = wrong[0]
        swapped = sum(after in others[at] for at, _, after in wrong)
        whose = f", {swapped} of them to another question's answer" if swapped else ""
        return Finding(
            name=NAME,
            level="unusable",
            value="mixed",
            text=f"{len(wrong)} of {len(pairs)} answers change when sent at once{whose}: {before!r} becomes {after!r}",
            hint=_HINT,
        )
    if failed:
        text = f"{len(failed)} of {len(together)} questions fail when sent at once ({failed[0].told})"
        return Finding(name=NAME, level="warning", value="failed", text=text, hint="lower --max_workers")
    if len({mark for _, mark, _ in pairs}) < 2:
        return Finding(name=NAME, level="note", text="unknown: every picture gets the same answer")
    return Finding(name=NAME, value="same", text=f"{len(pairs)} answers are the same alone and all at once")
