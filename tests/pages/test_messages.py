"""What pages, documents and perturbations that can't be are called, and the way out: whole messages and hints."""

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from PIL import Image

from tests.images.pictures import raw_png
from vqa_client.errors import DataError, IdentityError, OutputError, UsageError
from vqa_client.pages.documents import Document, checked, read_documents, shown
from vqa_client.pages.fonts import chain
from vqa_client.pages.layout import Page, Style, canvas
from vqa_client.pages.legibility import text_of
from vqa_client.pages.metadata import making, read_metadata, versions
from vqa_client.pages.needles import write_needles
from vqa_client.pages.page_files import PageFiles, image_names, page_bytes, read_page, remove_pages
from vqa_client.pages.perturb import clean_style, form, lacking, perturb_pages, variants
from vqa_client.pages.perturbations import HELP, parse
from vqa_client.pages.render import pdf_pages
from vqa_client.pages.sheet import SheetColumn, contact_sheet
from vqa_client.shipped import install

HERE = Path()
AGAIN = "give another --output, or delete that folder to make its pages again"
RECORD = "a record needs _id and context"
NEEDLES = "needles go into LongBench-v2 records: _id and context, with difficulty, length, question and answer if known"
STYLE = "render the clean pages with `vqa-client render`, which notes their style"
ID = "an id has no slash or control character, no dot in front, at most 200 bytes"
MISSING = "No such file or directory"
FILES = {
    "bare/a.md": "",
    "pdfs/a.PDF": "",
    "latin/a.txt": "é",
    "no_context.json": '[{"_id": "a"}]',
    "two.json": '[{"_id": "a", "context": "x"}, {"_id": "a", "context": "y"}]',
    "short.json": '[{"_id": "a", "context": "x"}]',
    "numbers.json": '[{"_id": "a", "context": 5}]',
    "blank.json": '[{"_id": "a", "context": " "}]',
    "font.ttf": "not a font",
    "broken/metadata.json": "[",
    "clean/images/a_page_001.png": "not an image",
    "clean/metadata.json": "{}",
    "styled/metadata.json": '{"style": {"dpi": "high"}}',
    "styled/images/a.png": "",
    "made/metadata.json": '{"style": {}, "settings_sha256": "", "documents": []}',
    "twice/a.png": "",
    "twice/a.jpg": "",
    "out/adv_binary/images/b.png": "",
    "other/adv_binary/metadata.json": "{}",
    "taken/adv_binary/images/a_page_001.png": "not ours",
    "low/images/a.png": "",
    "low/metadata.json": '{"style": {"dpi": 72}}',
    "cut/images/a.png": "",
    "cut/metadata.json": "[",
    "stuck/a_page_001.png/inner": "",
    "blocked/adv_binary/images/a_page_001.png/inner": "",
    "file": "",
}


@patch("vqa_client.pages.metadata.version", side_effect=PackageNotFoundError("pypdfium2"))
def undrawn(version: object) -> None:
    versions()


