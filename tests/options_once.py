"""Caches the options of a command, which cyclopts otherwise assembles for each command line.

Thousands of tests run commands in one process, or in its forks.
"""

from copy import copy
from inspect import signature
from typing import Any

from cyclopts import App, Argument, ArgumentCollection, Parameter

_assemble = App.assemble_argument_collection
_ASSEMBLED: dict[Any, ArgumentCollection] = {}
_hint = Argument._negatives_hint.fget  # type: ignore[attr-defined]
_HINTS: dict[int, tuple[Any, Any]] = {}
_negatives = Parameter.get_negatives
_NEGATIVES: dict[tuple[int, Any], tuple[Parameter, tuple[str, ...]]] = {}
"""By the id of their owner, which is kept beside them."""


def assemble_options_once() -> None:
    """Cache each command's options and their negative forms in this process."""
    App.assemble_argument_collection = _without_values  # type: ignore[method-assign]
    Argument._negatives_hint = property(_kept_hint)  # type: ignore[assignment]
    Parameter.get_negatives = _kept_negatives  # type: ignore[method-assign]


def _kept_hint(option: Argument) -> Any:
    declared = option.field_info
    if id(declared) not in _HINTS:
        _HINTS[id(declared)] = declared, _hint(option)
    return _HINTS[id(declared)][1]


def _kept_negatives(parameter: Parameter, of: Any) -> tuple[str, ...]:
    key = id(parameter), of
    if key not in _NEGATIVES:
        _NEGATIVES[key] = parameter, _negatives(parameter, of)
    return _NEGATIVES[key][1]


def _without_values(app: App, *, parse_docstring: bool = False, **more: Any) -> ArgumentCollection:
    """Options without values of a command line; those of a help page, which shows defaults, are not cached."""
    if parse_docstring or more or app.default_command is None:
        return _assemble(app, parse_docstring=parse_docstring, **more)
    parameters = signature(app.default_command).parameters.values()
    key = (app.help_flags, *((each.name, each.kind, each.annotation, each.default) for each in parameters))
    if key not in _ASSEMBLED:
        _ASSEMBLED[key] = _assemble(app)
    copies = {id(option): copy(option) for option in _ASSEMBLED[key]}
    for option in copies.values():
        option.tokens = []
        option.children = ArgumentCollection(copies[id(child)] for child in option.children)
    return ArgumentCollection(copies.values())
