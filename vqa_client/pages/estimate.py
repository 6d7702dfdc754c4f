"""Estimates a rendering: pages by laying out the text, megabytes from a sample, image tokens by a rule."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from statistics import fmean

from msgspec import Struct

from vqa_client.pages.documents import Document, checked
from vqa_client.pages.fonts import prepare, script_of
from vqa_client.pages.layout import Layout, Page, Style, boxes, canvas, cropped, typesetter
from vqa_client.pages.metadata import versions
from vqa_client.pages.page_files import COMPRESSION, PageFiles, page_bytes, png, read_page
from vqa_client.pages.perturb import form
from vqa_client.pages.perturbations import Perturbation, parse
from vqa_client.parallel import in_processes

TOKEN_SIDES = {"qwen2.5-vl": 28, "qwen3-vl": 32}
"""Pixels along the side of the square that makes one image token: 2 x 2 patches of 14 or 16. Each side of an image is
rounded to the nearest multiple, as in the models' image processors; their limits on a whole image are not applied."""
SAMPLED_DOCUMENTS = 32


class ExpectedPages(Struct, frozen=True, kw_only=True):
    """What a run would make; `tokens` are by the name of the rule; the size was estimated from `sampled` pages."""

    pages: int
    size_bytes: int
    sampled: int
    tokens: dict[str, int]


class PageEstimate(ExpectedPages, frozen=True, kw_only=True):
    """Pages of documents."""

    documents: int


class _Job(Struct, frozen=True, kw_only=True):
    document: Document
    style: Style
    is_sampled: bool


class _Measured(Struct, frozen=True, kw_only=True):
    """The sizes in pixels of a document's pages, and the sizes in bytes of the pages that were drawn."""

    sizes_pixels: list[tuple[int, int]]
    sampled_bytes: list[int]


def estimate(
    documents: Iterable[Document], style: Style, *, workers: int, advance: Callable[[int], None]
) -> PageEstimate:
    """Lay out all documents and draw a few pages of the first ones in memory; `advance` gets finished documents.

    Raises DataError, and UsageError if the extra is missing.
    """
    versions()
    image_tokens, sampled_bytes = dict.fromkeys(TOKEN_SIDES, 0), list[int]()
    documents_laid_out = pages = 0
    for measured in in_processes(measure, _jobs(documents, style), workers=workers):
        documents_laid_out += 1
        pages += len(measured.sizes_pixels)
        sampled_bytes += measured.sampled_bytes
        for rule, side in TOKEN_SIDES.items():
            image_tokens[rule] += sum(tokens(*size, side) for size in measured.sizes_pixels)
        advance(1)
    return PageEstimate(
        documents=documents_laid_out,
        pages=pages,
        size_bytes=round(pages * sum(sampled_bytes) / max(len(sampled_bytes), 1)),
        sampled=len(sampled_bytes),
        tokens=image_tokens,
    )


def _jobs(documents: Iterable[Document], style: Style) -> Iterator[_Job]:
    for at, document in enumerate(checked(documents)):
        yield _Job(document=document, style=style, is_sampled=at < SAMPLED_DOCUMENTS)


def measure(job: _Job) -> _Measured:
    """Lay out one document; pages 1, 2, 4, 8 ... are drawn when it is sampled."""
    style, script = job.style, script_of(job.document.text)
    faces, setter = typesetter(style.font, script)
    text = prepare(job.document.text, faces, remove_line_breaks=style.remove_line_breaks).text
    sizes_pixels, sampled_bytes = list[tuple[int, int]](), list[int]()
    for page in Layout(style, setter).pages(text):
        sizes_pixels.append(size_pixels(page, style))
        if job.is_sampled and page.number & (page.number - 1) == 0:
            image = cropped(canvas().draw(page, style, script), style, is_last=page.is_last)
            buffer = BytesIO()
            image.save(buffer, "PNG", **COMPRESSION)
            sampled_bytes.append(len(buffer.getvalue()))
    return _Measured(sizes_pixels=sizes_pixels, sampled_bytes=sampled_bytes)


def tokens(width: int, height: int, side: int) -> int:
    """The number of image tokens of an image of this size."""
    return max(1, round(width / side)) * max(1, round(height / side))


def size_pixels(page: Page, style: Style) -> tuple[int, int]:
    """A page's width and height after the crop, computed from the boxes of its lines."""
    width, height = style.pixels(style.page_width_pt), style.pixels(style.page_height_pt)
    line_boxes = [box for _, box in boxes(page, style)]
    if style.crop_width and line_boxes:
        width = min(width, max(box[2] for box in line_boxes) + style.pixels(style.margin_x_pt))
    if style.crop_last_page and page.is_last and line_boxes:
        height = min(height, line_boxes[-1][3] + style.pixels(style.margin_y_pt))
    return width, height


SAMPLED_PAGES = 8


def estimate_forms(source: PageFiles, perturbations: Sequence[Perturbation], *, seed: int) -> list[ExpectedPages]:
    """Perturb a few pages of a folder in memory; raises the same errors as perturbing."""
    names = source.names[:: max(1, len(source.names) // SAMPLED_PAGES)][:SAMPLED_PAGES]
    paths = [source.path / name for name in names]
    sampled = [(path, read_page(page_bytes(path), str(path))) for path in paths]
    expected = []
    for perturbation in map(_on_clean_pages, perturbations):
        made = [form(pixels, perturbation, seed, path) for path, pixels in sampled]
        expected.append(
            ExpectedPages(
                pages=len(source.names),
                size_bytes=round(len(source.names) * fmean(len(png(pixels)) for pixels in made)),
                sampled=len(made),
                tokens={
                    rule: round(len(source.names) * fmean(tokens(*pixels.size, side) for pixels in made))
                    for rule, side in TOKEN_SIDES.items()
                },
            )
        )
    return expected


def _on_clean_pages(perturbation: Perturbation) -> Perturbation:
    """Imitate an enlarged page, whose source isn't drawn yet, by shrinking and enlarging the clean page."""
    if perturbation.kind != "upscale":
        return perturbation
    low, high = int(perturbation.values["dpi"]), int(perturbation.values["to_dpi"])
    return parse(f"resample:bilinear:{min(0.99, max(0.01, low / high))}")
