"""`vqa-client render` and `needles`: documents as page images, and secrets hidden in documents."""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from vqa_client.cli.files_progress import files_progress, pages_progress, resumable
from vqa_client.cli.perturb import as_table, measure
from vqa_client.cli.streams import EXIT_FAILED_QUESTIONS, EXIT_OK, emit, emit_lines, say
from vqa_client.files import check_output
from vqa_client.images.find import PageFolder
from vqa_client.pages.documents import Document, checked, read_documents
from vqa_client.pages.estimate import TOKEN_SIDES, estimate
from vqa_client.pages.fonts import has_cjk
from vqa_client.pages.layout import Style
from vqa_client.pages.legibility import check_reader
from vqa_client.pages.needles import write_needles
from vqa_client.pages.page_files import IMAGES
from vqa_client.pages.render import draw_pdf_page, pdf_pages, render_documents
from vqa_client.parallel import in_processes
from vqa_client.reports.names import count, duration, first_and_more
from vqa_client.settings.pages import NeedlesSettings, RenderSettings
from vqa_client.shipped import install
from vqa_client.tables.data_file import read_index

MEGABYTE = 1e6
_SHOWN_CHARACTERS = 12


@resumable
def render(settings: RenderSettings) -> int:
    """Draw the documents, or print an estimate; the exit code after a signal is 130 or 143."""
    check_output(settings.output)
    if settings.pdf is not None:
        return _draw_pdfs(settings, settings.pdf)
    assert settings.data_json is not None  # one of the two is given
    documents = read_documents(settings.data_json)
    if settings.legibility:
        check_reader()
    lengths = [len(document.text) for document in checked(documents)]  # fails before a page is drawn, not an hour later
    if settings.dry_run:
        _print_estimate(settings, documents, len(lengths))
        return EXIT_OK
    _draw_documents(settings, documents, lengths)
    if settings.legibility:
        drawn = PageFolder(name=settings.output.name, path=settings.output / IMAGES)
        emit(as_table(measure((drawn,), settings.data_json, workers=settings.workers)))
    return EXIT_OK


def _draw_pdfs(settings: RenderSettings, folder: Path) -> int:
    """Draw PDF files; exit code 1 if a page can't be drawn, which is printed."""
    pages, faults = pdf_pages(folder, settings.output, dpi=settings.dpi, max_pages=settings.max_pages)
    drawn = 0
    with files_progress("render", len(pages), noun="pages") as advance:
        for fault in in_processes(draw_pdf_page, pages, workers=settings.workers):
            faults += [fault] if fault else []
            drawn += not fault
            advance()
    for fault in faults:
        say(f"error: {fault}")
    emit(f"{count(drawn, 'page')} at {settings.dpi} dpi\n{settings.output}\n")
    return EXIT_FAILED_QUESTIONS if faults else EXIT_OK


def style(settings: RenderSettings) -> Style:
    """The style that the settings ask for."""
    (width_pt, height_pt), (x_pt, y_pt) = settings.page_size_pt, settings.margins_pt
    return Style(
        dpi=settings.dpi,
        font="" if settings.font is None else str(settings.font),
        font_size_pt=settings.font_size,
        line_height_pt=settings.line_height_pt,
        page_width_pt=width_pt,
        page_height_pt=height_pt,
        margin_x_pt=x_pt,
        margin_y_pt=y_pt,
        crop_width=settings.crop in ("both", "width"),
        crop_last_page=settings.crop in ("both", "last_page"),
        remove_line_breaks=settings.remove_line_breaks,
        max_pages=settings.max_pages,
    )


def _draw_documents(settings: RenderSettings, documents: Iterable[Document], lengths: Sequence[int]) -> None:
    since_s = time.monotonic()
    assert settings.data_json is not None
    about = {
        "perturbation_type": "clean",
        "params": {"dpi": settings.dpi},
        "input_dir": settings.data_json.name,
        "output_dir": settings.output.name,
    }
    with pages_progress("render", documents=len(lengths), characters=sum(lengths)) as advance:
        rendered = render_documents(
            documents,
            settings.output,
            style(settings),
            workers=settings.workers,
            advance=advance,
            about=about,
            line_bbox=settings.line_bbox,
        )
    if rendered.cut_documents:
        say(f"{count(rendered.cut_documents, 'document')} drawn in part (--max_pages)")
    if rendered.missing:
        say(_missing_line(rendered.missing))
    made = f"{count(rendered.pages_made, 'page')} drawn in {duration(time.monotonic() - since_s)}"
    pages = f"{count(rendered.documents, 'document')} · {count(rendered.pages, 'page')}"
    emit(f"{pages} · {rendered.size_bytes / MEGABYTE:,.1f} MB · {made}\n{settings.output}\n")


def _missing_line(missing: Mapping[str, int]) -> str:
    """The characters that no font has, drawn as a replacement, and how to get a font for them."""
    names = [f"{mark} U+{ord(mark):04X} ({n:,})" for mark, n in missing.items()]
    examples = first_and_more(names, _SHOWN_CHARACTERS)
    way_out = f" ({install('cjk')} has Chinese, Japanese and Korean)" if any(map(has_cjk, missing)) else ""
    return f"{count(sum(missing.values()), 'character')} in no font, drawn as \ufffd: {examples}{way_out}"


def _print_estimate(settings: RenderSettings, documents: Iterable[Document], total: int) -> None:
    with files_progress("lay out", total, noun="documents") as advance:
        expected = estimate(documents, style(settings), workers=settings.workers, advance=advance)
    lines = [
        f"{count(expected.documents, 'document')} · {count(expected.pages, 'page')} · about "
        f"{expected.size_bytes / MEGABYTE:,.1f} MB (by {count(expected.sampled, 'page')} drawn as a sample)"
    ]
    for name, tokens in expected.tokens.items():
        side = TOKEN_SIDES[name]
        lines.append(f"about {tokens:,} image tokens by the rule {name}: one for each {side} x {side} pixels")
    emit_lines(*lines)


SHOWN_IDS = 5


@resumable
def needles(settings: NeedlesSettings) -> int:
    """Write the file; print how many needles it has and which documents are left out."""
    with files_progress("needles", len(read_index(settings.data_json)), noun="documents") as advance:
        hidden = write_needles(
            settings.data_json,
            settings.output,
            num_secrets=settings.num_secrets,
            seed=settings.seed,
            dry_run=settings.dry_run,
            advance=advance,
        )
    for reason, ids in hidden.left_out.items():
        examples = ", ".join(ids[:SHOWN_IDS]) + (" ..." if len(ids) > SHOWN_IDS else "")
        say(f"{count(len(ids), 'document')} left out, {reason.replace('_', ' ')}: {examples}")
    would = "would contain" if settings.dry_run else "contains"
    emit_lines(f"{settings.output} {would} {count(hidden.documents, 'document')}, {count(hidden.needles, 'question')}")
    return 0
