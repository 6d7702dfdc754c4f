"""A server's kind, version, models and context length; and, from a few requests, whether it sees images."""

import re
from typing import Any

from msgspec import Struct

from vqa_client.client.endpoint import Endpoint
from vqa_client.client.probe import Served, context_of_card
from vqa_client.client.probing.asks import Asker, ProbeReply
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
"""Kinds of servers by the `owned_by` of their model cards."""
_HEADER = re.compile(r"^(mlx_vlm|llama\.cpp)(?:/(\S+))?")
_HEADER_KINDS = {"mlx_vlm": MLX_VLM, "llama.cpp": LLAMA_CPP}
_FINGERPRINT = re.compile(r"^vllm-([0-9][^-]*)")


class Evidence(Struct, frozen=True, kw_only=True):
    """What a server reports: its model cards, and the JSON objects at /health and /version."""

    cards: tuple[dict[str, Any], ...] = ()
    health: dict[str, Any] = {}
    version: dict[str, Any] = {}


def kind_of(reply: ProbeReply, evidence: Evidence) -> tuple[str, str | None]:
    """The server's kind ("unknown" if nothing shows it) and its version, from any of its replies and its reports."""
    stated = evidence.version.get("version")
    version = stated if isinstance(stated, str) else None
    if header := _HEADER.match(reply.headers.get("server", "")):
        return _HEADER_KINDS[header[1]], header[2] or _text(reply.body.get("system_fingerprint"))
    if marked := _FINGERPRINT.match(_text(reply.body.get("system_fingerprint")) or ""):
        return VLLM, version or marked[1]
    owners = [OWNERS[card["owned_by"]] for card in evidence.cards if card.get("owned_by") in OWNERS]
    return (owners[0] if owners else "unknown"), version


def loaded_model(evidence: Evidence) -> str | None:
    """The model in memory, if the server marks it among those that it could load, as mlx-vlm does."""
    marked = [card["id"] for card in evidence.cards if card.get("loaded") is True]
    return marked[0] if marked else _text(evidence.health.get("loaded_model"))


def context_length(evidence: Evidence, model: str) -> int | None:
    """The most tokens of prompt and reply together; None if the server doesn't report it."""
    own = [card for card in evidence.cards if card["id"] == model] or list(evidence.cards[:1])
    limits = (
        context_of_card(own[0] if own else {}),
        evidence.health.get("effective_context_limit"),
        evidence.health.get("loaded_context_size"),
    )
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), None)


def identity_findings(reply: ProbeReply, evidence: Evidence, model: str, max_tokens: int) -> list[Finding]:
    """The server's kind and version, its models and their context length."""
    kind, version = kind_of(reply, evidence)
    return [
        Finding(name="kind", text=kind, value=kind),
        Finding(name="version", text=version or "not reported", value=version),
        _models_finding(evidence, kind, model),
        _context_finding(context_length(evidence, model), max_tokens),
    ]


def _models_finding(evidence: Evidence, kind: str, model: str) -> Finding:
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


def _context_finding(tokens: int | None, max_tokens: int) -> Finding:
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
    """What a server lists, and what it replied to two small pictures.

    Without a reply, `error` and `http_status` say why.
    """

    served: Served
    fingerprint: Fingerprint
    error: str = ""
    http_status: int = 0

    @property
    def version(self) -> str:
        """The server's kind, and its version if it reports one."""
        return f"{self.fingerprint.kind} {self.fingerprint.version or ''}".strip()


async def short_check(
    endpoint: Endpoint, served: Served, model: ModelSettings, *, timeout_s: float = TIMEOUT_S
) -> ShortCheck:
    """Ask for the colours of two pictures; if the replies don't name them, ask for a drawn code, and without a picture.

    Never raises for an error of the server: `sight` is then "unknown". `timeout_s` is for each request.
    """
    asker = Asker(endpoint, model, timeout_s=timeout_s)
    colours = await asker.ask_all(colour_asks())
    code = bare = None
    if sight_of(colours) not in ("colours", "unknown"):
        code, bare = await asker.ask(code_ask()), await asker.ask(bare_ask())
    sight = sight_of(colours, code, bare)
    kind, version = kind_of(colours[0], Evidence())
    if kind == "unknown":
        evidence = Evidence(cards=served.cards, version=await asker.get("/version", at_root=True))
        kind, version = kind_of(colours[0], evidence)
    fingerprint = Fingerprint(
        kind=kind, version=version, model=model.model_name, sight=sight, picture_tokens=colours[0].prompt_tokens
    )
    if sight != "unknown":
        return ShortCheck(served=served, fingerprint=fingerprint)
    return ShortCheck(
        served=served,
        fingerprint=fingerprint,
        error=endpoint.redacted(colours[0].error),
        http_status=colours[0].http_status,
    )
