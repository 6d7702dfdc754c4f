"""The servers' own metrics and memory, read during a run: vLLM's and llama.cpp's text, and mlx-vlm's JSON.

No question waits for them, and a failed reading never disturbs the run.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import httpx2
import msgspec
from msgspec import Struct

from vqa_client.client.allowance import number
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.probe import json_object, why_unreached
from vqa_client.client.routes import Route
from vqa_client.errors import UNDECODABLE
from vqa_client.types import Note

VLLM = {
    b"num_requests_running": "running",
    b"num_requests_waiting": "waiting",
    b"kv_cache_usage_perc": "kv_use",
    b"prefix_cache_queries_total": "prefix_queries",
    b"prefix_cache_hits_total": "prefix_hits",
    b"mm_cache_queries_total": "mm_queries",
    b"mm_cache_hits_total": "mm_hits",
    b"prompt_tokens_total": "prompt_tokens",
    b"generation_tokens_total": "generation_tokens",
    b"num_preemptions_total": "preemptions",
}
"""The names of vLLM 0.32; caches count tokens (prefix) and images (mm)."""
LLAMACPP = {
    b"requests_processing": "running",
    b"requests_deferred": "waiting",
    b"prompt_tokens_total": "prompt_tokens",
    b"tokens_predicted_total": "generation_tokens",
}
NOW = ("running", "waiting", "kv_use")
"""Values of the moment; all others count up from the server's start."""


class Scrape(Struct, frozen=True, kw_only=True):
    """A server's metrics at one moment; `kv_use` is a share of the cache, `counters` count from the server's start."""

    running: float
    waiting: float
    kv_use: float | None = None
    counters: Mapping[str, float] = {}
    memory_bytes: int | None = None


def read_metrics(body: bytes) -> Scrape | None:
    """Read the reply of /metrics; None if its form is unknown."""
    for names, pattern in _FAMILIES:
        samples = _samples(body, names, pattern)
        if "running" in samples:
            return Scrape(
                running=samples["running"],
                waiting=samples.get("waiting", 0.0),
                kv_use=samples.get("kv_use"),
                counters={name: value for name, value in samples.items() if name not in NOW},
                memory_bytes=memory_bytes(body),
            )
    return _mlx(body)


def _family(prefix: bytes, names: Mapping[bytes, str]) -> tuple[Mapping[bytes, str], re.Pattern[bytes]]:
    """A pattern that starts with plain text, so that a search is fast."""
    labels = rb'(?:\{(?:[^"}\n]|"(?:[^"\\\n]|\\.)*+")*+\})?'
    return names, re.compile(rb"\n" + prefix + rb":(" + b"|".join(names) + rb")" + labels + rb"[ \t]++(\S++)")


_FAMILIES = (_family(b"vllm", VLLM), _family(b"llamacpp", LLAMACPP))


def _samples(body: bytes, names: Mapping[bytes, str], pattern: re.Pattern[bytes]) -> dict[str, float]:
    """Add up several engines or models behind one address; of their caches the fullest one counts."""
    samples: dict[str, float] = {}
    for name, text in pattern.findall(b"\n" + body):
        value = number(text)
        if value is not None:
            join: Callable[[Iterable[float]], float] = max if names[name] == "kv_use" else sum
            samples[names[name]] = join((samples.get(names[name], 0.0), value))
    return samples


class _MlxSummary(Struct):
    in_flight: float
    generated_tokens_total: float = 0.0
    prompt_tokens_total: float = 0.0


class _MlxServer(Struct):
    request_queue_depth: float = 0.0


class _Mlx(Struct):
    summary: _MlxSummary
    server: _MlxServer = msgspec.field(default_factory=_MlxServer)


def _mlx(body: bytes) -> Scrape | None:
    """Read mlx-vlm's metrics; its requests in flight include those in the queue."""
    try:
        metrics = msgspec.json.decode(body, type=_Mlx)
    except UNDECODABLE:
        return None
    waiting = min(metrics.server.request_queue_depth, metrics.summary.in_flight)
    counters = {
        "prompt_tokens": metrics.summary.prompt_tokens_total,
        "generation_tokens": metrics.summary.generated_tokens_total,
    }
    return Scrape(running=metrics.summary.in_flight - waiting, waiting=waiting, counters=counters)


FIRST_S, SHARE, EVERY_S = 1.0, 0.2, 5.0
"""Time between readings: at first FIRST_S, then this share of the time so far, at most EVERY_S."""
TIMEOUT_S, LAST_TIMEOUT_S = 5.0, 1.0
LARGEST_BYTES = 4_000_000
"""A larger text isn't read every few seconds; with a thousand labels vLLM's text has a megabyte."""


