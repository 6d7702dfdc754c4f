"""Making any image file mean the same on every server: decode, a row of steps, encode. No loop, no cache."""

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
    """An image encoded anew, and the steps that made it from the file."""

    data: bytes
    mime: str
    width: int
    height: int
    transforms: tuple[str, ...]


def is_plain(facts: ImageFacts, recipe: Recipe) -> bool:
    """Say whether the file can go unchanged without a look at its pixels."""
    few = recipe.max_pixels is None or 0 < facts.width * facts.height <= recipe.max_pixels
    short = recipe.max_side is None or 0 < max(facts.width, facts.height) <= recipe.max_side
    return not facts.oddities and few and short and not _format_is_asked(facts, recipe)


def recode(data: bytes, facts: ImageFacts, recipe: Recipe, path: str) -> Recoded | None:
    """Decode the whole file and encode it anew; None where the pixels show that it can go unchanged.

    The bytes are the same at every call. Raises `QuestionFailed` "bad_image" where the file can't be decoded.
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
    """The pixels of an image file as servers see them: upright, 8 bits a value, transparent ones on white.

    Raises `QuestionFailed` "bad_image" where the file is no image, has too many pixels or can't be decoded.
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
"""Oddities that no look at the pixels takes away."""
_DECODERS = {"jpeg": ("JPEG", "MPO"), "avif": ("AVIF", "HEIF"), "heic": ("HEIF", "AVIF"), "jp2": ("JPEG2000",)}
"""Names in Pillow, where they are not the format's own; no format that would start another program is in the list."""
_MODES = frozenset({"1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "I", "F"})


def _format_is_asked(facts: ImageFacts, recipe: Recipe) -> bool:
    """A PNG is a PNG whatever made it; a lossy format is asked for its quality, so it is encoded again."""
    return recipe.image_format is not None and not recipe.image_format == facts.format == "png"


def _decode(data: bytes, facts: ImageFacts, recipe: Recipe, path: str) -> tuple["Pixels", Job]:
    """Decode the first picture of a file, and say what the steps need to know of it."""
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
        # Pillow's decoders raise whatever a damaged file makes them stumble over: OSError, SyntaxError, struct.error,
        # IndexError, zlib.error ...
        raise refused(path, f"can't be decoded: {error}", "the file is damaged or cut; fetch it again") from None
    if pixels.mode not in _MODES and not pixels.mode.startswith("I;16"):
        raise refused(path, f"has pixels of a rare kind ({pixels.mode})", "convert it to 8-bit RGB")
    depth = int.from_bytes(data[24:25]) if facts.format == "png" else 8
    return pixels, Job(facts=facts, frames=frames, recipe=recipe, path=path, depth=depth, drafted=drafted or "")


_TOO_LARGE = "make the image smaller first"
MAX_DECODED_BYTES = 2 << 30
"""What a large image may take while it is decoded; of those above servers' limit one is decoded at a time."""
_VALUE_BYTES = {"1": 1, "L": 1, "P": 1}
_PIXEL_BYTES = 4
_alone = Lock()


def _draft(pixels: "Pixels", recipe: Recipe, path: str) -> str | None:
    """Have a JPEG of more pixels than servers take shrunk while it is decoded; None for images of fewer.

    Raises QuestionFailed for an image that isn't asked to be shrunk below that, or would take too much memory.
    """
    width, height = pixels.size
    check_pixels(width, height, recipe, path)
    if width * height <= MAX_IMAGE_PIXELS:
        return None
    change = pixels.draft(None, sent_size(width, height, recipe)) if pixels.format in ("JPEG", "MPO") else None
    each = _VALUE_BYTES.get(pixels.mode, _PIXEL_BYTES)
    scans = 2 * each if pixels.info.get("progressive") else 0  # all its coefficients are held until the last scan
    needed = pixels.width * pixels.height * each + width * height * scans
    if needed > MAX_DECODED_BYTES:
        reason = f"has {width}x{height} pixels, which take {needed / 1e9:.1f} GB to decode; at most "
        raise refused(path, f"{reason}{MAX_DECODED_BYTES / 1e9:.1f} GB are taken", _TOO_LARGE)
    return f"draft:{width}x{height}->{pixels.width}x{pixels.height}" if change else ""


def _frames(pixels: "Pixels") -> int:
    """Count the pictures and go back to the first; before `load`, since counting undoes it (TIFF)."""
    try:
        return int(getattr(pixels, "n_frames", 1))
    except Exception:
        # A later page is cut, and Pillow raises anything; the first one may be whole.
        pixels.seek(0)
        return 2


_PROFILE_SPACES = {"RGB": b"RGB ", "L": b"GRAY", "1": b"GRAY"}


def _encode(pixels: "Pixels", profile: bytes | None, job: Job) -> tuple[bytes, str]:
    name: ImageFormat = job.recipe.image_format or "png"
    quality = job.recipe.image_quality
    # PNG level 3: a page takes 71 ms and 608 KB against 104 ms and 544 KB at 6, a photograph a third of the time.
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
