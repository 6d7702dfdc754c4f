"""The whole check of a server, in a few dozen small requests: address, images, fields, and answers under load."""

import asyncio
import os
import re
import socket
import time
from collections.abc import Sequence
from dataclasses import replace

import httpx2
from msgspec import Struct

from vqa_client.client.check.sizes import find_image_limit, find_sizes
from vqa_client.client.endpoint import Endpoint, proxy_for
from vqa_client.client.probe import cards_of
from vqa_client.client.probing.asks import COLOURS, SIDE_PX, Ask, Asker, ProbeReply
from vqa_client.client.probing.findings import (
    Checked,
    Finding,
    Sight,
    bare_ask,
    code_ask,
    colour_ask,
    colour_asks,
    colour_in,
    sight_finding,
    sight_of,
)
from vqa_client.client.probing.identity import READER, Evidence, identity_findings, kind_of, loaded_model
from vqa_client.client.probing.parameters import (
    PARAMETERS,
    ask_with,
    parameter_findings,
    reasoning_finding,
    usage_finding,
    uuid_asks,
    uuid_finding,
)
from vqa_client.client.url import join, port_of, root_of, without_secrets
from vqa_client.model_config import ModelSettings
from vqa_client.types import Note


async def examine(endpoint: Endpoint, model: ModelSettings, *, timeout_s: float, note: Note) -> Checked:
    """Make the whole check; `timeout_s` is for each request, `note` gets each step.

    Only the last questions, whose settings are equal, are sent at once: some servers take the sampling settings of a
    batch from its first request.
    """
    started_s = time.monotonic()
    check = _Check(endpoint, model, timeout_s, note)
    await check.run()
    return Checked(
        base_url=check.asker.endpoint.address,
        model=check.asker.model.model_name,
        findings=tuple(check.findings),
        took_s=time.monotonic() - started_s,
    )


class _Check:
    """A check in progress: the findings so far, and the replies that later steps compare with."""

    def __init__(self, endpoint: Endpoint, model: ModelSettings, timeout_s: float, note: Note) -> None:
        self.asker = Asker(endpoint, model, timeout_s=timeout_s)
        self.findings: list[Finding] = []
        self._note = note
        self._named = model.model_name
        self._kind: str
        self._sight: Sight
        self._bare: ProbeReply

    async def run(self) -> None:
        """Make each step; if the server doesn't see images, stop: the other steps would show nothing."""
        evidence = await self._read_evidence()
        colours = await self._show_colours(evidence)
        if any(finding.level == "unusable" for finding in self.findings):
            return
        await self._check_address()
        await self._check_pictures()
        await self._check_parameters(colours[0])
        first, again = [await self.asker.ask(ask) for ask in uuid_asks()]
        answered = self.asker.answered
        self.findings += [uuid_finding(first, again), reasoning_finding(answered), usage_finding(answered)]
        await self._check_under_load()

    async def _read_evidence(self) -> Evidence:
        models = await self.asker.get("/models")
        health = await self.asker.get("/health", at_root=True)
        version = await self.asker.get("/version", at_root=True)
        evidence = Evidence(cards=cards_of(models), health=health, version=version)
        loaded = loaded_model(evidence)
        if loaded and loaded != self._named:  # a request for another model would make the server drop this one
            self.asker.model = replace(self.asker.model, model_name=loaded)
        return evidence

    async def _show_colours(self, evidence: Evidence) -> list[ProbeReply]:
        self._note("showing it two pictures")
        colours = [await self.asker.ask(ask) for ask in colour_asks()]
        if all(reply.http_status in _NO_PATH for reply in colours):
            colours = await self._ask_at_other_form(colours)
        self._kind, _ = kind_of(colours[0], evidence)
        self.findings += identity_findings(colours[0], evidence, self._named, self.asker.model.max_tokens)
        code = bare = None
        if any(reply.completion for reply in colours):
            self._bare = bare = await self.asker.ask(bare_ask())
            code = await self.asker.ask(code_ask()) if sight_of(colours) != "colours" else None
        self._sight = sight_of(colours, code, bare)
        self.findings.append(sight_finding(colours, code, bare))
        if (tokens := colours[0].prompt_tokens) is not None:
            text = f"{tokens} for one picture of {SIDE_PX} x {SIDE_PX} and a short question"
            self.findings.append(Finding(name="picture_tokens", value=tokens, text=text))
        if changes := self.asker.dialect.described():
            self.findings.append(Finding(name="dialect", level="note", value=changes, text="; ".join(changes)))
        return colours

    async def _ask_at_other_form(self, colours: list[ProbeReply]) -> list[ProbeReply]:
        """Ask at the other form of the address: it may accept chats although the first form was probed."""
        here = self.asker.endpoint
        self.asker.endpoint = here.at(other_form(here.base))
        there = [await self.asker.ask(ask) for ask in colour_asks()]
        if any(reply.completion for reply in there):
            return there
        self.asker.endpoint = here
        return colours

    async def _check_address(self) -> None:
        here = self.asker.endpoint
        other = other_form(here.base)
        self.asker.endpoint = here.at(other)
        reply = await self.asker.ask(bare_ask())
        self.asker.endpoint = here
        proxy = proxy_for(here.base)
        self.findings += [forms_finding(here.base, other, reply), proxy_finding(proxy)]
        if proxy is None:
            self.findings.append(connections_finding(here.base.host, await try_connections(here.base)))

    async def _check_pictures(self) -> None:
        self._note("sending larger pictures, and many in one prompt")
        bare_tokens = self._bare.prompt_tokens
        if self._kind != READER:  # it counts words, not pixels
            self.findings.append(await find_sizes(self.asker.ask, bare_tokens))
        self.findings.append(await find_image_limit(self.asker.ask, self._sight, bare_tokens))

    async def _check_parameters(self, plain: ProbeReply) -> None:
        self._note(f"trying {len(PARAMETERS)} request fields")
        replies = {name: await self.asker.ask(ask_with(row, plain)) for name, row in PARAMETERS.items()}
        sent = frozenset(self.asker.model.extra_body or ())
        self.findings += parameter_findings(replies, plain, sent)

    async def _check_under_load(self) -> None:
        asks = canary_asks(self._sight)
        self._note(f"asking {len(asks)} questions one by one, and then all at once")
        alone = [await self.asker.ask(ask) for ask in asks]
        self.findings.append(canary_finding(alone, await self.asker.ask_all(asks)))


