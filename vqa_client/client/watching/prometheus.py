"""The few numbers that a run takes from a server's /metrics: vLLM's and llama.cpp's text, mlx-vlm's JSON."""

import math
import re
from collections.abc import Callable, Iterable, Mapping

import msgspec
from msgspec import Struct

from vqa_client.client.watching.server_memory import memory_bytes
from vqa_client.errors import UNDECODABLE

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
"""As vLLM 0.32 names them; caches count tokens (prefix) and images (mm)."""
LLAMACPP = {
    b"requests_processing": "running",
    b"requests_deferred": "waiting",
    b"prompt_tokens_total": "prompt_tokens",
    b"tokens_predicted_total": "generation_tokens",
}
NOW = ("running", "waiting", "kv_use")
"""What is of the moment; all else counts up from the server's start."""


class Reading(Struct, frozen=True, kw_only=True):
    """A server's own figures at one moment; `kv_use` is a share of the cache, `counters` count from its start."""

    running: float
    waiting: float
    kv_use: float | None = None
    counters: Mapping[str, float] = {}
    memory_bytes: int | None = None


def read_metrics(body: bytes) -> Reading | None:
    """Read the reply of /metrics; None where it is of no known form."""
    for names, pattern in _FAMILIES:
        found = _samples(body, names, pattern)
        if "running" in found:
            return _reading(found, memory_bytes(body))
    return _mlx(body)


def _family(prefix: bytes, names: Mapping[bytes, str]) -> tuple[Mapping[bytes, str], re.Pattern[bytes]]:
    """A pattern that begins with plain text, which a search finds without a look at every line."""
    labels = rb'(?:\{(?:[^"}\n]|"(?:[^"\\\n]|\\.)*+")*+\})?'
    return names, re.compile(rb"\n" + prefix + rb":(" + b"|".join(names) + rb")" + labels + rb"[ \t]++(\S++)")


_FAMILIES = (_family(b"vllm", VLLM), _family(b"llamacpp", LLAMACPP))


def _samples(body: bytes, names: Mapping[bytes, str], pattern: re.Pattern[bytes]) -> dict[str, float]:
    """Several engines or models behind one address are added up; of their caches the fullest is told."""
    found: dict[str, float] = {}
    for name, text in pattern.findall(b"\n" + body):
        value = _number(text)
        if value is not None:
            join: Callable[[Iterable[float]], float] = max if names[name] == "kv_use" else sum
            found[names[name]] = join((found.get(names[name], 0.0), value))
    return found


def _number(text: bytes) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _reading(found: Mapping[str, float], memory: int | None) -> Reading:
    return Reading(
        running=found["running"],
        waiting=found.get("waiting", 0.0),
        kv_use=found.get("kv_use"),
        counters={name: value for name, value in found.items() if name not in NOW},
        memory_bytes=memory,
    )


class _MlxSummary(Struct):
    in_flight: float
    generated_tokens_total: float = 0.0
    prompt_tokens_total: float = 0.0


class _MlxServer(Struct):
    request_queue_depth: float = 0.0


class _Mlx(Struct):
    summary: _MlxSummary
    server: _MlxServer = msgspec.field(default_factory=_MlxServer)


def _mlx(body: bytes) -> Reading | None:
    """Of mlx-vlm's requests in flight those in the queue have not begun."""
    try:
        told = msgspec.json.decode(body, type=_Mlx)
    except UNDECODABLE:
        return None
    waiting = min(told.server.request_queue_depth, told.summary.in_flight)
    counters = {
        "prompt_tokens": told.summary.prompt_tokens_total,
        "generation_tokens": told.summary.generated_tokens_total,
    }
    return Reading(running=told.summary.in_flight - waiting, waiting=waiting, counters=counters)
