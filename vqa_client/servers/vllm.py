"""vLLM as a child process, by the model's config."""

import json
from collections.abc import Callable

from vqa_client.model_config import ModelSettings, ServeBlock
from vqa_client.servers.serving import Launch, installed, when_healthy

NAME, PROGRAM, EXTRA = "vLLM", "vllm", "vllm"
USUAL_IMAGES = 999
"""What newer versions take by themselves; older ones take one image in a prompt unless they are told."""


def launch(
    model: ModelSettings, *, host: str, port: int, images: int | None, dry_run: bool, note: Callable[[str], None]
) -> Launch:
    """What starts it; `images` is the most that one prompt will have, where that is known.

    Raises UsageError where it is not installed.
    """
    program = installed(PROGRAM, name=NAME, extra=EXTRA, dry_run=dry_run)
    return Launch(
        name=NAME,
        command=[program, *arguments(model, host=host, port=port, images=images)],
        ready=when_healthy(host, port, name=NAME, note=note),
    )


def arguments(model: ModelSettings, *, host: str, port: int, images: int | None) -> list[str]:
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
    given = [str(word) for option in options.items() if option[1] is not None for word in option]
    # A line for each of a million requests would bury what the log is read for.
    return ["serve", block.model or model.model_name, *given, "--disable-uvicorn-access-log", *block.extra_args]
