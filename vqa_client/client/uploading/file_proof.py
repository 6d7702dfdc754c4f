"""Prove with one of the run's own files that a server reads image files itself, before it gets others by address."""

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from vqa_client.client.body import BodyPart, Dialect, RequestTemplate, by_address, by_bytes
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.data_url import changed
from vqa_client.errors import QuestionFailed, ServerUnusable
from vqa_client.files import FileState, state_of
from vqa_client.model_config import ModelSettings
from vqa_client.types import Completion, Image, Request


def file_address(image: Image) -> str:
    """The file:// address of an unchanged image file; "" for a transformed image or a name that isn't UTF-8."""
    if image.data is not None or not image.path:
        return ""
    try:
        return "file://" + quote(os.path.abspath(image.path))
    except UnicodeEncodeError:
        return ""


def unchanged_state(image: Image, before: FileState | None = None) -> FileState:
    """The state of an image's file; raises QuestionFailed "bad_image" if the file is gone or differs from `before`."""
    try:
        state = state_of(os.stat(image.path))
    except OSError as error:
        raise QuestionFailed("bad_image", f"{image.path}: {error.strerror}", transient=True) from None
    if state[0] != image.size_bytes or before not in (None, state):
        raise changed(image)
    return state


PROMPT = "Describe the image in a few words."
MOST_TOKENS = 16
TRIES = 2
"""A busy server may word the same image in two ways; an image that it doesn't see differs each time."""
HINT = (
    "start the server with --allowed-local-media-path DIR (llama.cpp: --media-path), DIR being a folder above the "
    "images, on the machine that has them; or leave --file_urls out"
)
_NOT_ALLOWED = re.compile(
    r"allowed-local-media-path|file:// URLs are not allowed|--media-path|cannot load local files", re.IGNORECASE
)


def forbids_files(message: str) -> bool:
    """Whether a server's message says that it may not read files, or not this one."""
    return _NOT_ALLOWED.search(message) is not None


class FileProof:
    """A server's proof: `given` once it has replied the same to a file's address as to the file's bytes."""

    def __init__(self, endpoint: Endpoint, model: ModelSettings) -> None:
        self.given = False
        self._endpoint = endpoint
        self._timeout_s = model.timeout_s
        brief = replace(model, max_tokens=min(model.max_tokens, MOST_TOKENS))
        self._template = RequestTemplate(brief, Dialect())
        self._asking = asyncio.Lock()

    async def prove_with(self, images: Sequence[Image]) -> bool:
        """Try the first of these that is an unchanged file; False if that proves nothing.

        Raises ServerUnusable if the server can't read files, or reads different ones; httpx2.TransportError.
        """
        image = next((image for image in images if file_address(image)), None)
        if image is None:
            return False
        async with self._asking:
            if not self.given:
                self.given = await self._compare_replies(image)
        return self.given

    def refusal_error(self, message: str) -> ServerUnusable:
        """The error that ends a run whose server can't read files."""
        reason = f"{self._endpoint.address} reads no image files by itself (--file_urls): {message}"
        return ServerUnusable(reason, hint=HINT)

    async def _compare_replies(self, image: Image) -> bool:
        for _ in range(TRIES):
            try:
                sent = await self._ask(image, by_bytes(image))
            except (NotACompletion, TimeoutError):
                return False  # this image proves nothing: its question sends its bytes
            try:
                read = await self._ask(image, by_address(file_address(image)))
            except NotACompletion as reply:
                if reply.verdict.retry and not forbids_files(reply.message):
                    return False
                raise self.refusal_error(self._endpoint.redacted(reply.message)[:300]) from None
            except TimeoutError:
                return False
            if (read.prompt_tokens, read.text, read.reasoning) == (sent.prompt_tokens, sent.text, sent.reasoning):
                return True
            difference = f"{_quote(read)} of the file's address, {_quote(sent)} of its bytes"
        raise self.refusal_error(difference)

    async def _ask(self, image: Image, part: BodyPart) -> Completion:
        data = b"".join(self._template.body(Request(content=(image, PROMPT)), (part,)).pieces())
        async with asyncio.timeout(self._timeout_s):
            response = await self._endpoint.post(data)
        return read_reply(response.status_code, response.headers.get("content-type", ""), response.content)


def _quote(completion: Completion) -> str:
    return f"it says {completion.text[:40]!r} ({completion.prompt_tokens} prompt tokens)"
