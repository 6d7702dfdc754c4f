"""One OpenAI-compatible server: its address, its headers and the transport that leads there."""

import asyncio
import base64
import json
import ssl
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from vqa_client.client.coding import read_whole
from vqa_client.client.direct import CONNECT_TIMEOUT_S, IDLE_S, DirectTransport
from vqa_client.client.proxy import proxy_for
from vqa_client.client.reply_room import ReplyRoom, without_frames
from vqa_client.client.url import CHAT, join, root_of, secrets_in, without_secrets
from vqa_client.errors import UsageError
from vqa_client.shipped import __version__

GET_TIMEOUT_S = 10.0
REDIRECTS = 4
KEEPING = frozenset({int(HTTPStatus.TEMPORARY_REDIRECT), int(HTTPStatus.PERMANENT_REDIRECT)})
"""Redirections that keep the method and the body of a request."""
ADDRESS_CHARACTERS = 300
SECRET_CHARACTERS = 4
"""A shorter key keeps no secret, and would be found in any text."""


class _Request(httpx2.Request):
    """A request whose address no traceback shows: it may have a key in it."""

    def __repr__(self) -> str:
        return f"<request {self.method}>"


class Endpoint:
    """A base address with what every request to it carries."""

    def __init__(self, base: httpx2.URL, transport: httpx2.AsyncBaseTransport, headers: Mapping[str, str]) -> None:
        self.base = base
        self.headers = headers
        self._transport = transport
        self._chat_url = join(base, CHAT)  # parsing an address costs more than sending a small request
        self._raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._raw_headers.append((b"Content-Type", b"application/json"))
        self._secrets = _secrets(base, headers)

    def at(self, base: httpx2.URL) -> "Endpoint":
        """The same server under another base address."""
        return Endpoint(base, self._transport, self.headers)

    def at_root(self) -> "Endpoint":
        """The same server under what stands before /v1."""
        return self.at(root_of(self.base))

    def chat_request(
        self, stream: httpx2.AsyncByteStream, size_bytes: int, *, timeout_s: float = CONNECT_TIMEOUT_S
    ) -> httpx2.Request:
        """A POST of a JSON body of known length; the way to its first byte takes no longer than `timeout_s`."""
        headers = [*self._raw_headers, (b"Content-Length", b"%d" % size_bytes)]
        return _Request(
            "POST", self._chat_url, headers=headers, stream=stream, extensions=_connecting_within(timeout_s)
        )

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and read its reply whole; raises httpx2.TransportError.

        A redirection that keeps method and body is followed where it leads to the same server, which has the key.
        """
        response = await self._sent(request)
        for _ in range(REDIRECTS):
            target = _same_server(request.url, response) if response.status_code in KEEPING else None
            if target is None:
                break
            if response.status_code == HTTPStatus.PERMANENT_REDIRECT and request.url == self._chat_url:
                self._chat_url = target
            request = _Request(
                request.method, target, headers=request.headers, stream=request.stream, extensions=request.extensions
            )
            del response  # the next one may need its room
            response = await self._sent(request)
        return response

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._transport.handle_async_request(request)
            return response if response.is_closed else await read_whole(response)
        except httpx2.TransportError as error:
            raise without_frames(error)  # noqa: B904  (the same error)

    def redirected_to(self, response: httpx2.Response) -> str:
        """Where a chat request was redirected to, as people may see it; "" where that is not named."""
        target = _target(self._chat_url, response)
        return "" if target is None else self.redacted(without_secrets(target))[:ADDRESS_CHARACTERS]

    def redacted(self, text: str) -> str:
        """A server's words without the key, which servers echo in their errors; do it before anything is cut off."""
        for secret in self._secrets:
            text = text.replace(secret, "<key>")
        return text

    async def get(self, path: str, *, timeout_s: float = GET_TIMEOUT_S) -> httpx2.Response:
        """GET a path under the base, within a few seconds; raises httpx2.TransportError."""
        url = join(self.base, path)
        try:
            async with asyncio.timeout(timeout_s):
                limits = _connecting_within(timeout_s)
                return await self.send(_Request("GET", url, headers=dict(self.headers), extensions=limits))
        except TimeoutError:
            told = f"no reply to GET {self.redacted(url.path)} within {timeout_s:.0f} s"
            raise httpx2.ReadTimeout(told) from None

    async def answers(self) -> bool:
        """Whether the server lists its models, or refuses to: it lives, whatever it does with chats."""
        try:
            return (await self.get("/models")).status_code < HTTPStatus.INTERNAL_SERVER_ERROR
        except httpx2.TransportError:
            return False


def _same_server(url: httpx2.URL, response: httpx2.Response) -> httpx2.URL | None:
    """Where a redirection leads, if to the same server."""
    target = _target(url, response)
    same = target is not None and (target.scheme, target.host, target.port) == (url.scheme, url.host, url.port)
    return url.copy_with(raw_path=target.raw_path) if same and target is not None else None


def _target(url: httpx2.URL, response: httpx2.Response) -> httpx2.URL | None:
    try:
        location = response.headers.get("location")
        return url.join(location) if location else None
    except httpx2.InvalidURL:
        return None


def _connecting_within(seconds: float) -> dict[str, Any]:
    return {"timeout": {"connect": min(seconds, CONNECT_TIMEOUT_S)}}


def _secrets(base: httpx2.URL, headers: Mapping[str, str]) -> list[str]:
    """Every form in which a server may echo what must not be shown, the longest first."""
    known = {headers.get("Authorization", "").partition(" ")[2], *secrets_in(base)}
    written = known | {json.dumps(secret)[1:-1] for secret in known} | {quote(secret, safe="") for secret in known}
    return sorted((secret for secret in written if len(secret) >= SECRET_CHARACTERS), key=len, reverse=True)


def headers_for(base: httpx2.URL, api_key: str | None) -> dict[str, str]:
    """What every request to this server carries."""
    headers = {
        "Host": base.netloc.decode("ascii"),
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": f"vqa-client/{__version__}",
    }
    if key := (api_key or "").strip():  # files and mounted secrets end with a line feed
        if not key.isascii() or not key.isprintable():
            raise UsageError("the API key holds a character that no header can", hint="look at where it comes from")
        headers["Authorization"] = f"Bearer {key}"
    elif base.userinfo:
        headers["Authorization"] = "Basic " + base64.b64encode(base.userinfo).decode()
    return headers


def open_transport(
    base: httpx2.URL, *, engine: str, max_workers: int, ca_bundle: Path | None, insecure: bool, room: ReplyRoom
) -> httpx2.AsyncBaseTransport:
    """The direct pool, or httpx2's own where it is asked for or a proxy is in between; `room` is for large replies."""
    proxy = proxy_for(base)
    context = tls_context(ca_bundle, insecure=insecure) if base.scheme == "https" else None
    if engine == "direct" and proxy is None:
        return DirectTransport(context, room)
    limits = httpx2.Limits(
        max_connections=max_workers + 1, max_keepalive_connections=max_workers + 1, keepalive_expiry=IDLE_S
    )
    from vqa_client.client.pool import PoolTransport  # httpcore2 takes time to import

    return PoolTransport(room, verify=context or True, proxy=proxy, limits=limits, http2=False)


def tls_context(ca_bundle: Path | None, *, insecure: bool) -> ssl.SSLContext:
    """Trust the system's authorities and SSL_CERT_FILE, or those of one file, or (said and recorded) anyone."""
    if insecure:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if ca_bundle is None:
        return httpx2.create_ssl_context()
    try:
        return ssl.create_default_context(cafile=str(ca_bundle))
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--ca_bundle {ca_bundle} can't be read: {error}") from None
