"""What the tests of drawing share: skipped as a whole where the extra `render` is missing."""

import json
from pathlib import Path

import pytest

pytest.importorskip("pypdfium2", reason="needs the extra `render`")

from vqa_client.pages.documents import Document
from vqa_client.pages.fonts import chain, prepare, script_of
from vqa_client.pages.layout import Layout, Page, Style, typesetter
from vqa_client.pages.render import PageStep, Rendered, render_documents

FONTS = chain("", "chinese")
SMALL = Style(dpi=72, page_width_pt=200, page_height_pt=92)
"""Five lines a page, some 35 letters a line."""


def pages(text: str, style: Style = SMALL) -> list[Page]:
    faces, setter = typesetter(style.font, script_of(text))
    prepared = prepare(text, faces, remove_line_breaks=style.remove_line_breaks)
    return list(Layout(style, setter).pages(prepared.text))


def lines(text: str, style: Style = SMALL) -> list[str]:
    return [line.text for page in pages(text, style) for line in page.lines]


def render(output: Path, texts: dict[str, str], style: Style = SMALL, *, workers: int = 1) -> Rendered:
    heard: list[PageStep] = []
    documents = [Document(id=name, text=text) for name, text in texts.items()]
    rendered = render_documents(documents, output, style, workers=workers, advance=heard.append)
    assert sum(step.documents for step in heard) == len(texts)
    assert sum(step.pages for step in heard) == rendered.pages
    assert sum(step.made for step in heard) == rendered.pages_made
    assert sum(step.characters for step in heard) == sum(map(len, texts.values()))
    return rendered


def images(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((output / "images").iterdir())}


def metadata(output: Path) -> dict:
    return json.loads((output / "metadata.json").read_bytes())
