"""How long to wait before asking again."""

import email.utils
import random
from collections.abc import Mapping

BASE_S = 0.5
CAP_S = 30.0


def backoff_s(failures: int, chance: random.Random) -> float:
    """Full jitter: uniform in [0, min(cap, base x 2^(failures - 1))] seconds, after `failures` failures in a row.

    Source of the formula: M. Brooker, "Exponential Backoff And Jitter", 2015.
    """
    return chance.uniform(0, min(CAP_S, BASE_S * 2 ** min(failures - 1, 16)))


def retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """The server's own wish in seconds, from retry-after-ms or Retry-After (seconds or an HTTP date); else None.

    `now_s` is the time of day as seconds since the epoch, for a server that doesn't say its own: a date means its
    clock, which ours may be hours off. Zero, the past and junk are no wish.
    """
    said_s = _date_s(headers.get("date"))
    now_s = now_s if said_s is None else said_s
    for wish in (_milliseconds(headers.get("retry-after-ms")), _seconds(headers.get("retry-after"), now_s)):
        if wish is not None and wish > 0:
            return wish
    return None


def _milliseconds(value: str | None) -> float | None:
    seconds = _number(value)
    return None if seconds is None else seconds / 1000


def _seconds(value: str | None, now_s: float) -> float | None:
    number = _number(value)
    if number is not None or value is None:
        return number
    until_s = _date_s(value)
    return None if until_s is None else until_s - now_s


def _date_s(value: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value).timestamp() if value else None
    except (ValueError, OverflowError):
        return None


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else None
    except ValueError:
        return None
    return number if number is None or 0 <= number < 1e7 else None
