"""Documents shown as page images: the questions of one data file, once for each folder of pages."""

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.images.find import PageIndex, folder_name, page_folders
from vqa_client.settings.longbench import McSettings, NiahSettings
from vqa_client.task import Loaded, Part, Source
from vqa_client.tasks.longbench.selection import PageCounts

TEXT_ONLY = "text_only"


class Documents(Struct, frozen=True, kw_only=True):
    """Loads a part for each page folder of `images`, or one of the documents' texts; `option` gives `images`."""

    load: Callable[..., Loaded]
    settings: McSettings | NiahSettings
    data: Path
    images: Path | None
    option: str

    def __call__(self, source: Source) -> Iterator[Part]:
        """Raises UsageError or DataError."""
        settings = self.settings
        if not source.finds_images:
            name = TEXT_ONLY if settings.text_only else folder_name(self.images) if self.images else ""
            loaded = self.load(self.data, variant=name, pages=_unseen, blacklist=settings.blacklist)
            yield Part(name=name, loaded=loaded, data_path=self.data, images_dir=self.images)
            return
        chosen = {"blacklist": settings.blacklist, "limit": settings.limit, "text_only": settings.text_only}
        if settings.text_only:
            loaded = self.load(self.data, variant=TEXT_ONLY, pages=None, **chosen)
            yield Part(name=TEXT_ONLY, loaded=loaded, data_path=self.data)
            return
        if self.images is None:
            raise UsageError(
                "there are no page images to show", hint=f"give their folder as {self.option}, or --text_only"
            )
        counts = PageCounts()
        for folder in page_folders(self.images):
            index = PageIndex(folder.path)
            pages = counts.counted(folder.name, index.pages)
            yield Part(
                name=folder.name,
                loaded=self.load(self.data, variant=folder.name, pages=pages, **chosen),
                data_path=self.data,
                images_dir=folder.path,
                missing_pages=index.missing,
            )
        counts.tell(source.notify)


def _unseen(document_id: str) -> tuple[str, ...]:
    """A page for every document, so that none is left out for having none today."""
    return (document_id,)
