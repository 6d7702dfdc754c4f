"""Images sent by name or by address: only to a server that was found to see them that way."""

import asyncio
import dataclasses
import hashlib
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from tests.client.check.playing import endpoint_playing
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.server import FaultServer
from tests.fakes.words import (
    answer,
    caches_images,
    delay,
    error,
    first_n,
    ignores_images,
    question_id,
    reads_files,
    when,
)
from vqa_client.client.chat import ChatClient
from vqa_client.client.session import Session, open_session
from vqa_client.client.uploading.file_proof import FileProof
from vqa_client.client.uploading.uploads import name_suffix
from vqa_client.errors import QuestionFailed, ServerUnusable
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import RunSettings
from vqa_client.types import Image, Request

MODEL = ModelSettings(model_name="tiny-vlm", max_tokens=5)
BY_DIGEST = answer(lambda received: " ".join(image.sha256[:8] for image in received.images))
"""A server that answers with the images that it sees."""

NO_FILES = (
    "start the server with --allowed-local-media-path DIR (llama.cpp: --media-path), DIR being a folder above the "
    "images, on the machine that has them; or leave --file_urls out"
)


def picture(folder: Path, name: str, size_bytes: int = 300) -> Image:
    """A file with a PNG signature and then its name."""
    path = folder / name
    path.write_bytes((b"\x89PNG\r\n\x1a\n" + name.encode() * size_bytes)[:size_bytes])
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    return Image(name=name, mime="image/png", sha256=digest, size_bytes=len(data), path=str(path))


def request(*images: Image) -> Request:
    return Request(content=(*images, "[[q]] What is it?"))


@asynccontextmanager
async def session(server: FaultServer, notes: list[str] | None = None, **changes: Any) -> AsyncIterator[Session]:
    given: dict[str, Any] = {"base_url": server.base_url, "api_key": None, "max_retries": 0, "wait_for_server": 60.0}
    said = notes if notes is not None else []
    async with open_session(RunSettings(**(given | changes)), MODEL, note=said.append) as opened:
        yield opened


def questions(server: FaultServer) -> list[Received]:
    return [received for received in server.chats if question_id(received)]


def sent(received: Received) -> list[dict[str, Any]]:
    """The image parts as the server got them."""
    parts = json.loads(received.body)["messages"][0]["content"]
    return [part for part in parts if part["type"] == "image_url"]


def counted(chat: ChatClient) -> tuple[int, int, int]:
    """Images by name, images by address, misses."""
    (route,) = chat.routes.all
    assert route.uploads is not None
    found = route.uploads.counted
    return found.named, found.pointed_at, found.misses


async def test_an_image_is_sent_once_and_then_by_name(tmp_path: Path, fault_server: StartsServers) -> None:
    server, notes = fault_server(caches_images(then=BY_DIGEST)), list[str]()
    one, other = picture(tmp_path, "one"), picture(tmp_path, "other", 3000)
    async with session(server, notes, image_uuid="auto") as opened:
        first = await opened.chat.complete(request(one))
        both = await opened.chat.complete(request(one, other))
        again = await opened.chat.complete(request(other, one))
        assert opened.server["image_uuid"] == [server.base_url]
        assert counted(opened.chat) == (3, 0, 0)
    assert not any("--image_uuid" in note for note in notes)
    assert first.text == one.sha256[:8]
    assert both.text == f"{one.sha256[:8]} {other.sha256[:8]}"
    assert again.text == f"{other.sha256[:8]} {one.sha256[:8]}"
    assert again.request_bytes < 600 < both.request_bytes
    assert [[part["image_url"] is None for part in sent(each)] for each in questions(server)] == [
        [False],
        [True, False],
        [True, True],
    ]
    assert sent(questions(server)[2])[0] == {"type": "image_url", "image_url": None, "uuid": other.sha256}


async def test_a_dropped_image_is_sent_again_without_a_charge(tmp_path: Path, fault_server: StartsServers) -> None:
    server = fault_server(caches_images(2, BY_DIGEST))
    images = [picture(tmp_path, name) for name in ("one", "two", "three")]
    async with session(server, image_uuid="auto") as opened:
        for image in images:
            assert (await opened.chat.complete(request(image))).attempts == 1
        again = await opened.chat.complete(request(images[0]))
        assert (again.text, again.attempts) == (images[0].sha256[:8], 2)
        assert again.request_bytes > 400
        assert counted(opened.chat) == (0, 0, 1)
    assert [received.status for received in questions(server)] == [200, 200, 200, 400, 200]


