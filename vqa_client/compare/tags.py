"""HTML that can't be broken out of: every text and attribute is escaped where it is put in, and nowhere else."""

import re
from html import escape
from typing import Final

from vqa_client.unseen import unseen

_NOT_SHOWN = re.compile(rf"{unseen(lines=True).pattern}|[\ud800-\udfff]")
_EMPTY: Final = frozenset({"img", "meta"})


class Markup(str):
    """HTML made by `tag`; any other text is foreign and gets escaped."""

    __slots__ = ()


def tag(name: str, /, *inside: str, **attributes: str | float) -> Markup:
    """An element; `class_` is the attribute `class`, and "_" inside a name becomes "-"."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value))}"'
        for key, value in attributes.items()
        if value != ""
    )
    if name in _EMPTY:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{joined(*inside)}</{name}>")


def joined(*inside: str) -> Markup:
    """Texts and elements one after the other."""
    return Markup("".join(each if isinstance(each, Markup) else escaped(each) for each in inside))


def escaped(text: str) -> str:
    """Foreign text: no markup, and nothing that is not seen or turns the direction of what follows."""
    return escape(_NOT_SHOWN.sub(lambda found: f"\\x{ord(found.group()):02x}", text))
