"""Checks of settings, from the command line and from Python; and the help of settings types."""

import ast
import inspect
import linecache
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from functools import cache, wraps
from itertools import pairwise
from math import inf, isfinite
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from cyclopts import Parameter, Token

from vqa_client.errors import UsageError

_TINY = 1e-9
"""The least value of a setting that must be above 0."""


class AtLeast(NamedTuple):
    """The bounds of a number, given in its field's annotation."""

    least: float
    most: float = inf


ABOVE_0 = AtLeast(_TINY)
STORES = ("s3", "gs", "az", "http", "https")
_KINDS = {"hf": "hf://owner/name", **dict.fromkeys(STORES[:3], "s3://bucket/rows.csv"), "": "https://host/rows.csv"}
"""An example of an address of each kind; the last is for the others."""
_ADDRESS = re.compile(r"(?P<kind>[a-z][a-z0-9+.-]+):(?P<rest>/.*)?", re.DOTALL)
_ANY = AtLeast(-inf)
_ALSO: Mapping[type, type] = {Path: str, float: int}
"""The other type of a value that is taken for one of a type."""
_TYPES = {str: "text", bool: "True or False", int: "a whole number", float: "a number", Path: "a path"}
Item = TypeVar("Item")
Switch = Annotated[bool, Parameter(negative="")]
"""Off by default, so it has no --no- form."""
Several = Annotated[tuple[Item, ...], Parameter(negative="")]
"""Empty by default, so it has no --empty- form."""
Workers = Annotated[int, AtLeast(1), Parameter(help="Processes. Default: one per processor.", show_default=False)]
CsvSafe = Annotated[Switch, Parameter(help="Prefix cells that a spreadsheet would run as formulas with '.")]


class Formerly(dict[str, str]):
    """A field's converter: replaces words of earlier versions by today's."""

    def __call__(self, kind: Any, tokens: Sequence[Token]) -> str:
        """Convert a word of the command line."""
        del kind
        return self.get(tokens[0].value, tokens[0].value)


def with_former_names(**former: str) -> Callable[[type[Item]], type[Item]]:
    """Let a settings type also take fields by the names that they had in earlier versions."""

    def decorate(settings: type[Item]) -> type[Item]:
        made: Any = vars(settings)["__init__"]

        @wraps(made)
        def init(self: Item, *values: Any, **named: Any) -> None:
            renamed = {former[name]: named.pop(name) for name in former.keys() & named.keys()}
            made(self, *values, **(named | renamed))

        cast(Any, settings).__init__ = init
        return settings

    return decorate


class _Rule(NamedTuple):
    """The rules of a setting, from its annotation: one value is None if `optional`, one of `words`, or of `types`.

    A type that is not checked, such as that of a list in a benchmark of one's own, is `object`.
    """

    option: str
    types: tuple[type, ...]
    optional: bool
    several: bool
    words: tuple[str, ...]
    renamed: Mapping[Any, str]
    bounds: AtLeast | None


def _is_utf8(word: str) -> bool:
    """Whether the bytes of a word are UTF-8, whichever encoding the locale has: servers take no other."""
    try:
        word.encode("utf-8", "surrogateescape").decode()
    except UnicodeError:
        return False
    return True


def check(settings: Any) -> None:
    """Turn text into paths where paths are asked for, and paths into text where text is; `~` into the home folder.

    A shell leaves `~` in `--output=~/x` and in quotes. Raises UsageError for a value that a setting can't have.
    """
    for name, rule in _rules(type(settings)).items():  # type: ignore[arg-type]  # a class is hashable
        given = getattr(settings, name)
        values: Sequence[Any] = tuple(given) if rule.several and isinstance(given, list | tuple) else (given,)
        if rule.renamed:
            values = [rule.renamed.get(value, value) if isinstance(value, str) else value for value in values]
        if str in rule.types:
            values = [str(value) if isinstance(value, Path) else value for value in values]
        for value in values:
            _check_value(name, value, rule)
        if Path in rule.types:
            for value in filter(None, values):
                _check_address(rule.option, str(value), getattr(settings, "addresses", {}).get(name, ()))
            values = [None if value is None else Path(os.path.expanduser(value)) for value in values]
        checked = tuple(values) if rule.several else values[0]
        if checked is not given:
            object.__setattr__(settings, name, checked)


def _check_value(name: str, value: Any, rule: _Rule) -> None:
    if value in rule.words or (value is None and rule.optional):
        return
    if not rule.types:
        raise UsageError(f"--{name} is {value!r}; it must be one of {', '.join(rule.words)}")
    if str not in rule.types and {int, float} & {*rule.types}:
        _check_range(name, value, rule, rule.bounds or _ANY)
    elif not isinstance(value, (*rule.types, *(_ALSO[kind] for kind in rule.types if kind in _ALSO))):
        given = "None" if value is None else f"of type {type(value).__name__}"  # not the value: it may be a key
        kinds = " or ".join(_TYPES.get(kind, kind.__name__) for kind in rule.types)
        raise UsageError(f"--{name} is {given}; it must be {kinds}")
    elif isinstance(value, str) and Path not in rule.types and not _is_utf8(value):
        raise UsageError(f"--{name} is not UTF-8")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedSettings:
    """Settings that are checked when they are made; raises UsageError for a value that a setting can't have."""

    def __post_init__(self) -> None:
        check(self)


