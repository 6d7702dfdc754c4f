"""Decodes an image file, applies the steps and encodes it, so that every server sees the same pixels."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from vqa_client.errors import QuestionFailed
from vqa_client.images.facts import MIMES, ImageFacts
from vqa_client.images.facts import facts as read_facts
from vqa_client.images.headers import Oddity
from vqa_client.images.pillow import NoDecoder, limited_to, opened
from vqa_client.images.steps import MAX_IMAGE_PIXELS, STEPS, ImageFormat, Job, Recipe, check_pixels, refused, sent_size

if TYPE_CHECKING:
    from PIL import Image as PillowImage

    Pixels = PillowImage.Image


class Recoded(Struct, frozen=True, kw_only=True):
    """An image that was encoded again, and the steps that were applied to the file."""

    data: bytes
    mime: str
    width: int
    height: int
    transforms: tuple[str, ...]


def is_plain(facts: ImageFacts, recipe: Recipe) -> bool:
    """Whether the file can be sent unchanged without decoding it."""
    few = recipe.max_pixels is None or 0 < facts.width * facts.height <= recipe.max_pixels
    short = recipe.max_side is None or 0 < max(facts.width, facts.height) <= recipe.max_side
    return not facts.oddities and few and short and not _format_is_asked(facts, recipe)


def recode(data: bytes, facts: ImageFacts, recipe: Recipe, path: str) -> Recoded | None:
    """Decode the whole file and encode it again; None if its pixels show that it can be sent unchanged.

    The bytes are the same at every call. Raises `QuestionFailed` "bad_image" if the file can't be decoded.
    Colour profiles are not applied, since no server applies them; CMYK becomes RGB without one.
    """
    with _memory_for(path):
        pixels, job = _decode(data, facts, recipe, path)
        profile = pixels.info.get("icc_profile")
        pixels, done = _stepped(pixels, job)
        if not (_is_changed(done, facts) or _format_is_asked(facts, recipe)):
            return None
        encoded, name = _encode(pixels, profile, job)
    return Recoded(
        data=encoded,
        mime=MIMES[recipe.image_format or "png"],
        width=pixels.width,
        height=pixels.height,
        transforms=(*done, name),
    )


def decoded(data: bytes, path: str) -> "Pixels":
    """Decode an image file to the pixels that servers see: upright, 8 bits per value, transparent pixels on white.

    Raises `QuestionFailed` "bad_image" if the file is not an image, has too many pixels or can't be decoded.
    """
    image_facts, recipe = read_facts(data, path), Recipe()
    check_pixels(image_facts.width, image_facts.height, recipe, path)
    with _memory_for(path):
        stored, job = _decode(data, image_facts, recipe, path)
        pixels, done = _stepped(stored, job)
        return _as_sent(pixels) if _is_changed(done, image_facts) else stored


@contextmanager
def _memory_for(path: str) -> Iterator[None]:
    try:
        yield
    except MemoryError:
        reason = "can't be decoded: memory ran out"
        raise refused(path, reason, f"free some memory, or {_TOO_LARGE}", transient=True) from None


def _stepped(pixels: "Pixels", job: Job) -> tuple["Pixels", list[str]]:
    """The pixels after all steps, and the names of those that changed something."""
    done = [job.drafted] if job.drafted else []
    for step in STEPS:
        pixels, name = step(pixels, job)
        if name:
            done.append(name)
    return pixels, done


def _is_changed(done: Sequence[str], facts: ImageFacts) -> bool:
    return bool(done or _ALWAYS.intersection(facts.oddities))


def _as_sent(pixels: "Pixels") -> "Pixels":
    return pixels if pixels.mode in _PROFILE_SPACES else pixels.convert("RGB")


_ALWAYS: frozenset[Oddity] = frozenset({"animated", "mpo", "format", "coding", "cut", "damaged"})
"""Oddities that always need encoding."""
_DECODERS = {"avif": ("AVIF", "HEIF"), "heic": ("HEIF", "AVIF"), "jp2": ("JPEG2000",)}
"""Pillow's names of formats that it calls differently; none of them starts another program."""
_MODES = frozenset({"1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "I", "F"})


def _format_is_asked(facts: ImageFacts, recipe: Recipe) -> bool:
    """Whether `image_format` needs encoding: not from PNG to PNG; a lossy format has a quality, so it does."""
    return recipe.image_format is not None and not recipe.image_format == facts.format == "png"


def _decode(data: bytes, facts: ImageFacts, recipe: Recipe, path: str) -> tuple["Pixels", Job]:
    """Decode the first image of a file, and collect what the steps need."""
    from PIL import Image

    Image.init()
    names = _DECODERS.get(facts.format, (facts.format.upper(),))
    known = [name for name in names if name in Image.OPEN]
    try:
        if not known:
            raise NoDecoder
        with limited_to(facts.width * facts.height):
            pixels = opened(BytesIO(data), known)
        drafted = _draft(pixels, recipe, path)
        with _alone if drafted is not None else nullcontext(), limited_to(pixels.width * pixels.height):
            frames = _frames(pixels) if "format" in facts.oddities else 1
            pixels.load()
    except (QuestionFailed, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, NoDecoder) or names[0] not in known:
            kind = facts.format.upper()
            raise refused(path, f"is {kind}, which can't be decoded here", "convert it to PNG or JPEG") from None
        # For a damaged file Pillow's decoders raise OSError, SyntaxError, struct.error, IndexError, zlib.error ...
        raise refused(path, f"can't be decoded: {error}", "the file is damaged or cut; fetch it again") from None
    if pixels.mode not in _MODES and not pixels.mode.startswith("I;16"):
        raise refused(path, f"has pixels of a rare kind ({pixels.mode})", "convert it to 8-bit RGB")
    depth = int.from_bytes(data[24:25]) if facts.format == "png" else 8
    return pixels, Job(facts=facts, frames=frames, recipe=recipe, path=path, depth=depth, drafted=drafted or "")


_TOO_LARGE = "make the image smaller first"
MAX_DECODED_BYTES = 2 << 30
"""The most memory to decode one image; images above the servers' limit on pixels are decoded one at a time."""
_VALUE_BYTES = {"1": 1, "L": 1, "P": 1}
_PIXEL_BYTES = 4
_alone = Lock()


def _draft(pixels: "Pixels", recipe: Recipe, path: str) -> str | None:
    """Shrink a JPEG with more pixels than servers accept while it is decoded; None for images with fewer.

    Raises QuestionFailed if no option shrinks it below the limit, or if decoding it takes too much memory.
    """
    width, height = pixels.size
    check_pixels(width, height, recipe, path)
    if width * height <= MAX_IMAGE_PIXELS:
        return None
    change = pixels.draft(None, sent_size(width, height, recipe)) if pixels.format in ("JPEG", "MPO") else None
    each = _VALUE_BYTES.get(pixels.mode, _PIXEL_BYTES)
    scans = 2 * each if pixels.info.get("progressive") else 0  # the decoder keeps all coefficients until the last scan
    needed = pixels.width * pixels.height * each + width * height * scans
    if needed > MAX_DECODED_BYTES:
        reason = f"has {width}x{height} pixels, which take {needed / 1e9:.1f} GB to decode; at most "
        raise refused(path, f"{reason}{MAX_DECODED_BYTES / 1e9:.1f} GB are taken", _TOO_LARGE)
    return f"draft:{width}x{height}->{pixels.width}x{pixels.height}" if change else ""


def _frames(pixels: "Pixels") -> int:
    """Count the images in the file and return to the first; before `load`, because counting undoes it (TIFF)."""
    try:
        return int(getattr(pixels, "n_frames", 1))
    except Exception:
        # A later image is cut, and Pillow raises any error; the first image may be whole.
        pixels.seek(0)
        return 2


_PROFILE_SPACES = {"RGB": b"RGB ", "L": b"GRAY", "1": b"GRAY"}


def _encode(pixels: "Pixels", profile: bytes | None, job: Job) -> tuple[bytes, str]:
    name: ImageFormat = job.recipe.image_format or "png"
    quality = job.recipe.image_quality
    # PNG level 3: a page takes 71 ms and 608 KB; level 6: 104 ms and 544 KB. A photograph takes a third of the time.
    options: dict[str, Any] = {"compress_level": 3} if name == "png" else {"quality": quality}
    pixels = _as_sent(pixels)
    pixels.info = {}
    fits = profile is not None and profile[16:20] == _PROFILE_SPACES[pixels.mode]
    buffer = BytesIO()
    try:
        pixels.save(buffer, name.upper(), icc_profile=profile if fits else None, **options)
    except (OSError, ValueError) as error:
        reason = f"can't be encoded as {name} at {pixels.width}x{pixels.height}: {error}"
        raise refused(job.path, reason, "ask for another image format or fewer pixels") from None
    return buffer.getvalue(), name if name == "png" else f"{name}:{quality}"
