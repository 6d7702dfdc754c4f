"""Names of files, safe on every system, stable, and different for different names; and words for numbers."""

import hashlib
import re
import unicodedata
from collections.abc import Collection
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `list` needs no statistics
    from vqa_client.scoring.statistics import Interval

_MOST_BYTES = 120
_OTHERS_ALLOWED = frozenset(" ._-+=@,()")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices, with any extension."""
_TAGGED = re.compile(r".*-[0-9a-f]{10}", re.DOTALL)


def safe_name(name: str) -> str:
    """Give `name` itself where every system takes it, else a likeness that ends in ten digits of its digest.

    Two names that differ in case only stay different in case only.
    """
    allowed = (character if character.isalnum() or character in _OTHERS_ALLOWED else "_" for character in name)
    likeness = "".join(allowed).strip(" .") or "_"
    likeness = likeness.encode()[:_MOST_BYTES].decode("utf-8", "ignore").rstrip(" .")
    if likeness == name and unicodedata.is_normalized("NFC", name) and not _RESERVED.fullmatch(name):
        return f"{name}-{_digest(name)}" if _TAGGED.fullmatch(name) else name
    return f"{likeness}-{_digest(name)}"


def report_name(subdirectory: str, task: str) -> str:
    """Name the report of one page folder, if any: `{subdirectory}_{task}_eval.json`."""
    return f"{safe_name(subdirectory)}_{task}_eval.json" if subdirectory else f"{task}_eval.json"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def count(number: int, noun: str = "question", several: str = "") -> str:
    """A number with its noun, `several` where that is not the noun with an s."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def first_of(names: Collection[str], most: int) -> str:
    """The first names in a row, and dots where there are more."""
    return ", ".join(islice(names, most)) + (", ..." if len(names) > most else "")


def first_and_more(names: Collection[str], most: int, where: str = "") -> str:
    """The first names in a row, and how many more there are; `where` says where these are shown."""
    more = len(names) - most
    return ", ".join(islice(names, most)) + (f" and {more:,} more{where}" if more > 0 else "")


def percent(share: float | None, decimals: int = 1) -> str:
    """A share in [0, 1] as per cent, without the sign."""
    return "-" if share is None else f"{100 * share:.{decimals}f}"


def figure_text(value: float | None, low: float | None, high: float | None, scale: float = 100.0) -> str:
    """A figure and its bounds, where it has them, in per cent; `scale` 1 for points."""
    if value is None:
        return "-"
    bounds = f" ({scale * low:,.1f}-{scale * high:,.1f})" if low is not None and high is not None else ""
    return f"{scale * value:,.1f}{bounds}"


def interval_text(interval: "Interval | None") -> str:
    """Both bounds as per cent."""
    return "-" if interval is None else f"{percent(interval.low)}-{percent(interval.high)}"


def cut(text: str, most: int) -> str:
    """Foreign text on one line, at most so many characters of it."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most] + " ..."


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """The leaves of nested objects by their dotted names."""
    if not isinstance(value, dict) or not value:
        return {prefix: value} if prefix else {}
    return {
        key: leaf
        for name, inner in value.items()
        for key, leaf in flat(inner, f"{prefix}.{name}" if prefix else str(name)).items()
    }
