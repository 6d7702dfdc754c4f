"""Captions that explanations are written as: "answer because explanation", or an explanation alone."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Final, Literal

Form = Literal["full", "exp"]
"""Whether a caption reads "answer because explanation" or is an explanation alone."""
_NAMED = re.compile(r"(?<![a-z])(?P<form>full|exp)(?![a-z])")
_BECAUSE: Final = re.compile(r"\s+because\s+", re.IGNORECASE)
_MOST_WORDS: Final = 8
"""More words before "because" are part of an explanation."""


def form_of(path: str | Path, captions: Collection[str]) -> Form:
    """The form that the file's name tells (NLX-GPT's and ours end in _full and _exp), else that of most captions."""
    named = _NAMED.findall(Path(path).name.lower())
    if named:
        return "full" if named[-1] == "full" else "exp"
    answered = sum(_begins_with_an_answer(caption) for caption in captions)
    return "full" if 2 * answered > len(captions) else "exp"


def taken_apart(caption: str, form: Form) -> tuple[str, str]:
    """The answer and the explanation, each "" where there is none; the first "because" parts them."""
    if form == "exp":
        return "", caption.strip()
    answer, *explanation = _BECAUSE.split(f" {caption} ", maxsplit=1)
    return answer.strip(), "".join(explanation).strip()


def _begins_with_an_answer(caption: str) -> bool:
    answer, explanation = taken_apart(caption, "full")
    return bool(explanation) and 0 < len(answer.split()) <= _MOST_WORDS
