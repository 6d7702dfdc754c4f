"""The HTTP endpoints: /health, /v1/models and /v1/chat/completions."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from reader import MODEL
from reader.answers import answer
from reader.chat import ChatRequest, RequestError, parse
from reader.ocr import UnreadableImage
from reader.readings import Readings

ERROR_TYPES = {
    HTTPStatus.BAD_REQUEST: "BadRequestError",
    HTTPStatus.NOT_FOUND: "NotFoundError",
    HTTPStatus.NOT_IMPLEMENTED: "NotImplementedError",
    HTTPStatus.INTERNAL_SERVER_ERROR: "InternalServerError",
}


def create_app(readings: Readings, *, limit_images: int) -> Starlette:
    """The application around `readings`, which it starts and closes."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await readings.start()
        try:
            yield
        finally:
            await readings.close()

    async def chat_completions(request: Request) -> Response:
        try:
            chat = parse(_json(await request.body()), limit_images=limit_images)
            return JSONResponse(await _complete(chat, readings))
        except RequestError as error:
            return _error(error)

    async def health(_: Request) -> Response:
        counts = {"pages_asked": readings.asked, "pages_read": readings.read, "workers": readings.workers}
        return JSONResponse({"status": "ok", **counts})

    async def models(_: Request) -> Response:
        card = {"id": MODEL, "object": "model", "created": 0, "owned_by": "vqa-client", "root": MODEL}
        return JSONResponse({"object": "list", "data": [card]})

    routes = [
        Route("/health", health),
        Route("/v1/models", models),
        Route("/v1/chat/completions", chat_completions, methods=["POST"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={404: _not_found})


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise RequestError(f"The request body is not JSON: {error}") from None


async def _complete(chat: ChatRequest, readings: Readings) -> dict[str, Any]:
    pages = await _texts(chat.images, readings)
    content = await asyncio.to_thread(answer, chat.prompt, pages)
    # Words are counted instead of tokens, since only proportions matter here.
    prompt_tokens = len(chat.prompt.split()) + sum(len(page.split()) for page in pages)
    completion_tokens = len(content.split())
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
        },
    }


async def _texts(images: tuple[bytes, ...], readings: Readings) -> list[str]:
    texts = await asyncio.gather(*(readings.text(image) for image in images), return_exceptions=True)
    for text in texts:
        if isinstance(text, UnreadableImage):
            raise RequestError(f"Failed to load image: {text}", param="image") from None
        if isinstance(text, BrokenProcessPool):
            message = "A worker process ended while it was reading a page."
            raise RequestError(message, status=HTTPStatus.INTERNAL_SERVER_ERROR) from None
        if isinstance(text, BaseException):
            raise text
    return [text for text in texts if isinstance(text, str)]


async def _not_found(request: Request, _: Exception) -> Response:
    return _error(RequestError(f"No such path: {request.url.path}", status=HTTPStatus.NOT_FOUND))


def _error(error: RequestError) -> Response:
    told = {"message": str(error), "type": ERROR_TYPES[error.status], "param": error.param, "code": int(error.status)}
    return JSONResponse({"error": told}, status_code=error.status)
