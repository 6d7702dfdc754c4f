"""How tables of patterns are written: words as alternatives, and patterns that are compiled when they are first used.

A reply meets few of the patterns that all replies together need, and compiling them all takes longer than reading a
thousand replies.
"""

import re
from typing import Any, Final, cast

_BETWEEN_WORDS: Final = re.compile(r"\n|\|(?![^()]*\))")


class _Pattern:
    def __init__(self, source: str, flags: int) -> None:
        self._given = source, flags

    def __getattr__(self, name: str) -> Any:
        method = getattr(re.compile(*self._given), name)
        setattr(self, name, method)
        return method


def lazily(source: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, at the first use."""
    return cast("re.Pattern[str]", _Pattern(source, flags))


def any_word(*sources: str) -> str:
    """Regex source for any of the words, grouped by their first letters, which makes the search cheap.

    Words stand in lines, "|" between them; all but the first letter of each is regex source.
    """
    groups: dict[str, list[str]] = {}
    for word in filter(None, map(str.strip, _BETWEEN_WORDS.split("|".join(sources)))):
        groups.setdefault(word[0], []).append(word[1:])
    grouped = (f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())
    return f"(?=[{''.join(groups)}])(?:{'|'.join(grouped)})"
