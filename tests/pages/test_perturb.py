import errno
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.pages.sheets_of_paper import clean_folder, paper
from vqa_client import files
from vqa_client.errors import DataError, OutputError, UsageError
from vqa_client.pages.page_files import PageFiles, read_page
from vqa_client.pages.perturb import Perturbed, lacking, perturb_pages
from vqa_client.pages.perturbations import parse_all

ALL = ("jpeg:10", "webp:20", "binary", "noise", "noise:salt_and_pepper", "blur", "resample:bilinear:0.5")


def perturb(clean: Path, output: Path, *specs: str, seed: int = 42, workers: int = 1) -> list[Perturbed]:
    heard: list[int] = []
    made = perturb_pages(
        PageFiles.of(clean), output, parse_all(specs), seed=seed, workers=workers, advance=heard.append
    )
    assert sum(heard) == sum(each.pages for each in made)
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_each_perturbation_gets_a_folder_with_a_png_for_every_page(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path, "d1_page_001.png", "d1_page_002.jpg", "d1_page_010.webp")
    made = perturb(clean, tmp_path, *ALL)
    assert [each.folder for each in made] == [each.folder for each in parse_all(ALL)]
    for each in made:
        images = tmp_path / each.folder / "images"
        assert sorted(path.name for path in images.iterdir()) == [f"d1_page_{n}.png" for n in ("001", "002", "010")]
        assert all(path.read_bytes().startswith(b"\x89PNG") for path in images.iterdir())
        assert (each.pages, each.made) == (3, 3)


def test_metadata_names_what_was_done_and_neither_time_nor_place(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path / "longbench")
    (clean / "metadata.json").write_text('{"task": "niah"}')
    perturb(clean, tmp_path / "longbench", "noise:gaussian:0.2")
    folder = tmp_path / "longbench" / "adv_noise_gaussian_0.2"
    about: dict[str, Any] = json.loads((folder / "metadata.json").read_bytes())
    versions = about.pop("versions")
    assert set(versions) == {"perturbations", "pillow", "numpy"}
    assert about == {
        "perturbation_type": "noise",
        "params": {"noise_type": "gaussian", "intensity": 0.2},
        "input_dir": "longbench/clean",
        "output_dir": "longbench/adv_noise_gaussian_0.2",
        "task": "niah",
        "seed": 42,
        "files": 3,
        "input_sha256": digest_of(clean / "images"),
        "output_sha256": digest_of(folder / "images"),
    }


