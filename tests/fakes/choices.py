"""Words that choose between scripts. Words that count start at zero in each server."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count
from math import inf
from pathlib import Path
from random import Random
from time import monotonic

from tests.fakes.actions import Delay, Neighbour, Violate
from tests.fakes.received import Received
from tests.fakes.replies import answer, error
from tests.fakes.script import Choose, Script

QUESTION_ID = r"\[\[(.+?)\]\]"
"""How a test marks a prompt with its question's id."""


def first_n(n: int, script: Script, then: Script = ()) -> Choose:
    """One script for the first `n` requests, another for all others."""
    return in_turn(*(script for _ in range(n)), then)


def in_turn(*scripts: Script) -> Choose:
    """The first script for the first request, the second for the second; the last for all that follow."""
    turns = count()
    return lambda _: scripts[min(next(turns), len(scripts) - 1)]


def every_nth(n: int, script: Script, otherwise: Script = ()) -> Choose:
    """One script for every n-th request, another for the others."""
    turns = count(1)
    return lambda _: script if next(turns) % n == 0 else otherwise


def first_n_of_each(n: int, script: Script, then: Script = ()) -> Choose:
    """One script for the first `n` times that a question (prompt and images) is asked, later another."""
    asked: Counter[tuple[str, ...]] = Counter()

    def choose(received: Received) -> Script:
        asked[received.question] += 1
        return script if asked[received.question] <= n else then

    return choose


def at_random(*shares: tuple[float, Script], otherwise: Script = (), seed: int = 0) -> Choose:
    """Scripts with probabilities, drawn in the order of requests."""
    random = Random(seed)

    def choose(_: Received) -> Script:
        draw = random.random()
        for share, script in shares:
            draw -= share
            if draw < 0:
                return script
        return otherwise

    return choose


def when(holds: Callable[[Received], bool], script: Script, otherwise: Script = ()) -> Choose:
    """One script if the condition holds for the request, else another."""
    return lambda received: script if holds(received) else otherwise


def by_question(scripts: Mapping[str, Script], otherwise: Script = (), *, pattern: str | None = None) -> Choose:
    """The script whose marker is in the prompt, the longest such marker first.

    With a `pattern` its first group in the prompt is the marker, looked up at once: for thousands of questions.
    """
    longest_first = sorted(scripts, key=len, reverse=True)

    def choose(received: Received) -> Script:
        if pattern is not None:
            found = re.search(pattern, received.prompt)
            return scripts.get(found.group(1), otherwise) if found else otherwise
        return next((scripts[marker] for marker in longest_first if marker in received.prompt), otherwise)

    return choose


def oracle(replies: Mapping[str, Script], *, pattern: str | None = None) -> Choose:
    """A reply for each question; a question without one is a violation and gets a 500."""
    unknown = (Violate("a question without a scripted reply"), error(500, "no reply is scripted for this question"))
    return by_question(replies, unknown, pattern=pattern)


def oracle_file(path: str | Path, *, pattern: str | None = None) -> Choose:
    """An oracle from a JSON file of marker: text."""
    return oracle(json.loads(Path(path).read_text("utf-8")), pattern=pattern)


def question_id(received: Received, pattern: str = QUESTION_ID) -> str:
    """The id in the prompt, "" if there is none."""
    found = re.search(pattern, received.prompt)
    return found.group(1) if found else ""


def echo_question_id(random_delay_s: float = 0.3, *, pattern: str = QUESTION_ID, seed: int = 0) -> Choose:
    """Answer each question with its own id after a random wait of up to `random_delay_s`."""
    random = Random(seed)
    echo = answer(lambda received: question_id(received, pattern))
    return lambda _: (Delay(random.uniform(0, random_delay_s)), echo)


def neighbour_text_under_concurrency(hold_s: float = 0.02, *, pattern: str = QUESTION_ID) -> Script:
    """Echo the question's id if it is alone, else that of another request in flight."""
    return Neighbour(lambda received: question_id(received, pattern), hold_s)


def poisoned_by(marker: str, script: Script, then: Script = (), *, hold_s: float = 0.05) -> Choose:
    """One bad request fails all that are in flight with it.

    Each request waits `hold_s`; a request that was in flight together with a prompt with the marker gets `script`.
    """
    last_poison_s = -inf

    def choose(received: Received) -> Script:
        nonlocal last_poison_s
        arrived_s = monotonic()
        if marker in received.prompt:
            last_poison_s = arrived_s
        return (Delay(hold_s), lambda _: script if last_poison_s >= arrived_s - hold_s else then)

    return choose


def latency_drift(first_s: float = 0.01, ratio: float = 1.01) -> Choose:
    """Each reply is slower than the previous one by this ratio."""
    turns = count()
    return lambda _: Delay(first_s * ratio ** next(turns))