async def test_one_miss_sends_all_images_of_the_question_again(tmp_path: Path, fault_server: StartsServers) -> None:
    caches = [caches_images(then=BY_DIGEST), caches_images(then=BY_DIGEST)]
    server = fault_server(lambda received: caches[0])
    one, two = picture(tmp_path, "one"), picture(tmp_path, "two")
    async with session(server, image_uuid="auto") as opened:
        await opened.chat.complete(request(one))
        await opened.chat.complete(request(two))
        caches.pop(0)
        again = await opened.chat.complete(request(one, two))
    assert (again.text, again.attempts) == (f"{one.sha256[:8]} {two.sha256[:8]}", 2)


async def test_a_restarted_server_is_sent_everything_again(tmp_path: Path) -> None:
    image = picture(tmp_path, "one")
    with FaultServer(caches_images(then=BY_DIGEST)) as server:
        async with session(server, image_uuid="auto", max_retries=1) as opened:
            assert (await opened.chat.complete(request(image))).attempts == 1
            server.stop()
            with FaultServer(caches_images(then=BY_DIGEST), port=server.port) as later:
                completion = await opened.chat.complete(request(image))
                assert completion.text == image.sha256[:8]
                assert [part["image_url"] is None for each in questions(later) for part in sent(each)][-1] is False