def digest_of(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def test_the_same_seed_gives_the_same_bytes_with_any_number_of_processes(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path, flat=True)
    perturb(clean, tmp_path / "a" / "x", *ALL)
    perturb(clean, tmp_path / "b" / "x", *ALL, workers=2)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_the_seed_and_the_file_name_decide_the_noise(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path, "a.png")
    (clean / "images" / "b.png").write_bytes((clean / "images" / "a.png").read_bytes())
    pages = []
    for seed in (1, 2):
        perturb(clean, tmp_path / str(seed), "noise", "jpeg:10", seed=seed)
        images = tmp_path / str(seed) / "adv_noise" / "images"
        pages += [read_page((images / name).read_bytes(), name).tobytes() for name in ("a.png", "b.png")]
    assert len(set(pages)) == 4
    jpegs = [contents(tmp_path / seed / "adv_jpeg_10" / "images") for seed in ("1", "2")]
    assert jpegs[0] == jpegs[1]


def test_a_second_run_makes_nothing_and_changes_nothing(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path)
    perturb(clean, tmp_path / "out", *ALL)
    before = contents(tmp_path / "out")
    assert [each.made for each in perturb(clean, tmp_path / "out", *ALL)] == [0] * len(ALL)
    assert contents(tmp_path / "out") == before


def test_what_is_missing_cut_or_out_of_date_is_made_again_and_nothing_else(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path, "a.png", "b.png", "c.png", "d.png", "e.png")
    perturb(clean, tmp_path, "jpeg:10")
    images = tmp_path / "adv_jpeg_10" / "images"
    before = contents(images)
    (images / "a.png").unlink()
    (images / "b.png").write_bytes(before["b.png"][:-9])
    (images / "c.png").write_bytes(b"")
    (images / ".0123456789abcdef.tmp").write_bytes(b"left by a killed process")
    paper("changed meanwhile").save(clean / "images" / "d.png")
    assert lacking(PageFiles.of(clean), tmp_path / "adv_jpeg_10") == 1
    (made,) = perturb(clean, tmp_path, "jpeg:10")
    after = contents(images)
    assert made.made == 4
    assert {name for name in before if before[name] != after[name]} == {"d.png"}


def test_another_seed_makes_the_noise_again(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path)
    perturb(clean, tmp_path, "noise", "blur")
    assert [each.made for each in perturb(clean, tmp_path, "noise", "blur", seed=1)] == [3, 0]


def test_a_stopped_run_leaves_no_metadata_and_goes_on_where_it_was(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path)

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        perturb_pages(PageFiles.of(clean), tmp_path, parse_all(("blur",)), seed=0, workers=1, advance=stop)
    assert not (tmp_path / "adv_blur" / "metadata.json").exists()
    (made,) = perturb(clean, tmp_path, "blur", seed=0)
    assert made.made == 2


def test_pages_that_something_else_made_are_never_overwritten(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path)
    images = tmp_path / "adv_blur" / "images"
    images.mkdir(parents=True)
    paper().save(images / "d1_page_001.png")
    before = contents(tmp_path)
    with pytest.raises(UsageError, match=r"d1_page_001\.png is there already"):
        perturb(clean, tmp_path, "blur")
    (images / "d1_page_001.png").unlink()
    (tmp_path / "adv_blur" / "metadata.json").write_text('{"perturbation_type": "blur"}')
    with pytest.raises(UsageError, match="adv_blur is there already"):
        perturb(clean, tmp_path, "blur")
    assert set(before) - set(contents(tmp_path)) == {"adv_blur/images/d1_page_001.png"}


def test_pages_that_the_clean_folder_lacks_are_named(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path)
    perturb(clean, tmp_path, "blur")
    (clean / "images" / "d1_page_002.png").unlink()
    with pytest.raises(UsageError, match=r"contains 1 image that clean hasn't, d1_page_002\.png"):
        perturb(clean, tmp_path, "blur")


def test_two_pages_that_would_become_one_are_named(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path, "a.png", "a.jpg")
    with pytest.raises(DataError, match=r"a\.jpg and a\.png would become one page"):
        perturb(clean, tmp_path, "blur")


def test_a_folder_is_never_perturbed_into_itself(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path).rename(tmp_path / "adv_blur")
    with pytest.raises(UsageError, match="into itself"):
        perturb(clean, tmp_path, "blur")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_damaged_page_is_named(workers: int, tmp_path: Path) -> None:
    clean = clean_folder(tmp_path)
    path = clean / "images" / "d1_page_002.png"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError, match=r"d1_page_002\.png"):
        perturb(clean, tmp_path, "blur", workers=workers)


def test_a_page_too_large_for_webp_is_named_with_its_size(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path, "a.png")
    Image.new("L", (17_000, 2), 255).save(clean / "images" / "a.png")
    with pytest.raises(DataError, match=r"a\.png: webp:20 can't be made of 17000x2 pixels"):
        perturb(clean, tmp_path, "webp:20")


def test_a_full_disk_is_an_error_and_leaves_no_partial_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clean = clean_folder(tmp_path)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        perturb(clean, tmp_path / "out", "blur")
    assert contents(tmp_path / "out") == {}


@pytest.fixture
def closed_folder(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write anywhere")
    yield folder
    folder.chmod(0o700)


def test_a_folder_that_cant_be_written_is_named(closed_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="closed"):
        perturb(clean_folder(tmp_path), closed_folder, "blur")


def test_an_output_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(OutputError, match="out"):
        perturb(clean_folder(tmp_path), tmp_path / "out", "blur")


@pytest.mark.parametrize("where", ["nowhere", "empty"])
def test_a_folder_without_images_is_named(where: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=where):
        perturb(tmp_path / where, tmp_path, "blur")
