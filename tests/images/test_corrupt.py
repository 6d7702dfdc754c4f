"""Images corrupted on their way to a server: the bytes that `generate` writes, made once for all who ask."""

import asyncio
import time
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image as Pillow

from vqa_client.errors import QuestionFailed
from vqa_client.images.corrupt import CorruptedImages
from vqa_client.images.corruptions import corrupted_png
from vqa_client.images.steps import Recipe


@pytest.fixture
def picture(tmp_path: Path) -> str:
    path = tmp_path / "a.png"
    Pillow.linear_gradient("L").resize((64, 48)).convert("RGB").save(path)
    return str(path)


@pytest.fixture
async def images() -> AsyncIterator[CorruptedImages]:
    with CorruptedImages(Recipe(), profile="vqa-vrb", seed=3, workers=2) as images:
        yield images


async def test_a_variant_is_what_generate_writes_and_says_how_it_was_made(
    images: CorruptedImages, picture: str
) -> None:
    data = Path(picture).read_bytes()
    wanted = {
        variant: corrupted_png(data, name=name, level=level, profile="vqa-vrb", seed=3)
        for variant, name, level in (("gaussian_noise/3", "gaussian_noise", 3), ("pixelate/5", "pixelate", 5))
    }
    for variant, encoded in wanted.items():
        image = await images.of_variant(variant).prepare(picture)
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
    image = await images.of_variant("clean").prepare(picture)
    assert (image.path, image.data, image.transforms) == (picture, None, ())


async def test_one_image_asked_for_many_times_is_made_once(images: CorruptedImages, picture: str) -> None:
    preparer = images.of_variant("snow/2")
    asked = await asyncio.gather(*(preparer.prepare(picture) for _ in range(20)))
    assert all(image is asked[0] for image in asked)
    assert await preparer.prepare(picture) is asked[0]


async def test_the_recipe_comes_first_so_that_no_resize_weakens_a_corruption(tmp_path: Path) -> None:
    path = tmp_path / "wide.png"
    Pillow.linear_gradient("L").resize((200, 20)).convert("RGB").save(path)
    with CorruptedImages(Recipe(max_side=100), profile="vqa-vrb", seed=0, workers=1) as images:
        image = await images.of_variant("brightness/1").prepare(str(path))
    assert (image.width, image.height) == (100, 10)
    assert [step.split(":")[0] for step in image.transforms] == ["max_side", "png", "brightness", "png"]


async def test_a_bad_file_is_a_bad_image_in_every_variant(images: CorruptedImages, tmp_path: Path) -> None:
    path = tmp_path / "bad.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    for variant in ("clean", "contrast/1"):
        with pytest.raises(QuestionFailed) as raised:
            await images.of_variant(variant).prepare(str(path))
        assert raised.value.status == "bad_image"


async def test_a_run_that_only_makes_images_says_which_corruption_holds_it_up(tmp_path: Path) -> None:
    paths = []
    for number in range(8):
        path = tmp_path / f"{number}.png"
        Pillow.effect_noise((400, 300), 50).convert("RGB").save(path)
        paths.append(str(path))
    with CorruptedImages(Recipe(), profile="vqa-vrb", seed=0, workers=1) as images:
        await images.of_variant("brightness/1").prepare_all(paths[:1])  # the process has started
        images._started_s = time.monotonic()
        images._costs.clear()
        await asyncio.gather(*(images.of_variant(f"elastic/{level}").prepare_all(paths) for level in (1, 2)))
        assert images.limit().startswith("making the images held this run up: elastic took ")
        images._started_s -= 1000
        assert images.limit() == ""
