import os
import unicodedata
from pathlib import Path

import pytest

from vqa_client.errors import DataError
from vqa_client.files import natural_key
from vqa_client.images.find import PageIndex, page_folders, pages_of


def folder_with(root: Path, *names: str) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for name in names:
        (root / name).write_bytes(b"x")
    return root


def names(index: PageIndex, document_id: str) -> list[str]:
    return [os.path.basename(path) for path in index.pages(document_id)]


@pytest.mark.parametrize(
    "form",
    [
        "abc_page_{}.png",
        "abc_page{}.JPG",
        "abc-p{}.jpg",
        "abc_pg_{}.webp",
        "abc_{}.png",
        "abc-{}.PNG",
        "abc_p-001-{}.jpeg",
    ],
)
def test_page_ten_comes_behind_page_two(tmp_path: Path, form: str) -> None:
    expected = [form.format(page) for page in range(1, 13)]
    index = PageIndex(folder_with(tmp_path, *reversed(expected)))
    assert names(index, "abc") == expected
    assert index.count == 12


def test_pages_beyond_the_width_of_their_zeros_stay_in_order(tmp_path: Path) -> None:
    expected = [f"abc_page_{page:03}.png" for page in (1, 2, 999, 1000, 1001)]
    assert names(PageIndex(folder_with(tmp_path, *expected)), "abc") == expected


def test_files_of_these_endings_are_pages(tmp_path: Path) -> None:
    endings = "png jpg jpeg jpe jfif webp gif bmp tif tiff mpo avif heic heif jp2 jxl ppm pgm pbm qoi"
    files = [f"a_{at}.{ending}" for at, ending in enumerate(f"{endings} txt pngx".split())]
    found = names(PageIndex(folder_with(tmp_path, *files)), "a")
    assert " ".join(name.rpartition(".")[2] for name in found) == endings


def test_a_document_of_one_page_needs_no_number(tmp_path: Path) -> None:
    index = PageIndex(folder_with(tmp_path, "abc.png", "abcd.png", "COCO_val2014_000000000139.jpg"))
    assert names(index, "abc") == ["abc.png"]
    assert names(index, "COCO_val2014_000000000139") == ["COCO_val2014_000000000139.jpg"]


IDS = [
    *(
        "abc",
        "abc1",
        "abcd",
        "66",
        "66f",
        "6",
        "abc_1",
        "abc-1",
        "a_page_1",
        "a_page",
        "a",
        "page",
        "p_2024",
        "x_p_1_2",
    ),
    *(
        "v1",
        "v1.5",
        "v1.5.0",
        "a+b",
        "a(1)",
        "[a-z]",
        "x.*",
        "a b",
        "^a$",
        "é",
        "日本語",
        "naïve_page_2",
        "A",
        "ABC",
    ),
]


@pytest.mark.parametrize("form", ["{}_page_{:03}.png", "{}_page_{}.jpg", "{}-p{}.png"])
@pytest.mark.parametrize("document_id", IDS)
def test_an_id_gets_its_own_pages_and_no_others(tmp_path: Path, form: str, document_id: str) -> None:
    folder_with(tmp_path, *(form.format(other, page) for other in IDS for page in (1, 2, 10)))
    assert names(PageIndex(tmp_path), document_id) == [form.format(document_id, page) for page in (1, 2, 10)]


@pytest.mark.parametrize("document_id", [one for one in IDS if one not in ("a", "abc")])
def test_an_id_gets_its_own_numbers_and_no_others(tmp_path: Path, document_id: str) -> None:
    others = [one for one in IDS if one not in ("a_page", "p_2024", "x_p_1_2")]
    folder_with(tmp_path, *(f"{other}_{page}.png" for other in (*others, document_id) for page in (1, 2, 10)))
    assert names(PageIndex(tmp_path), document_id) == [f"{document_id}_{page}.png" for page in (1, 2, 10)]


@pytest.mark.parametrize("document_id", IDS)
def test_an_id_gets_its_own_single_page(tmp_path: Path, document_id: str) -> None:
    folder_with(tmp_path, f"{document_id}.png", f"{document_id}x.png", f"x{document_id}.png")
    assert names(PageIndex(tmp_path), document_id) == [f"{document_id}.png"]


