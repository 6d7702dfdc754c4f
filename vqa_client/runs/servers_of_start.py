"""What one start of a run learns of its servers beside the answers: who they were, what they said, what they took."""

import asyncio
from collections.abc import Callable
from typing import Any

from vqa_client.client.session import Session
from vqa_client.client.watching.metrics import AnsweredBy, MetricsReader
from vqa_client.client.watching.server_memory import ask_memory_bytes
from vqa_client.settings.run import RunSettings

KEPT = ("base_url", "fingerprint")


class ServersOfStart:
    """Made before the first question, described after the last; `told` and `note` are a display's."""

    def __init__(
        self, session: Session, settings: RunSettings, *, told: Callable[[str], None], note: Callable[[str], None]
    ) -> None:
        routes = session.chat.routes
        self._session = session
        self._answered_by = AnsweredBy(routes)
        self._metrics = MetricsReader(routes.all if settings.metrics else (), told=told, note=note)
        self.watch, self.queue = self._metrics.watch, self._metrics.queue

    async def last_look(self) -> dict[str, Any]:
        """What the run file says of the server at the end, its memory included."""
        await self._metrics.last_look()
        memory = self._metrics.memory_bytes()
        return self._session.server | {"memory_bytes": await self._asked_memory() if memory is None else memory}

    async def _asked_memory(self) -> int | None:
        """Of all servers together; None where one doesn't tell."""
        each = await asyncio.gather(*(ask_memory_bytes(route.endpoint) for route in self._session.chat.routes.all))
        told = [size for size in each if size is not None]
        return sum(told) if len(told) == len(each) else None

    def described(self) -> dict[str, Any]:
        """What the start's entry says: another start of the same run may have asked another server."""
        asked = {name: self._session.server.get(name, "not checked") for name in KEPT}
        return {"server": asked} | self._answered_by.described() | self._metrics.described()
