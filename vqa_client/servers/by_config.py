"""vLLM and mlx-vlm's server as child processes, started as the model's config says."""

import json

from vqa_client.model_config import ModelSettings, ServeBlock
from vqa_client.servers.process import Launch, option_words
from vqa_client.servers.serving import program_path, when_healthy
from vqa_client.types import Note

USUAL_IMAGES = 999
"""The limit of newer versions of vLLM; without an option, older versions take one image per prompt."""
TOP_LOGPROBS = 20
"""Without this limit mlx-vlm accepts `top_logprobs` and returns none."""


def vllm(model: ModelSettings, *, host: str, port: int, images: int | None, dry_run: bool, note: Note) -> Launch:
    """How to start vLLM; `images` is the largest number of images in a prompt, if it is known.

    Raises UsageError if vLLM is not installed.
    """
    block = model.serve or ServeBlock()
    options = {
        "--served-model-name": model.model_name,
        "--host": host,
        "--port": port,
        "--max-model-len": block.max_model_len or "auto",
        "--limit-mm-per-prompt": json.dumps(
            {"image": max(block.limit_mm_per_prompt or 0, images or 0) or USUAL_IMAGES}
        ),
        "--tensor-parallel-size": block.tensor_parallel_size,
        "--dtype": block.dtype,
    }
    return Launch(
        name="vLLM",
        command=[
            program_path("vllm", name="vLLM", extra="vllm", dry_run=dry_run),
            *("serve", block.model or model.model_name),
            *option_words(options),
            "--disable-uvicorn-access-log",  # a line per request would hide what matters in the log
            *block.extra_args,
        ],
        ready=when_healthy(host, port, name="vLLM", note=note),
    )


def mlx(model: ModelSettings, *, host: str, port: int, images: int | None, dry_run: bool, note: Note) -> Launch:
    """How to start mlx-vlm's server, which has no limit on `images` and names a model only by its weights.

    Raises UsageError if mlx-vlm is not installed.
    """
    block = model.serve or ServeBlock()
    notes = []
    if block.model and block.model != model.model_name:
        notes.append(f"mlx-vlm serves it as {block.model}, and would load {model.model_name} for requests that name it")
    if unused := [name for name in ("tensor_parallel_size", "dtype") if getattr(block, name) is not None]:
        notes.append(f"mlx-vlm has no setting for the config's {' and '.join(unused)}")
    options = {
        "--model": block.model or model.model_name,
        "--host": host,
        "--port": port,
        "--max-kv-size": block.max_model_len,
        "--top-logprobs-k": TOP_LOGPROBS,
    }
    return Launch(
        name="mlx-vlm",
        command=[
            program_path("mlx_vlm.server", name="mlx-vlm", extra="mlx", dry_run=dry_run),
            *option_words(options),
            *block.extra_args,
        ],
        ready=when_healthy(host, port, name="mlx-vlm", note=note),
        notes=tuple(notes),
    )
