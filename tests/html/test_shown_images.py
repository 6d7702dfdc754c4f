"""Images of a run are found again by size and digest, and embedded up to a limit."""

import hashlib
import io
import tarfile
from base64 import b64decode
from pathlib import Path

import pytest
from msgspec.structs import replace
from PIL import Image

from tests.html.samples import facts, record, write_run
from vqa_client.html import shown_images
from vqa_client.html.shown_images import (
    EMBEDDED,
    SIDE_PIXELS,
    Embedded,
    EmbeddedImages,
    ImageFiles,
    ServedImages,
    chosen,
    thumbnail,
)
from vqa_client.reports.logged_run import LoggedRun, read_run
from vqa_client.types import SentImage


def embedded(run: LoggedRun, folder: Path, kept: Embedded) -> EmbeddedImages:
    return EmbeddedImages([run], folder, chosen(run.records, kept))


def put(path: Path, colour: str = "red", side: int = 900) -> SentImage:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (side, side // 2), colour).save(path)
    return sent(path)


def sent(path: Path) -> SentImage:
    content = path.read_bytes()
    return SentImage(name=path.name, sha256=hashlib.sha256(content).hexdigest(), size_bytes=len(content))


def run_of(tmp_path: Path, *images: SentImage, folder: str = "pages", right: bool = True) -> LoggedRun:
    run = facts(settings={"images_dir": str(tmp_path / folder)})
    records = [record(n, images=(image,), right=right) for n, image in enumerate(images)]
    return read_run(write_run(tmp_path / "results", records, run=run))


@pytest.mark.parametrize("place", ["pages", "pages/images", "pages/clean/images", "pages/clean", "pages/val2014/deep"])
def test_an_image_is_found_anywhere_below_its_folder(tmp_path: Path, place: str) -> None:
    image = put(tmp_path / place / "a.png")
    assert ImageFiles(run_of(tmp_path, image)).find(image) == tmp_path / place / "a.png"


@pytest.mark.parametrize("place", ["pages/a.tar", "pages/deep/a.tar"])
def test_an_image_inside_a_file_of_any_size_is_found(tmp_path: Path, place: str) -> None:
    image = SentImage(name="a.tar#images/b.png", sha256="0" * 64, size_bytes=7)
    put(tmp_path / "pages/other.png")
    assert ImageFiles(run_of(tmp_path, image)).find(image) is None
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).touch()
    run = run_of(tmp_path, image)
    assert ImageFiles(run).find(image) == Path(f"{tmp_path / place}#images/b.png")
    shown = embedded(run, tmp_path, EMBEDDED["none"])(image)
    assert (shown.href, shown.note) == ("", "a small picture is left out (--html_images)")
    shown = embedded(run, tmp_path, EMBEDDED["thumbs"])(image)
    assert (shown.href, shown.note) == ("", "the file is not where the run found it")


def test_names_below_folders_and_pixels_of_an_image_have_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = [put(tmp_path / folder / "deep" / f"{folder}.png") for folder in ("first", "second")]
    both = facts(settings={"images": [str(tmp_path / "first"), str(tmp_path / "second")]})
    run = read_run(write_run(tmp_path / "results", [record(1, images=tuple(images))], run=both))
    paths = [tmp_path / folder / "deep" / f"{folder}.png" for folder in ("first", "second")]
    assert list(map(ImageFiles(run).find, images)) == paths
    assert all(map(thumbnail, paths))
    monkeypatch.setattr(shown_images, "_MOST_FILES", 0)
    assert list(map(ImageFiles(run).find, images)) == [paths[0], None]
    monkeypatch.setattr(shown_images, "MOST_PIXELS", 900 * 450)
    assert thumbnail(paths[0])
    monkeypatch.setattr(shown_images, "MOST_PIXELS", 900 * 450 - 1)
    assert thumbnail(paths[0]) is None


