import asyncio
import os
import time
from collections.abc import Awaitable, Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from tests.images.pictures import encoded, prepared, spotted, turned, veiled
from vqa_client.errors import QuestionFailed
from vqa_client.images.decide import MAX_FILE_BYTES, read_and_decide
from vqa_client.images.prepare import ImagePreparer, made_images
from vqa_client.images.steps import Recipe

CHECK = "check the image folder and the path in the data file"
AGAIN = "the same command asks this question again"


def written(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


async def test_a_common_file_is_named_by_its_path_and_digest_and_not_held(tmp_path: Path) -> None:
    data = encoded(spotted(), "PNG")
    path = written(tmp_path, "page_1.jpg", data)
    image = await prepared(ImagePreparer(), path)
    assert (image.name, image.mime, image.path) == ("page_1.jpg", "image/png", path)
    assert (image.sha256, image.size_bytes) == (sha256(data).hexdigest(), len(data))
    assert (image.data, image.transforms, image.file_sha256, image.file_size_bytes) == (None, (), "", 0)


async def test_a_made_image_names_its_file_as_well(tmp_path: Path) -> None:
    data = turned("JPEG", 6)
    image = await prepared(ImagePreparer(), written(tmp_path, "a.jpg", data))
    assert image.data is not None
    assert (image.sha256, image.size_bytes) == (sha256(image.data).hexdigest(), len(image.data))
    assert (image.file_sha256, image.file_size_bytes, image.path) == (sha256(data).hexdigest(), len(data), "")


@pytest.mark.parametrize("data", [encoded(spotted(), "JPEG"), turned("PNG", 3), encoded(spotted("RGBA"), "PNG")])
async def test_a_file_is_looked_at_once_however_many_ask_at_once_and_later(tmp_path: Path, data: bytes) -> None:
    path = written(tmp_path, "a", data)
    preparer = ImagePreparer()
    images = await asyncio.gather(*(prepared(preparer, path) for _ in range(32)))
    again = await prepared(preparer, path)
    assert {id(image) for image in images} == {id(again)}


@pytest.mark.parametrize(("error", "decoded"), [(MemoryError(), 2), (ValueError("it is damaged"), 1)])
async def test_a_refusal_that_may_pass_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, decoded: int
) -> None:
    calls: list[str] = []

    def failing(file: Any, formats: Any) -> Any:
        calls.append("decoded")
        raise error

    monkeypatch.setattr("vqa_client.images.recode.opened", failing)
    path, preparer = written(tmp_path, "a", turned("PNG", 3)), ImagePreparer()
    for _ in range(2):
        with pytest.raises(QuestionFailed, match="can't be decoded"):
            await prepared(preparer, path)
    assert len(calls) == decoded


async def test_another_file_at_the_same_path_is_seen(tmp_path: Path) -> None:
    path = written(tmp_path, "a", encoded(Pillow.new("L", (9, 9), 1), "PNG"))
    preparer = ImagePreparer()
    before = await prepared(preparer, path)
    times = os.stat(path)
    written(tmp_path, "b", encoded(Pillow.new("L", (9, 9), 2), "PNG"))
    os.utime(tmp_path / "b", ns=(times.st_atime_ns, times.st_mtime_ns))
    os.replace(tmp_path / "b", path)
    after = await prepared(preparer, path)
    assert after.size_bytes == before.size_bytes
    assert after.sha256 == sha256(Path(path).read_bytes()).hexdigest() != before.sha256


async def test_a_bad_file_that_was_mended_is_sent(tmp_path: Path) -> None:
    preparer = ImagePreparer()
    path = written(tmp_path, "a.png", b"")
    with pytest.raises(QuestionFailed, match="empty"):
        await prepared(preparer, path)
    written(tmp_path, "a.png", encoded(spotted(), "PNG"))
    assert (await prepared(preparer, path)).mime == "image/png"


