"""Which corruptions at which levels, as people write it: "all" or "snow,Zoom-Blur", "1-5" or "1,3"."""

import re

from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.images.corruptions.table import CORRUPTIONS, FOURTEEN, Corruption, named

_LEVELS = re.compile(r"([0-9]+)(?:-([0-9]+))?")
_MOST = 5


class Variant(Struct, frozen=True, kw_only=True):
    """A corruption at a level, and the folder of its pictures."""

    name: str
    level: int
    folder: str


def chosen(corruptions: str, levels: str) -> tuple[Variant, ...]:
    """Give every corruption that is named at every level that is, each once, in the order of the table.

    "all" means the fourteen with five levels; one of a single level, such as grayscale, has that one whatever
    `levels` says. Raises UsageError for a name or level that there is not.
    """
    wanted_levels = numbers(levels)
    names = {part.strip() for part in corruptions.split(",") if part.strip()}
    wanted = {named(name).name for name in names - {"all"}} | {name for name in FOURTEEN if "all" in names}
    if not wanted:
        raise UsageError(f"--corruptions is {corruptions!r}", hint=f"all, or some of {', '.join(CORRUPTIONS)}")
    return tuple(
        Variant(name=name, level=level, folder=row.folder_at(level))
        for name, row in CORRUPTIONS.items()
        if name in wanted
        for level in _of(row, wanted_levels)
    )


def _of(row: Corruption, levels: tuple[int, ...]) -> tuple[int, ...]:
    return levels if len(row.levels()) > 1 else (1,)


def numbers(text: str, *, least: int = 1) -> tuple[int, ...]:
    """Read levels such as "1-5" or "1,3"; raises UsageError."""
    found: set[int] = set()
    for part in text.split(","):
        bounds = _LEVELS.fullmatch(part.strip())
        first, last = (int(bounds[1]), int(bounds[2] or bounds[1])) if bounds else (-1, -1)
        if not least <= first <= last <= _MOST:
            raise UsageError(
                f"--levels is {text!r}",
                hint=f"levels go from {least} to {_MOST}, as in {least}-5 or 1,3; level 0 is the original",
            )
        found.update(range(first, last + 1))
    return tuple(sorted(found))
