"""Settings as `help()` shows them: a signature without the command line's part, and a line for each field."""

import inspect
from dataclasses import fields
from typing import Any, get_type_hints

from cyclopts import Parameter


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
    return str(marks[0].help or "") if marks else ""
