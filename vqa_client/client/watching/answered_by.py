"""What one start of a run says of its servers: how many replies came from each, and how their images went."""

from typing import Any

import msgspec

from vqa_client.client.routes import Routes
from vqa_client.client.uploading.uploads import Counted


class AnsweredBy:
    """Counts from its making on, since several runs of one command share their servers."""

    def __init__(self, routes: Routes) -> None:
        self._routes = routes
        self._answered = [route.answered for route in routes.all]
        self._counted = self._counts()

    def described(self) -> dict[str, Any]:
        """What the run file keeps: nothing for one server that is sent bytes alone."""
        told: dict[str, Any] = {}
        if len(self._routes.all) > 1:
            answered = told["answered_by"] = dict.fromkeys((route.address for route in self._routes.all), 0)
            for route, before in zip(self._routes.all, self._answered, strict=True):
                answered[route.address] += route.answered - before  # addresses are shown without their keys
        if any(route.uploads is not None for route in self._routes.all):
            told["uploads"] = {name: count - self._counted[name] for name, count in self._counts().items()}
        return told

    def _counts(self) -> dict[str, int]:
        each = [msgspec.to_builtins(route.uploads.counted) for route in self._routes.all if route.uploads is not None]
        return {name: sum(counts[name] for counts in each) for name in Counted.__struct_fields__}