_NO_PATH = frozenset({404, 405})


CODES = ("4821", "7036", "1954", "3267", "9405", "6178", "2593", "8740")
NAME = "answers_under_load"
_HINT = "run with --max_workers 1, or another version of the server: more workers would lower the score"


def canary_asks(sight: Sight) -> tuple[Ask, ...]:
    """Eight pictures with different right answers: colours, or codes for a server that only reads text."""
    if sight == "text":
        return tuple(map(code_ask, CODES))
    return tuple(map(colour_ask, COLOURS))


def mark_of(reply: ProbeReply) -> str:
    """The part of an answer to compare: the colour or the code that it names, else its words in lower case."""
    code = re.search(r"\b\d{4}\b", reply.text)
    return colour_in(reply.text) or (code[0] if code else " ".join(reply.text.lower().split()))


def canary_finding(alone: Sequence[ProbeReply], together: Sequence[ProbeReply]) -> Finding:
    """Compare the answers alone with those under load; a difference makes the server unusable."""
    failed = [reply for reply in together if reply.completion is None]
    pairs = [
        (mark_of(before), mark_of(after))
        for before, after in zip(alone, together, strict=True)
        if before.completion and after.completion
    ]
    if wrong := [(before, after) for before, after in pairs if before != after]:
        before, after = wrong[0]
        marks = set(map(mark_of, alone))
        swapped = sum(mark in marks for _, mark in wrong)
        whose = f", {swapped} of them to another question's answer" if swapped else ""
        return Finding(
            name=NAME,
            level="unusable",
            value="mixed",
            text=f"{len(wrong)} of {len(pairs)} answers change when sent at once{whose}: {before!r} becomes {after!r}",
            hint=_HINT,
        )
    if failed:
        text = f"{len(failed)} of {len(together)} questions fail when sent at once ({failed[0].error})"
        return Finding(name=NAME, level="warning", value="failed", text=text, hint="lower --max_workers")
    if len({before for before, _ in pairs}) < 2:
        return Finding(name=NAME, level="note", text="unknown: every picture gets the same answer")
    return Finding(name=NAME, value="same", text=f"{len(pairs)} answers are the same alone and all at once")


CONNECT_S = 2.0
SLOW_S = 0.5


class Connected(Struct, frozen=True, kw_only=True):
    """One address of a host: how long a connection took, or why there is none."""

    address: str
    took_s: float = 0.0
    error: str = ""


def forms_finding(base: httpx2.URL, other: httpx2.URL, reply: ProbeReply) -> Finding:
    """Which base answers, and the reply to a chat at the other form (with /v1 instead of without, or the reverse)."""
    form = "with /v1" if other.path.rstrip("/").endswith("/v1") else "without /v1"
    also = "answers too" if reply.completion is not None else f"doesn't ({reply.error})"
    text = f"{without_secrets(base)} answers; {form} it {also}"
    return Finding(
        name="address", value={"base_url": without_secrets(base), form: reply.completion is not None}, text=text
    )


def proxy_finding(proxy: str | None) -> Finding:
    """The proxy between here and the server."""
    address = without_secrets(proxy) if proxy else None
    return Finding(name="proxy", level="note" if proxy else "ok", value=address, text=address or "none")


def connections_finding(host: str, tried: Sequence[Connected]) -> Finding:
    """Whether the first address of a host accepts connections, and quickly."""
    if not tried:
        return Finding(name="connection", level="warning", text=f"{host} is not known here")
    first = tried[0]
    good = [ip for ip in tried if not ip.error]
    text = ", ".join(f"{ip.address}: {ip.error or f'{1000 * ip.took_s:.0f} ms'}" for ip in tried)
    if good and (first.error or first.took_s > SLOW_S):
        hint = f"other programs may try {first.address} first and wait; {good[0].address} instead of {host} is sure"
        return Finding(name="connection", level="warning", text=text, hint=hint)
    return Finding(name="connection", text=text)


async def try_connections(url: httpx2.URL) -> list[Connected]:
    """Connect to each address of the host, in the system's order."""
    port = port_of(url)
    try:
        async with asyncio.timeout(CONNECT_S):
            rows = await asyncio.get_running_loop().getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # TimeoutError is an OSError
        return []
    return [await _try(str(place[0]), port) for place in dict.fromkeys(row[4][:1] for row in rows)]


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
    return root_of(base) if base.path.rstrip("/").endswith("/v1") else join(base, "/v1")
