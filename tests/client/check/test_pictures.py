"""The drawn pictures, and the limits that they show."""

import io
from types import SimpleNamespace

import pytest
from PIL import Image, ImageColor, ImageOps

from tests.client.check.playing import refused, said
from vqa_client.client.check.sizes import LADDER, find_image_limit, find_sizes, limit_in, sizes_finding
from vqa_client.client.probing.asks import COLOURS, Ask, ProbeReply, draw_sentence, draw_square


def colours_of(png: bytes) -> set[object]:
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    return {colour for _, colour in picture.getcolors(1 << 16) or []}


@pytest.mark.parametrize("colour", COLOURS)
def test_a_square_has_two_colours(colour: str) -> None:
    usual = {"green": (0, 200, 0), "brown": (150, 75, 0)}.get(colour) or ImageColor.getrgb(colour)
    assert colours_of(draw_square(colour)) == {(255, 255, 255), usual}
    square = ImageOps.invert(Image.open(io.BytesIO(draw_square(colour)))).getbbox()
    assert square == (22, 22, 90, 90), "three fifths of 112"


def test_a_sentence_is_drawn_across_its_page_and_the_same_each_time() -> None:
    drawn = draw_sentence("The secret code is 4821.")
    draw_sentence.cache_clear()
    assert draw_sentence("The secret code is 4821.") == drawn
    picture = Image.open(io.BytesIO(drawn)).convert("L").point(lambda value: 255 if value < 128 else 0)
    left, _, right, _ = picture.getbbox() or (0, 0, 0, 0)
    assert picture.size == (448, 448)
    assert 0 < left < 90
    assert 358 < right < 448


@pytest.mark.parametrize(
    ("tokens", "level", "words"),
    [
        ({256: 84, 512: 276, 1024: 1044, 2048: 4116}, "ok", "4,096 at 2048 px"),
        ({256: 84, 512: 276, 1024: 1044, 2048: 1046}, "warning", "larger than about 1024 x 1024 are shrunk"),
        ({256: 596, 512: 596}, "warning", "larger than about 256 x 256 are shrunk"),
        ({256: None}, "note", "counts no prompt tokens"),
    ],
)
def test_tokens_that_no_longer_grow_show_shrunk_images(tokens: dict[int, int | None], level: str, words: str) -> None:
    found = sizes_finding({side: said("red", tokens=count) for side, count in tokens.items()}, 20)
    assert found.level == level
    assert words in found.text


def side_of_red(request: Ask) -> int:
    """The side of a request's picture, which is a red square and gets a reply of one token."""
    picture = Image.open(io.BytesIO(request.pictures[0].png))
    assert picture.getpixel((picture.width // 2, picture.height // 2)) == (255, 0, 0)
    assert request.fields == {"max_tokens": 1}
    return picture.width


@pytest.mark.parametrize(("took_s", "sides"), [(5.0, [256, 512, 1024, 2048]), (5.1, [256])])
async def test_a_slow_picture_is_the_last_one(took_s: float, sides: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = (took_s * count for half in range(4) for count in (half, half + 1))
    monkeypatch.setattr("vqa_client.client.check.sizes.time", SimpleNamespace(monotonic=lambda: next(ticks)))
    asked: list[int] = []

    async def ask(request: Ask) -> ProbeReply:
        asked.append(side_of_red(request))
        return said("red", tokens=20 + asked[-1] ** 2)

    await find_sizes(ask, 20)
    assert asked == sides


async def test_larger_pictures_are_sent_until_one_is_refused() -> None:
    asked: list[int] = []

    async def ask(request: Ask) -> ProbeReply:
        side = side_of_red(request)
        asked.append(side)
        return said("red", tokens=20 + side) if side < 1024 else refused(400, "maximum context length is 2048 tokens")

    found = await find_sizes(ask, 20)
    assert asked == [256, 512, 1024]
    assert found.level == "note"
    assert found.value == {"256": 256, "512": 512}
    assert "1024 x 1024 is refused (HTTP 400: maximum context length is 2048 tokens)" in found.text


@pytest.mark.parametrize(
    ("refusal", "limit"),
    [
        ("At most 16 image(s) may be provided in one prompt. (parameter=image)", 16),
        ("At most 1 image(s) may be provided in one request.", 1),
        ("Too many images in request. Maximum is 20.", 20),
        ("You may send up to 5 images", 5),
        ("Too many images", None),
    ],
)
def test_the_number_in_a_refusal_of_images_is_found(refusal: str, limit: int | None) -> None:
    assert limit_in(refusal) == limit


@pytest.mark.parametrize(
    ("most", "level", "value", "words"),
    [
        (99, "ok", None, "64 or more images"),
        (4, "note", None, "4 small images"),
        (1, "warning", 1, "two images are refused (HTTP 400: prompt is too long)"),
    ],
)
async def test_fewer_images_are_tried_if_their_prompt_is_too_long(
    most: int, level: str, value: int | None, words: str
) -> None:
    asked: list[int] = []

    async def ask(request: Ask) -> ProbeReply:
        number = len(request.pictures)
        asked.append(number)
        assert side_of_red(request) == 64
        return said("red", tokens=20 + 9 * number) if number <= most else refused(400, "prompt is too long")

    found = await find_image_limit(ask, "colours", 20)
    assert (found.name, found.level, found.value) == ("image_limit", level, value)
    assert asked == [64, 16, 4, 2][: len(asked)]
    assert found.hint == ("raise the server's --limit-mm-per-prompt, or use --max_pages" if most == 1 else "")
    assert words in found.text


async def test_images_without_tokens_are_reported_as_perhaps_dropped() -> None:
    async def ask(request: Ask) -> ProbeReply:
        return said("red", tokens=20 + 9)

    found = await find_image_limit(ask, "colours", 20)
    assert found.level == "warning"
    assert f"{LADDER[0]} images cost 9 prompt tokens" in found.text
