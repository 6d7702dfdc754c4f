"""Images corrupted on their way to a server: the bytes that `generate` writes, made once for all who ask."""

import asyncio
import time
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image as Pillow

from tests.images.corruptions.drawings import corrupted_png
from vqa_client.data_url import LIMIT_BYTES
from vqa_client.errors import QuestionFailed, VqaClientError
from vqa_client.images.corruption_job import CorruptionJob, make
from vqa_client.images.corruption_pool import CorruptedImages
from vqa_client.images.corruptions.codec import AppliedCorruption
from vqa_client.images.steps import Recipe
from vqa_client.types import Image


@pytest.fixture
def picture(tmp_path: Path) -> str:
    path = tmp_path / "a.png"
    Pillow.linear_gradient("L").resize((64, 48)).convert("RGB").save(path)
    return str(path)


@pytest.fixture
async def images() -> AsyncIterator[CorruptedImages]:
    with CorruptedImages(Recipe(), profile="vqa-vrb", seed=3, workers=2) as images:
        yield images


async def prepared(images: CorruptedImages, variant: str, path: str) -> Image:
    [image] = await images.of_variant(variant).prepare((path,))
    return image


async def test_a_variant_is_what_generate_writes_and_says_how_it_was_made(
    images: CorruptedImages, picture: str
) -> None:
    data = Path(picture).read_bytes()
    wanted = {
        variant: corrupted_png(data, name=name, level=level, profile="vqa-vrb", seed=3)
        for variant, name, level in (("gaussian_noise/3", "gaussian_noise", 3), ("pixelate/5", "pixelate", 5))
    }
    for variant, encoded in wanted.items():
        image = await prepared(images, variant, picture)
        assert image.data == encoded
        assert (image.mime, image.sha256, image.size_bytes) == (
            "image/png",
            sha256(encoded).hexdigest(),
            len(encoded),
        )
        assert image.file_sha256 == sha256(data).hexdigest()
        assert image.transforms == (f"{variant.replace('/', ':')}:vqa-vrb:3", "png")
    assert (image.width, image.height) == (9, 7)


async def test_the_clean_variant_is_the_file_itself(images: CorruptedImages, picture: str) -> None:
    image = await prepared(images, "clean", picture)
    assert (image.path, image.data, image.transforms) == (picture, None, ())


async def test_one_image_asked_for_many_times_is_made_once(images: CorruptedImages, picture: str) -> None:
    asked = await asyncio.gather(*(prepared(images, "snow/2", picture) for _ in range(20)))
    assert all(image is asked[0] for image in asked)
    assert await prepared(images, "snow/2", picture) is asked[0]


async def test_the_recipe_comes_first_so_that_no_resize_weakens_a_corruption(tmp_path: Path) -> None:
    path = tmp_path / "wide.png"
    Pillow.linear_gradient("L").resize((200, 20)).convert("RGB").save(path)
    with CorruptedImages(Recipe(max_side=100), profile="vqa-vrb", seed=0, workers=1) as images:
        image = await prepared(images, "brightness/1", str(path))
    assert (image.width, image.height) == (100, 10)
    assert [step.split(":")[0] for step in image.transforms] == ["max_side", "png", "brightness", "png"]


async def test_a_bad_file_is_a_bad_image_in_every_variant(images: CorruptedImages, tmp_path: Path) -> None:
    path = tmp_path / "bad.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    for variant in ("clean", "contrast/1"):
        with pytest.raises(QuestionFailed) as raised:
            await prepared(images, variant, str(path))
        assert raised.value.status == "bad_image"


async def test_a_process_that_is_killed_is_named_with_its_image(images: CorruptedImages, picture: str) -> None:
    await prepared(images, "contrast/1", picture)
    for worker in images._processes._workers:
        worker.process.kill()
        worker.process.join()
    with pytest.raises(VqaClientError, match=r"was killed by SIGKILL while it made snow/2 of .*a\.png") as raised:
        await prepared(images, "snow/2", picture)
    assert raised.value.hint == "run the same command again to resume; SIGKILL mostly means that memory ran out"
    assert (await prepared(images, "snow/2", picture)).transforms[0].startswith("snow:2:")  # by a new process


async def test_a_run_that_only_makes_images_says_which_corruption_holds_it_up(tmp_path: Path) -> None:
    paths = []
    for number in range(8):
        path = tmp_path / f"{number}.png"
        Pillow.effect_noise((400, 300), 50).convert("RGB").save(path)
        paths.append(str(path))
    with CorruptedImages(Recipe(), profile="vqa-vrb", seed=0, workers=1) as images:
        await images.of_variant("brightness/1").prepare(paths[:1])  # the process has started
        images._costs.clear()
        await asyncio.gather(*(images.of_variant(f"elastic/{level}").prepare(paths) for level in (1, 2)))
        images._started_s = time.monotonic() - sum(took_s for _, took_s in images._costs.values())
        assert images.limit().startswith("making the images held this run up: elastic took ")
        images._costs.update(elastic=(10, 30.0), brightness=(40, 10.0))
        said = "making the images held this run up: elastic took 3000 ms an image and 75 % of the time of 1 process"
        assert images.limit() == said
        images._started_s -= 1000
        assert images.limit() == ""


def job(path: Path, name: str = "contrast", level: int = 1) -> CorruptionJob:
    wanted = AppliedCorruption(name=name, level=level, profile="vqa-vrb", seed=3)
    return CorruptionJob(path=str(path), recipe=Recipe(), corruption=wanted)


def made(path: Path, name: str = "contrast", level: int = 1) -> Image:
    (_, verdict), _ = make(job(path, name, level))
    assert isinstance(verdict, Image)
    return verdict


def test_a_process_that_has_an_image_open_makes_the_same_of_it(tmp_path: Path) -> None:
    path, other = tmp_path / "a.png", tmp_path / "b.png"
    Pillow.effect_noise((40, 30), 50).convert("RGB").save(path)
    Pillow.effect_noise((40, 30), 50).convert("RGB").save(other)
    for name in ("gaussian_noise", "elastic", "contrast"):
        wanted = corrupted_png(path.read_bytes(), name=name, level=2, seed=3)
        assert [made(path, name, 2).data, made(other, name, 2).data != wanted, made(path, name, 2).data] == [
            wanted,
            True,
            wanted,
        ]


def test_an_image_that_is_replaced_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Pillow.new("RGB", (40, 30), "red").save(path)
    before = made(path)
    Pillow.new("RGB", (41, 30), "blue").save(path)
    after = made(path)
    assert (before.width, after.width) == (40, 41)
    assert after.file_sha256 == sha256(path.read_bytes()).hexdigest() != before.file_sha256
    path.unlink()
    (_, verdict), _ = make(job(path))
    assert "no such file" in str(verdict)


def test_a_file_larger_than_what_is_held_is_taken_too(tmp_path: Path) -> None:
    path = tmp_path / "large.png"
    Pillow.new("RGB", (40, 30), "red").save(path)
    small = made(path)
    with path.open("ab") as file:
        file.truncate(LIMIT_BYTES + 1_000)  # what stands behind a PNG's end is nothing to a reader
    large = made(path)
    assert large.file_size_bytes == LIMIT_BYTES + 1_000
    assert large.data == small.data