@cache
def _rules(settings: type[Any]) -> dict[str, _Rule]:
    rules = {}
    hints = get_type_hints(settings, include_extras=True)
    for field in fields(settings):
        name = field.name
        marked = hints[name]
        hint, *marks = get_args(marked) if get_origin(marked) is Annotated else (marked,)
        kinds = get_args(hint) if get_origin(hint) in (tuple, Union, UnionType) else (hint,)
        words = [get_args(kind) for kind in kinds if get_origin(kind) is Literal]
        others = [kind for kind in kinds if get_origin(kind) is not Literal and kind not in (NoneType, ...)]
        parameters = [mark for mark in marks if isinstance(mark, Parameter)]
        is_option = field.kw_only and all(mark.parse is not False for mark in parameters)
        spellings = [spelling for mark in parameters for spelling in mark.name or ()]
        rules[name] = _Rule(
            option=(spellings or [f"--{name}"])[0] if is_option else name.upper(),
            types=tuple(kind if isinstance(kind, type) and kind is not Any else object for kind in others),
            optional=NoneType in kinds or field.default is None,  # one's own benchmark may say `topic: str = None`
            several=get_origin(hint) is tuple,
            words=words[0] if words else (),
            renamed=next((way for mark in marks if isinstance(way := getattr(mark, "converter", None), Formerly)), {}),
            bounds=next((mark for mark in marks if isinstance(mark, AtLeast)), None),
        )
    return rules


def _check_address(option: str, text: str, kinds: Sequence[str]) -> None:
    """Raise UsageError for an address that an option can't have, and for one without a name, such as `s3://`."""
    match = _ADDRESS.fullmatch(text)
    if match is None or (match["rest"] is None and match["kind"] not in ("hf", *STORES)) or os.path.exists(text):
        return
    kind, rest = match["kind"], (match["rest"] or "").strip("/")
    url = f"{kind}://{rest.partition('?')[0].rpartition('@')[2]}"  # the rest may be a key
    if kind not in kinds:
        readable_kinds = ", ".join(f"{known}://" for known in kinds)
        hint = (
            f"it takes {readable_kinds} and paths"
            if kinds
            else "give a path: only data files and --images of a run may be addresses"
        )
        raise UsageError(f"{option} can't be an address: {url}", hint=hint)
    if not rest:
        raise UsageError(f"{url} names nothing", hint=f"an address is such as {_KINDS.get(kind, _KINDS[''])}")


def _check_range(name: str, value: Any, rule: _Rule, bounds: AtLeast) -> None:
    least, most = bounds
    whole = float not in rule.types
    number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    finite = not isinstance(value, float) or isfinite(value)
    if number and finite and least <= value <= most:
        return
    kind = "a whole number" if whole else "a number" if finite else "a finite number"
    if least == _TINY and not (number and finite and value > 0):
        within = " above 0"
    else:
        within = f" from {least} to {most}" if most < inf else f" of at least {least}" if least > -inf else ""
    words = "".join(f", or {word}" for word in rule.words)
    raise UsageError(f"--{name} is {value!r}; it must be {kind}{within}{words}")


def required_options(settings: type[Any]) -> list[str]:
    """The options without a default."""
    return [field.name for field in fields(settings) if field.default is MISSING and field.default_factory is MISSING]


def readable(settings: type[Any]) -> type[Any]:
    """The same class, with the help of each field in its docstring."""
    if "__signature__" in vars(settings):
        return settings
    plain = get_type_hints(settings)
    signature = inspect.signature(settings)
    signature = signature.replace(
        parameters=[parameter.replace(annotation=plain[name]) for name, parameter in signature.parameters.items()]
    )
    settings.__signature__ = signature
    vars(settings)["__init__"].__signature__ = signature
    settings.__doc__ = _WithOptions(inspect.getdoc(settings) or "")  # type: ignore[assignment]
    return settings


class _WithOptions:
    """A docstring that ends with the help of each option, which is read when the docstring is."""

    def __init__(self, summary: str) -> None:
        self._summary = summary

    def __get__(self, instance: object, kind: type[Any]) -> str:
        helps = option_helps(kind)
        lines = [f"  {field.name}: {helps[field.name]}" for field in fields(kind) if field.name in helps]
        return "\n".join([f"{self._summary}\n", *lines])


def option_helps(settings: type[Any]) -> dict[str, str]:
    """The help of each option: from its annotation, else from the text below its field in the source."""
    helps = texts_below(settings)
    for name, annotation in get_type_hints(settings, include_extras=True).items():
        for mark in getattr(annotation, "__metadata__", ()):
            if isinstance(mark, Parameter) and mark.help:
                helps[name] = mark.help
    return helps


def texts_below(settings: type[Any]) -> dict[str, str]:
    """The text below each field in the source of a class or its bases."""
    texts: dict[str, str] = {}
    for kind in reversed(settings.__mro__[:-1]):
        if module := sys.modules.get(kind.__module__):
            texts |= _texts_in(module).get(kind.__name__, {})
    return texts


@cache
def _texts_in(module: ModuleType) -> dict[str, dict[str, str]]:
    """The text below each field of the classes of a module; none if its source is missing or was broken since."""
    texts: dict[str, dict[str, str]] = {}
    lines = linecache.getlines(getattr(module, "__file__", None) or "", vars(module))
    with suppress(SyntaxError):
        for declared in ast.walk(ast.parse("".join(lines))):
            if isinstance(declared, ast.ClassDef):
                texts[declared.name] = dict(_texts_of(declared))
    return texts


def _texts_of(declared: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(declared.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())
