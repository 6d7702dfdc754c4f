"""What a run has cost, as names and values."""

from vqa_client.reports.logged_run import LoggedRun
from vqa_client.reports.overview import Overview, quantile
from vqa_client.reports.start import time_of

_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"))


def totals(run: LoggedRun, found: Overview) -> list[tuple[str, str]]:
    """Times, tokens and megabytes; what the log doesn't say is left out."""
    sessions, wall_s, asked = run.facts.sessions, time_of(run.facts.sessions), run.facts.total("questions")
    prompt, reply = found.whole.prompt_tokens, found.whole.completion_tokens
    median, p95 = quantile(found.latencies_s, 0.5), quantile(found.latencies_s, 0.95)
    rows = [
        ("time", _duration(wall_s) if wall_s else ""),
        ("starts", f"{len(sessions):,}" if len(sessions) > 1 else ""),
        ("questions per second", f"{asked / wall_s:.2f}" if wall_s else ""),
        ("latency, median", f"{median:.2f} s" if median else ""),
        ("latency, 95 %", f"{p95:.2f} s" if p95 else ""),
        ("latency, longest", f"{found.latencies_s[-1]:.2f} s" if found.latencies_s else ""),
        ("prompt tokens", f"{prompt.total:,}" if prompt.n else ""),
        ("reply tokens", f"{reply.total:,}" if reply.n else ""),
        ("reply tokens per second", f"{reply.total / wall_s:,.1f}" if wall_s and reply.n else ""),
        ("requests", f"{found.attempts:,}"),
        ("sent", _size(found.sent_bytes) if found.sent_bytes else ""),
    ]
    return [(name, value) for name, value in rows if value]


def spent(run: LoggedRun, found: Overview) -> str:
    """Tokens for each question and, where the config has prices, dollars in all; "" where neither is known."""
    prompt, reply = found.whole.prompt_tokens, found.whole.completion_tokens
    parts = [
        f"{of.total / of.n:,.0f} {name} tokens"
        for name, of in (("prompt", prompt), ("reply", reply))
        if of.n and of.total
    ]
    words = [f"{' and '.join(parts)} per question"] if parts else []
    if (price := dollars(run, found)) is not None:
        words.append(f"${price:,.2f} in all" if price >= 0.01 else f"${price:.4f} in all")
    return " · ".join(words)


def dollars(run: LoggedRun, found: Overview) -> float | None:
    """The price of all tokens, those of batches at theirs; None without prices, or where the server told no tokens."""
    prices, prompt, reply = run.facts.described.get("prices"), found.whole.prompt_tokens, found.whole.completion_tokens
    if not isinstance(prices, dict) or not prompt.n:
        return None
    price = float(prompt.total * prices.get("input", 0) + reply.total * prices.get("output", 0)) / 1e6
    batched: int = sum(each["questions"] for start in run.facts.sessions for each in start.get("batches", ()))
    return price * (1 - (1 - float(prices.get("batch", 1))) * min(1, batched / max(1, found.whole.overall.total)))


def _size(size_bytes: int) -> str:
    unit, name = next((each for each in _UNITS if size_bytes >= each[0]), _UNITS[-1])
    return f"{size_bytes / unit:,.1f} {name}"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
