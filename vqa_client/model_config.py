"""A model's settings: the config JSON, validated once, where it is read."""

import difflib
import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic_core import PydanticCustomError

from vqa_client.errors import UNDECODABLE, UsageError
from vqa_client.files import checked_nesting
from vqa_client.shipped import shipped
from vqa_client.types import OURS

DEFAULT_TIMEOUT_S = 600.0


def _argument(text: str) -> str:
    if "\0" in text:
        raise PydanticCustomError("nul", "no command line can contain a NUL")
    return text


Argument = Annotated[str, AfterValidator(_argument)]
"""A word of the command that starts a server."""


class ServeBlock(BaseModel):
    """How `vqa-client serve` starts the model; what is None is left to the server.

    `model` is where the weights are (default: `model_name`), `limit_mm_per_prompt` the most images in one prompt,
    `max_model_len` tokens of prompt and reply, `extra_args` what the server's command takes besides.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    model: Argument | None = Field(default=None, min_length=1)
    max_model_len: int | None = Field(default=None, gt=0)
    limit_mm_per_prompt: int | None = Field(default=None, gt=0)
    tensor_parallel_size: int | None = Field(default=None, gt=0)
    dtype: Argument | None = None
    extra_args: tuple[Argument, ...] = ()


class Prices(BaseModel):
    """Dollars for a million tokens, of prompts with their images and of replies; `batch` is the share of --batch."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    batch: float = Field(default=0.5, ge=0)


class ModelSettings(BaseModel):
    """What is sent with every request; a temperature of None is not sent, so the server's default holds.

    `thinking` is sent in the form that the server was found to take. `base_url` is where the model is served, unless
    the command says otherwise; `serve` how it is started there; `prices` are for `--dry_run`, `--max_cost` and the
    page.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    model_name: str = Field(min_length=1)
    max_tokens: int = Field(gt=0)
    prompt_template: str | None = None
    system_prompt: str | None = None
    temperature: float | None = Field(default=None, ge=0)
    timeout: float | None = Field(default=None, gt=0)
    extra_body: dict[str, JsonValue] | None = None
    presence_penalty: float | None = None
    thinking: Literal["on", "off"] | None = None
    base_url: str | None = Field(default=None, repr=False)
    serve: ServeBlock | None = None
    prices: Prices | None = None

    @property
    def timeout_s(self) -> float:
        """Seconds a question may take from its first byte sent, repeats included."""
        return self.timeout if self.timeout is not None else DEFAULT_TIMEOUT_S


def load_model(config: str) -> ModelSettings:
    """Read a config by path, or by the name of a shipped one; UsageError names the file, the key and the way out."""
    path = _find(config)
    try:
        raw = checked_nesting(json.loads(path.read_bytes().decode("utf-8-sig")))
    except OSError as error:
        raise UsageError(f"the config {path} can't be read: {error.strerror or error}") from error
    except UNDECODABLE as error:
        raise UsageError(f"the config {path} is not JSON: {error}", hint="a config is a JSON object") from error
    return parse_model(raw, str(path))


def parse_model(raw: Any, origin: str) -> ModelSettings:
    """Validate the content of a config; `origin` is named in errors."""
    if not isinstance(raw, dict):
        raise UsageError(f"the config {origin} is not a JSON object", hint="see the files in config/")
    try:
        model = ModelSettings.model_validate(raw)
    except ValidationError as error:
        message, hint = _complaint(error, origin)
        raise UsageError(message, hint=hint) from None
    taken = sorted(OURS & (model.extra_body or {}).keys())
    if taken:
        raise UsageError(
            f"the config {origin} sets {', '.join(taken)} in extra_body", hint="the run sets it: remove it"
        )
    return model


def names_config(text: str) -> bool:
    """Whether a text is a config, or was likely meant to be one; else it can only be a model's name at a server."""
    names = [path.stem for path in shipped("config").glob("*.json")]
    path = Path(os.path.expanduser(text))
    return path.suffix == ".json" or path.is_file() or bool(difflib.get_close_matches(text, names, n=1))


def _find(config: str) -> Path:
    path = Path(os.path.expanduser(config))
    if path.is_file():
        return path
    folder = shipped("config")
    named = folder / f"{config}.json"
    if path.name == config and named.is_file():
        return named
    names = sorted(p.stem for p in folder.glob("*.json"))
    near = difflib.get_close_matches(config, names, n=1)
    near = [f"{config}.json"] if Path(f"{config}.json").is_file() else near
    guess = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"there is no config {config!r}", hint=f"{guess}give a JSON file or one of: {', '.join(names)}")


_BLOCKS: dict[str, type[BaseModel]] = {"serve": ServeBlock, "prices": Prices}
"""The keys whose values have keys of their own."""


def _complaint(error: ValidationError, origin: str) -> tuple[str, str]:
    first = next((one for one in error.errors() if one["type"] == "extra_forbidden"), error.errors()[0])
    key = ".".join(str(part) for part in first["loc"])
    known = sorted(_BLOCKS.get(str(first["loc"][0]), ModelSettings).model_fields)
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1, cutoff=0.4)
        guess = f"did you mean {near[0]}? " if near else ""
        return f"the config {origin} has an unknown key {key!r}", f"{guess}known keys: {', '.join(known)}"
    if first["type"] == "missing":
        return f"the config {origin} lacks {key!r}", "model_name and max_tokens are required"
    return f"the config {origin} has {key} = {first['input']!r}: {first['msg'].lower()}", ""
