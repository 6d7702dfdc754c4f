"""A run with several servers: alike at the start, given up when lost, and taken back when they are the same again.

Which of them answers must not decide what is answered.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from msgspec import Struct

from vqa_client.client.endpoint import Endpoint
from vqa_client.client.limits import Outage
from vqa_client.client.probe import Found, Served, wait_for_server
from vqa_client.client.probing.findings import Fingerprint
from vqa_client.client.probing.short import ShortCheck, short_check
from vqa_client.client.routes import Route, Routes
from vqa_client.client.several.recovery import Recovery
from vqa_client.errors import ServerUnusable
from vqa_client.model_config import ModelSettings


class Nature(Struct, frozen=True, kw_only=True):
    """What a server lists, and how it took two small pictures."""

    served: Served
    check: ShortCheck

    @property
    def seen(self) -> Fingerprint:
        return self.check.fingerprint

    @property
    def version(self) -> str:
        """Its kind and version, where it tells them."""
        return f"{self.seen.kind} {self.seen.version or ''}".strip()


async def nature_of(endpoint: Endpoint, served: Served, model: ModelSettings) -> Nature:
    """Ask two or three small questions; never raises for what the server does."""
    return Nature(served=served, check=await short_check(endpoint, model))


def difference(one: Nature, other: Nature, model: str) -> str:
    """Why the second may not stand in for the first, in words; "" where nothing speaks against it."""
    lists = [model in nature.served.models for nature in (one, other) if nature.served.models]
    if lists == [True, False]:
        return f"it lists {', '.join(other.served.models[:5])}, and not {model}"
    if lists == [False, True]:
        return f"it lists {model}, and the first only {', '.join(one.served.models[:5])}"
    for what, mine, theirs in (
        ("longest prompt in tokens", one.served.context_length, other.served.context_length),
        ("prompt tokens of a small picture", one.seen.picture_tokens, other.seen.picture_tokens),
    ):
        if mine is not None and theirs is not None and mine != theirs:
            return f"it {what}: {theirs}, and the first {mine}"
    return ""


Note = Callable[[str], None]


@asynccontextmanager
async def several_routes(
    found: Mapping[Route, Found], model: ModelSettings, *, patience_s: float, note: Note
) -> AsyncIterator[Routes]:
    """Routes to servers that small questions found to be alike; raises ServerUnusable where they are not."""
    look = _Look(found, model, note)
    await look.compare()
    routes = Routes(tuple(found), outage=Outage(lambda: recovery.first_back(patience_s)))
    routes.check = look.check
    recovery = Recovery(routes, look.at, note)
    routes.on_lost = recovery.lost
    try:
        for route, one in found.items():
            if one.lost:
                routes.drain(route, one.lost)
        yield routes
    finally:
        await recovery.aclose()


class _Look:
    """Looks at the servers of a run: at first whether they are alike, later whether a lost one still is."""

    def __init__(self, found: Mapping[Route, Found], model: ModelSettings, note: Note) -> None:
        self._found = found
        self._model = model
        self._note = note
        self._told: set[str] = set()
        self._first: Nature

    @property
    def check(self) -> ShortCheck:
        """What the first one made of the pictures."""
        return self._first.check

    async def compare(self) -> None:
        served = [(route, one.served) for route, one in self._found.items() if not one.lost]
        natures = await asyncio.gather(*(nature_of(route.endpoint, one, self._model) for route, one in served))
        first, self._first = served[0][0], natures[0]
        for (route, _), nature in zip(served, natures, strict=True):
            if said := difference(self._first, nature, self._model.model_name):
                raise ServerUnusable(
                    f"{route.address} is not like {first.address}: {said}",
                    hint="serve the same model with the same settings everywhere, or leave one --endpoint out",
                )
            if nature.version != self._first.version:
                self._note(f"{route.address} is {nature.version}, {first.address} is {self._first.version}")

    async def at(self, route: Route) -> str:
        """Say nothing of a server that answers questions as the first one did; else what is wrong."""
        bases = self._found[route].bases
        try:
            served = await wait_for_server(route.endpoint, bases, patience_s=0, note=_silent, model_is_named=True)
        except ServerUnusable as error:
            return str(error)
        route.endpoint = route.endpoint.at(served.base)
        nature = await nature_of(route.endpoint, served, self._model)
        if nature.seen.sight == "unknown":
            return "it answers no questions"
        said = difference(self._first, nature, self._model.model_name)
        if said and said not in self._told:
            self._told.add(said)
            self._note(f"{route.address} is there and gets no questions: {said}")
        return said


def _silent(line: str) -> None:
    """Looks at a lost server are many, and say nothing."""
