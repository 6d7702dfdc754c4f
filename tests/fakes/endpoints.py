"""The endpoints of each kind of server, and the choice of script for a request."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.fakes.dialects import KINDS, Kind, refusal
from tests.fakes.log import Log
from tests.fakes.received import Received
from tests.fakes.request_rules import RequestRule, UploadRule
from tests.fakes.script import Reply, Script, json_reply

CREATED_UNIX_S = 1_795_821_541
CHAT = "/chat/completions"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """A server's kind, script and models; `max_model_len` is in tokens."""

    kind: str
    script: Script
    models: tuple[str, ...]
    max_model_len: int
    log: Log

    @property
    def dialect(self) -> Kind:
        """The kind's dialect."""
        return KINDS[self.kind]

    @property
    def chat_paths(self) -> tuple[str, ...]:
        """The paths for chats."""
        return next((rule.chat_paths for rule in self._rules() if rule.chat_paths), self.dialect.chat_paths)

    @property
    def upload(self) -> UploadRule | None:
        """The rule that is applied while a body arrives."""
        return next((rule.upload for rule in self._rules() if rule.upload), None)

    def script_for(self, received: Received) -> Script:
        """The first rule that refuses, else the script for a chat, else the kind's own endpoint."""
        script = self.script
        while isinstance(script, RequestRule):
            verdict = script.refuses(received)
            if verdict is not None:
                return verdict
            script = script.then
        if received.route in self.chat_paths and received.method == "POST":
            return script
        return self._endpoint(received)

    def _rules(self) -> Iterator[RequestRule]:
        script = self.script
        while isinstance(script, RequestRule):
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


def _vllm_models(state: ServerState) -> Reply:
    card = {"object": "model", "created": CREATED_UNIX_S, "owned_by": "vllm", "parent": None, "permission": []}
    models = [{"id": name, "root": name, "max_model_len": state.max_model_len, **card} for name in state.models]
    return json_reply({"object": "list", "data": models})


def _mlx_models(state: ServerState) -> Reply:
    card = {"object": "model", "created": CREATED_UNIX_S}
    models = [{"id": name, "loaded": name == state.models[0], **card} for name in reversed(state.models)]
    return json_reply({"object": "list", "data": models})


def _llamacpp_models(state: ServerState) -> Reply:
    meta = {"n_ctx": state.max_model_len, "n_ctx_train": 2 * state.max_model_len}
    modalities = {"input_modalities": ["text", "image"], "output_modalities": ["text"]}
    card = {"object": "model", "owned_by": "llamacpp", "architecture": modalities, "meta": meta}
    names = [{"name": name, "model": name, "capabilities": ["completion", "multimodal"]} for name in state.models]
    return json_reply({"models": names, "object": "list", "data": [{"id": name, **card} for name in state.models]})


def _mlx_health(state: ServerState) -> Reply:
    return json_reply(
        {
            "status": "healthy",
            "loaded_model": state.models[0],
            "loaded_context_size": state.max_model_len,
            "configured_context_limit": None,
            "effective_context_limit": state.max_model_len,
            "continuous_batching_enabled": True,
            "apc_enabled": False,
        }
    )


def _vllm_metrics(state: ServerState) -> Reply:
    label, counts = f'{{engine="0",model_name="{state.models[0]}"}}', state.log.counts
    rows: dict[str, float] = {
        "vllm:num_requests_running": state.log.in_flight,
        "vllm:num_requests_waiting": 0,
        "vllm:kv_cache_usage_perc": 0.0,
        "vllm:request_success_total": counts["status_200"],
    }
    text = "".join(f"# TYPE {name} gauge\n{name}{label} {value}\n" for name, value in rows.items())
    return Reply(body=text.encode(), headers=(("content-type", "text/plain; version=1.0.0; charset=utf-8"),))


def _llamacpp_metrics(state: ServerState) -> Reply:
    message = "This server does not support metrics endpoint. Start it with `--metrics`"
    return json_reply({"error": {"code": 501, "message": message, "type": "not_supported_error"}}, 501)


def _always(content: Any) -> Callable[[ServerState], Reply]:
    return lambda state: json_reply(content)


ENDPOINTS: dict[str, dict[str, Callable[[ServerState], Reply]]] = {
    "vllm": {
        "MODELS": _vllm_models,
        "/health": lambda state: Reply(),
        "/ping": lambda state: Reply(),
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
