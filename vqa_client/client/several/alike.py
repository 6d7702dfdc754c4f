"""Whether several servers are one for a benchmark: which of them answers must not decide what is answered."""

from msgspec import Struct

from vqa_client.client.check.findings import Fingerprint
from vqa_client.client.check.short import ShortCheck, short_check
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.probe import Served
from vqa_client.model_config import ModelSettings


class Nature(Struct, frozen=True, kw_only=True):
    """What a server lists, and how it took two small pictures."""

    served: Served
    check: ShortCheck

    @property
    def seen(self) -> Fingerprint:
        """What it is."""
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
        ("takes prompts of so many tokens", one.served.context_length, other.served.context_length),
        ("makes so many prompt tokens of a small picture", one.seen.picture_tokens, other.seen.picture_tokens),
    ):
        if mine is not None and theirs is not None and mine != theirs:
            return f"it {what}: {theirs}, and the first {mine}"
    return ""
