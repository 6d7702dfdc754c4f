import hashlib
import os
from pathlib import Path

import msgspec
import pytest
from PIL import Image

from tests.pages.typefaces import SMALL, images, metadata, render
from vqa_client import files
from vqa_client.errors import DataError, IdentityError, OutputError, UsageError
from vqa_client.images.find import PageIndex
from vqa_client.pages import fonts, layout
from vqa_client.pages import render as rendering
from vqa_client.pages.documents import Document
from vqa_client.pages.page_files import page_name
from vqa_client.pages.render import PageStep, render_documents

LONG = "\n".join(f"line {number}" for number in range(23))  # five pages of five lines
TEXTS = {"d1": LONG, "d2": "one line", "d3": LONG + "\nmore"}


def made(output: Path) -> set[str]:
    """The pages that are new since `settle`."""
    return {path.name for path in (output / "images").iterdir() if path.stat().st_mtime > 1}


def settle(output: Path) -> None:
    for path in (output / "images").iterdir():
        os.utime(path, (1, 1))


def test_pages_are_found_by_the_id_of_their_document_in_reading_order(tmp_path: Path) -> None:
    rendered = render(tmp_path, TEXTS)
    assert (rendered.documents, rendered.pages, rendered.pages_made) == (3, 11, 11)
    assert rendered.size_bytes == sum(map(len, images(tmp_path).values()))
    index = PageIndex(tmp_path / "images")
    assert [Path(path).name for path in index.pages("d1")] == [f"d1_page_00{number}.png" for number in range(1, 6)]
    assert [page_name("d", number) for number in (7, 70, 1234)] == [
        "d_page_007.png",
        "d_page_070.png",
        "d_page_1234.png",
    ]


def test_a_page_is_a_grey_png_that_names_its_resolution(tmp_path: Path) -> None:
    render(tmp_path, TEXTS)
    with Image.open(tmp_path / "images" / "d1_page_001.png") as page:
        assert (page.format, page.mode, page.height) == ("PNG", "L", 92)
        assert round(page.info["dpi"][0]) == SMALL.dpi
        darkest, lightest = page.getextrema()
        assert (darkest < 64, lightest) == (True, 255)
    with Image.open(tmp_path / "images" / "d1_page_005.png") as last:
        assert last.height < 92


def test_the_same_documents_give_the_same_bytes_however_many_processes(tmp_path: Path) -> None:
    render(tmp_path / "a", TEXTS)
    render(tmp_path / "b", TEXTS, workers=2)
    assert images(tmp_path / "a") == images(tmp_path / "b")
    assert (tmp_path / "a/metadata.json").read_bytes() == (tmp_path / "b/metadata.json").read_bytes()


def test_the_metadata_say_how_and_of_what_the_pages_were_made(tmp_path: Path) -> None:
    render(tmp_path, {"d": "a \U000f0000\u00ad"})
    said = metadata(tmp_path)
    assert said["complete"] is True
    assert (said["missing"], said["removed"]) == ({"\U000f0000": 1}, {"\u00ad": 1})
    assert msgspec.convert(said["style"], type(SMALL)) == SMALL
    assert len(said["fonts"]["Noto Sans"]) == 64
    assert {"pypdfium2", "uharfbuzz", "pillow", "pymupdf-fonts", "renderer"} <= said["versions"].keys()
    assert "vqa-client" not in said["versions"]
    (document,) = said["documents"]
    assert document["text_sha256"] == hashlib.sha256("a \U000f0000\u00ad".encode()).hexdigest()
    assert (document["id"], document["pages"]) == ("d", 1)


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    render(tmp_path, TEXTS)
    settle(tmp_path)
    before = (tmp_path / "metadata.json").read_bytes()
    assert render(tmp_path, TEXTS).pages_made == 0
    assert made(tmp_path) == set()
    assert (tmp_path / "metadata.json").read_bytes() == before


def test_a_lost_and_a_half_written_page_are_made_again_and_no_other(tmp_path: Path) -> None:
    render(tmp_path, TEXTS)
    before = images(tmp_path)
    settle(tmp_path)
    lost, half = tmp_path / "images/d1_page_002.png", tmp_path / "images/d3_page_005.png"
    lost.unlink()
    half.write_bytes(half.read_bytes()[:-20])
    assert render(tmp_path, TEXTS).pages_made == 2
    assert made(tmp_path) == {lost.name, half.name}
    assert images(tmp_path) == before


