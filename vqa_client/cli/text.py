"""Foreign text made safe for a terminal."""

import re
import textwrap

from vqa_client.reports.names import count as count
from vqa_client.unseen import unseen

_UNSEEN = unseen(lines=True)
_TO_COPY = re.compile(r"pip install|vqa-client [^`]*--|-m vqa_client|run-batch")
"""Lines with a command that people copy."""


def safe(text: str) -> str:
    """Show what is not seen, turns the direction or commands the terminal as its code, instead of obeying it."""
    return _UNSEEN.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def folded(text: str, width: int) -> str:
    """The lines broken between words at `width`, 0 for never: a terminal itself breaks names and numbers too."""
    if not width or len(text) <= width or _TO_COPY.search(text):
        return text
    return "\n".join(
        textwrap.fill(
            line,
            width,
            subsequent_indent=line[: len(line) - len(line.lstrip())],
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"
