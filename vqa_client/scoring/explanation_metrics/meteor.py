"""METEOR 1.5, by its Java program as coco-caption runs it: `java -jar meteor-1.5.jar - - -stdio -l en -norm`.

One line a question goes in ("SCORE ||| reference ||| reference ||| hypothesis") and one line of statistics comes out;
the statistics of a scope ("EVAL ||| ... ||| ...") give one score for each question and one for the whole, which is
not their mean. The program normalises the text itself, and coco-caption hands it tokens; so do we.
Source: Denkowski and Lavie, WMT 2014.
"""

import os
from collections.abc import Sequence
from math import isfinite
from typing import Final

from vqa_client.errors import UsageError
from vqa_client.scoring.explanation_metrics.child import METEOR_VARIABLE, Child, Tools, java_command, running
from vqa_client.scoring.explanation_metrics.explained import Explained, Scopes, Scored

NAMES: Final = ("METEOR",)
_BAR: Final = "|||"


def meteor(explained: Sequence[Explained], scopes: Scopes, tools: Tools) -> list[dict[str, Scored]]:
    """METEOR of each scope; raises UsageError that says what is missing or what went wrong."""
    command = java_command(NAMES[0], tools.meteor_jar, METEOR_VARIABLE, tools, ["-Xmx2G"])
    options = ["-", "-", "-stdio", "-l", "en", "-norm"]
    with running(NAMES[0], command + options, folder=os.path.dirname(command[-1]), silence_s=tools.silence_s) as child:
        statistics = [_statistics(child, one) for one in explained]
        return [{NAMES[0]: _evaluated(child, [statistics[at] for at in scope])} for scope in scopes]


def _statistics(child: Child, one: Explained) -> str:
    texts = [" ".join(tokens).replace(_BAR, "") for tokens in (*one.reference_tokens, one.tokens)]
    child.say(f" {_BAR} ".join(["SCORE", *texts]))
    return child.hear()


def _evaluated(child: Child, statistics: Sequence[str]) -> Scored:
    child.say(f" {_BAR} ".join(["EVAL", *statistics]))
    each = [_number(child.hear()) for _ in statistics]
    return Scored(corpus=_number(child.hear()), each=each)


def _number(line: str) -> float:
    try:
        number = float(line)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise UsageError(f"METEOR answered {line[:80]!r} where a score was due")
    return number