def test_page_numbers_win_over_a_file_of_the_bare_id(tmp_path: Path) -> None:
    index = PageIndex(folder_with(tmp_path, "abc.png", "abc_page_2.png", "abc_page_1.png", "abc_1.png"))
    assert names(index, "abc") == ["abc_page_1.png", "abc_page_2.png"]


def test_accents_are_the_same_in_one_letter_or_two(tmp_path: Path) -> None:
    apart = unicodedata.normalize("NFD", "café_page_1.png")
    alone = unicodedata.normalize("NFD", "thé.png")
    index = PageIndex(folder_with(tmp_path, apart, alone))
    assert names(index, unicodedata.normalize("NFC", "café")) == [apart]
    assert names(index, unicodedata.normalize("NFC", "thé")) == [alone]


@pytest.mark.parametrize(
    "pair", [("abc_page_1.png", "abc_page_1.jpg"), ("abc_1.png", "abc_01.png"), ("abc.png", "abc.JPG")]
)
def test_two_files_for_one_page_are_an_error(tmp_path: Path, pair: tuple[str, str]) -> None:
    with pytest.raises(DataError) as caught:
        PageIndex(folder_with(tmp_path, *pair)).pages("abc")
    first, second = sorted(pair)
    assert str(caught.value) == f"{tmp_path}: {first} and {second} are the same page of 'abc'"
    assert caught.value.hint == "move one of them out of the folder"


def test_hidden_and_temporary_files_are_no_pages_and_a_page_that_is_no_file_stays_one(tmp_path: Path) -> None:
    folder_with(tmp_path, "a_page_1.png", "._a_page_1.png", ".DS_Store", "Thumbs.db", "~a_page_2.png", "a_page_3.png~")
    folder_with(tmp_path, "a_page_4.txt", "a_page_5", "a_page_6.png.part")
    (tmp_path / "a_page_7.png").mkdir()
    (tmp_path / "a_page_8.png").symlink_to(tmp_path / "nothing")
    (tmp_path / "a_page_9.png").symlink_to(tmp_path / "a_page_1.png")
    index = PageIndex(tmp_path)
    assert names(index, "a") == [f"a_page_{page}.png" for page in (1, 7, 8, 9)]
    assert index.count == 4


@pytest.mark.parametrize("document_id", ["../x", "..", ".", "", "/", "sub/a", "a_page_1.png", "*", "a*", "A", "a\0"])
def test_an_id_that_is_no_file_name_finds_nothing(tmp_path: Path, document_id: str) -> None:
    folder_with(tmp_path / "pages" / "sub", "a_page_1.png")
    folder_with(tmp_path, "x_page_1.png", "x.png")
    assert PageIndex(folder_with(tmp_path / "pages", "a_page_1.png")).pages(document_id) == ()


def test_paths_begin_with_the_folder_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_with(tmp_path / "images", "a_1.png")
    monkeypatch.chdir(tmp_path)
    assert PageIndex(Path("images")).pages("a") == (os.path.join("images", "a_1.png"),)


def test_thousands_of_names_are_indexed(tmp_path: Path) -> None:
    for document in range(200):
        for page in range(1, 11):
            os.close(os.open(tmp_path / f"{document:024x}_page_{page:03}.png", os.O_CREAT))
    index = PageIndex(tmp_path)
    for document in range(200):
        assert len(index.pages(f"{document:024x}")) == 10
    assert index.count == 2_000


def test_many_single_pages_with_one_beginning_are_told_apart(tmp_path: Path) -> None:
    for page in range(1_000):
        os.close(os.open(tmp_path / f"img_p_{page}.png", os.O_CREAT))
    index = PageIndex(tmp_path)
    assert all(names(index, f"img_p_{page}") == [f"img_p_{page}.png"] for page in range(1_000))


def test_a_folder_that_is_not_there_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere does not exist") as caught:
        PageIndex(tmp_path / "nowhere")
    assert caught.value.hint == "give the folder with the page images"
    with pytest.raises(DataError, match="nowhere"):
        page_folders(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"a\.png"):
        page_folders(folder_with(tmp_path, "a.png") / "a.png")


def found(root: Path) -> list[tuple[str, str]]:
    return [(folder.name, str(folder.path)) for folder in page_folders(root)]


def test_a_folder_of_images_is_itself_the_page_folder(tmp_path: Path) -> None:
    root = folder_with(tmp_path / "clean", "a_1.png")
    assert found(root) == [("clean", str(root))]


