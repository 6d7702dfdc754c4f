"""Servers that look at the images, and servers that ignore them."""

from io import BytesIO

from tests.fakes.completions import text_only_tokens
from tests.fakes.received import Received, ReceivedImage
from tests.fakes.replies import answer
from tests.fakes.script import Choose

COLOURS: dict[str, tuple[int, int, int]] = {
    "red": (220, 30, 30),
    "green": (30, 160, 30),
    "blue": (30, 30, 220),
    "yellow": (240, 220, 30),
    "cyan": (30, 220, 220),
    "magenta": (220, 30, 220),
    "orange": (250, 140, 20),
    "purple": (128, 0, 128),
    "white": (250, 250, 250),
    "black": (5, 5, 5),
    "grey": (128, 128, 128),
}
PLACES: dict[str, tuple[float, float]] = {
    "left": (0.25, 0.5),
    "right": (0.75, 0.5),
    "top": (0.5, 0.25),
    "upper": (0.5, 0.25),
    "bottom": (0.5, 0.75),
    "lower": (0.5, 0.75),
}


def ignores_images(text: str = "B") -> Choose:
    """A server that ignores the images: the same text and prompt_tokens with and without them."""
    return answer(text, usage=text_only_tokens)


def looks_at_images(without_image: str = "I can't see any image.") -> Choose:
    """A server that looks: it answers with the colour at the place in the prompt (left, right, top, bottom).

    Without a place it names the colours from left to right. It knows `COLOURS`, and needs Pillow.
    """

    def text(received: Received) -> str:
        if not received.images:
            return without_image
        named = [place for place in PLACES if place in received.prompt.lower()]
        seen = [_colour_at(received.images[0], PLACES[place]) for place in named[:1] or ("left", "right")]
        return " and ".join(dict.fromkeys(seen))

    return answer(text)


def _colour_at(image: ReceivedImage, place: tuple[float, float]) -> str:
    from PIL import Image

    pixels = Image.open(BytesIO(image.data)).convert("RGB")
    red, green, blue = pixels.getpixel((int(pixels.width * place[0]), int(pixels.height * place[1])))  # type: ignore[misc]
    return min(
        COLOURS, key=lambda name: sum((a - b) ** 2 for a, b in zip(COLOURS[name], (red, green, blue), strict=True))
    )
