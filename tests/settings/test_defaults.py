"""The default of each option stays; `python -m tests.settings.test_defaults` writes the kept ones again."""

import importlib
import json
import pkgutil
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Final

import pytest

from vqa_client import settings

KEPT: Final = Path(__file__).with_name("defaults.json")


def defaults() -> dict[str, dict[str, str]]:
    """The defaults of every settings type, without inherited ones; a computed one by the name of its function."""
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
        own = [field for field in fields(each) if field.name in vars(each).get("__annotations__", {})]
        found[each.__name__] = {
            field.name: getattr(field.default_factory, "__name__", "")
            if field.default is MISSING
            else str(field.default)
            for field in own
        }
    return found


@pytest.mark.parametrize("name", sorted(defaults()))
def test_defaults_stay(name: str) -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    assert defaults()[name] == kept.get(name), "python -m tests.settings.test_defaults writes them, where that is meant"


if __name__ == "__main__":
    KEPT.write_text(json.dumps(defaults(), indent=0, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
