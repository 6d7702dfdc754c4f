"""Which statuses a resumed run asks again."""

from vqa_client.errors import UsageError
from vqa_client.types import FAILED, STATUSES, Status

EVERY_FAILURE = "failed"


def retried(words: str) -> frozenset[Status]:
    """Read names with commas: statuses, or "failed" for all without a reply; raises UsageError for any other."""
    known: dict[str, frozenset[Status]] = {EVERY_FAILURE: FAILED}
    known |= {status: frozenset({status}) for status in STATUSES if status != "ok"}
    named = [word.strip() for word in words.split(",") if word.strip()]
    unknown = next((word for word in named if word not in known), None)
    if unknown is not None:
        raise UsageError(f"--retry names {unknown!r}", hint=f"known are {', '.join(known)}; --fresh asks all again")
    return frozenset().union(*(known[word] for word in named))
