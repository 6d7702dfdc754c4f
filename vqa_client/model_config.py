"""A model's settings: the config JSON, validated when it is read."""

import difflib
import json
import os
import re
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from vqa_client.errors import UNDECODABLE, UsageError, did_you_mean, unreadable
from vqa_client.files import checked_nesting
from vqa_client.not_json import not_finite
from vqa_client.shipped import shipped
from vqa_client.types import OURS

DEFAULT_TIMEOUT_S = 600.0
Name = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Argument = Annotated[str, Meta(pattern=r"^[^\0]*$")]
"""An argument of the command that starts a server."""
_FAULTS = {
    "Expected `str` matching regex": "no command line can contain a NUL",
    "Invalid enum value": "expected on or off",
}
"""Our words for a wrong value, by the start of msgspec's message."""
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
"""Our words for the types in msgspec's messages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeBlock:
    """How `vqa-client serve` starts the model; the server chooses the value of a setting that is None.

    `model` is the path or name of the weights (default: `model_name`), `limit_mm_per_prompt` the most images in one
    prompt, `max_model_len` the tokens of prompt and reply, and `extra_args` more arguments of the server's command.
    """

    model: Annotated[Argument, Meta(min_length=1)] | None = None
    max_model_len: Count | None = None
    limit_mm_per_prompt: Count | None = None
    tensor_parallel_size: Count | None = None
    dtype: Argument | None = None
    extra_args: tuple[Argument, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """Dollars per million tokens of prompts (with images) and of replies; --batch costs the share `batch` of that."""

    input: NotNegative
    output: NotNegative
    batch: NotNegative = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSettings:
    """The settings of a model's requests; a temperature of None is not sent, so the server's default applies.

    `thinking` is sent in the form that the server accepts. `base_url` is the model's server, unless the command names
    another one; `serve` is how to start it; `prices` are for `--dry_run`, `--max_cost` and the page. Only `parse_model`
    checks values.
    """

    model_name: Name
    max_tokens: Count
    prompt_template: str | None = None
    system_prompt: str | None = None
    temperature: NotNegative | None = None
    timeout: Annotated[float, Meta(gt=0)] | None = None
    extra_body: dict[str, Any] | None = None
    presence_penalty: float | None = None
    thinking: Literal["on", "off"] | None = None
    base_url: str | None = field(default=None, repr=False)
    serve: ServeBlock | None = None
    prices: Prices | None = None

    @property
    def timeout_s(self) -> float:
        """The most seconds for a question from its first byte sent, with its retries."""
        return self.timeout if self.timeout is not None else DEFAULT_TIMEOUT_S


def load_model(config: str) -> ModelSettings:
    """Read a config by its path, or a shipped one by its name; UsageError names the file, the key and a hint."""
    path = _find(config)
    try:
        raw = checked_nesting(json.loads(path.read_bytes().decode("utf-8-sig")))
    except OSError as error:
        raise unreadable(f"the config {path}", error) from error
    except UNDECODABLE as error:
        raise UsageError(f"the config {path} is not JSON: {error}", hint="a config is a JSON object") from error
    return parse_model(raw, str(path))


def parse_model(raw: Any, origin: str) -> ModelSettings:
    """Validate the content of a config; `origin` is its name in errors."""
    if not isinstance(raw, dict):
        raise UsageError(f"the config {origin} is not a JSON object", hint="see the files in config/")
    _refuse_unknown(raw, "", origin)
    for block in ("serve", "prices"):
        _refuse_unknown(raw.get(block), block, origin)
    try:
        json.dumps(raw, ensure_ascii=False).encode()
        model = msgspec.convert(raw, ModelSettings, strict=False)
    except UnicodeEncodeError as error:
        raise UsageError(f"the config {origin} has text that can't be sent: {error}") from None
    except msgspec.ValidationError as error:
        raise _complaint(error, raw, origin) from None
    _refuse_quoted_null(raw, model, "", origin)
    if number := not_finite(raw):
        raise UsageError(f"the config {origin} has {number}: numbers in JSON are finite")
    taken = sorted(OURS & (model.extra_body or {}).keys())
    if taken:
        raise UsageError(
            f"the config {origin} sets {', '.join(taken)} in extra_body", hint="the run sets it: remove it"
        )
    return model


def names_config(text: str) -> bool:
    """Whether a text names a config, or nearly does; else it is a model's name at a server."""
    names = [path.stem for path in shipped("config").glob("*.json")]
    path = Path(os.path.expanduser(text))
    return path.suffix == ".json" or path.is_file() or bool(difflib.get_close_matches(text, names))


def _find(config: str) -> Path:
    path = Path(os.path.expanduser(config))
    if path.is_file():
        return path
    folder = shipped("config")
    named = folder / f"{config}.json"
    if path.name == config and named.is_file():
        return named
    if path.is_dir():
        raise UsageError(f"the config {config} is a folder", hint="give one of its JSON files")
    names, beside = sorted(p.stem for p in folder.glob("*.json")), f"{config}.json"
    word, known = (beside, [beside]) if Path(beside).is_file() else (config, names)
    hint = did_you_mean(word, known, f"give a JSON file or one of: {', '.join(names)}")
    raise UsageError(f"there is no config {config!r}", hint=hint)


_BLOCKS: dict[str, Any] = {"": ModelSettings, "serve": ServeBlock, "prices": Prices}
"""The classes of a config's objects, by their keys."""
_FAULT = re.compile(r"(?P<words>.*?)(?: - at `\$\.(?P<key>.*)`)?", re.DOTALL)
"""Matches a message of msgspec."""
_MISSING = re.compile(r"Object missing required field `(\w+)`")


def _refuse_unknown(config: Any, block: str, origin: str) -> None:
    known = sorted(field.name for field in fields(_BLOCKS[block]))
    unknown = next((key for key in config if key not in known), None) if isinstance(config, dict) else None
    if unknown is None:
        return
    key = f"{block}.{unknown}" if block else unknown
    hint = did_you_mean(unknown, known, f"known keys: {', '.join(known)}", cutoff=0.4)
    raise UsageError(f"the config {origin} has an unknown key {key!r}", hint=hint)


def _refuse_quoted_null(config: dict[str, Any], made: Any, block: str, origin: str) -> None:
    for name, value in config.items():
        if value is not None and (made_value := getattr(made, name)) is None:
            raise UsageError(f"the config {origin} has {block}{name} = {value!r}: null has no quotes")
        if name in _BLOCKS and value is not None:
            _refuse_quoted_null(value, made_value, f"{name}.", origin)


def _complaint(error: msgspec.ValidationError, raw: dict[str, Any], origin: str) -> UsageError:
    """The error for a config: the missing key, or a key, its value and the expected value."""
    fault = _FAULT.fullmatch(str(error))
    assert fault is not None
    words, steps = fault["words"], re.findall(r"\w+", fault["key"] or "")
    if missing := _MISSING.fullmatch(words):
        needed = [field.name for field in fields(_BLOCKS[".".join(steps)]) if field.default is MISSING]
        return UsageError(
            f"the config {origin} lacks {'.'.join([*steps, missing[1]])!r}", hint=f"{' and '.join(needed)} are required"
        )
    value: Any = raw
    for step in steps:
        value = value[int(step)] if isinstance(value, list) else value[step]
    words = next((ours for start, ours in _FAULTS.items() if words.startswith(start)), words[0].lower() + words[1:])
    words = re.sub(r"`([a-z |]+)`", lambda types: " or ".join(_TYPES.get(t, t) for t in types[1].split(" | ")), words)
    return UsageError(f"the config {origin} has {'.'.join(steps)} = {value!r}: {words}")
