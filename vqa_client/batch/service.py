"""A server's Files and Batches API, through the openai SDK."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
from msgspec import Struct

from vqa_client.batch.parts import URL
from vqa_client.client.endpoint import Endpoint, tls_context
from vqa_client.client.failures import CODES, error_message, excerpt
from vqa_client.errors import ServerUnusable
from vqa_client.files import writing
from vqa_client.settings.run import RunSettings
from vqa_client.shipped import importing

if TYPE_CHECKING:
    from openai import AsyncOpenAI

EXPIRY_S, RETRIES = 7 * 86_400, 4
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
TOKEN_LIMIT = "token_limit_exceeded"
PASSING = frozenset({408, 409, 425, 429})
"""Statuses of transient failures; all from 500 on are transient too."""
_OTHER_WORDS = {"progress": "in_progress", "running": "in_progress", "success": "completed"}
_NO_BATCHES = "`vqa-client batch write` writes files for `vllm run-batch`; without --batch the run asks online"
GONE = (
    "is this its server, and its key? If the server has deleted it, delete its part-NUMBER.json in NAME.batches: its "
    "questions are asked again"
)


class Unreachable(ServerUnusable):
    """A call that may succeed later."""


class RequestRefused(ServerUnusable):
    """The server has refused a request; `code` is its reason, if it gives one."""

    def __init__(self, message: str, *, hint: str, code: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class Batch(Struct, frozen=True, kw_only=True):
    """A batch at the server; it `ends` at that time at the latest.

    `errors` are (code, message, line from 1, or 0) of a refused file.
    """

    id: str
    status: str
    input_file_id: str
    results: tuple[str, ...]
    done: int
    ends: datetime | None
    errors: tuple[tuple[str, str, int], ...]

    @property
    def over_token_limit(self) -> bool:
        """Whether the limit of waiting tokens was exceeded: the batch can be sent again when others have ended."""
        return any(code == TOKEN_LIMIT for code, _, _ in self.errors)


class Service:
    """The calls that a run needs; each raises Unreachable for a transient failure, else RequestRefused."""

    def __init__(self, client: "AsyncOpenAI", endpoint: Endpoint, window: Any) -> None:
        self._client, self._window = client, window  # the SDK's type has one window, some servers have more
        self._patient = client.with_options(max_retries=RETRIES)
        self._endpoint = endpoint
        self._expiry: dict[str, Any] = {"expires_after": {"anchor": "created_at", "seconds": EXPIRY_S}}

    async def check(self) -> None:
        """Raise ServerUnusable if the server has no batch API, before anything is created."""
        with self._calling("the server's files"):
            await self._patient.files.list(limit=1)

    async def upload(self, path: Path, name: str) -> str:
        """Upload a file and return its id. It expires after seven days, if the server supports that."""
        try:
            with self._calling(f"the upload of {name}"), path.open("rb") as file:
                return (await self._client.files.create(file=(name, file), purpose="batch", **self._expiry)).id
        except RequestRefused as refused:
            if "expires_after" not in str(refused) or not self._expiry:
                raise
        self._expiry = {}
        return await self.upload(path, name)

    async def delete_named(self, name: str) -> None:
        """Delete the files with this name, which a killed upload may have left."""
        with self._calling("the server's files"):
            async for file in self._patient.files.list(purpose="batch", limit=100):
                if file.filename == name:
                    await self.delete(file.id)

    async def create(self, file_id: str, about: dict[str, str]) -> Batch:
        """Create a batch of a file; `about` is its metadata."""
        with self._calling("a new batch"):
            made = await self._client.batches.create(
                input_file_id=file_id, endpoint=URL, completion_window=self._window, metadata=about
            )
        return self._batch_of(made)

    async def find(self, file_id: str) -> Batch | None:
        """The batch of a file that has not failed, or None."""
        with self._calling("the server's batches"):
            async for batch in self._patient.batches.list(limit=100):
                candidate = self._batch_of(batch)
                if candidate.input_file_id == file_id and candidate.status != "failed":
                    return candidate
        return None

    async def look(self, batch_id: str) -> Batch:
        with self._calling(f"batch {batch_id}"):
            return self._batch_of(await self._patient.batches.retrieve(batch_id))

    async def cancel(self, batch_id: str) -> Batch:
        """Cancel a batch; its answers so far can still be read."""
        with self._calling(f"batch {batch_id}"):
            return self._batch_of(await self._patient.batches.cancel(batch_id))

    async def fetch(self, file_id: str, path: Path) -> None:
        """Download a file; raises OutputError if the disk is full."""
        with self._calling(f"file {file_id}"):
            async with self._patient.files.with_streaming_response.content(file_id) as response:
                with writing(path):
                    await response.stream_to_file(path)

    async def delete(self, file_id: str) -> None:
        """Delete a file, if it exists."""
        with suppress(RequestRefused), self._calling(f"file {file_id}"):
            await self._patient.files.delete(file_id)

    def _batch_of(self, batch: Any) -> Batch:
        status = str(batch.status).lower()
        counts, errors = batch.request_counts, batch.errors
        done = ((counts.completed or 0) + (counts.failed or 0)) if counts else 0
        listed = (errors.data or []) if errors else []
        return Batch(
            id=batch.id,
            status=_OTHER_WORDS.get(status, status),
            input_file_id=batch.input_file_id or "",
            results=tuple(filter(None, (batch.output_file_id, batch.error_file_id))),
            done=done,
            ends=datetime.fromtimestamp(expires, UTC) if isinstance(expires := batch.expires_at, int) else None,
            errors=tuple((str(error.code or ""), str(error.message or ""), error.line or 0) for error in listed),
        )

    @contextmanager
    def _calling(self, what: str) -> Iterator[None]:
        import openai

        try:
            yield
        except openai.APIStatusError as error:
            raise self._refusal(what, error.status_code, error.response, error.code) from None
        except (openai.APIConnectionError, httpx2.TransportError) as error:
            raise Unreachable(f"{what}: {self._endpoint.redacted(str(error.__cause__ or error))}") from None

    def _refusal(self, what: str, status: int, response: httpx2.Response, code: str | None) -> ServerUnusable:
        body = response.content if response.is_closed else b""
        reason = self._endpoint.redacted(error_message(body) or excerpt(body))[:500]
        message = f"{what}: HTTP {status}: {reason}"
        if status in PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Unreachable(message)
        if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED) and not what.startswith(("batch", "file")):
            return RequestRefused(f"{self._endpoint.address} has no batches ({message})", hint=_NO_BATCHES)
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or "too large" in reason:
            return RequestRefused(message, hint="--batch_mb sets the largest size of a file in megabytes")
        hint = GONE if status == HTTPStatus.NOT_FOUND else CODES[status].hint if status in CODES else ""
        return RequestRefused(message, hint=hint, code=code or "")


@asynccontextmanager
async def open_service(endpoint: Endpoint, settings: RunSettings) -> AsyncIterator[Service]:
    """The API below an endpoint's address, with its headers; raises UsageError without the SDK."""
    with importing("openai", "--batch needs the openai package"):
        import openai
    own = {name: value for name, value in endpoint.headers.items() if name not in ("Host", "Accept", "Accept-Encoding")}

    async def without_placeholder(request: httpx2.Request) -> None:
        if "Authorization" not in own:  # the key is another header's, or there is none
            request.headers.pop("Authorization", None)

    verified = endpoint.base.scheme == "https" and tls_context(settings.ca_bundle, insecure=settings.insecure)
    async with openai.AsyncOpenAI(
        api_key=settings.api_key or "none",
        base_url=str(endpoint.base),
        default_headers=own,
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(verify=verified, event_hooks={"request": [without_placeholder]}),
    ) as client:
        yield Service(client, endpoint, settings.batch_window)
