"""The address: which of its forms answer, through which proxy, and whether its name leads there at once."""

import asyncio
import os
import socket
import time
from collections.abc import Sequence

import httpx2
from msgspec import Struct

from vqa_client.client.probing.asks import Reply
from vqa_client.client.probing.findings import Finding
from vqa_client.client.url import without_secrets

CONNECT_S = 2.0
SLOW_S = 0.5


class Connected(Struct, frozen=True, kw_only=True):
    """One address that a host's name stands for: how long a connection took, or why there is none."""

    address: str
    took_s: float = 0.0
    error: str = ""


def found_forms(base: httpx2.URL, other: httpx2.URL, reply: Reply) -> Finding:
    """Which base answers, and what a chat at the other form (with /v1 for without, or the reverse) got."""
    form = "with /v1" if other.path.rstrip("/").endswith("/v1") else "without /v1"
    also = "answers too" if reply.completion is not None else f"doesn't ({reply.told})"
    text = f"{without_secrets(base)}; {form} it {also}"
    return Finding(
        name="address", value={"base_url": without_secrets(base), form: reply.completion is not None}, text=text
    )


def found_proxy(proxy: str | None) -> Finding:
    """What stands between."""
    shown = without_secrets(proxy) if proxy else None
    return Finding(name="proxy", level="note" if proxy else "ok", value=shown, text=shown or "none")


def found_connections(host: str, tried: Sequence[Connected]) -> Finding:
    """Whether the first address of a name takes connections, and at once."""
    if not tried:
        return Finding(name="connection", level="warning", text=f"{host} is not known here")
    first = tried[0]
    good = [each for each in tried if not each.error]
    text = ", ".join(f"{each.address}: {each.error or f'{1000 * each.took_s:.0f} ms'}" for each in tried)
    if good and (first.error or first.took_s > SLOW_S):
        hint = f"other programs may try {first.address} first and wait; {good[0].address} instead of {host} is sure"
        return Finding(name="connection", level="warning", text=text, hint=hint)
    return Finding(name="connection", text=text)


async def try_connections(url: httpx2.URL) -> list[Connected]:
    """Connect to each address of the host, in the order in which the system names them."""
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        async with asyncio.timeout(CONNECT_S):
            found = await asyncio.get_running_loop().getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # TimeoutError is an OSError
        return []
    return [await _try(str(place[0]), port) for place in dict.fromkeys(row[4][:1] for row in found)]


async def _try(address: str, port: int) -> Connected:
    started_s = time.monotonic()
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(address, port)
    except TimeoutError:
        return Connected(address=address, error=f"no connection within {CONNECT_S:g} s")
    except OSError as error:
        return Connected(address=address, error=os.strerror(error.errno) if error.errno else str(error))
    took_s = time.monotonic() - started_s
    writer.close()
    return Connected(address=address, took_s=took_s)


def other_form(base: httpx2.URL) -> httpx2.URL:
    """The base without its /v1, or with one."""
    path = base.path.rstrip("/")
    return (
        base.copy_with(path=path.removesuffix("/v1") or "/")
        if path.endswith("/v1")
        else base.copy_with(path=path + "/v1")
    )
