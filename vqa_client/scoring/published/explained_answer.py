"""The two published readings of `<answer> because <explanation>`, with their faults, for comparable numbers.

`published` is the version of the script that its description is about, with its table; `published_latest` is its last
version. Both take the short name of a task: vqax, actx, esnlive, vcr.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from vqa_client.scoring.patterns import behind

Reading = tuple[str, str]
"""The answer and the explanation, in lower case; "unknown" and a fixed phrase if they are missing."""
UNKNOWN: Final = "unknown"
MISSING: Final = "explanation missing"
NO_DETAILS: Final = "no further details"
PLACEHOLDERS: Final = frozenset({MISSING, NO_DETAILS, ""})
_LABELS: Final = {"entail": "entailment", "contradict": "contradiction", "neutral": "neutral"}
_PREFIX = re.compile(r"(?:assistant|response|answer|question):\s*", re.IGNORECASE)
_BECAUSE = re.compile(r"\bbecause\b", re.IGNORECASE)
_NO_WORD = re.compile(r"[^a-zA-Z0-9 ]+")
_NEITHER_WORD_NOR_SPACE = re.compile(r"[^a-z0-9\s]+")
_DROPPED: Final = frozenset({"answer", "question", "explanation"})


def published(task: str, text: str, choices: Sequence[str] = ()) -> Reading:
    """The table's entry for a reply in the described version, which doesn't use `choices`."""
    del choices
    answer, _, explanation = published_line(task, text).partition(" because ")
    if task in ("vqax", "actx"):
        return _two_words(answer), explanation.strip()
    return answer.strip(), explanation.strip()


def published_line(task: str, text: str) -> str:
    """The line `<answer> because <explanation>` of a reply in the described version."""
    return _LINES[task](text)


def published_latest(task: str, text: str, choices: Sequence[str] = ()) -> Reading:
    """The last version's reading of a reply; `choices` are the texts of VCR's letters."""
    words = _plain_words(_comma_for_because(text.strip()) if task == "esnlive" else text)
    if not words:
        return UNKNOWN, MISSING
    answer, explanation = _split_words(words, first_word_decides=task == "vqax")
    if task == "vcr":
        return _choice(text, choices), explanation or NO_DETAILS
    return _label(answer) if task == "esnlive" else answer or UNKNOWN, explanation or MISSING


READINGS: Mapping[str, Callable[[str, str, Sequence[str]], Reading]] = {
    "published": published,
    "published_latest": published_latest,
}


def _vqax_line(text: str) -> str:
    line = _without_prefix(text)
    if because := _BECAUSE.search(line):
        answer, explanation = _two_words(line[: because.start()]).lower(), _explanation(line[because.end() :])
    else:
        words = line.split()
        answer, explanation = " ".join(words[:2]).lower(), " ".join(words[2:]).lower()
    return f"{answer or UNKNOWN} because {explanation or NO_DETAILS}"


def _actx_line(text: str) -> str:
    line = _without_prefix(text)
    answer, because, explanation = line.partition(" because ")
    first = (answer.lower().split() or [UNKNOWN])[0]
    if not because:
        return f"{first if first in _LABELS.values() else UNKNOWN} because {MISSING}"
    return f"{first} because {_explanation(explanation) or MISSING}"


def _esnlive_line(text: str) -> str:
    line = _comma_for_because(text.strip())
    label, explanation = (*_BECAUSE.split(line, maxsplit=1), "")[:2]
    return f"{_label(label)} because {explanation.strip().lower() or MISSING}"


def _vcr_line(text: str) -> str:
    answer, _, explanation = _comma_for_because(text.strip()).partition(" because ")
    return f"{answer.strip().lower()} because {explanation.strip().lower() or MISSING}"


_LINES: Mapping[str, Callable[[str], str]] = {
    "vqax": _vqax_line,
    "actx": _actx_line,
    "esnlive": _esnlive_line,
    "vcr": _vcr_line,
}


def _without_prefix(text: str) -> str:
    return behind(_PREFIX, text.strip()).replace("\n", " ").strip()


def _two_words(text: str) -> str:
    return " ".join(_NO_WORD.sub(" ", text).split()[:2])


def _explanation(text: str) -> str:
    return text.strip().rstrip(".").lower()


def _comma_for_because(text: str) -> str:
    return text if "because" in text.lower() else text.replace(",", " because ", 1)


def _label(text: str) -> str:
    """The first of the three labels that the text contains, even in "not entailment"."""
    return next((label for stem, label in _LABELS.items() if stem in text.lower()), UNKNOWN)


def _plain_words(text: str) -> list[str]:
    words = _NEITHER_WORD_NOR_SPACE.sub(" ", behind(_PREFIX, text.strip()).lower()).split()
    return [word for word in words if word not in _DROPPED]


def _split_words(words: list[str], *, first_word_decides: bool) -> Reading:
    at = words.index("because") if "because" in words else 1
    if first_word_decides and (words[0] in ("yes", "no") or words[0].isdigit()):
        return words[0], " ".join(words[1:])
    after = at + 1 if "because" in words else at
    return " ".join(words[:at]), " ".join(words[after:])


def _choice(text: str, choices: Sequence[str]) -> str:
    words = _without_prefix(text).split()
    index = "abcd".find(words[0].lower().strip(":.")) if words and len(words[0].strip(":.")) == 1 else -1
    return choices[index].lower() if 0 <= index < len(choices) else UNKNOWN