class ServerWatch:
    """Sums of one server's readings; its counters count from the first reading, also across a restart."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.silent = False
        self.latest: Scrape | None = None
        self.readings = 0
        self._counted: dict[str, float] = {}
        self._memory_bytes: list[int] = []
        self._watched_s = self.at_s = self._running = self._waiting = self._kv_use = self._kv_most = 0.0

    async def look(self, timeout_s: float) -> None:
        """Take one reading; raises httpx2.TransportError. A server without metrics is `silent` from then on."""
        response = await self.route.endpoint.at_root().get("/metrics", timeout_s=timeout_s)
        body, status = response.content, response.status_code
        reading = read_metrics(body) if status == HTTPStatus.OK and len(body) <= LARGEST_BYTES else None
        if reading is not None:
            self.take(reading, time.monotonic())
        elif status < HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.NOT_IMPLEMENTED:
            self.silent = True

    def take(self, reading: Scrape, now_s: float) -> None:
        """Add a reading; its values of the moment count for the time since the reading before."""
        before, passed_s = self.latest, now_s - self.at_s
        if before is not None:
            for name, value in reading.counters.items():
                came = value - before.counters.get(name, 0.0)
                self._counted[name] = self._counted.get(name, 0.0) + (came if came >= 0 else value)
            self._watched_s += passed_s
            self._running += reading.running * passed_s
            self._waiting += reading.waiting * passed_s
            self._kv_use += (reading.kv_use or 0.0) * passed_s
        self._kv_most = max(self._kv_most, reading.kv_use or 0.0)
        if reading.memory_bytes is not None:
            self._memory_bytes = [*self._memory_bytes[:1], reading.memory_bytes]
        self.latest, self.at_s = reading, now_s
        self.readings += 1

    def hit_rate(self, cache: str) -> float | None:
        """The share of a cache's queries since the first reading that hit; None without queries."""
        queries = self._counted.get(f"{cache}_queries", 0.0)
        return min(1.0, self._counted.get(f"{cache}_hits", 0.0) / queries) if queries else None

    def described(self) -> dict[str, Any]:
        """Means, rates and counts between the first and the last reading."""
        seconds, latest = self._watched_s, self.latest
        if not seconds or latest is None:
            return {}
        record: dict[str, Any] = {
            "address": self.route.address,
            "readings": self.readings,
            "watched_s": round(seconds, 3),
            "running": round(self._running / seconds, 3),
            "waiting": round(self._waiting / seconds, 3),
        }
        if latest.kv_use is not None:
            record |= {"kv_use": round(self._kv_use / seconds, 4), "kv_use_max": round(self._kv_most, 4)}
        for cache in ("prefix", "mm"):
            rate = self.hit_rate(cache)
            record |= {} if rate is None else {f"{cache}_hit_rate": round(rate, 4)}
        record |= {f"{name}_s": round(self._counted[name] / seconds, 2) for name in _RATES if name in self._counted}
        if "preemptions" in self._counted:
            record["preemptions"] = int(self._counted["preemptions"])
        if len(self._memory_bytes) > 1:
            record["memory_bytes"] = self._memory_bytes
        return record


_RATES = ("prompt_tokens", "generation_tokens")


