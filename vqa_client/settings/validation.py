"""What a setting may be, whoever gives it: the command line or code."""

from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from vqa_client.errors import UsageError

AT_LEAST = {
    "max_workers": 1,
    "limit": 0,
    "num_questions": 0,
    "sample": 1,
    "repeat": 1,
    "rate": 1e-9,
    "context_length": 1,
    "num_secrets": 1,
    "max_retries": 0,
    "breaker_after": 0,
    "max_pixels": 1,
    "image_quality": 1,
    "quality": 1,
    "max_pages": 1,
    "dpi": 20,
    "font_size": 1,
    "line_height": 1,
    "workers": 1,
    "wait_for_server": 0,
}
AT_MOST = {"image_quality": 100, "quality": 100}


def check(settings: Any) -> None:
    """Turn paths given as text into paths; raises UsageError for a value that a setting can't have."""
    for name, (path, choices) in _rules(type(settings)).items():
        value = getattr(settings, name)
        if path and isinstance(value, str):  # as people write them in Python
            object.__setattr__(settings, name, Path(value))
        if choices and value is not None and value not in choices:
            raise UsageError(f"--{name} is {value!r}; it must be one of {', '.join(choices)}")
        _check_range(name, value)
    timeout = getattr(settings, "timeout", None)
    if timeout is not None and timeout <= 0:
        raise UsageError(f"--timeout is {timeout}; it must be above 0 seconds")


def _rules(settings: type[Any]) -> dict[str, tuple[bool, tuple[str, ...]]]:
    """Of each setting, from its annotation: whether it is a path, and the words that it may be."""
    rules = {}
    for name, hint in get_type_hints(settings).items():
        kinds = (hint, *get_args(hint))
        words = [get_args(kind) for kind in kinds if get_origin(kind) is Literal]
        rules[name] = (get_origin(hint) is not tuple and Path in kinds, words[0] if words else ())
    return rules


def _check_range(name: str, value: Any) -> None:
    least, most = AT_LEAST.get(name), AT_MOST.get(name)
    if value is None or least is None:
        return
    if not isinstance(value, int | float) or value < least:
        raise UsageError(f"--{name} is {value!r}; it must be a number of at least {least}")
    if most is not None and value > most:
        raise UsageError(f"--{name} is {value!r}; it must be a number from {least} to {most}")