def test_a_folder_called_images_goes_by_its_parents_name(tmp_path: Path) -> None:
    inner = folder_with(tmp_path / "adv_dpi_96" / "images", "a_1.png")
    assert found(inner) == found(inner.parent) == [("adv_dpi_96", str(inner))]


def test_every_variant_is_found_in_natural_order(tmp_path: Path) -> None:
    for name in ("adv_dpi_96/images", "adv_dpi_72", "adv_dpi_200/images", "empty/images", ".hidden", "deep/a/images"):
        folder_with(tmp_path / name)
    for name in ("adv_dpi_96/images", "adv_dpi_72", "adv_dpi_200/images", ".hidden", "deep/a/images"):
        folder_with(tmp_path / name, "a_1.png")
    folder_with(tmp_path, "metadata.json", "._a.png")
    expected = ["adv_dpi_72", "adv_dpi_96/images", "adv_dpi_200/images"]
    assert found(tmp_path) == [(name.split("/")[0], str(tmp_path / name)) for name in expected]


def test_no_two_page_folders_have_the_same_name(tmp_path: Path) -> None:
    root = tmp_path / "x"
    for name in ("", "images", "x", "x_images"):
        folder_with(root / name, "a_1.png")
    assert [name for name, _ in found(root)] == ["x", "x_images", "x_x", "x_images_x_images"]


def test_the_current_folder_has_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder_with(tmp_path / "here", "a_1.png"))
    assert [name for name, _ in found(Path())] == ["here"]


def test_a_folder_without_images_is_an_error_that_names_it(tmp_path: Path) -> None:
    folder_with(tmp_path / "images", "notes.txt")
    with pytest.raises(DataError) as caught:
        page_folders(tmp_path)
    assert str(caught.value) == f"{tmp_path}: no image in it, in its `images` folder or in its folders"
    assert caught.value.hint == "give the folder with images/ID_page_001.png, or a folder of such folders"


def test_natural_order_heeds_numbers_before_case_and_zeros() -> None:
    texts = ["b", "a10", "A2", "a1", "a01", "", "10", "9"]
    assert sorted(texts, key=natural_key) == ["", "9", "10", "a01", "a1", "A2", "a10", "b"]


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        (("a_page_001.png", "a_page_003.png", "a_page_006.png"), (2, 4, 5)),
        (("a_page_2.png", "a_page_3.png"), (1,)),
        (("a_page_0.png", "a_page_1.png"), ()),
        (("a_page_1.png", "a_page_2.png"), ()),
        (("a.png",), ()),
        (("a_p-001-1.png", "a_p-001-3.png"), ()),
    ],
)
def test_a_gap_between_pages_is_named(tmp_path: Path, files: tuple[str, ...], missing: tuple[int, ...]) -> None:
    index = PageIndex(folder_with(tmp_path, *files))
    assert len(index.pages("a")) == len(files)
    assert index.missing == ({"a": missing} if missing else {})


def test_a_link_that_leads_round_to_itself_is_no_folder(tmp_path: Path) -> None:
    folder_with(tmp_path / "clean", "a_page_1.png")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert [folder.name for folder in page_folders(tmp_path)] == ["clean"]


@pytest.mark.parametrize(
    ("layout", "pages"),
    [
        (["documents/a/10.png", "documents/a/9.png"], ["documents/a/9.png", "documents/a/10.png"]),
        (
            ["documents/a_page_002.png", "documents/a_page_001.png"],
            ["documents/a_page_001.png", "documents/a_page_002.png"],
        ),
        (["documents/images/a_page_001.png", "documents/b.pdf"], ["documents/images/a_page_001.png"]),
        (["images/a_page_001.png"], ["images/a_page_001.png"]),
        (["a_2.jpg", "a_1.jpg", "ab_1.jpg"], ["a_1.jpg", "a_2.jpg"]),
        (["a/1.png"], ["a/1.png"]),
        (["documents/a.pdf"], ["documents/a.pdf"]),
        (["documents/a/notes.txt"], ["documents/a.pdf"]),
    ],
)
def test_the_pages_of_a_document_are_in_a_folder_of_its_name_or_beside_it(
    tmp_path: Path, layout: list[str], pages: list[str]
) -> None:
    for name in layout:
        folder_with((tmp_path / name).parent, Path(name).name)
    assert pages_of(str(tmp_path / "documents" / "a.pdf")) == tuple(str(tmp_path / page) for page in pages)
