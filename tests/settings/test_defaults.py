"""The default of each option stays, with its place on a help page.

`python -m tests.settings.test_defaults` writes the kept ones again.
"""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, get_type_hints

import pytest
from cyclopts import Parameter

from vqa_client import settings

KEPT: Final = Path(__file__).with_name("defaults.json")


@cache
def defaults() -> dict[str, dict[str, str]]:
    """The defaults of every settings type, without inherited ones; a computed one by the name of its function.

    After it come the option's group, with its place among the groups, and the help if its annotation gives it.
    """
    modules = [
        importlib.import_module(f"{settings.__name__}.{each.name}") for each in pkgutil.iter_modules(settings.__path__)
    ]
    classes = [
        each
        for module in modules
        for each in vars(module).values()
        if getattr(each, "__module__", "") == module.__name__
    ]
    found = {}
    for each in filter(is_dataclass, classes):
        hints = get_type_hints(each, include_extras=True)
        own = [field for field in fields(each) if field.name in vars(each).get("__annotations__", {})]
        found[each.__name__] = {field.name: " | ".join([default(field), *shown(hints[field.name])]) for field in own}
    return found


def default(field: Field[Any]) -> str:
    """The default as text, or the name of the function that computes it."""
    return getattr(field.default_factory, "__name__", "") if field.default is MISSING else str(field.default)


def shown(hint: Any) -> Iterator[str]:
    """The group and the help of an option's annotation."""
    for mark in getattr(hint, "__metadata__", ()):
        if isinstance(mark, Parameter):
            yield from (f"{group.name} {group.sort_key}" for group in mark.group or ())
            yield from filter(None, [mark.help])


@pytest.mark.parametrize("name", sorted(defaults()))
def test_defaults_stay(name: str) -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert defaults()[name] == kept.get(name), "python -m tests.settings.test_defaults writes them, where that is meant"


if __name__ == "__main__":
    KEPT.write_text(json.dumps(defaults(), indent=0, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
