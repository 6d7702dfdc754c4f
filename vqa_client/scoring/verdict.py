"""A judge's verdict: the last line of its reply that begins with VERDICT, and nothing else."""

import re
from collections import deque
from collections.abc import Iterable
from typing import Final

from vqa_client.scoring.reply import Reply

_MARKS: Final = " \t*_`"
_BEGINS: Final = rf"[{_MARKS}]*verdict[{_MARKS}]*:"
_VERDICT: Final = re.compile(rf"^{_BEGINS}", re.IGNORECASE | re.MULTILINE)
_AS_IT_CAME: Final = re.compile(rf"(?:^|[>\]|]){_BEGINS}", re.IGNORECASE | re.MULTILINE)
"""The same where a token may be before it on its line."""


def verdict_in(reply: Reply) -> str | None:
    """What comes after the colon of the last such line, without marks and a full stop; None without such a line.

    None too where the token limit may have cut that line, and where another one comes last in the reply as it came:
    a judge that quotes a special token would else lose its own verdict to a quoted one.
    """
    said = _last(_VERDICT, reply.visible)
    came = _last(_AS_IT_CAME, reply.raw if reply.source == "content" else reply.visible)
    if said is None or came is None or (reply.cut and reply.visible.endswith(said)):
        return None
    return _stripped(said) if _stripped(said) == _stripped(came) else None


def label_in(said: str, labels: Iterable[str]) -> str | None:
    """The label that a verdict is, whole and in any case; None for anything else, such as two labels."""
    return next((label for label in labels if label.casefold() == said.casefold()), None)


def _last(begins: re.Pattern[str], text: str) -> str | None:
    """The rest of the last line that begins so."""
    last = next(iter(deque(begins.finditer(text), maxlen=1)), None)
    return None if last is None else text[last.end() :].partition("\n")[0]


def _stripped(said: str) -> str:
    return said.strip(_MARKS).removesuffix(".").strip(_MARKS)
