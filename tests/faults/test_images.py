"""Image files with wrong names, rotated, with 16 bits, broken, out of order, and far too many."""

import asyncio
import hashlib
import struct
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from PIL import Image, ImageOps

from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.words import answer, image_limit, oracle, slow_reading
from tests.faults.commands import ran
from tests.faults.questions import Questions, noise_png
from tests.images.pictures import encoded, moving, opened, png_chunk, raw_png, spotted, turned, veiled

Spoil = Callable[[Path], None]


async def sent(of: Questions, fault_server: StartsServers, **changes: Any) -> dict[str, Received]:
    """The images that the server received, by question."""
    server = fault_server("B")
    await of.ask(server, **changes)
    return {chat.prompt[2:].partition("]]")[0]: chat for chat in server.chats}


@pytest.mark.parametrize(
    ("name", "data", "mime"),
    [
        ("q0_page_001.jpg", encoded(spotted(), "PNG"), "image/png"),
        ("q0_page_001.png", encoded(spotted(), "JPEG"), "image/jpeg"),
        ("q0_page_001.png", encoded(spotted(), "WEBP"), "image/webp"),
        ("q0_page_001.webp", encoded(spotted(), "GIF"), "image/gif"),
        ("q0_page_001.JPG", encoded(spotted(), "JPEG"), "image/jpeg"),
        ("q0_page_001.JPEG", encoded(spotted(), "PNG"), "image/png"),
        ("q0_page_001.bmp", encoded(spotted(), "PNG"), "image/png"),
    ],
)
async def test_the_bytes_decide_what_an_image_is_and_not_its_name(
    name: str, data: bytes, mime: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    of.page("q0").unlink()
    (of.images / name).write_bytes(data)
    (image,) = (await sent(of, fault_server))["q0"].images
    assert (image.mime, image.sha256) == (mime, hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize("kind", ["BMP", "TIFF", "PPM"])
async def test_a_format_that_not_every_server_takes_is_sent_as_one_that_all_take(
    kind: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    of.page("q0").write_bytes(encoded(spotted(), kind))
    (image,) = (await sent(of, fault_server))["q0"].images
    assert image.mime == "image/png"
    assert opened(image.data).tobytes() == spotted().tobytes()


async def test_an_image_without_an_extension_is_sent_or_its_question_is_named(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    of.page("q0").rename(of.images / "q0_page_001")
    arrived = await sent(of, fault_server)
    assert "q0" in arrived or of.report()["left_out"] == {"no_images": ["q0"]}


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
async def test_every_orientation_arrives_upright_and_untagged(
    kind: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 8)
    files = {f"q{orientation - 1}": turned(kind, orientation) for orientation in range(1, 9)}
    for name, data in files.items():
        of.page(name).write_bytes(data)
    arrived = await sent(of, fault_server)
    for name, data in files.items():
        expected = ImageOps.exif_transpose(Image.open(BytesIO(data))).convert("RGB")
        picture = opened(arrived[name].images[0].data)
        assert picture.size == expected.size
        assert picture.getexif().get(0x0112, 1) == 1
        assert picture.convert("RGB").tobytes() == expected.tobytes()
    upright = of.outcomes()["q0"]["images"][0]
    assert "transforms" not in upright
    assert "exif_transpose:6" in of.outcomes()["q5"]["images"][0]["transforms"]


async def test_sixteen_bits_become_eight_by_scaling_and_not_by_clipping(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    values = (0, 255, 32768, 65535)
    of.page("q0").write_bytes(raw_png(4, 16, 0, struct.pack(">4H", *values)))
    of.page("q1").write_bytes(encoded(Image.frombytes("I;16", (4, 1), struct.pack("<4H", *values)), "TIFF"))
    of.page("q2").write_bytes(raw_png(4, 16, 2, b"".join(struct.pack(">3H", v, v, v) for v in values)))
    arrived = await sent(of, fault_server)
    for name in of.ids:
        grey = list(opened(arrived[name].images[0].data).convert("L").tobytes())
        assert all(abs(found - value / 257) <= 1 for found, value in zip(grey, values, strict=True)), name


async def test_what_shows_through_is_white_and_only_the_first_frame_counts(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    of.page("q0").write_bytes(encoded(veiled(), "PNG"))
    of.page("q1").write_bytes(moving("GIF"))
    arrived = await sent(of, fault_server)
    seen = opened(arrived["q0"].images[0].data)
    assert (seen.mode, seen.getpixel((0, 0))) == ("RGB", (255, 255, 255))
    assert getattr(opened(arrived["q1"].images[0].data), "n_frames", 1) == 1


def cut(share: float) -> Spoil:
    """Cut a file after that share of it."""

    def spoil(path: Path) -> None:
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])

    return spoil


def holding(data: bytes) -> Spoil:
    """Replace some bytes."""
    return lambda path: (path.write_bytes(data), None)[1]


def flipped(path: Path) -> None:
    """Flip one bit in the middle of the pixels."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


BROKEN: dict[str, tuple[str, Spoil]] = {
    "half_a_jpeg": ("JPEG", cut(0.5)),
    "most_of_a_jpeg": ("JPEG", cut(0.97)),
    "half_a_png": ("PNG", cut(0.5)),
    "half_a_webp": ("WEBP", cut(0.5)),
    "half_a_gif": ("GIF", cut(0.5)),
    "a_flipped_bit": ("PNG", flipped),
    "nothing": ("PNG", holding(b"")),
    "a_page": ("JPEG", holding(b"<!DOCTYPE html><html><body>Not found</body></html>")),
    "a_pointer": ("PNG", holding(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")),
    "zeros": ("PNG", holding(bytes(1000))),
    "a_header_alone": (
        "PNG",
        holding(b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 9, 8, 2, 0, 0, 0))),
    ),
    "a_bomb": (
        "PNG",
        holding(
            raw_png(60_000, 8, 2, b"\0").replace(struct.pack(">II", 60_000, 1), struct.pack(">II", 60_000, 60_000))
        ),
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
async def test_a_broken_file_is_one_record_and_never_a_request(
    fault: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3, pages=2)
    kind, spoil = BROKEN[fault]
    bad = of.page("q1", 2)
    bad.write_bytes(encoded(spotted(), kind))
    spoil(bad)
    server = fault_server(oracle(of.replies()))
    records = await of.ask(server)
    assert [records[name]["status"] for name in of.ids] == ["ok", "bad_image", "ok"]
    assert str(bad) in records["q1"]["error"]["message"]
    assert len(records["q1"]["error"]["message"]) > len(str(bad)) + 5
    assert records["q1"]["attempts"] == 0
    assert len(server.chats) == 2


async def test_memory_that_ran_out_once_is_not_the_images_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    of.page("q1").write_bytes(encoded(spotted(), "BMP"))
    server = fault_server(oracle(of.replies()))
    with monkeypatch.context() as patched:
        patched.setattr("PIL.ImageFile.ImageFile.load", Mock(side_effect=MemoryError))
        assert (await of.ask(server))["q1"]["status"] == "bad_image"
    assert (await of.ask(server))["q1"]["status"] == "ok"


def gone(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere.png")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [gone, folder])
async def test_a_document_is_never_asked_without_one_of_its_pages(
    spoil: Spoil, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2, pages=3)
    spoil(of.page("q1", 2))
    server = fault_server(oracle(of.replies()))
    records = await of.ask(server)
    assert records["q1"]["status"] == "bad_image"
    assert [chat.prompt[:6] for chat in server.chats] == ["[[q0]]"]


async def test_a_file_that_is_deleted_during_the_run_is_one_record(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)

    def vanish(_: Received) -> str:
        of.page("q2").unlink(missing_ok=True)
        return "B"

    server = fault_server(answer(vanish))
    records = await of.ask(server, max_workers=1)
    assert [records[name]["status"] for name in of.ids] == ["ok", "ok", "bad_image", "ok"]
    assert str(of.page("q2")) in records["q2"]["error"]["message"]


def longer(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


@pytest.mark.parametrize("change", [longer, cut(0.5)])
async def test_a_file_that_changes_while_it_is_sent_is_one_record_and_breaks_no_request(
    change: Spoil, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    of.page("q1").write_bytes(noise_png(1400, 1400))  # more than any socket buffer
    server = fault_server(slow_reading(10_000_000, oracle(of.replies())), receive_buffer_bytes=16_384)
    asking = asyncio.create_task(of.ask(server, max_workers=1, max_retries=0))
    while len(server.chats) < 2:
        await asyncio.sleep(0.005)
    change(of.page("q1"))
    records = await asking
    assert [records[name]["status"] for name in of.ids] == ["ok", "bad_image", "ok"]
    assert "changed" in records["q1"]["error"]["message"]
    assert [chat.status for chat in server.chats] == [200, None, 200]


def test_a_run_with_a_broken_image_exits_with_1_and_names_it(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 3)
    of.page("q1").write_bytes(b"")
    server = fault_server()
    done = ran(of.arguments(server.base_url))
    assert done.code == 1
    assert done.is_clean()
    assert "1 question failed (bad image)" in done.out
    assert [r["outcome"] for r in of.report()["results"]] == ["ok", "bad_image", "ok"]


@pytest.mark.parametrize(
    "form",
    [
        "{id}_page_{n}.png",
        "{id}_page_{n:03d}.png",
        "{id}_{n}.png",
        "{id}_p-001-{n}.png",
        "{id}-page-{n}.PNG",
        "{id}_pg{n}.jpg",
    ],
)
async def test_pages_come_in_the_order_of_their_numbers(form: str, tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    of.page("q0").unlink()
    numbers = [10, 2, 1, 12, 3, 11, 4, 9, 5, 8, 6, 7]
    for n in numbers:
        Image.new("RGB", (8, 8), (n, 0, 0)).save(of.images / form.format(id="q0", n=n), "PNG")
    for stray in ("._q0_page_1.png", ".DS_Store", "Thumbs.db", "~$q0_page_3.png", "q0_page_1.txt"):
        (of.images / stray).write_bytes(b"stray")
    arrived = await sent(of, fault_server)
    reds = [opened(image.data).getpixel((0, 0))[0] for image in arrived["q0"].images]  # type: ignore[index]
    assert reds == list(range(1, 13))
    assert [image["name"] for image in of.outcomes()["q0"]["images"]] == [
        form.format(id="q0", n=n) for n in range(1, 13)
    ]


async def test_a_document_gets_only_its_own_pages(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    names = ["66", "66f", "abc", "abc1", "abc_1", "abc_page", "abc-page_1", "a.b", "a"]
    row = of.rows()[0]
    of.write_rows([row | {"_id": name, "question": f"[[{name}]] Which one?"} for name in names])
    of.page("q0").unlink()
    for number, name in enumerate(names):
        Image.new("RGB", (8, 8), (number, 1, 1)).save(of.images / f"{name}_page_001.png")
    arrived = await sent(of, fault_server)
    found = {name: [opened(i.data).getpixel((0, 0))[0] for i in chat.images] for name, chat in arrived.items()}  # type: ignore[index]
    assert found == {name: [number] for number, name in enumerate(names)}


async def test_pages_beyond_the_servers_limit_are_never_cut_in_silence(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1, pages=30)
    server = fault_server(image_limit(20, oracle(of.replies())))
    records = await of.ask(server)
    assert (records["q0"]["status"], records["q0"]["truncated_pages"], len(server.chats)) == ("too_many_images", 0, 1)
    records = await of.ask(server, max_pages=20, output=tmp_path / "cut")
    of.output = tmp_path / "cut"
    (record,) = of.outcomes().values()
    assert (record["status"], record["truncated_pages"], len(record["images"])) == ("ok", 10, 20)
    assert of.report()["results"][0]["truncated_pages"] == 10


async def test_a_large_picture_is_sent_as_large_as_it_is(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    of.page("q0").write_bytes(encoded(spotted().resize((4000, 3000)), "JPEG"))
    (image,) = (await sent(of, fault_server))["q0"].images
    assert opened(image.data).size == (4000, 3000)
    (kept,) = of.outcomes()["q0"]["images"]
    assert (kept["size_bytes"], kept["sha256"]) == (image.size_bytes, image.sha256)


async def test_a_shrunk_picture_says_so_and_keeps_both_digests(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    data = encoded(spotted().resize((400, 300)), "JPEG")
    of.page("q0").write_bytes(data)
    (image,) = (await sent(of, fault_server, max_pixels=30_000))["q0"].images
    width, height = opened(image.data).size
    assert 29_000 < width * height <= 30_000
    (kept,) = of.outcomes()["q0"]["images"]
    assert any(f"400x300->{width}x{height}" in step for step in kept["transforms"])
    assert (kept["sha256"], kept["size_bytes"]) == (image.sha256, image.size_bytes)
    assert (kept["file_sha256"], kept["file_size_bytes"]) == (hashlib.sha256(data).hexdigest(), len(data))


async def test_the_size_in_pixels_of_what_was_sent_is_in_the_record(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    await sent(of, fault_server)
    (kept,) = of.outcomes()["q0"]["images"]
    assert (kept.get("width"), kept.get("height")) == (24, 16)


async def test_no_image_is_ever_in_a_record_or_a_report(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4, pages=2)
    for name in of.ids:
        of.page(name).write_bytes(noise_png(200, 200))
    await sent(of, fault_server, max_pixels=10_000)
    for file in of.output.iterdir():
        assert file.stat().st_size < 20_000
        assert b"base64" not in file.read_bytes()
