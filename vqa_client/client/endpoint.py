"""One OpenAI-compatible server: its address, its headers, and the transport or proxy to it."""

import asyncio
import base64
import ipaddress
import os
import re
import ssl
import sys
import urllib.request
from collections.abc import Coroutine, Mapping
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2

from vqa_client.client.body import Upload
from vqa_client.client.direct import CONNECT_TIMEOUT_S, IDLE_S, DirectTransport
from vqa_client.client.messages import Response, Target, read_whole
from vqa_client.client.reply_room import ReplyRoom, without_frames
from vqa_client.client.url import CHAT, can_exist, join, port_of, root_of, secrets_in, without_secrets, written_forms
from vqa_client.errors import UsageError, read_fault
from vqa_client.version import __version__

GET_TIMEOUT_S = 10.0
REDIRECTS = 4
KEEPING = frozenset({int(HTTPStatus.TEMPORARY_REDIRECT), int(HTTPStatus.PERMANENT_REDIRECT)})
"""Redirections that keep the method and the body of a request."""
ADDRESS_CHARACTERS = 300


class Endpoint:
    """A base address, with the headers and the transport of every request to it."""

    def __init__(self, base: httpx2.URL, transport: httpx2.AsyncBaseTransport, headers: Mapping[str, str]) -> None:
        self.base = base
        self.headers = headers
        self._transport = transport
        self._direct = transport if isinstance(transport, DirectTransport) else None
        self._raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._posts: dict[str, Target] = {}
        self._secrets = _secrets(base, headers)

    @property
    def address(self) -> str:
        """The base address without secrets."""
        return without_secrets(self.base)

    def at(self, base: httpx2.URL) -> "Endpoint":
        """The same server under another base address."""
        return Endpoint(base, self._transport, self.headers)

    def at_root(self) -> "Endpoint":
        """The same server under the address before /v1."""
        return self.at(root_of(self.base))

    def post(
        self, body: Upload | bytes, path: str = CHAT, *, timeout_s: float = CONNECT_TIMEOUT_S
    ) -> Coroutine[Any, Any, Response]:
        """POST JSON to a path under the base; raises httpx2.TransportError.

        The first byte must leave within `timeout_s`; the wait for the reply has no limit.
        """
        target = self._posts.get(path)  # parsing an address costs more than sending a small request
        if target is None:
            headers = [*self._raw_headers, (b"Content-Type", b"application/json")]
            target = self._posts[path] = Target("POST", join(self.base, path), headers)
        return self._reply(target, body, timeout_s)

    async def _reply(self, target: Target, body: Upload | bytes | None, timeout_s: float) -> Response:
        """The reply after redirections that keep the method and the body and lead to the same server."""
        response = await self._send(target, body, timeout_s)
        for _ in range(REDIRECTS):
            redirected = _same_server(target, response) if response.status_code in KEEPING else None
            if redirected is None:
                break
            if response.status_code == HTTPStatus.PERMANENT_REDIRECT:
                self._posts = {path: redirected if known is target else known for path, known in self._posts.items()}
            target = redirected
            del response  # the next one may need its room
            response = await self._send(target, body, timeout_s)
        return response

    async def _send(self, target: Target, body: Upload | bytes | None, timeout_s: float) -> Response:
        connect_s = min(timeout_s, CONNECT_TIMEOUT_S)
        try:
            if self._direct is not None:
                return await self._direct.send(target, body, connect_s)
            return await read_whole(await self._transport.handle_async_request(target.request(body, connect_s)))
        except httpx2.TransportError as error:
            raise without_frames(error)  # noqa: B904  (the same error)

    def redirected_to(self, response: Response) -> str:
        """The target of a redirection of a chat request, without secrets; "" if the reply names none."""
        location = _location(self._posts[CHAT].url, response)
        return "" if location is None else self.redacted(without_secrets(location))[:ADDRESS_CHARACTERS]

    def redacted(self, text: str) -> str:
        """A server's text without the key, which servers echo in errors; call it before cutting the text."""
        for secret in self._secrets:
            text = text.replace(secret, "<key>")
        return text

    async def get(self, path: str, *, timeout_s: float = GET_TIMEOUT_S) -> Response:
        """GET a path under the base, within a few seconds; raises httpx2.TransportError."""
        target = Target("GET", join(self.base, path), self._raw_headers)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._reply(target, None, timeout_s)
        except TimeoutError:
            message = f"no reply to GET {self.redacted(target.url.path)} within {timeout_s:.0f} s"
            raise httpx2.ReadTimeout(message) from None

    async def answers(self) -> bool:
        """Whether the server lists its models or refuses to: then it is running."""
        try:
            return (await self.get("/models")).status_code < HTTPStatus.INTERNAL_SERVER_ERROR
        except httpx2.TransportError:
            return False


def _same_server(target: Target, response: Response) -> Target | None:
    """The target of a redirection, if it is on the same server."""
    url, location = target.url, _location(target.url, response)
    if location is None or (location.scheme, location.host, location.port) != (url.scheme, url.host, url.port):
        return None
    return Target(target.method, url.copy_with(raw_path=location.raw_path), target.headers)


def _location(url: httpx2.URL, response: Response) -> httpx2.URL | None:
    try:
        location = response.headers.get("location")
        return url.join(location) if location else None
    except httpx2.InvalidURL:
        return None


_CARRIES_THE_KEY = re.compile("authorization|.*api-?key", re.IGNORECASE)
_PLAIN = frozenset({"Authorization", "Host", "Accept", "Accept-Encoding", "User-Agent"})


