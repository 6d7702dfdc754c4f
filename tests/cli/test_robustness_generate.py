"""`vqa-client robustness generate`: corrupted copies of a folder, also after faults and interruptions."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import vqa_client.files
from tests import forked
from tests.images.corruptions.drawings import corrupted_png, drawn
from vqa_client.cli.main import run_command

REMOVE = "give another --output, or remove that folder"


def generate(images: Path, output: Path, *words: str) -> int:
    return run_command(["robustness", "generate", "--images", str(images), "--output", str(output), *words])


def files(output: Path) -> dict[str, bytes]:
    return {str(path.relative_to(output)): path.read_bytes() for path in output.rglob("*") if path.is_file()}


def pictures(output: Path) -> dict[str, bytes]:
    return {name: data for name, data in files(output).items() if name != "metadata.json"}


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    (folder / "val").mkdir(parents=True)
    Image.fromarray(drawn(48, 32)).save(folder / "COCO_val2014_000000000139.jpg")
    Image.fromarray(drawn(32, 48)).save(folder / "val" / "page 2.png")
    (folder / "notes.txt").write_text("no image")
    (folder / ".hidden.png").write_bytes(b"")
    shutil.copytree(folder / "val", folder / ".hidden")
    return folder


def test_every_image_is_made_under_every_corruption_and_level(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    assert generate(images, output, "--seed", "5", "--workers", "1") == 0
    made = pictures(output)
    assert len(made) == 2 * 70
    assert len(list(output.iterdir())) == 70 + 1
    for folder in ("Shot-noise_L1", "Zoom-Blur_L3", "JPEG-compression_L5"):
        assert {name for name in made if name.startswith(folder)} == {
            f"{folder}/COCO_val2014_000000000139.png",
            f"{folder}/val/page 2.png",
        }
    data = (images / "val" / "page 2.png").read_bytes()
    assert made["Snow_L4/val/page 2.png"] == corrupted_png(data, name="snow", level=4, seed=5)
    metadata = json.loads((output / "metadata.json").read_text())
    assert list(metadata) == ["perturbation_type", "params", "input_dir", "output_dir", "variants", "made_with"]
    named = metadata["perturbation_type"], metadata["input_dir"], metadata["output_dir"]
    assert named == ("corruptions", "../images", ".")
    assert list(metadata["made_with"]) == ["vqa-client", "numpy", "opencv", "pillow"]
    assert metadata["params"] == {"profile": "vqa-vrb", "seed": 5, "format": "png"}
    assert metadata["variants"]["Snow_L2"] == {
        "corruption": "snow",
        "level": 2,
        "constants": [0.2, 0.3, 2, 0.5, 12, 4, 0.7],
    }
    size_mb, shown = sum(map(len, made.values())) / 1e6, capsys.readouterr()
    assert shown.err.splitlines()[-1].startswith("corrupting 2 images: 140/140 files · ")
    assert shown.out == (f"{output}: 140 files made, {size_mb:,.1f} MB; 0 there before\n70 folders, 2 images in each\n")


def test_the_number_of_processes_changes_no_byte(images: Path, tmp_path: Path) -> None:
    words = ("--corruptions", "elastic,gaussian_noise,Grayscale-Inverse", "--levels", "1,5")
    assert generate(images, tmp_path / "one", *words, "--workers", "1") == 0
    assert generate(images, tmp_path / "two", *words, "--workers", "2") == 0
    assert pictures(tmp_path / "one") == pictures(tmp_path / "two")
    assert {name.split("/")[0] for name in pictures(tmp_path / "one")} == {
        *("Elastic_L1", "Elastic_L5", "Gaussian-noise_L1", "Gaussian-noise_L5", "Grayscale-Inverse"),
    }


def test_existing_copies_are_not_made_again_and_incomplete_ones_are(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, words = tmp_path / "out", ("--corruptions", "snow,contrast", "--levels", "2-3", "--workers", "1")
    assert generate(images, output, *words) == 0
    before = pictures(output)
    (output / "Snow_L2" / "val" / "page 2.png").unlink()
    (output / "Snow_L2" / "val" / ".0123456789abcdef.tmp").write_bytes(b"half a picture")
    kept_ns = (output / "Snow_L3" / "val" / "page 2.png").stat().st_mtime_ns
    capsys.readouterr()
    assert generate(images, output, *words) == 0
    assert re.search(
        r": 1 file made, \d+\.\d MB; 7 there before\n4 folders, 2 images in each\n$", capsys.readouterr().out
    )
    assert (output / "Snow_L3" / "val" / "page 2.png").stat().st_mtime_ns == kept_ns
    (output / "Snow_L2" / "val" / ".0123456789abcdef.tmp").unlink()
    assert pictures(output) == before
    assert generate(images, output, *words) == 0
    assert "0 files made" in capsys.readouterr().out


def test_more_levels_and_images_are_added_to_existing_copies(images: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    assert generate(images, output, "--corruptions", "snow", "--levels", "1", "--workers", "1") == 0
    Image.fromarray(drawn(20, 20)).save(images / "third.png")
    assert generate(images, output, "--corruptions", "Contrast", "--levels", "1-2", "--workers", "1") == 0
    assert len(pictures(output)) == 2 + 2 * 3
    metadata = json.loads((output / "metadata.json").read_text())
    assert list(metadata["variants"]) == ["Snow_L1", "Contrast_L1", "Contrast_L2"]


@pytest.mark.parametrize("later_s", [60, -60])
def test_a_changed_image_is_made_again_even_with_an_old_time(images: Path, tmp_path: Path, later_s: float) -> None:
    output, words = tmp_path / "out", ("--corruptions", "contrast", "--levels", "1", "--workers", "1")
    assert generate(images, output, *words) == 0
    before = pictures(output)
    Image.fromarray(255 - drawn(32, 48)).save(images / "val" / "page 2.png")
    os.utime(images / "val" / "page 2.png", (time.time() + later_s,) * 2)
    assert generate(images, output, *words) == 0
    after = pictures(output)
    assert {name for name in after if after[name] != before[name]} == {"Contrast_L1/val/page 2.png"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--profile", "imagenet-c"], "profile was 'vqa-vrb' and is 'imagenet-c'"),
        (["--seed", "1"], "seed was 0 and is 1"),
        (["--format", "jpeg"], "format was 'png' and is 'jpeg'"),
    ],
)
def test_another_dataset_in_the_same_folder_is_refused(
    words: list[str], told: str, images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, common = tmp_path / "out", ("--corruptions", "contrast", "--levels", "1", "--workers", "1")
    assert generate(images, output, *common) == 0
    before = files(output)
    assert generate(images, output, *common, *words) == 2
    message = capsys.readouterr().err
    assert told in message
    assert f"{output / 'metadata.json'} describes another dataset: " in message
    assert message.endswith(f"\nhint: {REMOVE}\n")
    shutil.copytree(images, tmp_path / "others")
    assert generate(tmp_path / "others", output, *common) == 2
    assert "input_dir was" in capsys.readouterr().err
    assert files(output) == before


def test_a_dataset_that_moved_with_its_images_is_resumed(images: Path, tmp_path: Path) -> None:
    common = ("--corruptions", "contrast", "--levels", "1", "--workers", "1")
    (tmp_path / "here").mkdir()
    shutil.copytree(images, tmp_path / "here" / "images")
    assert generate(tmp_path / "here" / "images", tmp_path / "here" / "out", *common) == 0
    said = (tmp_path / "here" / "out" / "metadata.json").read_text()
    assert json.loads(said)["input_dir"] == "../images"
    assert str(tmp_path) not in said
    (tmp_path / "here").rename(tmp_path / "there")
    before = files(tmp_path / "there" / "out")
    assert generate(tmp_path / "there" / "images", tmp_path / "there" / "out", *common) == 0
    assert files(tmp_path / "there" / "out") == before


def test_a_dataset_described_by_absolute_paths_and_of_another_version_is_resumed(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output, common = tmp_path / "out", ("--corruptions", "contrast", "--levels", "1", "--workers", "1")
    assert generate(images, output, *common) == 0
    said = json.loads((output / "metadata.json").read_text())
    older = {"input_dir": os.path.realpath(images), "made_with": {"vqa-client": "0.1"}}
    (output / "metadata.json").write_text(json.dumps(said | older))
    capsys.readouterr()
    assert generate(images, output, *common) == 0
    assert "earlier files were made with {'vqa-client': '0.1'}\n" in capsys.readouterr().err
    assert json.loads((output / "metadata.json").read_text()) == said


def test_folders_without_metadata_are_left_unchanged(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out" / "Snow_L1").mkdir(parents=True)
    assert generate(images, tmp_path / "out", "--corruptions", "snow", "--levels", "1") == 2
    said = f"{tmp_path}/out/Snow_L1 exists, and no metadata.json beside it says how it was made\nhint: {REMOVE}\n"
    assert said in capsys.readouterr().err
    (tmp_path / "out" / "metadata.json").write_text("{")
    assert generate(images, tmp_path / "out", "--corruptions", "snow", "--levels", "1") == 2
    assert f"{tmp_path}/out/metadata.json: Input data was truncated\nhint: {REMOVE}\n" in capsys.readouterr().err


def test_a_bad_image_is_named_once_and_the_others_are_made(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (images / "cut.png").write_bytes((images / "val" / "page 2.png").read_bytes()[:70])
    (images / "gone.png").symlink_to("nowhere.png")
    output = tmp_path / "out"
    assert generate(images, output, "--corruptions", "snow,contrast", "--levels", "1-2", "--workers", "2") == 1
    told = capsys.readouterr()
    left_out = "".join(line for line in told.err.splitlines() if line.startswith("left out: "))
    assert (left_out.count("cut.png"), left_out.count("gone.png")) == (1, 1)
    assert told.err.count("cut.png") == 1
    assert told.err.count("gone.png") == 1
    assert "2 images left out, 8 files missing" in told.out
    assert len(pictures(output)) == 2 * 4


def test_jpeg_is_written_on_request(images: Path, tmp_path: Path) -> None:
    words = ("--corruptions", "contrast", "--levels", "1", "--workers", "1", "--format", "jpeg")
    sizes = {}
    for quality in ("40", "90"):
        assert generate(images, tmp_path / quality, *words, "--quality", quality) == 0
        data = pictures(tmp_path / quality)["Contrast_L1/val/page 2.jpg"]
        sizes[quality] = len(data)
        with Image.open(io.BytesIO(data)) as picture:
            assert (picture.format, picture.size) == ("JPEG", (32, 48))
    assert sizes["40"] < sizes["90"]
    assert json.loads((tmp_path / "40" / "metadata.json").read_text())["params"]["quality"] == 40


def test_a_dry_run_makes_nothing_and_estimates_megabytes(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (240, 320, 3), dtype=np.uint8)
    for number in range(4):
        Image.fromarray(noise).save(images / f"{number}.png")
    shutil.rmtree(images / "val")
    (images / "COCO_val2014_000000000139.jpg").unlink()
    assert generate(images, tmp_path / "out", "--dry_run", "--workers", "1", "--corruptions", "gaussian_noise") == 0
    told = capsys.readouterr().out
    counted = r"4 images in 5 folders: 20 files, 20 to be made\nabout 4\.\d MB expected, [\d,]+ MB free\n"
    assert re.fullmatch(counted, told)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--corruptions", "gausian_noise"], "gaussian_noise"),
        (["--levels", "0-5"], "level 0 is the original"),
        (["--levels", "6"], "--levels"),
        (["--profile", "imagenet"], "vqa-vrb"),
        (["--quality", "0"], "--quality"),
        (["--workers", "0"], "--workers"),
        (["--images", "nowhere"], "nowhere does not exist\nhint: give the folder with the images\n"),
        (["--images", "/dev/null"], "/dev/null is not a folder\nhint: give the folder with the images\n"),
    ],
)
def test_a_wrong_word_is_one_clear_error(
    words: list[str], told: str, images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["robustness", "generate", "--output", str(tmp_path / "out")]
    command += words if "--images" in words else ["--images", str(images), *words]
    try:
        code = run_command(command)
    except SystemExit as exit_:
        code = int(str(exit_.code))
    assert code != 0
    streams = capsys.readouterr()
    assert told in streams.err + streams.out
    assert not (tmp_path / "out").exists()


def test_a_folder_without_images_or_with_two_of_one_name_is_refused(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert generate(tmp_path / "empty", tmp_path / "out") == 2
    said = f"{tmp_path}/empty: no image in it or its folders\nhint: give the folder with the images\n"
    assert said in capsys.readouterr().err
    Image.fromarray(drawn(8, 8)).save(images / "val" / "page 2.webp")
    assert generate(images, tmp_path / "out") == 2
    twice = "page 2.webp would both be called val/page 2\nhint: rename one, or move it elsewhere\n"
    assert twice in capsys.readouterr().err
    assert generate(images, images) == 2
    said = f"--output {images} is the folder of images itself\nhint: give a folder of its own\n"
    assert said in capsys.readouterr().err


def test_an_output_inside_the_images_is_not_taken_for_more_images(images: Path, tmp_path: Path) -> None:
    words = ("--corruptions", "contrast", "--levels", "1", "--workers", "1")
    for _ in range(2):
        assert generate(images, images / "corrupted", *words) == 0
        assert len(pictures(images / "corrupted")) == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_ends_the_run_with_the_name_of_the_file(
    images: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def onto_a_full_disk(path: str, mode: str, **options: int) -> object:
        if "Snow_L2" in os.fspath(path):
            return open("/dev/full", "wb", **options)
        return open(path, mode, **options)

    monkeypatch.setattr(vqa_client.files, "open", onto_a_full_disk, raising=False)
    output, words = tmp_path / "out", ("--corruptions", "snow", "--levels", "1-3", "--workers", "1")
    assert generate(images, output, *words) == 2
    assert "Snow_L2" in (told := capsys.readouterr().err)
    assert "No space left" in told
    monkeypatch.undo()
    assert generate(images, output, *words) == 0
    assert len(pictures(output)) == 2 * 3


def test_ctrl_c_ends_the_command_and_the_same_command_resumes(images: Path, tmp_path: Path) -> None:
    for number in range(40):
        Image.fromarray(drawn(640 + number, 480)).save(images / f"{number}.png")
    output = tmp_path / "out"
    command = ["robustness", "generate", "-i", str(images), "-o", str(output), "--corruptions", "zoom_blur"]
    process = forked.popen([*command, "--workers", "2"], stderr=subprocess.PIPE, text=True, stdout=subprocess.DEVNULL)
    until_s = time.monotonic() + 120
    while len(list(output.glob("*/*.png"))) < 4 and time.monotonic() < until_s:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Resume with: vqa-client robustness generate" in told
    assert "Traceback" not in told
    before = pictures(output)
    assert 4 <= len(before) < 42 * 5
    assert not [name for name in before if name.endswith(".tmp")]
    for number in range(3, 40):  # the rest would only take time
        (images / f"{number}.png").unlink()
    assert generate(images, output, "--corruptions", "zoom_blur", "--workers", "1") == 0
    after = pictures(output)
    assert all(after[name] == data for name, data in before.items())
    assert all(f"Zoom-Blur_L{level}/2.png" in after for level in range(1, 6))
