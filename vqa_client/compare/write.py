"""Reads what is to be compared, compares it, and writes the four files."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from vqa_client.compare.content import content, write_groups, write_questions
from vqa_client.compare.figures import Compared, compare
from vqa_client.compare.page import page, write_page
from vqa_client.compare.sides import Side, read_sides, tell_apart
from vqa_client.errors import UsageError
from vqa_client.files import write_json
from vqa_client.html.shown_images import Show

JSON_NAME, CSV_NAME, GROUPS_NAME, PAGE_NAME = "compare.json", "compare.csv", "compare_groups.csv", "compare.html"


def compare_runs(places: Sequence[Path]) -> tuple[list[Side], Compared]:
    """Read and compare; a run that is named twice counts once, and a folder as all runs in it.

    Raises DataError for what can't be read, IdentityError for runs of other data, UsageError for a single run.
    """
    sides: dict[frozenset[Path], Side] = {}
    for place in places:
        for side in read_sides(place, apart=len(places) == 1):
            sides.setdefault(frozenset(run.log.resolve() for run in side.runs), side)
    if len(places) == 1 and len(sides) == 1:
        raise UsageError(f"there is 1 run to compare in {places[0]}", hint="name another run over the same questions")
    if len(sides) < 2:
        raise UsageError(f"{' and '.join(map(str, places))} are one run", hint="name two runs over the same questions")
    named = list(sides.values())
    tell_apart(named)
    return named, compare(named)


def comparison_page(logs: Sequence[Path], show: Show) -> bytes:
    """Compare and give the page alone; raises as `compare_runs` does."""
    return page(*compare_runs(logs), show, served=True)


def write_comparison(
    folder: Path, sides: Sequence[Side], compared: Compared, *, html_images: int, csv_safe: bool
) -> tuple[Path, ...]:
    """Write everything and name the files, the page where Jinja is installed; raises UsageError for a full disk."""
    write_json(folder / JSON_NAME, content(sides, compared), rb'\{\n  "vqa_client": ')
    write_questions(folder / CSV_NAME, sides, compared, csv_safe=csv_safe)
    write_groups(folder / GROUPS_NAME, compared, csv_safe=csv_safe)
    names = [JSON_NAME, CSV_NAME, GROUPS_NAME]
    if find_spec("jinja2") is not None:
        write_page(folder / PAGE_NAME, sides, compared, most_images=html_images)
        names.append(PAGE_NAME)
    return tuple(folder / name for name in names)