def _secrets(base: httpx2.URL, headers: Mapping[str, str]) -> list[str]:
    known = {headers.get("Authorization", "").rpartition(" ")[2], *secrets_in(base)}
    return written_forms(known | {value for name, value in headers.items() if name not in _PLAIN})


def headers_for(base: httpx2.URL, api_key: str | None, own: Mapping[str, str] = {}) -> dict[str, str]:
    """The headers of every request to this server; `own` are the user's headers.

    If one of those carries the key, as Azure's api-key does, there is no bearer token.
    """
    headers = {
        "Host": base.netloc.decode("ascii"),
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": f"vqa-client/{__version__}",
    }
    own = {next((ours for ours in _PLAIN if ours.lower() == name.lower()), name): own[name] for name in own}
    if any(map(_CARRIES_THE_KEY.fullmatch, own)):
        return {**headers, **own}
    if key := (api_key or "").strip():  # files and mounted secrets end with a line feed
        if not key.isascii() or not key.isprintable():
            raise UsageError("the API key contains a character that no header can", hint="look at where it comes from")
        headers["Authorization"] = f"Bearer {key}"
    elif base.userinfo:
        headers["Authorization"] = "Basic " + base64.b64encode(base.userinfo).decode()
    return {**headers, **own}


def is_signed(base: httpx2.URL, api_key: str | None, own: Mapping[str, str]) -> bool:
    """Whether the user's headers or address already identify the user."""
    return any(map(_CARRIES_THE_KEY.fullmatch, own)) or bool(base.userinfo and not (api_key or "").strip())


def open_transport(
    base: httpx2.URL, *, engine: str, ca_bundle: Path | None, insecure: bool, room: ReplyRoom
) -> httpx2.AsyncBaseTransport:
    """The direct pool, or httpx2's own for --engine httpx2 and for proxies; `room` is for large replies."""
    proxy = proxy_for(base)
    context = tls_context(ca_bundle, insecure=insecure) if base.scheme == "https" else None
    if engine == "direct" and proxy is None:
        return DirectTransport(context, room)
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=IDLE_S)
    from vqa_client.client.pool import PoolTransport  # httpcore2 takes time to import

    return PoolTransport(room, verify=context or True, proxy=proxy, limits=limits, http2=False)


def tls_context(ca_bundle: Path | None, *, insecure: bool) -> ssl.SSLContext:
    """Trust the system's authorities and SSL_CERT_FILE, or those of one file, or with `insecure` every certificate."""
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
        raise UsageError(read_fault(f"--ca_bundle {ca_bundle}", error)) from None


def proxy_for(url: httpx2.URL) -> str | None:
    """The environment's proxy for this address; none for loopback addresses and those in NO_PROXY."""
    if is_loopback(url.host) or _is_excepted(url):
        return None
    proxies = urllib.request.getproxies_environment()
    scheme = url.scheme if url.scheme in proxies else "all"
    proxy = proxies.get(scheme)
    if proxy and "://" not in proxy:  # as curl accepts it
        proxy = f"http://{proxy}"
    if proxy and proxy.startswith("socks") and find_spec("socksio") is None:
        raise UsageError(
            f"{scheme.upper()}_PROXY names a SOCKS proxy, {without_secrets(proxy)}",
            hint=f"{sys.executable} -m pip install 'httpx2[socks]', or add the server's host to NO_PROXY",
        )
    if proxy and not _is_proxy_address(proxy):
        raise UsageError(
            f"{scheme.upper()}_PROXY is not a proxy's address: {without_secrets(proxy)}",
            hint="such as http://proxy.example:3128; or add the server's host to NO_PROXY",
        )
    return proxy or None


def _is_proxy_address(proxy: str) -> bool:
    try:
        url = httpx2.URL(proxy)
    except httpx2.InvalidURL:
        return False
    return can_exist(url) and url.scheme in ("http", "https", "socks5", "socks5h")


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host.strip("[]"))
    # unspecified too: servers print 0.0.0.0 as their address
    return address is not None and (address.is_loopback or address.is_unspecified)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


_ENTRY = re.compile(r"(?:(\w+)://)?(?P<name>\[[^]]+\](?:/\d+)?|[^:]*|.*:.*:.*?)(?::(?P<port>\d+))?/?")
"""An entry of NO_PROXY: [v6] or [v6]/bits, a name without a colon, or a bare v6 address; and perhaps a port."""


def _is_excepted(url: httpx2.URL) -> bool:
    """Whether NO_PROXY contains the address, in any form that curl, Python's urllib or httpx2 accepts."""
    listed = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    return any(_matches(url, entry) for entry in re.split(r"[,\s]+", listed) if entry)


def _matches(url: httpx2.URL, entry: str) -> bool:
    match = _ENTRY.fullmatch(entry)
    if match is None or match[1] not in (None, "all", url.scheme):
        return False
    if match["port"] and int(match["port"]) != port_of(url):
        return False
    name, address = match["name"].lower().rstrip("/"), _address(url.host)
    if address is not None and name != "*":
        try:
            return address in ipaddress.ip_network(re.sub(r"[][]", "", name), strict=False)
        except ValueError:
            return False
    name = name.removeprefix("*").strip(".")
    hosts = {host.lower().rstrip(".") for host in (url.host, url.raw_host.decode("ascii"))}
    return match["name"] == "*" or any(f".{host}".endswith(f".{name}") for host in hosts if name)
