"""Which server it is, in which version, what it serves, how long a prompt may be; and by few requests, if it sees."""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from vqa_client.client.endpoint import Endpoint
from vqa_client.client.probe import context_of_card
from vqa_client.client.probing.asks import Asker, Reply
from vqa_client.client.probing.findings import Finding, Fingerprint, bare_ask, code_ask, colour_asks, sight_of
from vqa_client.model_config import ModelSettings

VLLM, MLX_VLM, LLAMA_CPP, READER = "vllm", "mlx-vlm", "llama.cpp", "page-reader"
OWNERS = {
    "vllm": VLLM,
    "llamacpp": LLAMA_CPP,
    "sglang": "sglang",
    "lmdeploy": "lmdeploy",
    "library": "ollama",
    "vqa-client": READER,
}
"""What servers write into `owned_by` of their model cards."""
_HEADER = re.compile(r"^(mlx_vlm|llama\.cpp)(?:/(\S+))?")
_HEADER_KINDS = {"mlx_vlm": MLX_VLM, "llama.cpp": LLAMA_CPP}
_FINGERPRINT = re.compile(r"^vllm-([0-9][^-]*)")


class Evidence(Struct, frozen=True, kw_only=True):
    """What a server says of itself: cards of /models, the object at /health and the one at /version."""

    cards: tuple[dict[str, Any], ...] = ()
    health: dict[str, Any] = {}
    version: dict[str, Any] = {}


def cards_of(models: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The model cards in the body of /models that have an id."""
    data = models.get("data")
    cards = data if isinstance(data, list) else []
    return tuple(card for card in cards if isinstance(card, dict) and isinstance(card.get("id"), str))


def kind_of(reply: Reply, evidence: Evidence) -> tuple[str, str | None]:
    """The server's kind ("unknown" where nothing tells) and its version, from any reply of its own and the rest."""
    stated = evidence.version.get("version")
    version = stated if isinstance(stated, str) else None
    if header := _HEADER.match(reply.headers.get("server", "")):
        return _HEADER_KINDS[header[1]], header[2] or _text(reply.body.get("system_fingerprint"))
    if marked := _FINGERPRINT.match(_text(reply.body.get("system_fingerprint")) or ""):
        return VLLM, version or marked[1]
    owners = [OWNERS[card["owned_by"]] for card in evidence.cards if card.get("owned_by") in OWNERS]
    return (owners[0] if owners else "unknown"), version


def loaded_model(evidence: Evidence) -> str | None:
    """The model in memory where the server tells it apart from those it could load, as mlx-vlm does."""
    marked = [card["id"] for card in evidence.cards if card.get("loaded") is True]
    return marked[0] if marked else _text(evidence.health.get("loaded_model"))


def context_length(evidence: Evidence, model: str) -> int | None:
    """Tokens of prompt and reply together; None where the server doesn't say."""
    own = [card for card in evidence.cards if card["id"] == model] or list(evidence.cards[:1])
    limits = (
        context_of_card(own[0] if own else {}),
        evidence.health.get("effective_context_limit"),
        evidence.health.get("loaded_context_size"),
    )
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), None)


def found_identity(reply: Reply, evidence: Evidence, model: str, max_tokens: int) -> list[Finding]:
    """The server, the models it serves and the context they have."""
    kind, version = kind_of(reply, evidence)
    named = Finding(name="kind", text=kind, value=kind)
    return [
        named,
        Finding(name="version", text=version or "not reported", value=version),
        _models(evidence, kind, model),
        _context(context_length(evidence, model), max_tokens),
    ]


def _models(evidence: Evidence, kind: str, model: str) -> Finding:
    names = [card["id"] for card in evidence.cards]
    loaded = loaded_model(evidence)
    listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "") or "none listed"
    if loaded is not None and loaded != model:
        return Finding(
            name="models",
            level="warning",
            text=f"{loaded} is loaded; {model} is not",
            value=names,
            hint=f"{kind} loads another model for any request that names one, and drops this one: name {loaded}",
        )
    if names and model not in names:
        return Finding(
            name="models",
            level="warning",
            text=f"lists {listed}, and not {model}",
            value=names,
            hint="name a listed one with --model, or start the server with this served-model-name",
        )
    return Finding(name="models", text=f"{listed}{' (loaded)' if loaded and len(names) == 1 else ''}", value=names)


def _context(tokens: int | None, max_tokens: int) -> Finding:
    if tokens is None:
        return Finding(name="context_length", level="note", text="not reported")
    if max_tokens >= tokens:
        return Finding(
            name="context_length",
            level="warning",
            text=f"{tokens:,} tokens, and replies may have {max_tokens:,}",
            value=tokens,
            hint="lower max_tokens in the config, or raise the server's max-model-len",
        )
    return Finding(name="context_length", text=f"{tokens:,} tokens of prompt and reply", value=tokens)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


TIMEOUT_S = 60.0


class ShortCheck(Struct, frozen=True, kw_only=True):
    """What two small pictures showed; `error` and `http_status` say why, if there was no reply."""

    fingerprint: Fingerprint
    error: str = ""
    http_status: int = 0


async def short_check(endpoint: Endpoint, model: ModelSettings, *, timeout_s: float = TIMEOUT_S) -> ShortCheck:
    """Ask for the colours of two pictures; where they are not named, for a drawn code, and without a picture.

    Never raises for what the server does: `sight` is "unknown" where it didn't reply, "blind" or "same" where no image
    was seen. `timeout_s` is for each request.
    """
    asker = Asker(endpoint, model, timeout_s=timeout_s)
    colours = await asker.all(colour_asks())
    code = bare = None
    if sight_of(colours) not in ("colours", "unknown"):
        code, bare = await asker.ask(code_ask()), await asker.ask(bare_ask())
    sight = sight_of(colours, code, bare)
    kind, version = kind_of(colours[0], Evidence())
    if kind == "unknown":
        stated = await asker.get("/version", at_root=True)
        models = await asker.get("/models")
        kind, version = kind_of(colours[0], Evidence(cards=cards_of(models), version=stated))
    fingerprint = Fingerprint(
        kind=kind, version=version, model=model.model_name, sight=sight, picture_tokens=colours[0].prompt_tokens
    )
    if sight != "unknown":
        return ShortCheck(fingerprint=fingerprint)
    return ShortCheck(
        fingerprint=fingerprint, error=endpoint.redacted(colours[0].error), http_status=colours[0].http_status
    )