class MetricsReader:
    """Reads all servers' metrics; `show` gets a short text after each round, `note` gets the first failure."""

    def __init__(self, routes: Sequence[Route], *, show: Note, note: Note) -> None:
        self._watches = [ServerWatch(route) for route in routes]
        self._show = show
        self._note = note
        self._noted = self._failing = False

    async def watch(self) -> None:
        """Read until cancelled, or until no server has metrics."""
        started_s = time.monotonic()
        while await self.look(TIMEOUT_S):
            elapsed_s = time.monotonic() - started_s
            await asyncio.sleep(min(EVERY_S, max(FIRST_S, SHARE * elapsed_s)))

    async def last_look(self) -> None:
        """At the end of the run, read once more the servers that have metrics."""
        for watch in self._watches:
            watch.silent |= watch.latest is None
        if not self._failing:
            await self.look(LAST_TIMEOUT_S)

    async def look(self, timeout_s: float) -> bool:
        """Read all servers once; False if none has metrics."""
        self._failing = False
        telling = [watch for watch in self._watches if not watch.silent and not watch.route.lost]
        await asyncio.gather(*(self._look(watch, timeout_s) for watch in telling))
        if text := brief([watch for watch in telling if watch.latest is not None]):
            self._show(text)
        return any(not watch.silent for watch in self._watches)

    async def _look(self, watch: ServerWatch, timeout_s: float) -> None:
        try:
            await watch.look(timeout_s)
        except httpx2.TransportError as error:
            self._failing = True
            if watch.latest is not None and not self._noted and not watch.route.lost:
                self._noted = True
                why = watch.route.endpoint.redacted(why_unreached(watch.route.endpoint.base, error))
                self._note(f"{watch.route.address}: its /metrics can't be read now ({why}); the run continues without")

    async def queue(self, since_s: float) -> tuple[float, float] | None:
        """The requests that run and wait at all servers, read after `since_s`; zeros without metrics.

        None if it is too early for another reading.
        """
        telling = [watch for watch in self._watches if watch.latest is not None and not watch.route.lost]
        if any(watch.at_s < since_s for watch in telling):
            if time.monotonic() - max(watch.at_s for watch in telling) < FIRST_S:
                return None
            await self.look(LAST_TIMEOUT_S)
        latest = [] if self._failing else [watch.latest for watch in telling if watch.latest is not None]
        return sum(reading.running for reading in latest), sum(reading.waiting for reading in latest)

    def memory_bytes(self) -> int | None:
        """The memory of all servers together, as last read; None if one doesn't report it."""
        sizes = [watch.latest.memory_bytes if watch.latest else None for watch in self._watches]
        known = [size for size in sizes if size is not None]
        return sum(known) if known and len(known) == len(sizes) else None

    def described(self) -> dict[str, Any]:
        """The records for the run file; nothing without metrics."""
        records = [record for watch in self._watches if (record := watch.described())]
        return {"server_metrics": records} if records else {}


def brief(watches: Sequence[ServerWatch]) -> str:
    """The state of all servers in a few words; the hit rates are those of the run so far."""
    latest = [watch.latest for watch in watches if watch.latest is not None]
    if not latest:
        return ""
    running, waiting = sum(reading.running for reading in latest), sum(reading.waiting for reading in latest)
    shares = {
        "prefix cache": _mean(watch.hit_rate("prefix") for watch in watches),
        "image cache": _mean(watch.hit_rate("mm") for watch in watches),
        "KV": max((reading.kv_use for reading in latest if reading.kv_use is not None), default=None),
    }
    parts = [f"{running:.0f} running", f"{waiting:.0f} waiting"]
    parts += [f"{name} {100 * share:.0f} %" for name, share in shares.items() if share is not None]
    return " · ".join(parts)


def _mean(rates: Iterable[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) / len(known) if known else None


ASK_S = 1.0
_PATHS: Final = ("/metrics", "/health")
_RESIDENT = re.compile(
    r"^(?:process_resident_memory_bytes|\w+[:_]process_resident_memory_bytes)(?:\{[^}\n]*\})?[ \t]+([0-9.eE+]+)",
    re.MULTILINE,
)
_UNITS: Final = {
    "process_resident_memory_bytes": 1,
    "resident_memory_bytes": 1,
    "memory_bytes": 1,
    "rss_bytes": 1,
    "memory_rss_bytes": 1,
    "memory_mb": 1 << 20,
    "rss_mb": 1 << 20,
    "memory_gb": 1 << 30,
    "rss_gb": 1 << 30,
}
"""Fields of a JSON reply for the process's memory, and their unit in bytes."""


async def ask_memory_bytes(endpoint: Endpoint) -> int | None:
    """Ask the server once, for at most a second at each of two paths; None if it doesn't report it or is gone."""
    for path in _PATHS:
        try:
            response = await endpoint.at_root().get(path, timeout_s=ASK_S)
        except httpx2.TransportError:
            continue
        size_bytes = memory_bytes(response.content) if response.status_code == HTTPStatus.OK else None
        if size_bytes is not None:
            return size_bytes
    return None


def memory_bytes(body: bytes) -> int | None:
    """Read the reply of /metrics (Prometheus text or JSON) or /health (JSON); None if it doesn't contain the memory.

    Adds up several processes behind one address, such as vLLM's API servers. Ignores mlx-vlm's `peak_memory_gb`, which
    is the peak of its arrays and not the process's memory.
    """
    sizes = [number(text) for text in _RESIDENT.findall(body.decode("utf-8", "replace"))]
    known = [int(size) for size in sizes or [_reported_size(json_object(body))] if size]
    return sum(known) if known else None


def _reported_size(report: dict[str, Any]) -> float | None:
    """The size in bytes in the first known field of an object or of the objects in it; deeper ones are per request."""
    for part in (report, *(part for part in report.values() if isinstance(part, dict))):
        for name, unit in _UNITS.items():
            if name in part:
                size = number(part[name])
                return None if size is None else number(size * unit)
    return None