async def test_made_images_are_forgotten_beyond_the_byte_limit(tmp_path: Path) -> None:
    first, second = (written(tmp_path, name, turned("PNG", 6 if name == "a" else 8)) for name in "ab")
    size = (await prepared(ImagePreparer(), first)).size_bytes
    preparer = ImagePreparer(made=made_images(size + size // 2))
    image = await prepared(preparer, first)
    assert await prepared(preparer, first) is image
    await prepared(preparer, second)
    made_again = await prepared(preparer, first)
    assert made_again is not image
    assert made_again == image


async def test_who_gives_up_does_not_take_the_image_from_the_others(tmp_path: Path) -> None:
    path = written(tmp_path, "a", turned("PNG", 6))
    preparer = ImagePreparer()
    impatient = asyncio.create_task(prepared(preparer, path))
    patient = asyncio.create_task(prepared(preparer, path))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    impatient.cancel()
    assert (await patient).transforms == ("exif_transpose:6", "png")
    with pytest.raises(asyncio.CancelledError):
        await impatient


async def test_the_pages_of_a_question_keep_their_order(tmp_path: Path) -> None:
    datas = [turned("PNG", 8), encoded(spotted(), "JPEG"), encoded(veiled(), "PNG"), encoded(spotted("L"), "PNG")]
    paths = [written(tmp_path, f"{at}.png", data) for at, data in enumerate(datas)]
    images = await ImagePreparer().prepare(paths)
    assert [image.name for image in images] == ["0.png", "1.png", "2.png", "3.png"]
    assert await ImagePreparer().prepare([]) == ()


async def test_the_first_bad_page_is_the_one_that_is_named(tmp_path: Path) -> None:
    cut = encoded(spotted(), "JPEG")[:300]
    paths = [written(tmp_path, name, data) for name, data in (("1", turned("PNG", 8)), ("2", cut), ("3", b""))]
    with pytest.raises(QuestionFailed, match="/2: can't be decoded"):
        await ImagePreparer().prepare(paths)


@pytest.mark.parametrize(
    ("name", "reason", "hint"),
    [
        ("missing.png", "there is no such file", CHECK),
        ("dir.png", "is a directory, not an image", CHECK),
        ("file/a.png", "there is no such file", CHECK),
        ("dangling.png", "there is no such file", CHECK),
        ("pipe.png", "is not a regular file", CHECK),
        ("nul\0.png", "is not a valid path", CHECK),
        ("x" * 5000, "can't be read: File name too long", AGAIN),
        ("page.html.png", "is an HTML page", "fetch the image again: the server sent a page in its place"),
        ("huge.png", f"has {MAX_FILE_BYTES + 1} bytes; at most {MAX_FILE_BYTES} are read", ""),
        ("a.pdf#3", "'3' is not a page, such as 3@144", "mend the image in the data file"),
    ],
)
async def test_what_cant_be_read_is_a_bad_image_with_path_and_reason(
    tmp_path: Path, name: str, reason: str, hint: str
) -> None:
    (tmp_path / "dir.png").mkdir()
    written(tmp_path, "file", b"")
    written(tmp_path, "a.pdf", b"%PDF-1.7\n")
    written(tmp_path, "page.html.png", b"<!doctype html><html></html>")
    (tmp_path / "dangling.png").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe.png")
    with open(tmp_path / "huge.png", "wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(QuestionFailed) as caught:
        await prepared(ImagePreparer(), f"{tmp_path}/{name}")
    assert caught.value.status == "bad_image"
    assert (str(caught.value), caught.value.hint) == (f"{tmp_path}/{name}: {reason}", hint)


@pytest.mark.parametrize(
    ("error", "reason", "hint"),
    [
        (PermissionError(13, "no"), "can't be read: permission denied", "give this user the right to read it"),
        (OSError(5, "Input/output error"), "can't be read: Input/output error", AGAIN),
        (MemoryError(), "can't be read: memory ran out", AGAIN),
    ],
)
async def test_a_file_that_the_system_does_not_give_is_asked_for_again(
    error: Exception, reason: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: str) -> None:
        raise error

    path = written(tmp_path, "a.png", encoded(spotted(), "PNG"))
    monkeypatch.setattr("vqa_client.images.decide._read", failing)
    with pytest.raises(QuestionFailed) as caught:
        await prepared(ImagePreparer(), path)
    assert (str(caught.value), caught.value.hint, caught.value.transient) == (f"{path}: {reason}", hint, True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_file_without_the_right_to_read_it_is_a_bad_image(tmp_path: Path) -> None:
    path = written(tmp_path, "a.png", encoded(spotted(), "PNG"))
    os.chmod(path, 0)
    with pytest.raises(QuestionFailed, match="permission denied"):
        await prepared(ImagePreparer(), path)


async def test_a_link_to_an_image_is_an_image(tmp_path: Path) -> None:
    path = written(tmp_path, "a.png", encoded(spotted(), "PNG"))
    (tmp_path / "b.png").symlink_to(path)
    assert (await prepared(ImagePreparer(), str(tmp_path / "b.png"))).name == "b.png"


async def test_the_same_verdict_is_given_again_without_an_older_traceback(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jpg", encoded(spotted(), "JPEG")[:300])
    preparer = ImagePreparer()
    caught = []
    for _ in range(3):
        with pytest.raises(QuestionFailed) as one:
            await prepared(preparer, path)
        caught.append(one.value)
    assert len({str(error) for error in caught}) == 1
    assert len({id(error) for error in caught}) == 3


async def turns_while(preparing: Iterable[Awaitable[object]]) -> int:
    """How often the loop turns until all is prepared."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await asyncio.gather(*preparing)
    counting.cancel()
    return turns


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files of which two make the loop turn."""
    paths = [written(tmp_path, f"{at}.png", encoded(Pillow.new("L", (20, 20), at), "PNG")) for at in range(120)]
    monkeypatch.setattr("vqa_client.images.prepare.BREATH_BYTES", 2 * os.stat(paths[0]).st_size)
    return paths


async def test_other_tasks_get_a_turn_after_so_many_bytes(small: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.images.prepare.AT_ONCE_BYTES", 0)
    preparer = ImagePreparer()
    assert await turns_while(preparer.prepare(small[at::6]) for at in range(6)) >= len(small) // 2 - 6


async def test_questions_with_small_files_do_not_queue(small: list[str]) -> None:
    preparer = ImagePreparer()
    assert await turns_while(prepared(preparer, path) for path in small) < 10


async def test_a_small_file_of_many_questions_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [
        written(tmp_path, f"{at}.png", encoded(Pillow.new("RGBA", (20, 20), (at, 0, 0, 9)), "PNG")) for at in (1, 2)
    ]
    read: list[str] = []

    def reading(path: str, *args: Any, **options: Any) -> Any:
        read.append(path)
        return read_and_decide(path, *args, **options)

    monkeypatch.setattr("vqa_client.images.prepare.read_and_decide", reading)
    monkeypatch.setattr("vqa_client.images.prepare.BREATH_BYTES", 1)  # others have a turn between a question's files
    preparer = ImagePreparer()
    await asyncio.gather(*(preparer.prepare(paths if at % 2 else paths[::-1]) for at in range(20)))
    assert sorted(read) == sorted([*paths, *paths])  # its head, and then its pixels


async def test_twelve_megapixels_cost_the_loop_next_to_nothing(tmp_path: Path) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = 6
    photo = spotted().resize((4000, 3000))
    paths = [written(tmp_path, f"{at}.jpg", encoded(photo, "JPEG", exif=exif)) for at in range(4)]
    big = written(tmp_path, "big.jpg", encoded(photo, "JPEG", quality=95) + bytes(5_000_000))
    preparer = ImagePreparer(Recipe(image_format="jpeg"))
    loop_s, all_s = time.thread_time(), time.process_time()
    images = await asyncio.gather(*(prepared(preparer, path) for path in (*paths, big)))
    assert time.thread_time() - loop_s < 0.2 * (time.process_time() - all_s)
    assert images[0].transforms == ("exif_transpose:6", "jpeg:90")


async def test_closing_gives_up_what_is_queued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.images.prepare.MAX_THREADS", 1)
    preparer = ImagePreparer()
    paths = [written(tmp_path, str(at), turned("PNG", 6)) for at in range(50)]
    asking = [asyncio.create_task(prepared(preparer, path)) for path in paths]
    while not preparer._making:
        await asyncio.sleep(0)
    preparer.close()
    results = await asyncio.gather(*asking, return_exceptions=True)
    assert any(isinstance(result, BaseException) for result in results)
