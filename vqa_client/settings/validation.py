"""What a setting may be, whoever gives it: the command line or code; and settings as `help()` shows them."""

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from cyclopts import Parameter, Token

from vqa_client.errors import UsageError

_TINY = 1e-9
"""Stands for anything above 0."""


class AtLeast(NamedTuple):
    """Marks a field: the bounds of its number."""

    least: float
    most: float = inf


ABOVE_0 = AtLeast(_TINY)
Item = TypeVar("Item")
Switch = Annotated[bool, Parameter(negative="")]
"""Off unless it is given, so it has no --no- form."""
Several = Annotated[tuple[Item, ...], Parameter(negative="")]
"""None unless some are given, so it has no --empty- form."""
Workers = Annotated[int, AtLeast(1), Parameter(help="Processes. Default: one per processor.", show_default=False)]
CsvSafe = Annotated[Switch, Parameter(help="Prefix cells that a spreadsheet would run as formulas with '.")]


class Formerly(dict[str, str]):
    """A field's converter: takes the words of earlier versions for those of today."""

    def __call__(self, kind: Any, tokens: Sequence[Token]) -> str:
        """Convert a word of the command line."""
        del kind
        return self.get(tokens[0].value, tokens[0].value)


class _Rule(NamedTuple):
    """What a setting's annotation says: a path or several, a whole number, or one of some words, some renamed."""

    path: bool
    several: bool
    whole: bool
    words: tuple[str, ...]
    renamed: Mapping[Any, str]
    bounds: AtLeast | None


def _is_utf8(word: str) -> bool:
    """Whether the bytes of a word are UTF-8, also where the locale showed Python none: no server takes others."""
    try:
        word.encode("utf-8", "surrogateescape").decode()
    except UnicodeError:
        return False
    return True


def check(settings: Any) -> None:
    """Turn paths given as text into paths, `~` into the home folder.

    Raises UsageError for a value that a setting can't have.
    """
    for name, rule in _rules(type(settings)).items():  # type: ignore[arg-type]  # a class is hashable
        value = getattr(settings, name)
        if rule.path and value is not None:
            paths = (value,) if isinstance(value, str | Path) else value
            object.__setattr__(settings, name, tuple(map(expanded, paths)) if rule.several else expanded(value))
        if isinstance(value, str) and value in rule.renamed:
            object.__setattr__(settings, name, value := rule.renamed[value])
        words = value if isinstance(value, tuple) else (value,)
        if not rule.path and not all(_is_utf8(each) for each in words if isinstance(each, str)):
            raise UsageError(f"--{name} is not UTF-8")
        if value is None or value in rule.words:
            continue
        if rule.bounds:
            _check_range(name, value, rule, rule.bounds)
        elif rule.words:
            raise UsageError(f"--{name} is {value!r}; it must be one of {', '.join(rule.words)}")
    timeout = getattr(settings, "timeout", None)
    if timeout is not None and not 0 < timeout < inf:
        raise UsageError(f"--timeout is {timeout}; it must be above 0 seconds")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedSettings:
    """What a command takes, checked whoever gives it: raises UsageError for a value that a setting can't have."""

    def __post_init__(self) -> None:
        check(self)


def expanded(path: str | Path) -> Path:
    """The path with a leading `~` replaced: a shell leaves it in `--output=~/x` and in quotes."""
    return Path(os.path.expanduser(path))


@cache
def _rules(settings: type[Any]) -> dict[str, _Rule]:
    rules = {}
    hints = get_type_hints(settings, include_extras=True)
    for name in (field.name for field in fields(settings)):
        marked = hints[name]
        hint, *marks = get_args(marked) if get_origin(marked) is Annotated else (marked,)
        kinds = (hint, *get_args(hint))
        words = [get_args(kind) for kind in kinds if get_origin(kind) is Literal]
        rules[name] = _Rule(
            path=Path in kinds,
            several=get_origin(hint) is tuple,
            whole=int in kinds and float not in kinds,
            words=words[0] if words else (),
            renamed=next((way for mark in marks if isinstance(way := getattr(mark, "converter", None), Formerly)), {}),
            bounds=next((mark for mark in marks if isinstance(mark, AtLeast)), None),
        )
    return rules


def _check_range(name: str, value: Any, rule: _Rule, bounds: AtLeast) -> None:
    least, most = bounds
    number = isinstance(value, int if rule.whole else int | float) and not isinstance(value, bool)
    if number and least <= value <= most and value < inf:
        return
    kind = "a whole number" if rule.whole else "a number"
    within = "above 0" if least == _TINY else f"of at least {least}" if most == inf else f"from {least} to {most}"
    words = "".join(f", or {word}" for word in rule.words)
    raise UsageError(f"--{name} is {value!r}; it must be {kind} {within}{words}")


def readable(settings: type[Any]) -> type[Any]:
    """The same class, its docstring with the help of each field."""
    if "__signature__" in vars(settings):
        return settings
    plain, marked = get_type_hints(settings), get_type_hints(settings, include_extras=True)
    signature = inspect.signature(settings)
    signature = signature.replace(
        parameters=[each.replace(annotation=plain[name]) for name, each in signature.parameters.items()]
    )
    settings.__signature__ = signature
    vars(settings)["__init__"].__signature__ = signature
    helps = {field.name: _help(marked[field.name]) for field in fields(settings)}
    lines = [f"  {name}: {text}" for name, text in helps.items() if text]
    settings.__doc__ = "\n".join([f"{inspect.getdoc(settings)}\n", *lines])
    return settings


def _help(annotation: Any) -> str:
    marks = [mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Parameter)]
    return next((mark.help for mark in marks if mark.help), "")
