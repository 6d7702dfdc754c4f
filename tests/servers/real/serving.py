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
"""The tiny model of this project, else a similar one; the first that exists is served."""
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
    """A server that is ready, with the `config()` for runs."""

    kind: Kind
    base_url: str
    model: str
    checkpoint: Path
    pid: int

    def config(self, **changes: Any) -> dict[str, Any]:
        """The content of a config file, with changes."""
        return {"model_name": self.model, "max_tokens": 32, "temperature": 0.0, "base_url": self.base_url, **changes}

    @property
    def knows_our_prompts(self) -> bool:
        """Whether the model was trained on the prompts of our commands; only this project's own was."""
        return self.checkpoint.resolve().is_relative_to(shipped("serve").resolve())

    @property
    def origin(self) -> str:
        """The address of /health and /metrics."""
        return self.base_url.removesuffix("/v1")


def checkpoint() -> Path:
    """The folder of the model; skips the test if there isn't one."""
    for folder in CHECKPOINTS:
        if (folder / "model.safetensors").is_file():
            return folder
    pytest.skip(f"no tiny model at {CHECKPOINTS[0]}")


@contextmanager
def started(
    kind: Kind, *more: str, env: dict[str, str] | None = None, images: int = MOST_IMAGES, model: str | None = None
) -> Iterator[RealServer]:
    """Start a server with `more` arguments; skips the test with the reason if its environment is missing.

    vLLM serves the model as `model`, by default tiny-vlm; mlx-vlm serves it under the folder of its weights.
    """
    if reason := missing(kind):
        pytest.skip(reason)
    weights = checkpoint()
    name = str(weights) if kind == "mlx-vlm" else (model or "tiny-vlm")
    launch = launched(kind, weights, name, more, images)
    settings = {**OFFLINE, **ENVIRONMENT[kind], **launch.env, **(env or {})}
    start = replace(launch, name=kind, env=settings, grace_s=5.0).running(START_TIMEOUT_S)
    with start_blocking_portal() as portal, ExitStack() as stack:
        with locked("starting"):  # one at a time: each start takes a core, and several would all time out
            server = stack.enter_context(portal.wrap_async_context_manager(start))
        yield RealServer(kind=kind, base_url=server.base_url, model=name, checkpoint=weights, pid=server.pid)


def launched(kind: Kind, weights: Path, name: str, more: Sequence[str], images: int) -> Launch:
    """The process that `vqa-client serve` would start for this model, with the programs of the server's environment."""
    limit = CONTEXT_TOKENS if kind == "vllm" else None
    block = ServeBlock(model=str(weights), max_model_len=limit, extra_args=(*ARGUMENTS[kind], *more))
    settings = ModelSettings(model_name=name, max_tokens=32, serve=block)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", os.pathsep.join((str(python(kind).parent), os.environ.get("PATH", ""))))
        return LAUNCH[kind](settings, host=HOST, port=free_port(), images=images, dry_run=False, note=lambda text: None)
