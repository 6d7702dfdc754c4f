"""Names of files that are safe on every system, stable and distinct; and numbers in words."""

import hashlib
import re
import unicodedata
from collections.abc import Collection
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `list` needs no statistics
    from vqa_client.aggregates import Estimate
    from vqa_client.scoring.statistics import Interval

_MOST_BYTES = 120
_OTHERS_ALLOWED = frozenset(" ._-+=@,()")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
"""Names that Windows reserves for devices, with any extension."""
_TAGGED = re.compile(r".*-[0-9a-f]{10}", re.DOTALL)


def safe_name(name: str) -> str:
    """Give `name` itself if every system takes it, else a similar name that ends in ten digits of its digest.

    Two names that differ only in case still differ only in case.
    """
    allowed = (character if character.isalnum() or character in _OTHERS_ALLOWED else "_" for character in name)
    similar = "".join(allowed).strip(" .") or "_"
    similar = similar.encode()[:_MOST_BYTES].decode("utf-8", "ignore").rstrip(" .")
    if similar == name and unicodedata.is_normalized("NFC", name) and not _RESERVED.fullmatch(name):
        return f"{name}-{_digest(name)}" if _TAGGED.fullmatch(name) else name
    return f"{similar}-{_digest(name)}"


def report_name(subdirectory: str, task: str) -> str:
    """The name of a report: `{subdirectory}_{task}_eval.json` for a page folder, else `{task}_eval.json`."""
    return f"{safe_name(subdirectory)}_{task}_eval.json" if subdirectory else f"{task}_eval.json"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def count(number: int, noun: str = "question", several: str = "") -> str:
    """A number with its noun; `several` is a plural that isn't the noun with an s."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def first_of(names: Collection[str], most: int) -> str:
    """The first names, and dots if there are more."""
    return ", ".join(islice(names, most)) + (", ..." if len(names) > most else "")


def first_and_more(names: Collection[str], most: int, where: str = "") -> str:
    """The first names, and how many more there are; `where` says where those are shown."""
    more = len(names) - most
    return ", ".join(islice(names, most)) + (f" and {more:,} more{where}" if more > 0 else "")


def in_dollars(amount: float) -> str:
    """An amount in dollars, below a cent with four digits: "$12.50", "$0.0042"."""
    return f"${amount:,.{2 if amount >= 0.01 or not amount else 4}f}"


def percent(share: float | None, decimals: int = 1) -> str:
    """A share in [0, 1] in per cent, without the sign."""
    return "-" if share is None else f"{100 * share:.{decimals}f}"


def figure_text(of: "Estimate | None", scale: float = 100.0) -> str:
    """A figure in per cent, with its bounds if it has them; `scale` is 1 for points."""
    if of is None or of.value is None:
        return "-"
    bounds = f" ({scale * of.low:,.1f}-{scale * of.high:,.1f})" if of.low is not None and of.high is not None else ""
    return f"{scale * of.value:,.1f}{bounds}"


def duration(seconds: float, decimals: int = 0) -> str:
    """Seconds as text, such as 2 min 05 s; less than a minute has `decimals`."""
    if seconds < 60:
        return f"{seconds:.{decimals}f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def interval_text(interval: "Interval | None") -> str:
    """Both bounds in per cent."""
    return "-" if interval is None else f"{percent(interval.low)}-{percent(interval.high)}"


def one_line(text: str) -> str:
    """Foreign text on one line."""
    return " ".join(text.split())


def cut(text: str, most: int) -> str:
    """Foreign text on one line, cut after `most` characters."""
    line = one_line(text)
    return line if len(line) <= most else line[:most] + " ..."


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """The leaves of nested objects, by dotted names."""
    if not isinstance(value, dict) or not value:
        return {prefix: value} if prefix else {}
    return {
        key: leaf
        for name, inner in value.items()
        for key, leaf in flat(inner, f"{prefix}.{name}" if prefix else str(name)).items()
    }
