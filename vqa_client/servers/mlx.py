"""mlx-vlm's server as a child process, by the model's config."""

from collections.abc import Callable

from vqa_client.model_config import ModelSettings, ServeBlock
from vqa_client.servers.serving import Launch, installed, when_healthy

NAME, PROGRAM, EXTRA = "mlx-vlm", "mlx_vlm.server", "mlx"
TOP_LOGPROBS = 20
"""Without a number here it takes `top_logprobs` and returns none."""


def launch(
    model: ModelSettings, *, host: str, port: int, images: int | None, dry_run: bool, note: Callable[[str], None]
) -> Launch:
    """What starts it; it has no limit on `images`.

    Raises UsageError where it is not installed.
    """
    program = installed(PROGRAM, name=NAME, extra=EXTRA, dry_run=dry_run)
    return Launch(
        name=NAME,
        command=[program, *arguments(model, host=host, port=port)],
        ready=when_healthy(host, port, name=NAME, note=note),
        told=_told(model),
    )


def arguments(model: ModelSettings, *, host: str, port: int) -> list[str]:
    """Everything after the program; it serves a model under the name of its weights and no other."""
    block = model.serve or ServeBlock()
    options = {
        "--model": block.model or model.model_name,
        "--host": host,
        "--port": port,
        "--max-kv-size": block.max_model_len,
        "--top-logprobs-k": TOP_LOGPROBS,
    }
    given = [str(word) for option in options.items() if option[1] is not None for word in option]
    return [*given, *block.extra_args]


def _told(model: ModelSettings) -> tuple[str, ...]:
    block = model.serve or ServeBlock()
    told = []
    if block.model and block.model != model.model_name:
        told.append(f"mlx-vlm serves it as {block.model}, and would load {model.model_name} for requests that name it")
    if unused := [name for name in ("tensor_parallel_size", "dtype") if getattr(block, name) is not None]:
        told.append(f"mlx-vlm has no setting for the config's {' and '.join(unused)}")
    return tuple(told)
