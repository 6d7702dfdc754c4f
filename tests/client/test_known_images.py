"""The images that the client knows a server has."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.client.uploading.uploads import WORTH_WAITING_BYTES, KnownImages, Uploads, name_suffix
from vqa_client.model_config import ModelSettings
from vqa_client.types import Image


def page(number: int, size_bytes: int = 10) -> Image:
    return Image(name=f"{number}.png", mime="image/png", sha256=f"{number:064d}", size_bytes=size_bytes)


def large(number: int) -> Image:
    return page(number, WORTH_WAITING_BYTES)


@given(st.integers(1, 6), st.lists(st.integers(0, 12), max_size=60))
def test_the_images_used_last_are_remembered(limit: int, used: list[int]) -> None:
    known = KnownImages(limit)
    for number in used:
        known.keep([page(number)])
    latest = list(dict.fromkeys(reversed(used)))[:limit]
    assert [number for number in range(13) if page(number).sha256 in known] == sorted(latest)
    assert len(known._known) == len(latest)


def test_a_dropped_image_also_drops_those_used_before_it() -> None:
    known = KnownImages()
    known.keep([page(number) for number in range(5)])
    known.forget_until(page(2).sha256)
    known.forget_until("unknown")
    assert [page(number).sha256 in known for number in range(5)] == [False, False, False, True, True]


async def test_what_is_sent_by_name_is_counted() -> None:
    known = KnownImages()
    known.keep([page(1)])
    uploads = Uploads(known=known, suffix="-x", proof=None, note=print)
    with await uploads.sending([page(1), page(2)], whole=False) as sending:
        named, whole = sending.parts()
        assert (uploads.hits, named[1], whole[1]) == (0, None, page(2))
        assert all(f"{number:064d}-x".encode() in b"".join(part[::2]) for number, part in ((1, named), (2, whole)))
        sending.arrived()
    assert (uploads.hits, page(2).sha256 in known) == (1, True)
    assert msgspec.to_builtins(uploads.counted) == {"named": 1, "pointed_at": 0, "misses": 0, "spared_bytes": 16}
    with await uploads.sending([page(1)], whole=True) as again:
        assert [image for _, image, _ in again.parts()] == [page(1)]


@pytest.mark.parametrize(("index", "left"), [(0, [2, 4]), (1, [4]), (2, [0, 2, 4])])
def test_a_miss_forgets_what_was_used_before_the_image_of_its_index(index: int, left: list[int]) -> None:
    known, proof = KnownImages(), SimpleNamespace(given=True)
    known.keep([page(number) for number in range(5)])
    uploads = Uploads(known=known, suffix="", proof=cast(Any, proof), note=print)
    assert not uploads.note_miss("another error", [page(2)])
    assert uploads.note_miss(f"Cache miss for image at index {index}", [page(1), page(3)])
    assert [number for number in range(5) if page(number).sha256 in known] == left
    uploads.forget()
    assert (proof.given, [number for number in range(5) if page(number).sha256 in known]) == (False, [])


@pytest.mark.parametrize("field", ["mm_processor_kwargs", "media_io_kwargs", "top_k"])
def test_an_images_name_depends_on_the_fields_by_which_a_server_processes_it(field: str) -> None:
    models = [ModelSettings(model_name="m", max_tokens=5, extra_body={field: {"a": number}}) for number in (1, 2, 1)]
    one, other, same = map(name_suffix, models)
    assert (one == same, one == other, len(one)) == (True, field == "top_k", 0 if field == "top_k" else 17)


def test_after_more_misses_than_hits_all_images_are_sent_whole() -> None:
    notes = list[str]()
    uploads = Uploads(known=KnownImages(), suffix="", proof=None, note=notes.append)
    uploads.hits = 32
    for _ in range(32):
        assert uploads.note_miss("Cache miss for image at index 0", [page(1)])
    assert (notes, uploads.known is None) == ([], False)
    assert uploads.note_miss("Cache miss for image at index 0", [page(1)])
    assert (len(notes), uploads.known) == (1, None)
    assert notes[0] == (
        "--image_uuid: after 33 images that the server had let go of, all are sent whole "
        "(vLLM keeps more with a larger --mm-processor-cache-gb)"
    )
    assert not uploads.note_miss("Cache miss for image at index 0", [page(1)])


async def test_questions_wait_while_another_one_sends_their_document() -> None:
    known = KnownImages()
    claimed = await known.claim([large(1)])
    assert claimed
    others = [asyncio.create_task(known.claim([large(1)])) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in others)
    known.keep([large(1)])
    known.release(claimed)
    assert await asyncio.gather(*others) == ["", "", ""]


async def test_if_the_first_question_fails_the_next_one_sends_the_document() -> None:
    known = KnownImages()
    claimed = await known.claim([large(1)])
    others = [asyncio.create_task(known.claim([large(1)])) for _ in range(3)]
    await asyncio.sleep(0)
    known.release(claimed)
    await asyncio.sleep(0.01)
    assert [task.done() and task.result() for task in others] == [claimed, False, False]
    known.keep([large(1)])
    known.release(claimed)
    await asyncio.gather(*others)


async def test_no_question_waits_for_small_images_or_for_other_documents() -> None:
    known = KnownImages()
    assert await known.claim([page(1)]) == await known.claim([page(1)]) == ""
    assert await known.claim([large(1)]) != await known.claim([large(2)])
