import json
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.documents import mc_record
from vqa_client.errors import DataError, UsageError
from vqa_client.pages.documents import shown
from vqa_client.pages.layout import Style
from vqa_client.pages.metadata import Making
from vqa_client.pages.page_files import PageFiles, read_page
from vqa_client.pages.perturb import changed, low_folder, perturb_pages, rerender, variants
from vqa_client.pages.perturbations import parse

STYLE = Style(dpi=96, page_width_pt=200, page_height_pt=120)


def test_pages_are_known_by_all_that_decides_their_pixels() -> None:
    made = Making(style=Style(font="a folder/one.ttf"), versions={"pillow": "11"})
    assert made.sha256({"one.ttf": "ab"}) == "bc2e7231f3a25042f094e448d41133d5caac7aed393c5492b04c9b572e635dea"


def nothing(_: object) -> None:
    pass


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.json"
    path.write_text(json.dumps([mc_record("d1"), mc_record("d2", context="Another text. " * 9), mc_record("d3")]))
    return path


@pytest.fixture
def clean(tmp_path: Path, data: Path) -> Path:
    """Two of the three documents, rendered."""
    pytest.importorskip("pypdfium2")
    from vqa_client.pages.documents import read_documents
    from vqa_client.pages.render import render_documents

    documents = [document for document in read_documents(data) if document.id != "d3"]
    about = {"perturbation_type": "clean", "task": "longbench"}
    render_documents(documents, tmp_path / "clean", STYLE, workers=1, advance=nothing, about=about)
    return tmp_path / "clean"


def size(path: Path) -> tuple[int, int]:
    return read_page(path.read_bytes(), path.name).size


def test_one_thing_changes_in_the_style() -> None:
    assert changed(STYLE, parse("dpi:56")) == Style(dpi=56, page_width_pt=200, page_height_pt=120)
    smaller = changed(STYLE, parse("fontsize:7"))
    assert (smaller.font_size_pt, smaller.line_height_pt, smaller.dpi) == (7, 8, 96)


def test_the_documents_of_the_clean_pages_are_drawn_at_another_resolution(clean: Path, data: Path) -> None:
    source = PageFiles.of(clean)
    documents = shown(data, source.path)
    made = rerender(source, documents, clean.parent, parse("dpi:48"), workers=1, advance=nothing)
    folder = clean.parent / "adv_dpi_48"
    assert {path.name[:2] for path in (folder / "images").iterdir()} == {"d1", "d2"}
    assert (made.folder, made.pages) == ("adv_dpi_48", len(source.names))
    width, height = size(clean / "images" / "d2_page_001.png")
    assert size(folder / "images" / "d2_page_001.png") == pytest.approx((width / 2, height / 2), abs=3)
    about: dict[str, Any] = json.loads((folder / "metadata.json").read_bytes())
    assert [about[key] for key in ("perturbation_type", "params", "task")] == ["dpi", {"dpi": 48}, "longbench"]
    assert about["input_dir"] == f"{clean.parent.name}/clean"


def test_upscaling_draws_few_dots_and_enlarges_them_to_the_clean_size(clean: Path, data: Path) -> None:
    wanted = variants(clean, ("upscale:24", "blur"), data)
    assert wanted.folders == ("adv_dpi_24", "adv_blur", "adv_upscale_24")
    assert wanted.documents is not None
    output = clean.parent
    rerender(wanted.clean, wanted.documents, output, wanted.drawn[0], workers=1, advance=nothing)
    low = PageFiles.of(output / low_folder(wanted.enlarged[0]))
    perturb_pages(low, output, wanted.enlarged, seed=0, workers=1, advance=nothing)
    name = "d2_page_001.png"
    width, height = size(low.path / name)
    assert size(output / "adv_upscale_24" / "images" / name) == (4 * width, 4 * height)
    about: dict[str, Any] = json.loads((output / "adv_upscale_24" / "metadata.json").read_bytes())
    assert about["params"] == {"dpi": 24, "to_dpi": 96, "method": "bilinear"}
    assert about["input_dir"] == f"{output.name}/adv_dpi_24"


def test_drawing_anew_needs_the_text(clean: Path) -> None:
    with pytest.raises(UsageError, match="dpi:56 draws the text again"):
        variants(clean, ("blur", "dpi:56"), None)


def test_enlarging_needs_a_lower_resolution(clean: Path, data: Path) -> None:
    with pytest.raises(UsageError, match="the clean pages have 96 dpi"):
        variants(clean, ("upscale:96",), data)


def test_a_text_that_the_clean_pages_dont_show_is_refused(clean: Path, data: Path) -> None:
    data.write_text(json.dumps([mc_record("d1", context="Quite another text.")]))
    source = PageFiles.of(clean)
    with pytest.raises(DataError, match=r"^.*: the pages of 'd1' show another text$") as caught:
        rerender(source, shown(data, source.path), clean.parent, parse("dpi:48"), workers=1, advance=nothing)
    hint = "give the data file that the clean pages were rendered from, or render them again"
    assert caught.value.hint == hint


@pytest.mark.parametrize("metadata", ["{}", '{"style": {"dpi": "many"}}', None])
def test_a_clean_folder_that_doesnt_say_its_style_is_named(metadata: str | None, clean: Path, data: Path) -> None:
    (clean / "metadata.json").unlink()
    if metadata:
        (clean / "metadata.json").write_text(metadata)
    source = PageFiles.of(clean)
    with pytest.raises(DataError, match=r"metadata\.json.*style"):
        rerender(source, shown(data, source.path), clean.parent, parse("dpi:48"), workers=1, advance=nothing)


def test_metadata_that_is_no_json_is_named(clean: Path) -> None:
    (clean / "metadata.json").write_text("{")
    with pytest.raises(DataError, match=r"can't read .*metadata\.json"):
        PageFiles.of(clean)


def test_a_data_file_of_other_documents_is_refused(clean: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(json.dumps([mc_record("x1"), mc_record("d1", context=" ")]))
    with pytest.raises(DataError, match="no page of any document"):
        shown(other, clean / "images")