def test_pages_are_known_by_what_is_in_them_when_the_metadata_are_behind(tmp_path: Path) -> None:
    render(tmp_path, TEXTS)
    whole = (tmp_path / "metadata.json").read_bytes()
    said = metadata(tmp_path)
    said["documents"] = []
    (tmp_path / "metadata.json").write_bytes(msgspec.json.encode(said))  # as after a kill before the end
    assert render(tmp_path, TEXTS).pages_made == 0
    assert (tmp_path / "metadata.json").read_bytes() == whole


def test_a_changed_text_is_drawn_anew_and_its_surplus_pages_go(tmp_path: Path) -> None:
    render(tmp_path, TEXTS)
    settle(tmp_path)
    rendered = render(tmp_path, TEXTS | {"d1": "shorter now"})
    assert rendered.pages_made == 1
    assert sorted(name for name in images(tmp_path) if name.startswith("d1")) == ["d1_page_001.png"]


def test_other_documents_may_join_those_of_an_earlier_run(tmp_path: Path) -> None:
    render(tmp_path, {"d1": LONG})
    rendered = render(tmp_path, {"d2": "two"})
    assert (rendered.documents, rendered.pages) == (1, 1)
    assert [document["id"] for document in metadata(tmp_path)["documents"]] == ["d2", "d1"]
    assert metadata(tmp_path)["pages"] == 6


def test_pages_of_another_style_are_refused_and_left_alone(tmp_path: Path) -> None:
    render(tmp_path, TEXTS)
    before = images(tmp_path)
    with pytest.raises(IdentityError, match="dpi 72, now 100") as caught:
        render(tmp_path, TEXTS, msgspec.structs.replace(SMALL, dpi=100))
    assert "--output" in caught.value.hint
    assert images(tmp_path) == before


def test_pages_that_nothing_says_how_they_were_made_are_refused(tmp_path: Path) -> None:
    render(tmp_path, TEXTS)
    (tmp_path / "metadata.json").unlink()
    with pytest.raises(IdentityError, match=r"no metadata\.json"):
        render(tmp_path, TEXTS)
    (tmp_path / "metadata.json").write_text('{"params": {"dpi": 88}}')
    with pytest.raises(IdentityError, match="not written by this command"):
        render(tmp_path, TEXTS)


def test_pages_of_other_versions_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    render(tmp_path, TEXTS)
    monkeypatch.setattr("vqa_client.pages.metadata.RENDERER", 1_000)
    assert render(tmp_path, TEXTS).pages_made == 11


def test_a_font_that_a_text_doesnt_need_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"d1": "Latin", "d2": "中文"}
    render(tmp_path, texts)
    before = images(tmp_path)
    settle(tmp_path)
    assert [len(document["fonts"]) for document in metadata(tmp_path)["documents"]] == [1, 1]
    monkeypatch.setattr("vqa_client.pages.fonts._cjk", lambda _: ())  # as without the extra `cjk`
    fonts.chain.cache_clear()
    layout.typesetter.cache_clear()
    try:
        assert render(tmp_path, texts).missing == {"中": 1, "文": 1}
    finally:
        fonts.chain.cache_clear()
        layout.typesetter.cache_clear()
    assert made(tmp_path) == {"d2_page_001.png"}
    assert images(tmp_path)["d1_page_001.png"] == before["d1_page_001.png"]


def test_a_long_document_is_heard_of_before_it_ends(tmp_path: Path) -> None:
    heard: list[PageStep] = []
    render_documents([Document(id="d", text=LONG)], tmp_path, SMALL, workers=1, advance=heard.append)
    assert [(step.documents, step.pages) for step in heard] == [(0, 4), (1, 1)]
    assert heard[0].characters == pytest.approx(len(LONG) * 20 / 23, rel=0.1)


def test_an_interrupted_run_goes_on_to_the_same_end(tmp_path: Path) -> None:
    render(tmp_path / "whole", TEXTS)

    def interrupt(step: PageStep) -> None:
        if step.documents:
            raise KeyboardInterrupt

    documents = [Document(id=name, text=text) for name, text in TEXTS.items()]
    with pytest.raises(KeyboardInterrupt):
        render_documents(documents, tmp_path / "cut", SMALL, workers=1, advance=interrupt)
    assert metadata(tmp_path / "cut")["complete"] is False
    assert 0 < len(images(tmp_path / "cut")) < 11
    assert 0 < render(tmp_path / "cut", TEXTS).pages_made < 11
    assert images(tmp_path / "cut") == images(tmp_path / "whole")
    assert metadata(tmp_path / "cut") == metadata(tmp_path / "whole")


