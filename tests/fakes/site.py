"""What a kind of server has beside its chats, and which play a request gets."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.fakes.dialects import KINDS, Kind, refusal
from tests.fakes.gates import Gate, UploadRule
from tests.fakes.ledger import Ledger
from tests.fakes.line import Play, Reply, json_reply
from tests.fakes.received import Received

CREATED_UNIX_S = 1_795_821_541
CHAT = "/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A server's kind, script and models; `max_model_len` is in tokens."""

    kind: str
    script: Play
    models: tuple[str, ...]
    max_model_len: int
    ledger: Ledger

    @property
    def dialect(self) -> Kind:
        """The kind's ways."""
        return KINDS[self.kind]

    @property
    def chat_paths(self) -> tuple[str, ...]:
        """Where chats are taken."""
        return next((gate.chat_paths for gate in self._gates() if gate.chat_paths), self.dialect.chat_paths)

    @property
    def upload(self) -> UploadRule | None:
        """What is asked while a body comes in."""
        return next((gate.upload for gate in self._gates() if gate.upload), None)

    def play(self, received: Received) -> Play:
        """The first gate that refuses, then the script for a chat, then the kind's own endpoints."""
        script = self.script
        while isinstance(script, Gate):
            verdict = script.refuses(received)
            if verdict is not None:
                return verdict
            script = script.then
        if received.route in self.chat_paths and received.method == "POST":
            return script
        return self._endpoint(received)

    def _gates(self) -> Iterator[Gate]:
        script = self.script
        while isinstance(script, Gate):
            yield script
            script = script.then

    def _endpoint(self, received: Received) -> Reply:
        facts: dict[str, Any] = {"method": received.method, "path": received.path}
        if received.route in self.chat_paths:
            return refusal(self.kind, "method_not_allowed", headers=(("allow", "POST"),), **facts)
        endpoints = ENDPOINTS[self.kind]
        name = received.route
        if "MODELS" in endpoints and any(name == path.removesuffix(CHAT) + "/models" for path in self.chat_paths):
            name = "MODELS"
        if received.method != "GET" or name not in endpoints:
            return refusal(self.kind, "not_found", **facts)
        return endpoints[name](self)


def _vllm_models(site: Site) -> Reply:
    card = {"object": "model", "created": CREATED_UNIX_S, "owned_by": "vllm", "parent": None, "permission": []}
    models = [{"id": name, "root": name, "max_model_len": site.max_model_len, **card} for name in site.models]
    return json_reply({"object": "list", "data": models})


def _mlx_models(site: Site) -> Reply:
    card = {"object": "model", "created": CREATED_UNIX_S}
    models = [{"id": name, "loaded": name == site.models[0], **card} for name in reversed(site.models)]
    return json_reply({"object": "list", "data": models})


def _llamacpp_models(site: Site) -> Reply:
    meta = {"n_ctx": site.max_model_len, "n_ctx_train": 2 * site.max_model_len}
    modalities = {"input_modalities": ["text", "image"], "output_modalities": ["text"]}
    card = {"object": "model", "owned_by": "llamacpp", "architecture": modalities, "meta": meta}
    names = [{"name": name, "model": name, "capabilities": ["completion", "multimodal"]} for name in site.models]
    return json_reply({"models": names, "object": "list", "data": [{"id": name, **card} for name in site.models]})


def _mlx_health(site: Site) -> Reply:
    return json_reply(
        {
            "status": "healthy",
            "loaded_model": site.models[0],
            "loaded_context_size": site.max_model_len,
            "configured_context_limit": None,
            "effective_context_limit": site.max_model_len,
            "continuous_batching_enabled": True,
            "apc_enabled": False,
        }
    )


def _vllm_metrics(site: Site) -> Reply:
    label, counts = f'{{engine="0",model_name="{site.models[0]}"}}', site.ledger.counts
    rows: dict[str, float] = {
        "vllm:num_requests_running": site.ledger.in_flight,
        "vllm:num_requests_waiting": 0,
        "vllm:kv_cache_usage_perc": 0.0,
        "vllm:request_success_total": counts["status_200"],
    }
    text = "".join(f"# TYPE {name} gauge\n{name}{label} {value}\n" for name, value in rows.items())
    return Reply(body=text.encode(), headers=(("content-type", "text/plain; version=1.0.0; charset=utf-8"),))


def _llamacpp_metrics(site: Site) -> Reply:
    message = "This server does not support metrics endpoint. Start it with `--metrics`"
    return json_reply({"error": {"code": 501, "message": message, "type": "not_supported_error"}}, 501)


def _always(content: Any) -> Callable[[Site], Reply]:
    return lambda site: json_reply(content)


ENDPOINTS: dict[str, dict[str, Callable[[Site], Reply]]] = {
    "vllm": {
        "MODELS": _vllm_models,
        "/health": lambda site: Reply(),
        "/ping": lambda site: Reply(),
        "/version": _always({"version": "0.32.0"}),
        "/metrics": _vllm_metrics,
    },
    "mlx-vlm": {
        "MODELS": _mlx_models,
        "/health": _mlx_health,
        "/metrics": _always({"latest": None, "recent": []}),
    },
    "llamacpp": {
        "MODELS": _llamacpp_models,
        "/health": _always({"status": "ok"}),
        "/metrics": _llamacpp_metrics,
    },
    "plain": {},
}
