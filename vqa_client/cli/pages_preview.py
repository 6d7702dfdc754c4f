"""`vqa-client pages-preview`: what a model will see, for a person to look at."""

from collections.abc import Iterable
from pathlib import Path

from vqa_client.cli.streams import emit
from vqa_client.cli.text import count, safe
from vqa_client.errors import UsageError
from vqa_client.files import natural_key, replacing
from vqa_client.images.find import PageFolder, page_folders
from vqa_client.pages.pixels import png
from vqa_client.pages.sheet import chosen, column, contact_sheet
from vqa_client.settings.perturb import PagesPreviewSettings


def pages_preview(settings: PagesPreviewSettings) -> int:
    """Write the contact sheet and name what is on it."""
    if settings.output.suffix.lower() != ".png":
        raise UsageError(f"--output is {settings.output}: the sheet is a PNG", hint="name a file that ends in .png")
    columns = [column(folder) for folder in clean_first(settings.images)]
    pages = chosen(list(columns[0].files), settings.page, settings.limit)
    sheet = png(contact_sheet(columns, pages))
    with replacing(settings.output) as file:
        file.write(sheet)
    folders = ", ".join(safe(each.name) for each in columns)
    emit(f"{settings.output}: {count(len(pages), 'page')} in {count(len(columns), 'form')}: {folders}\n")
    return 0


def clean_first(roots: Iterable[Path]) -> list[PageFolder]:
    """The page folders of several places, each once, the perturbed ones last; raises DataError where one has none."""
    found = {folder.path.resolve(): folder for root in roots for folder in page_folders(root)}
    return sorted(found.values(), key=lambda folder: (folder.name.startswith("adv_"), natural_key(folder.name)))