async def test_a_server_that_always_misses_gets_two_requests_and_then_the_question_fails(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    miss = error(400, "Cache miss for image at index 0 but data is not provided.")
    server = fault_server(when(lambda received: bool(question_id(received)), miss, caches_images(then="red")))
    async with session(server, image_uuid="auto") as opened:
        with pytest.raises(QuestionFailed) as caught:
            await opened.chat.complete(request(picture(tmp_path, "one")))
    assert (caught.value.status, len(questions(server))) == ("rejected", 3)


async def test_a_server_that_keeps_few_images_soon_gets_all_of_them_whole(
    tmp_path: Path, fault_server: StartsServers
) -> None:

    def forgetful(received: Received) -> Any:
        return caches_images(0, BY_DIGEST) if question_id(received) else remembers

    remembers = caches_images(then="red")
    server, notes = fault_server(forgetful), list[str]()
    image = picture(tmp_path, "one")
    async with session(server, notes, image_uuid="auto") as opened:
        for _ in range(60):
            assert (await opened.chat.complete(request(image))).text == image.sha256[:8]
    assert sum(received.status == 400 for received in questions(server)) == 32
    assert (
        "--image_uuid: after 32 images that the server had let go of, all are sent whole "
        "(vLLM keeps more with a larger --mm-processor-cache-gb)"
    ) in notes


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("red", " knows no names of images (answers without the image): all are sent whole"),
        (ignores_images(), " knows no names of images (answers without the image): all are sent whole"),
        (
            error(400, "multi_modal_data['image'][0] is empty"),
            " knows no names of images (HTTP 400: multi_modal_data['image'][0] is empty): all are sent whole",
        ),
        (
            error(500, "no such field"),
            " knows no names of images (HTTP 500: no such field): all are sent whole",
        ),
        (caches_images(0, "red"), ": known, but the server keeps no images: all images are sent whole"),
    ],
    ids=["ignores", "blind", "refuses otherwise", "fails", "keeps none"],
)
async def test_a_server_that_does_not_know_names_gets_every_image_whole(
    script: Any, found: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    server = fault_server(when(lambda received: bool(question_id(received)), BY_DIGEST, script))
    notes: list[str] = []
    image = picture(tmp_path, "one")
    async with session(server, notes, image_uuid="auto") as opened:
        for _ in range(2):
            assert (await opened.chat.complete(request(image))).text == image.sha256[:8]
        assert opened.server["image_uuid"] == []
    assert f"--image_uuid: {server.base_url}{found}" in notes
    assert all("uuid" not in part for received in questions(server) for part in sent(received))


async def test_names_are_not_tried_unless_asked_for(tmp_path: Path, fault_server: StartsServers) -> None:
    server = fault_server(caches_images(then=BY_DIGEST))
    async with session(server) as opened:
        await opened.chat.complete(request(picture(tmp_path, "one")))
        assert "image_uuid" not in opened.server
    assert len(server.chats) == 1
    assert "uuid" not in sent(server.chats[0])[0]


async def test_questions_on_a_large_document_wait_while_another_one_sends_it(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    server = fault_server((delay(0.05), caches_images(then=BY_DIGEST)))
    pages = [picture(tmp_path, f"page{number}", 600_000) for number in range(3)]
    async with session(server, image_uuid="auto") as opened:
        done = await asyncio.gather(*(opened.chat.complete(request(*pages)) for _ in range(5)))
    assert len({completion.text for completion in done}) == 1
    assert sum(completion.request_bytes > 1_000_000 for completion in done) == 1
    assert sum(completion.request_bytes < 1_000 for completion in done) == 4


async def test_if_the_sending_question_fails_another_sends_the_document(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    server = fault_server(
        when(
            lambda received: bool(question_id(received)),
            first_n(1, error(400, "odd"), caches_images(then=BY_DIGEST)),
            caches_images(then="red"),
        )
    )
    page = picture(tmp_path, "page", 1_200_000)
    async with session(server, image_uuid="auto") as opened:
        asked = [opened.chat.complete(request(page)) for _ in range(4)]
        done = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(one, QuestionFailed) for one in done) == 1
    assert sum(received.size_bytes > 1_000_000 for received in questions(server)) == 2


@pytest.mark.parametrize("extra", [None, {"top_k": 1}])
def test_a_name_is_the_images_digest(extra: dict[str, Any] | None) -> None:
    assert name_suffix(replace(MODEL, extra_body=extra)) == ""


def test_an_image_with_other_processing_has_another_name() -> None:
    bodies = [{"mm_processor_kwargs": {"max_pixels": 9}}, {"mm_processor_kwargs": {"max_pixels": 8}}]
    suffixes = {name_suffix(replace(MODEL, extra_body=body)) for body in bodies}
    assert len(suffixes) == 2
    assert "" not in suffixes


async def test_files_are_sent_by_address_once_one_of_them_gave_the_same_reply(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    server = fault_server(reads_files(tmp_path, BY_DIGEST))
    one, odd = picture(tmp_path, "one"), picture(tmp_path, "zwei drei%20?.png")
    async with session(server, file_urls=True) as opened:
        done = await asyncio.gather(*(opened.chat.complete(request(one, odd)) for _ in range(4)))
        assert counted(opened.chat) == (0, 8, 0)
    assert {completion.text for completion in done} == {f"{one.sha256[:8]} {odd.sha256[:8]}"}
    assert all(completion.request_bytes < 600 for completion in done)
    assert len(server.chats) == 2 + 4


@pytest.mark.parametrize(
    "script",
    [
        reads_files(None, BY_DIGEST),
        reads_files("/usr/lib", BY_DIGEST),
        BY_DIGEST,
        error(500, "An unexpected error occurred: Failed to load image from file:///x"),
        error(400, "file:// URLs are not allowed unless --media-path is specified"),
    ],
    ids=["not allowed", "elsewhere", "drops it", "mlx-vlm", "llama.cpp"],
)
async def test_a_server_that_does_not_read_the_file_ends_the_run_at_its_first_question(
    script: Any, tmp_path: Path, fault_server: StartsServers
) -> None:
    by_address = when(lambda received: b"file://" in received.body, script, BY_DIGEST)
    server = fault_server(by_address)
    image = picture(tmp_path, "one")
    async with session(server, file_urls=True, max_retries=4) as opened:
        asked = [opened.chat.complete(request(image)) for _ in range(8)]
        done = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(one) for one in done} == {ServerUnusable}
    assert done[0].hint == NO_FILES  # type: ignore[union-attr]
    assert not questions(server)


async def test_a_server_that_stops_reading_files_ends_the_run(tmp_path: Path, fault_server: StartsServers) -> None:
    server = fault_server(first_n(3, reads_files(tmp_path, BY_DIGEST), then=reads_files(None)))
    image = picture(tmp_path, "one")
    async with session(server, file_urls=True, max_retries=4) as opened:
        await opened.chat.complete(request(image))
        with pytest.raises(ServerUnusable, match="Cannot load local files") as caught:
            await opened.chat.complete(request(image))
    assert str(caught.value).startswith(f"{server.base_url} reads no image files by itself (--file_urls): ")
    assert caught.value.hint == NO_FILES


async def test_a_transformed_image_is_sent_as_bytes(tmp_path: Path, fault_server: StartsServers) -> None:
    server = fault_server(reads_files(tmp_path, BY_DIGEST))
    file, data = picture(tmp_path, "one"), b"\x89PNG\r\n\x1a\nmade"
    made = Image(name="m", mime="image/png", sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data), data=data)
    async with session(server, file_urls=True) as opened:
        completion = await opened.chat.complete(request(file, made))
    assert completion.text == f"{file.sha256[:8]} {made.sha256[:8]}"
    starts = [part["image_url"]["url"][:5] for part in sent(questions(server)[0])]
    assert starts == ["file:", "data:"]


@pytest.mark.parametrize("when_changed", ["before", "meanwhile", "gone"])
async def test_a_file_that_changes_is_a_bad_image(
    when_changed: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    proof, image = picture(tmp_path, "proof"), picture(tmp_path, "one")

    def change(received: Received) -> Any:
        if when_changed == "meanwhile" and question_id(received) and b"one" in received.body:
            os.utime(image.path, ns=(1, 1))
        return reads_files(tmp_path, BY_DIGEST)

    server = fault_server(change)
    async with session(server, file_urls=True) as opened:
        await opened.chat.complete(request(proof))
        if when_changed == "before":
            Path(image.path).write_bytes(b"more")
        elif when_changed == "gone":
            Path(image.path).unlink()
        with pytest.raises(QuestionFailed) as caught:
            await opened.chat.complete(request(image))
    assert caught.value.status == "bad_image"
    assert "one" in str(caught.value)


async def test_names_and_addresses_are_used_together(tmp_path: Path, fault_server: StartsServers) -> None:
    server = fault_server(reads_files(tmp_path, caches_images(then=BY_DIGEST)))
    image = picture(tmp_path, "one")
    async with session(server, file_urls=True, image_uuid="auto") as opened:
        texts = [(await opened.chat.complete(request(image))).text for _ in range(2)]
        assert counted(opened.chat) == (1, 1, 0)
    assert texts == [image.sha256[:8]] * 2
    first, again = (sent(received)[0] for received in questions(server))
    assert first == {"type": "image_url", "image_url": {"url": f"file://{image.path}"}, "uuid": image.sha256}
    assert again == {"type": "image_url", "image_url": None, "uuid": image.sha256}


def completed(text: str) -> httpx2.Response:
    return httpx2.Response(200, json={"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


@pytest.mark.parametrize(
    ("of_bytes", "of_address", "proved"),
    [
        ("red", "red", True),
        (400, "red", False),
        ("red", 503, False),
        (
            "red",
            "blue",
            "it says 'blue' (None prompt tokens) of the file's address, "
            "it says 'red' (None prompt tokens) of its bytes",
        ),
        ("red", 400, "no " * 100),
        (0, "red", False),
        ("red", 0, False),
    ],
)
async def test_a_file_proves_something_only_if_both_replies_can_be_compared(
    of_bytes: str | int, of_address: str | int, proved: bool | str, tmp_path: Path
) -> None:
    def play(body: dict[str, Any], request: httpx2.Request) -> httpx2.Response:
        asked = body["messages"][0]["content"][-1]["text"], body["max_tokens"]
        assert asked == ("Describe the image in a few words.", 16)
        reply = of_address if "file://" in json.dumps(body) else of_bytes
        if reply == 0:
            raise TimeoutError
        return completed(reply) if isinstance(reply, str) else httpx2.Response(reply, json={"message": "no " * 150})

    model = dataclasses.replace(MODEL, max_tokens=99)
    proof, image = FileProof(endpoint_playing(play), model), picture(tmp_path, "one")
    for changed in ({"path": ""}, {"data": b"x"}, {"path": "/not-utf-8-\udcff.png"}):
        assert not await proof.prove_with([msgspec.structs.replace(image, **changed)])
    if isinstance(proved, bool):
        assert (await proof.prove_with([image]), proof.given) == (proved, proved)
        return
    with pytest.raises(ServerUnusable) as caught:
        await proof.prove_with([image])
    assert str(caught.value) == f"http://server/v1 reads no image files by itself (--file_urls): {proved}"