ROWS: list[tuple[Callable[[], Any], str, str]] = [
    (
        lambda: list(read_documents(Path("no_context.json"))),
        "no_context.json: record 1 (_id 'a'): field `context` is missing",
        RECORD,
    ),
    (lambda: read_documents(Path("bare")), "bare contains no .txt file", "give a data file, or a folder of text files"),
    (lambda: read_documents(Path("pdfs")), "pdfs contains no .txt file", "--pdf pdfs draws its PDF files"),
    (
        lambda: list(read_documents(Path("latin"))),
        "latin/a.txt is not in UTF-8: unexpected end of data at byte 0",
        "convert it",
    ),
    (
        lambda: list(checked([Document(id="a", text=" ")])),
        "document 'a': the text is empty: there is nothing to draw",
        "leave it out",
    ),
    (
        lambda: list(checked([Document(id="a/b", text="x")])),
        "document 'a/b': the id 'a/b' can't begin the name of a page file",
        ID,
    ),
    (
        lambda: list(checked([Document(id=".a", text="x")])),
        "document '.a': the id '.a' can't begin the name of a page file",
        ID,
    ),
    (
        lambda: list(checked([Document(id=each, text="x") for each in ("a", "A")])),
        "document 'A': another document has this id, or one that differs only in case",
        "rename one",
    ),
    (
        lambda: shown(Path("blank.json"), Path("clean")),
        "clean: no page of any document of blank.json that has a text",
        "give the data file that the pages were rendered from",
    ),
    (
        lambda: PageFiles.of(Path("bare")),
        "bare: no image in it or in its `images` folder",
        "give the folder with images/ID_page_001.png, or those files themselves",
    ),
    (lambda: image_names(Path("no")), "no does not exist", "give the folder with the page images"),
    (lambda: page_bytes(Path("no")), f"can't read no: {MISSING}", "the page is gone or not readable"),
    (lambda: chain("no.ttf", "chinese"), "the font no.ttf does not exist", ""),
    (lambda: chain("font.ttf", "chinese"), "font.ttf is not a font with Latin letters", "give a .ttf or .otf file"),
    (undrawn, "drawing pages needs the package pypdfium2", install("render")),
    (lambda: text_of("no.png"), f"no.png: [Errno 2] {MISSING}: 'no.png'", "make the page again"),
    (lambda: kept("bare"), "bare has page images and no metadata.json that says how", AGAIN),
    (lambda: kept("broken"), "broken/metadata.json was not written by this command", AGAIN),
    (lambda: needles("short.json", "short.json"), "short.json is the data file itself", "choose another --output"),
    (
        lambda: needles("short.json", "n.json", 99),
        "--num_secrets is 99, and there are 10 kinds of secrets",
        "give at most 10",
    ),
    (
        lambda: needles("numbers.json", "n.json"),
        "numbers.json: record 1 (_id 'a'): field `context` is not text",
        NEEDLES,
    ),
    (lambda: needles("two.json", "n.json"), "two.json: record 2: _id 'a' comes twice", "give each document its own"),
    (
        lambda: needles("short.json", "n.json"),
        "short.json: no document has room for 2 needles: 1 too few sentences",
        NEEDLES,
    ),
    (
        lambda: read_page(b"\x89PNG\r\n\x1a\n", "a.png"),
        "a.png: can't be decoded: its header is broken",
        "the file is damaged or cut; fetch it again",
    ),
    (
        lambda: read_page(raw_png(60_000, 8, 0, b"").replace(b"\0\0\0\1\x08", b"\0\0\xea\x60\x08"), "a.png"),
        "a.png: has 60000x60000 pixels; servers take at most 178,956,970",
        "make it smaller first; a run shrinks it with --max_pixels N",
    ),
    (
        lambda: form(Image.new("L", (16_384, 1)), parse("webp:5"), 1, Path("a.png")),
        "a.png: webp:5 can't be made of 16384x1 pixels: "
        "encoding error 5: Image size exceeds WebP limit of 16383 pixels",
        "render smaller pages, or leave this perturbation out",
    ),
    (
        lambda: lacking(PageFiles.of(Path("clean")), Path("out/adv_binary")),
        "out/adv_binary/images contains 1 image that clean hasn't, b.png for one",
        "move them away, or choose another --output",
    ),
    (
        lambda: perturbed("twice", "new"),
        "twice: a.jpg and a.png would become one page",
        "a perturbed page is a PNG of the same name: move one of them away",
    ),
    (
        lambda: perturbed("clean", "other"),
        "other/adv_binary is there already, and this command hasn't made it",
        "move it away, or choose another --output",
    ),
    (
        lambda: perturbed("clean", "taken"),
        "taken/adv_binary/images/a_page_001.png is there already, and this command hasn't made it",
        "move its folder away, or choose another --output",
    ),
    (
        lambda: perturbed("clean", "blocked"),
        "can't read blocked/adv_binary/images/a_page_001.png: Is a directory",
        "choose another --output",
    ),
    (lambda: perturbed("clean", "file"), "can't write in file/adv_binary: Not a directory", "choose another --output"),
    (lambda: parse("sharpen"), "--perturbation 'sharpen' is unknown", f"it may be {HELP}"),
    (lambda: parse("blurr"), "--perturbation 'blurr' is unknown", f"did you mean blur:RADIUS? it may be {HELP}"),
    (lambda: parse("jpeg:1:2"), "--perturbation 'jpeg:1:2' has too many values", "write jpeg:QUALITY"),
    (
        lambda: parse("noise:gausian"),
        "--perturbation 'noise:gausian': the noise_type is 'gausian'; it must be one of gaussian, salt_and_pepper",
        "did you mean gaussian?",
    ),
    (
        lambda: pdf_pages(Path("bare"), Path("new"), dpi=72, max_pages=None),
        "nothing to draw: bare has no .pdf file",
        "--pdf takes a PDF file, or a folder of them",
    ),
    (
        lambda: pdf_pages(Path("no"), Path("new"), dpi=72, max_pages=None),
        "nothing to draw: no does not exist",
        "--pdf takes a PDF file, or a folder of them",
    ),
    (
        lambda: clean_style(PageFiles.of(Path("clean"))),
        "clean/metadata.json is missing or doesn't say in which style the pages are",
        STYLE,
    ),
    (
        lambda: clean_style(PageFiles.of(Path("styled"))),
        "styled/metadata.json: the style can't be read: Expected `int`, got `str` - at `$.dpi`",
        STYLE,
    ),
    (
        lambda: PageFiles.of(Path("cut")),
        "can't read cut/metadata.json: Expected `object`, got `array`",
        "mend it or take it away",
    ),
    (
        lambda: remove_pages(Path("stuck"), "a", 1, 1),
        "can't remove stuck/a_page_001.png: Is a directory",
        "give another --output",
    ),
    (
        lambda: perturbed("out/adv_binary", "out"),
        "out/adv_binary can't be perturbed into itself",
        "choose another --output",
    ),
    (
        lambda: canvas().draw(Page(1, [], is_last=True), Style(dpi=1_000_000), "chinese"),
        "a page of 8263889 x 11694444 pixels is too large",
        "give a smaller --dpi",
    ),
    (
        lambda: variants(Path("low"), ("upscale:96",), Path("short.json")),
        "--perturbation upscale:96: the clean pages have 72 dpi",
        "give fewer than 72, as in upscale:36",
    ),
    (
        lambda: variants(Path("clean"), ("dpi:50",), None),
        "--perturbation dpi:50 draws the text again",
        "give the text with --data",
    ),
    (
        lambda: contact_sheet([SheetColumn(name="a", files={})] * 99, ["a"] * 99),
        "99 pages in 99 forms make a sheet of 43,180 x 65,972 pixels",
        "choose fewer pages with --page or --limit",
    ),
]


def kept(folder: str) -> Any:
    return read_metadata(Path(folder, "metadata.json"), making(Style()), has_pages=True)


def needles(source: str, output: str, number: int = 2) -> Any:
    return write_needles(Path(source), Path(output), num_secrets=number, seed=1)


def perturbed(source: str, output: str) -> Any:
    given: dict[str, Any] = {"seed": 1, "workers": 1, "advance": lambda _: None}
    return perturb_pages(PageFiles.of(Path(source)), Path(output), (parse("binary"),), **given)


@pytest.fixture
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="latin-1")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize(("made", "said", "hint"), ROWS, ids=[said for _, said, _ in ROWS])
def test_what_can_not_be_is_named_with_the_way_out(made: Callable[[], Any], said: str, hint: str) -> None:
    with pytest.raises((DataError, UsageError, IdentityError, OutputError)) as caught:
        made()
    assert str(caught.value) == said
    assert caught.value.hint == hint
