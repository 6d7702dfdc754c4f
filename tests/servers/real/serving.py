"""Real servers with the tiny model, started as `vqa-client serve` starts them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from msgspec import Struct
from msgspec.structs import replace

from tests.servers.real.environments import Kind, locked, missing, python
from vqa_client.model_config import ModelSettings, ServeBlock
from vqa_client.servers.by_config import mlx, vllm
from vqa_client.servers.process import Launch
from vqa_client.servers.serving import free_port
from vqa_client.shipped import shipped

HOST = "127.0.0.1"
CHECKPOINTS = (
    shipped("serve") / "tiny_vlm" / "tiny-vlm",
    Path(__file__).parents[4] / "shared" / "models" / "tiny-vlm",
)
"""The tiny model of this project, or else one like it; the first that is here is served."""
CONTEXT_TOKENS, MOST_IMAGES = 2048, 4
START_TIMEOUT_S = 400.0
SECRET = "a-key-of-these-tests"
LAUNCH = {"mlx-vlm": mlx, "vllm": vllm}
ARGUMENTS: dict[Kind, tuple[str, ...]] = {"mlx-vlm": (), "vllm": ("--enforce-eager",)}
SHIMS = Path(__file__).with_name("shim")
ENVIRONMENT: dict[Kind, dict[str, str]] = {
    "mlx-vlm": {"PYTHONPATH": str(SHIMS / "mlx-vlm"), "MLX_DISABLE_COMPILE": "1"},  # it would look for a C++ compiler
    "vllm": {
        "PYTHONPATH": str(SHIMS / "vllm"),
        "TORCHDYNAMO_DISABLE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    },
}
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


class RealServer(Struct, frozen=True, kw_only=True):
    """A server that is ready: `config()` is what a run needs to ask it."""

    kind: Kind
    base_url: str
    model: str
    checkpoint: Path
    pid: int

    def config(self, **changes: Any) -> dict[str, Any]:
        """A config's content, as of a JSON file."""
        return {"model_name": self.model, "max_tokens": 32, "temperature": 0.0, "base_url": self.base_url, **changes}

    @property
    def knows_our_prompts(self) -> bool:
        """Whether the model was trained on what the commands ask: this project's own was."""
        return self.checkpoint.resolve().is_relative_to(shipped("serve").resolve())

    @property
    def origin(self) -> str:
        """Where /health and /metrics are."""
        return self.base_url.removesuffix("/v1")


def checkpoint() -> Path:
    """The model that is served; the test is skipped where there is none."""
    for folder in CHECKPOINTS:
        if (folder / "model.safetensors").is_file():
            return folder
    pytest.skip(f"no tiny model at {CHECKPOINTS[0]}")


@contextmanager
def started(
    kind: Kind, *more: str, env: dict[str, str] | None = None, images: int = MOST_IMAGES, model: str | None = None
) -> Iterator[RealServer]:
    """A server of its own, with `more` arguments; the test is skipped, with the reason, where it can't be had.

    vLLM serves under the name tiny-vlm unless `model` is another, mlx-vlm under the folder of the weights.
    """
    if reason := missing(kind):
        pytest.skip(reason)
    weights = checkpoint()
    name = str(weights) if kind == "mlx-vlm" else (model or "tiny-vlm")
    launch = launched(kind, weights, name, more, images)
    settings = {**OFFLINE, **ENVIRONMENT[kind], **launch.env, **(env or {})}
    start = replace(launch, name=kind, env=settings, grace_s=5.0).running(START_TIMEOUT_S)
    with start_blocking_portal() as portal, ExitStack() as stack:
        with locked("starting"):  # each takes a core for long: at once, none would be ready in time
            server = stack.enter_context(portal.wrap_async_context_manager(start))
        yield RealServer(kind=kind, base_url=server.base_url, model=name, checkpoint=weights, pid=server.pid)


def launched(kind: Kind, weights: Path, name: str, more: Sequence[str], images: int) -> Launch:
    """What `vqa-client serve` would start for this model, found in the server's own environment."""
    limit = CONTEXT_TOKENS if kind == "vllm" else None
    block = ServeBlock(model=str(weights), max_model_len=limit, extra_args=(*ARGUMENTS[kind], *more))
    settings = ModelSettings(model_name=name, max_tokens=32, serve=block)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", os.pathsep.join((str(python(kind).parent), os.environ.get("PATH", ""))))
        return LAUNCH[kind](settings, host=HOST, port=free_port(), images=images, dry_run=False, note=lambda text: None)
