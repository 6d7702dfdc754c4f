"""Characters that are not seen, or that turn or hide what is: foreign text is shown with their codes instead."""

import re

_CLASS = (
    r"\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
)
"""Controls, and what Unicode calls Default_Ignorable_Code_Point."""
_ASTRAL = (("1bca0", "1bca3"), ("1d173", "1d17a"), ("e0000", "e0fff"))
_SELECTS_NOTHING = r"(?<![^\s\ufe0e\ufe0f])[\ufe0e\ufe0f]"
"""A selector of an emoji's form without an emoji; in rows they can carry a hidden text."""


def unseen(*, lines: bool) -> re.Pattern[str]:
    """Find each such character; tabs and line feeds are none of them where a text has `lines`."""
    astral = "".join(f"\\U{first:0>8}-\\U{last:0>8}" for first, last in _ASTRAL)
    return re.compile(_pattern(astral, lines=lines))


def unseen_in_javascript() -> str:
    """The same for a text with lines, as a regular expression literal."""
    astral = "".join(f"\\u{{{first}}}-\\u{{{last}}}" for first, last in _ASTRAL)
    return f"/{_pattern(astral, lines=True)}/gu"


def _pattern(astral: str, *, lines: bool) -> str:
    kept = r"(?![\t\n])" if lines else ""
    return f"{kept}[{_CLASS}{astral}]|{_SELECTS_NOTHING}"
