"""Small files that unpack to more than any machine's memory: each gives one error line and takes no memory."""

import resource
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.fakes.fixtures import StartsServers
from tests.faults.commands import ran
from tests.faults.questions import Questions

SIDE = 30_000
MEMORY_BYTES = 3_000_000_000
"""The limit on address space, which exceeds a process's memory; the bomb would add 2.7 GB."""
BOUNDED = [(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))]


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


@cache
def bomb(side: int = SIDE) -> bytes:
    """A white RGB image: 2.7 GB of pixels in a file of at most some megabytes."""
    row = b"\0" + b"\xff" * (side * 3)
    packed = zlib.compressobj(9)
    pixels = b"".join(packed.compress(row) for _ in range(64)) + packed.flush()
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@cache
def text_bomb() -> bytes:
    """A small picture with a comment of 1 GB."""
    packed = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    megabyte = packed.compress(bytes(1_000_000)) + packed.flush(zlib.Z_FULL_FLUSH)  # independent of the bytes before it
    end = struct.pack(">HH", 1_000_000_000 % 65_521, 1)  # the Adler-32 of these zeros
    words = b"\x78\xda" + megabyte * 1000 + packed.flush() + end
    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\xff" * 24) * 8)
    parts = (chunk(b"IHDR", head), chunk(b"zTXt", b"Comment\0\0" + words), chunk(b"iCCP", b"p\0\0" + words))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize("options", [(), ("--max_pixels", "1000"), ("--image_format", "jpeg")])
@pytest.mark.parametrize("packed", [bomb, text_bomb])
def test_a_bomb_among_the_pages_is_one_record(
    packed: Callable[[], bytes], options: tuple[str, ...], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    of.page("q1").write_bytes(packed())
    done = ran(of.arguments(fault_server().base_url, "--no-html", *options), limits=BOUNDED)
    assert done.is_clean(), done.text
    statuses = {name: record["status"] for name, record in of.outcomes().items()}
    assert statuses == {"q0": "ok", "q1": statuses["q1"], "q2": "ok"}
    assert statuses["q1"] in (("bad_image",) if packed is bomb else ("bad_image", "ok"))


@pytest.mark.parametrize("command", ["generate", "perturb"])
@pytest.mark.parametrize("packed", [bomb, text_bomb])
def test_a_bomb_among_the_images_is_named(packed: Callable[[], bytes], command: str, tmp_path: Path) -> None:
    pytest.importorskip("cv2" if command == "generate" else "numpy")
    of = Questions(tmp_path, 2)
    of.page("q1").write_bytes(packed())
    output = ["--output", str(tmp_path / "made"), "--workers", "1"]
    words = (
        ["robustness", "generate", "--images", str(of.images), "--corruptions", "contrast", *output]
        if command == "generate"
        else ["perturb", "--images", str(of.images.parent), "--perturbation", "binary", *output]
    )
    done = ran(words, limits=BOUNDED)
    assert done.is_clean(), done.text
    assert done.code in ((1, 2) if packed is bomb else (0, 1, 2))
    assert "q1_page_001" in done.text or packed is text_bomb, done.text