def test_the_file_that_contains_the_image_is_found_among_files_of_one_name(tmp_path: Path) -> None:
    images = []
    for number, folder in enumerate(("standard", "vision", "gone")):
        put(tmp_path / "one/0.png", side=10 + number)
        image = replace(sent(tmp_path / "one/0.png"), name="test.tar#0.png", size_bytes=7)
        images.append(image)
        if folder != "gone":
            (tmp_path / "pages" / folder).mkdir(parents=True)
            with tarfile.open(tmp_path / "pages" / folder / "test.tar", "w") as tar:
                tar.add(tmp_path / "one/0.png", "0.png")
    files = ImageFiles(run_of(tmp_path, *images))
    found = [str(files.find(image)).removeprefix(f"{tmp_path}/pages/") for image in images]
    assert found[:2] == ["standard/test.tar#0.png", "vision/test.tar#0.png"]
    assert found[2] in found[:2]  # which says that it has changed


@pytest.mark.parametrize("name", ["images_dir", "images", "input", "data_root", "data_dir", "results_dir"])
def test_every_setting_that_names_a_folder_of_images_is_searched(tmp_path: Path, name: str) -> None:
    image = put(tmp_path / "pages/a.png")
    log = write_run(
        tmp_path / "results", [record(1, images=(image,))], run=facts(settings={name: str(tmp_path / "pages")})
    )
    assert ImageFiles(read_run(log)).roots == [tmp_path / "pages"]


def test_the_file_with_the_images_size_is_found_among_files_of_one_name(tmp_path: Path) -> None:
    paths = [tmp_path / f"pages/{folder}/images/a.png" for folder in ("other", "more")]
    images = [put(path, side=side) for path, side in zip(paths, (300, 500), strict=True)]
    assert list(map(ImageFiles(run_of(tmp_path, *images)).find, images)) == paths


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd", "", "nul\x00.png"])
def test_a_name_that_leads_elsewhere_finds_nothing(tmp_path: Path, name: str) -> None:
    image = put(tmp_path / "secret.png")
    (tmp_path / "pages").mkdir()
    strange = SentImage(name=name, sha256=image.sha256, size_bytes=image.size_bytes)
    assert ImageFiles(run_of(tmp_path, image)).find(strange) is None


@pytest.mark.parametrize(
    ("folder", "places", "found"),
    [
        ("clean", ("pages/a.png", "pages/clean/images/a.png"), "pages/clean/images/a.png"),
        ("clean", ("pages/a.png", "pages/clean/a.png"), "pages/clean/a.png"),
        ("../secret", ("secret/a.png",), None),
        ("", ("pages/a.png",), "pages/a.png"),
    ],
)
def test_images_of_a_page_folder_come_first_and_it_can_not_lead_elsewhere(
    tmp_path: Path, folder: str, places: tuple[str, ...], found: str | None
) -> None:
    (tmp_path / "pages").mkdir()
    image, *_ = [put(tmp_path / place) for place in places]
    run = facts(images_dir=str(tmp_path / "pages"))
    run["identity"] |= {"variant": folder}
    log = write_run(tmp_path / "results", [record(1, images=(image,))], run=run)
    assert ImageFiles(read_run(log)).find(image) == (found and tmp_path / found)


def test_a_page_has_a_small_picture_and_a_relative_link(tmp_path: Path) -> None:
    image = put(tmp_path / "pages/a b#.png")
    shown = embedded(run_of(tmp_path, image), tmp_path / "results", EMBEDDED["thumbs"])(image)
    assert (shown.href, shown.note) == ("../pages/a%20b%23.png", "")
    picture = Image.open(io.BytesIO(b64decode(shown.picture.partition(",")[2])))
    assert (picture.format, max(picture.size)) == ("WEBP", SIDE_PIXELS)


