"""A report's tables as plain data, which a terminal, a Markdown file and a page show in their own form."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from vqa_client.scoring.paired import Difference


class Section(Struct, frozen=True, kw_only=True):
    """A title, a table and notes, in this order; each may be empty. What shows the text escapes it.

    The first column names the rows; a row whose name begins with a blank explains the row above it.
    """

    title: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()


def points(value: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def bounds(of: "Difference") -> str:
    """The interval of a difference in points."""
    return f"{points(of.low)} to {points(of.high)}"


def difference_text(of: "Difference") -> str:
    """A difference with its interval, in points."""
    return f"{points(of.value)} ({bounds(of)})"


def p_text(p: float) -> str:
    """A p value as in papers: "p = 0.021", "p < 0.001"."""
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.995 else "p = 1"
