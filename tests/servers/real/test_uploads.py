"""Images sent to real servers by name or as files, and a run with two servers when one dies."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from tests.servers.real import easy
from tests.servers.real.easy import Asked
from tests.servers.real.serving import RealServer, started
from vqa_client.client.session import Session, open_session
from vqa_client.errors import ServerUnusable
from vqa_client.images.prepare import ImagePreparer
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import RunSettings
from vqa_client.types import Completion, Request


@asynccontextmanager
async def session(*servers: RealServer, notes: list[str] | None = None, **changes: Any) -> AsyncIterator[Session]:
    given: dict[str, Any] = {"endpoint": tuple(server.base_url for server in servers), "api_key": None}
    settings = RunSettings(**(given | {"wait_for_server": 60.0, "max_retries": 0} | changes))
    model = ModelSettings(model_name=servers[0].model, max_tokens=16, temperature=0.0, timeout=60.0)
    received = notes if notes is not None else []
    async with open_session(settings, model, note=received.append) as opened:
        yield opened


async def asked(opened: Session, questions: Sequence[Asked]) -> list[Completion]:
    preparer = ImagePreparer()
    try:

        async def ask(question: Asked) -> Completion:
            images = await preparer.prepare([str(path) for path in question.pictures])
            return await opened.chat.complete(Request(content=(*images, question.text), document=question.id))

        return list(await asyncio.gather(*map(ask, questions)))
    finally:
        preparer.close()


def right(questions: Sequence[Asked], completions: Sequence[Completion]) -> float:
    pairs = zip(questions, completions, strict=True)
    return sum(completion.text.strip() == question.answer for question, completion in pairs) / len(questions)


async def test_vllm_answers_the_same_about_images_sent_by_name(vllm: RealServer) -> None:
    questions = easy.coloured(24)
    async with session(vllm) as plain:
        whole = await asked(plain, questions)
    async with session(vllm, image_uuid="auto") as opened:
        first = await asked(opened, questions)
        named = await asked(opened, questions)
        assert opened.server["image_uuid"] == [vllm.base_url]
        (route,) = opened.chat.routes.all
        assert route.uploads is not None
        assert (route.uploads.counted.named, route.uploads.counted.misses) == (24, 0)
    assert [one.text for one in whole] == [one.text for one in first] == [one.text for one in named]
    assert [one.prompt_tokens for one in whole] == [one.prompt_tokens for one in named]
    assert all(one.request_bytes < 400 for one in named)
    assert right(questions, named) > 0.9


async def test_images_that_vllm_s_small_cache_dropped_are_sent_again(other_vllm: RealServer, tmp_path: Path) -> None:
    questions = [_larger(question, tmp_path) for question in easy.coloured(12)]
    async with session(other_vllm) as plain:
        whole = await asked(plain, questions)
    async with session(other_vllm, image_uuid="auto") as opened:
        for _ in range(3):
            again = [(await asked(opened, [question]))[0] for question in questions]
            assert [one.text for one in again] == [one.text for one in whole]
        (route,) = opened.chat.routes.all
        assert route.uploads is not None
        assert route.uploads.counted.misses > 0


async def test_mlx_vlm_does_not_support_names_and_gets_every_image(mlx: RealServer) -> None:
    questions, notes = easy.coloured(4), list[str]()
    async with session(mlx, notes=notes, image_uuid="auto") as opened:
        completions = await asked(opened, questions) + await asked(opened, questions)
        assert opened.server["image_uuid"] == []
    assert right(questions * 2, completions) > 0.9
    assert any("sent whole" in note for note in notes)


async def test_vllm_reads_only_the_files_below_its_folder(other_vllm: RealServer, tmp_path: Path) -> None:
    questions = easy.coloured(24)
    async with session(other_vllm) as plain:
        whole = await asked(plain, questions)
    async with session(other_vllm, file_urls=True) as opened:
        read = await asked(opened, questions)
        both = await asked(opened, questions)
    assert [one.text for one in whole] == [one.text for one in read] == [one.text for one in both]
    assert [one.prompt_tokens for one in whole] == [one.prompt_tokens for one in read]
    assert all(one.request_bytes < 400 for one in read)
    async with session(other_vllm, file_urls=True) as opened:
        with pytest.raises(ServerUnusable, match="reads no image files"):
            await asked(opened, [_larger(questions[0], tmp_path)])


async def test_a_server_that_reads_no_files_ends_the_run_at_once(server: RealServer) -> None:
    async with session(server, file_urls=True) as opened:
        with pytest.raises(ServerUnusable, match="reads no image files") as caught:
            await asked(opened, easy.coloured(1))
    assert "--allowed-local-media-path" in caught.value.hint


async def test_a_run_survives_the_death_of_one_of_two_servers(vllm: RealServer) -> None:
    questions, notes = easy.coloured(600), list[str]()
    with started("vllm") as own:
        async with session(vllm, own, notes=notes, image_uuid="auto") as opened:
            running = asyncio.create_task(asked(opened, questions))
            while opened.chat.routes.all[1].answered < 20:
                await asyncio.sleep(0.01)
            os.kill(own.pid, signal.SIGKILL)
            completions = await running
            answered = [route.answered for route in opened.chat.routes.all]
    assert right(questions, completions) > 0.9
    assert sum(answered) == 600
    assert min(answered) >= 20
    assert any(own.base_url in note and "is out" in note for note in notes)


def _larger(question: Asked, folder: Path) -> Asked:
    """The question with its picture enlarged to 256 x 256."""
    path = folder / question.pictures[0].name
    Pillow.open(question.pictures[0]).resize((256, 256)).save(path)
    return question._replace(pictures=(path,))
