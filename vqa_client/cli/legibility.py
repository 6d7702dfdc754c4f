"""`vqa-client legibility`: how much of each folder's pages can be read."""

import json
from collections.abc import Iterable
from pathlib import Path

import msgspec

from vqa_client.cli.files_progress import files_progress, resumable
from vqa_client.cli.pages_preview import clean_first
from vqa_client.cli.streams import emit
from vqa_client.cli.text import count, safe
from vqa_client.images.find import PageFolder
from vqa_client.pages.legibility import Legibility
from vqa_client.pages.legibility import legibility as legibility_of
from vqa_client.pages.shown import shown
from vqa_client.reports.names import percent
from vqa_client.settings.perturb import LegibilitySettings


def legibility(settings: LegibilitySettings) -> int:
    """Read the pages of every folder and print a line for each."""
    return resumable(lambda: _show(settings))


def _show(settings: LegibilitySettings) -> int:
    found = measure(clean_first(settings.images), settings.data_json, workers=settings.workers, limit=settings.limit)
    emit(as_json(found) if settings.json else as_table(found))
    return 0


def measure(
    folders: Iterable[PageFolder], data_json: Path, *, workers: int, limit: int | None = None
) -> dict[str, Legibility]:
    """Read each folder's pages of the first `limit` documents, with a bar for each folder."""
    found = {}
    for folder in folders:
        pages = shown(data_json, folder.path, limit=limit)
        with files_progress(f"reading {folder.name}", pages.page_count, noun="pages") as advance:
            found[folder.name] = legibility_of(pages, workers=workers, advance=advance)
    return found


def as_json(found: dict[str, Legibility]) -> str:
    """One JSON list, shares in [0, 1]."""
    rows = [
        {"folder": name, **msgspec.to_builtins(each), "worst_share": each.worst.share} for name, each in found.items()
    ]
    return json.dumps(rows, indent=2) + "\n"


def as_table(found: dict[str, Legibility]) -> str:
    """A line a folder."""
    lines = ["words that an OCR reader reads back, in %"]
    width = max(map(len, found))
    for name, each in found.items():
        lines.append(
            f"{safe(name):{width}}  mean {percent(each.mean):>5}  worst {percent(each.worst.share):>5}"
            f" ({safe(each.worst.id)})  n = {count(each.documents, 'document')}, {count(each.pages, 'page')}"
        )
    return "\n".join(lines) + "\n"
