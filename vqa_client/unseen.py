"""Invisible characters, and those that hide or reorder text: foreign text is shown with their codes instead."""

import re

_CLASS = (
    r"\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
)
"""Control characters and Unicode's Default_Ignorable_Code_Point."""
_ASTRAL = (("1bca0", "1bca3"), ("1d173", "1d17a"), ("e0000", "e0fff"))
_SELECTS_NOTHING = r"(?<![^\s\ufe0e\ufe0f])[\ufe0e\ufe0f]"
"""A variation selector without an emoji: a row of them can carry a hidden text."""


def unseen(*, lines: bool) -> re.Pattern[str]:
    """A pattern of these characters; with `lines`, tabs and line feeds are allowed."""
    astral = "".join(f"\\U{first:0>8}-\\U{last:0>8}" for first, last in _ASTRAL)
    return re.compile(_pattern(astral, lines=lines))


def unseen_in_javascript() -> str:
    """The pattern for a text with lines, as a JavaScript literal."""
    astral = "".join(f"\\u{{{first}}}-\\u{{{last}}}" for first, last in _ASTRAL)
    return f"/{_pattern(astral, lines=True)}/gu"


def _pattern(astral: str, *, lines: bool) -> str:
    kept = r"(?![\t\n])" if lines else ""
    return f"{kept}[{_CLASS}{astral}]|{_SELECTS_NOTHING}"