def test_no_page_gets_its_name_before_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    render(tmp_path, {"d2": "one line"})
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        render(tmp_path, TEXTS)
    assert set(images(tmp_path)) == {"d2_page_001.png"}


def test_the_unfinished_files_of_a_killed_run_go(tmp_path: Path) -> None:
    render(tmp_path, TEXTS)
    left, other = tmp_path / "images" / f".vqa-client-{files._HOST}-{'0' * 16}.tmp", tmp_path / "images" / ".mine.tmp"
    for path in (left, other):
        path.write_text("half")
    render(tmp_path, TEXTS)
    assert [path.exists() for path in (left, other)] == [False, True]


def test_a_folder_that_cant_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="file"):
        render(tmp_path / "file" / "pages", TEXTS)


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\u00ad"])
def test_a_document_with_nothing_to_see_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"document 'd'|^d:"):
        render(tmp_path, {"d": text})
    assert not (tmp_path / "images").exists()


def test_max_pages_is_counted_by_document(tmp_path: Path) -> None:
    rendered = render(tmp_path, TEXTS, msgspec.structs.replace(SMALL, max_pages=2))
    assert (rendered.pages, rendered.cut_documents) == (5, 2)
    assert [document["cut"] for document in metadata(tmp_path)["documents"]] == [True, False, True]


def test_every_line_box_holds_its_line(tmp_path: Path) -> None:
    documents = [Document(id="d", text="jumping Quickly\n\nשלום\n" + LONG)]
    for _ in range(2):  # the second time the pages are there already
        render_documents(documents, tmp_path, SMALL, workers=1, advance=lambda _: None, line_bbox=True)
        rows = [msgspec.json.decode(line) for line in (tmp_path / "line_bbox.jsonl").read_bytes().splitlines()]
        assert [row["text"] for row in rows[:3]] == ["jumping Quickly", "שלום", "line 0"]
        assert {row["page"] for row in rows} == set(images(tmp_path))
    for row in rows:
        with Image.open(tmp_path / "images" / row["page"]) as page:
            left, top, right, bottom = row["bbox"]
            assert 0 <= left < right <= page.width
            assert 0 <= top < bottom
            assert page.crop((left, top, right, bottom)).getextrema()[0] < 128
            assert page.crop((right + 2, top + 4, page.width, bottom - 4)).getextrema()[0] > 250


def test_a_font_of_ones_own_is_used_and_another_one_is_another_style(tmp_path: Path) -> None:
    import pymupdf_fonts

    mono = tmp_path / "mono.otf"
    mono.write_bytes(pymupdf_fonts.myfont("fimo"))
    render(tmp_path / "plain", {"d": "iiii mmmm שלום"})
    render(tmp_path / "mono", {"d": "iiii mmmm שלום"}, msgspec.structs.replace(SMALL, font=str(mono)))
    assert images(tmp_path / "plain") != images(tmp_path / "mono")
    assert next(iter(metadata(tmp_path / "mono")["fonts"])) == "mono.otf"
    assert metadata(tmp_path / "mono")["missing"] == {}
    with pytest.raises(UsageError, match="not a font with Latin letters"):
        render(tmp_path / "x", {"d": "a"}, msgspec.structs.replace(SMALL, font=__file__))


def test_memory_holds_few_pages_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = 0
    most = 0

    def counted(chunk):
        nonlocal waiting
        waiting -= len(chunk.pages)
        return draw(chunk)

    def handed_on(self, *arguments):
        nonlocal waiting, most
        chunk = hand_on(self, *arguments)
        waiting += len(chunk.pages)
        most = max(most, waiting)
        return chunk

    draw, hand_on = rendering.draw_chunk, rendering._Run._chunk
    monkeypatch.setattr(rendering, "draw_chunk", counted)
    monkeypatch.setattr(rendering._Run, "_chunk", handed_on)
    render(tmp_path, {"d": LONG * 3})
    assert 0 < most <= 4
