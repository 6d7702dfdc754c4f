"""Starts of runs as in run files, for the rules about bottlenecks."""

from typing import Any


def start(
    *,
    most: int = 32,
    preparing: float = 0.0,
    repeating: float = 0.0,
    paused: float = 0.0,
    sending: float | None = 0.0,
    at_server: float = 0.0,
    client: dict[str, float] | None = None,
    servers: list[dict[str, Any]] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """A start of a minute, 1,000 questions long, whose other workers were idle."""
    busy = preparing + repeating + paused + (sending or 0.0) + at_server
    told = {"server_metrics": servers} if servers is not None else {}
    return {
        "wall_s": 60.0,
        "questions": 1000,
        "sent_bytes": 120_000_000,
        "workers": {
            "most": most,
            "idle": most - busy,
            "preparing": preparing,
            "repeating": repeating,
            "paused": paused,
            "sending": sending,
            "at_server": at_server,
        },
        "client": {"watched_s": 60.0, "cpu": 0.1, "loop_cpu": 0.1, "loop_late_s": 0.001} | (client or {}),
        **told,
        **changes,
    }


def served(running: float, waiting: float = 0.0, **changes: Any) -> dict[str, Any]:
    """The figures that one server reports about itself."""
    return {"address": "http://one:8000/v1", "watched_s": 59.0, "running": running, "waiting": waiting} | changes


def quarters(*latencies_s: float, replies: int = 100, **changes: Any) -> list[dict[str, Any]]:
    """Quarters that are equal except for the changes; a list has a value for each quarter."""
    sizes = {"prompt_tokens": 900, "completion_tokens": 5, "request_bytes": 60_000, "log_spread": 0.5} | changes
    return [
        {"replies": replies, "latency_s": latency_s}
        | {name: value[at] if isinstance(value, list) else value for name, value in sizes.items()}
        for at, latency_s in enumerate(latencies_s)
    ]
