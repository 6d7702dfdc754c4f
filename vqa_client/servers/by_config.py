"""vLLM and mlx-vlm's server as child processes, by the model's config."""

import json
from collections.abc import Callable, Mapping

from vqa_client.model_config import ModelSettings, ServeBlock
from vqa_client.servers.process import Launch
from vqa_client.servers.serving import installed, when_healthy

USUAL_IMAGES = 999
"""What newer versions of vLLM take by themselves; older ones take one image in a prompt unless they are told."""
TOP_LOGPROBS = 20
"""Without a number here mlx-vlm takes `top_logprobs` and returns none."""


def vllm(
    model: ModelSettings, *, host: str, port: int, images: int | None, dry_run: bool, note: Callable[[str], None]
) -> Launch:
    """What starts vLLM; `images` is the most that one prompt will have, where that is known.

    Raises UsageError where it is not installed.
    """
    return Launch(
        name="vLLM",
        command=[
            installed("vllm", name="vLLM", extra="vllm", dry_run=dry_run),
            *vllm_arguments(model, host=host, port=port, images=images),
        ],
        ready=when_healthy(host, port, name="vLLM", note=note),
    )


def mlx(
    model: ModelSettings, *, host: str, port: int, images: int | None, dry_run: bool, note: Callable[[str], None]
) -> Launch:
    """What starts mlx-vlm's server; it has no limit on `images`.

    Raises UsageError where it is not installed.
    """
    block = model.serve or ServeBlock()
    notes = []
    if block.model and block.model != model.model_name:
        notes.append(f"mlx-vlm serves it as {block.model}, and would load {model.model_name} for requests that name it")
    if unused := [name for name in ("tensor_parallel_size", "dtype") if getattr(block, name) is not None]:
        notes.append(f"mlx-vlm has no setting for the config's {' and '.join(unused)}")
    return Launch(
        name="mlx-vlm",
        command=[
            installed("mlx_vlm.server", name="mlx-vlm", extra="mlx", dry_run=dry_run),
            *mlx_arguments(model, host=host, port=port),
        ],
        ready=when_healthy(host, port, name="mlx-vlm", note=note),
        notes=tuple(notes),
    )


def vllm_arguments(model: ModelSettings, *, host: str, port: int, images: int | None) -> list[str]:
    """Everything after the program: the weights, the name that the config asks for, and the limits that matter."""
    block = model.serve or ServeBlock()
    limit = max(block.limit_mm_per_prompt or 0, images or 0) or USUAL_IMAGES
    options = {
        "--served-model-name": model.model_name,
        "--host": host,
        "--port": port,
        "--max-model-len": block.max_model_len or "auto",
        "--limit-mm-per-prompt": json.dumps({"image": limit}),
        "--tensor-parallel-size": block.tensor_parallel_size,
        "--dtype": block.dtype,
    }
    # A line for each of a million requests would bury what the log is read for.
    quiet = "--disable-uvicorn-access-log"
    return ["serve", block.model or model.model_name, *_words(options), quiet, *block.extra_args]


def mlx_arguments(model: ModelSettings, *, host: str, port: int) -> list[str]:
    """Everything after the program; it serves a model under the name of its weights and no other."""
    block = model.serve or ServeBlock()
    options = {
        "--model": block.model or model.model_name,
        "--host": host,
        "--port": port,
        "--max-kv-size": block.max_model_len,
        "--top-logprobs-k": TOP_LOGPROBS,
    }
    return [*_words(options), *block.extra_args]


def _words(options: Mapping[str, object]) -> list[str]:
    return [str(word) for option in options.items() if option[1] is not None for word in option]