def test_pictures_are_made_up_to_the_limit_and_of_wrong_answers_first(tmp_path: Path) -> None:
    images = [put(tmp_path / f"pages/{n}.png", side=200 + n) for n in range(4)]
    records = [record(n, images=(image,), right=n != 2) for n, image in enumerate(images)]
    run = read_run(write_run(tmp_path, records, run=facts(images_dir=str(tmp_path / "pages"))))
    shown = list(map(embedded(run, tmp_path, Embedded(most=2, of_few=40)), images))
    assert [bool(one.picture) for one in shown] == [True, False, True, False]
    assert all(one.href and not one.note for one in shown)
    first, second, third, fourth = images
    few = record(8, images=(first, second, fourth), right=False)
    many = record(9, images=(third, fourth, first, second))
    sides = chosen([few, many], Embedded(most=9, of_many=30, of_few=40))
    assert list(sides.items()) == [(first, 40), (third, 30), (second, 40), (fourth, 40)]


@pytest.mark.parametrize(
    ("kept", "number", "few", "many"), [("thumbs", 30, 360, 220), ("full", 31, 1_400, 1_400), ("none", 0, 0, 0)]
)
def test_each_choice_of_pictures_has_its_number_and_sizes(kept: str, number: int, few: int, many: int) -> None:
    images = [SentImage(name=str(n), sha256="", size_bytes=0) for n in range(31)]
    alone = chosen([record(n, images=(image,)) for n, image in enumerate(images)], EMBEDDED[kept])
    assert (len(alone), set(alone.values())) == (number, {few} if number else set())
    for n, side in ((3, few), (4, many)):
        assert set(chosen([record(images=tuple(images[:n]))], EMBEDDED[kept]).values()) == ({side} if number else set())


def test_a_missing_or_changed_image_has_a_note(tmp_path: Path) -> None:
    gone, changed = put(tmp_path / "pages/gone.png"), put(tmp_path / "pages/changed.png")
    run = run_of(tmp_path, gone, changed)
    (tmp_path / "pages/gone.png").unlink()
    (tmp_path / "pages/changed.png").write_bytes(b"x" * changed.size_bytes)
    show = embedded(run, tmp_path, EMBEDDED["thumbs"])
    assert show(gone).note == "the file is not where the run found it"
    assert (show(changed).note, show(changed).picture) == ("the file has changed since it was sent", "")
    far = SentImage(name="https://a.example/a.png", sha256="", size_bytes=0)
    assert show(far).note == "at https://a.example/a.png, which the page doesn't fetch"


def test_a_file_that_is_not_an_image_has_a_link_and_no_picture(tmp_path: Path) -> None:
    path = tmp_path / "pages/a.png"
    path.parent.mkdir()
    path.write_bytes(b"\x89PNG\r\n\x1a\n broken")
    shown = embedded(run_of(tmp_path, sent(path)), tmp_path, EMBEDDED["full"])(sent(path))
    assert (shown.href, shown.note) == ("pages/a.png", "the file can't be shown")


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "CMYK", "I;16", "RGBA", "F"])
def test_images_of_every_mode_have_a_picture(tmp_path: Path, mode: str) -> None:
    path = tmp_path / ("a.tif" if mode in ("CMYK", "I;16", "F", "LA") else "a.png")
    Image.new(mode, (40, 20)).save(path)
    with Image.open(io.BytesIO(thumbnail(path) or b"")) as small:
        assert (small.mode, small.size) == ("RGBA" if mode == "RGBA" else "RGB", (40, 20))


def test_a_picture_is_turned_as_its_camera_was(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn to the right
    Image.new("RGB", (40, 20)).save(tmp_path / "a.jpg", exif=exif)
    with Image.open(io.BytesIO(thumbnail(tmp_path / "a.jpg") or b"")) as small:
        assert small.size == (20, 40)


def test_a_server_sends_only_files_that_a_record_names(tmp_path: Path) -> None:
    image = put(tmp_path / "pages/a.png")
    put(tmp_path / "pages/other.png")
    served = ServedImages(run_of(tmp_path, image))
    assert [served(image), served(image)] == [served(image)] * 2
    assert served.files == [(tmp_path / "pages/a.png", image)]
    assert served(replace(image, name="gone.png")).note == "the file is not where the run found it"
    earlier = replace(image, sha256="0" * 64)
    assert (served(earlier).href, [of for _, of in served.files]) == ("image/1", [image, earlier])
