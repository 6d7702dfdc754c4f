"""Errors of real servers on bad requests, and their effect on other requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.servers.real import easy
from tests.servers.real.serving import MOST_IMAGES, SECRET, RealServer
from vqa_client.client.chat import ChatClient
from vqa_client.client.session import open_session
from vqa_client.errors import QuestionFailed, ServerUnusable
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import RunSettings
from vqa_client.types import Image, Request

PROMPT = "what color is the shape?"
LONG = PROMPT * 900


@asynccontextmanager
async def asker(server: RealServer, model: str | None = None, **changes: Any) -> AsyncIterator[ChatClient]:
    given: dict[str, Any] = {"base_url": server.base_url, "api_key": None, "wait_for_server": 60.0}
    settings = ModelSettings(model_name=model or server.model, max_tokens=16, temperature=0.0, timeout=60.0)
    run = RunSettings(**(given | changes))
    async with open_session(run, settings, note=lambda text: None) as session:
        yield session.chat


def shown(*pictures: bytes, text: str = PROMPT) -> Request:
    images = [
        Image(name=f"{at}.png", mime="image/png", sha256=str(at), size_bytes=len(data), data=data)
        for at, data in enumerate(pictures)
    ]
    return Request(content=(*images, text))


def picture() -> bytes:
    return easy.coloured(1)[0].pictures[0].read_bytes()


async def failure(chat: ChatClient, request: Request) -> QuestionFailed:
    with pytest.raises(QuestionFailed) as caught:
        await chat.complete(request)
    assert "base64," not in f"{caught.value} {caught.value.body}"
    return caught.value


async def test_unanswerable_questions_get_their_statuses_and_are_asked_once(server: RealServer) -> None:
    async with asker(server) as chat:
        good = await chat.complete(shown(picture()))
        broken = await failure(chat, shown(b"this is a text and no picture"))
        cut = await failure(chat, shown(picture()[:200]))
        long = await failure(chat, shown(picture(), text=LONG))
        again = await chat.complete(shown(picture()))
    assert (good.text, good.finish_reason, good.reasoning) == (again.text, "stop", None)
    assert good.text == easy.coloured(1)[0].answer
    assert good.prompt_tokens
    assert good.prompt_tokens > 16  # the picture's
    assert [(each.status, each.attempts) for each in (broken, cut, long)] == [
        ("bad_image", 1),
        ("bad_image", 1),
        ("too_long", 1),
    ]


async def test_too_many_images_get_their_status_and_a_hint(vllm: RealServer) -> None:
    async with asker(vllm) as chat:
        assert (await chat.complete(shown(*[picture()] * MOST_IMAGES))).text
        failed = await failure(chat, shown(*[picture()] * (MOST_IMAGES + 1)))
    assert (failed.status, failed.attempts) == ("too_many_images", 1)
    assert "--limit-mm-per-prompt" in failed.hint
    assert str(MOST_IMAGES) in str(failed)


async def test_mlx_vlm_has_no_limit_of_images(mlx: RealServer) -> None:
    async with asker(mlx) as chat:
        assert (await chat.complete(shown(*[picture()] * (MOST_IMAGES + 4)))).text


async def test_max_tokens_above_the_context_is_rejected_with_a_hint(vllm: RealServer) -> None:
    async with asker(vllm) as chat:
        failed = await failure(chat, Request(content=(PROMPT,), parameters={"max_tokens": 100_000}))
    assert (failed.status, failed.attempts) == ("rejected", 1)
    assert "max_tokens" in failed.hint


async def test_broken_images_do_not_disturb_the_other_questions(server: RealServer) -> None:
    requests = [shown(b"no picture" if at % 8 == 3 else picture()) for at in range(32)]

    async with asker(server, max_workers=16) as chat:
        room = asyncio.Semaphore(16)

        async def outcome(request: Request) -> str:
            async with room:
                try:
                    return (await chat.complete(request)).text
                except QuestionFailed as failed:
                    return failed.status

        outcomes = await asyncio.gather(*map(outcome, requests))
    answer = easy.coloured(1)[0].answer
    assert outcomes == ["bad_image" if at % 8 == 3 else answer for at in range(32)]


async def test_vllm_names_the_missing_model(vllm: RealServer) -> None:
    async with asker(vllm, model="no/such-model") as chat:
        failed = await failure(chat, shown(picture()))
    assert (failed.status, failed.http_status, failed.attempts) == ("rejected", 404, 1)
    assert "no/such-model" in str(failed)


async def test_mlx_vlm_drops_its_model_for_a_missing_one_and_loads_it_again(other_mlx: RealServer) -> None:
    async with asker(other_mlx, model="no/such-model", api_key=SECRET) as chat:
        failed = await failure(chat, shown(picture()))
    assert (failed.status, failed.attempts) == ("rejected", 1)
    assert "--model" in failed.hint
    async with asker(other_mlx, api_key=SECRET) as chat:
        assert (await chat.complete(shown(picture()))).text == easy.coloured(1)[0].answer


async def test_a_required_key_is_sent_and_a_wrong_one_gets_a_hint_that_hides_it(
    other_mlx: RealServer,
) -> None:
    async with asker(other_mlx, api_key=SECRET) as chat:
        assert (await chat.complete(shown(picture()))).text
    with pytest.raises((QuestionFailed, ServerUnusable)) as caught:
        async with asker(other_mlx, api_key="another-key-of-this-test") as chat:
            await chat.complete(shown(picture()))
    assert "--api_key" in (caught.value.hint or "")
    assert "another-key" not in str(caught.value)
