"""Which benchmarks there are: files of this folder, entry points of installed packages, and files of the user's own."""

import ast
import difflib
import hashlib
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_type_hints

from msgspec import Struct

from vqa_client.benchmark import ASKS, READS, Benchmark, BenchmarkSettings
from vqa_client.errors import UsageError

GROUP: Final = "vqa_client.benchmarks"
"""The entry points of packages that bring a benchmark: `my_name = "my_package.my_module"`."""
_HERE: Final = Path(__file__).parent
_DECLARES: Final = frozenset({"BENCHMARK", "benchmark"})


class Entry(Struct, frozen=True, kw_only=True):
    """A benchmark that was found; `sha256` is the digest of a file that was named by its path."""

    name: str
    settings: type[BenchmarkSettings]
    make: Callable[[BenchmarkSettings], Benchmark]
    sha256: str = ""

    def scoring(self, settings: BenchmarkSettings) -> dict[str, str]:
        """What, besides the benchmark and its version, decides how replies are read."""
        return ({"file": self.sha256} if self.sha256 else {}) | self._marked(settings, READS)

    def identity(self, settings: BenchmarkSettings) -> dict[str, Any]:
        """What of the settings decides what is asked; options at their defaults aren't in it."""
        return ({"split": settings.split} if settings.split else {}) | self._marked(settings, ASKS)

    def _marked(self, settings: BenchmarkSettings, mark: Any) -> dict[str, Any]:
        hints = get_type_hints(self.settings, include_extras=True)
        return {
            field.name: str(getattr(settings, field.name))
            for field in fields(self.settings)
            if mark in getattr(hints[field.name], "__metadata__", ()) and getattr(settings, field.name) != field.default
        }


def titles() -> dict[str, str]:
    """The name and title of every benchmark that is installed, in order of their names; imports none of them."""
    found = {name: title for name, _, title in _own()}
    found |= {point.name: _summary(point) for point in entry_points(group=GROUP)}
    return dict(sorted(found.items()))


def find(name: str) -> Entry:
    """The benchmark of a name, or of a file whose path ends in .py.

    Raises UsageError for a name that isn't known, with the nearest one, and for a file that declares no benchmark.
    """
    if name.endswith(".py"):
        path = Path(name)
        return _entry(name, _module_at(path), hashlib.sha256(path.read_bytes()).hexdigest())
    for known, module, _ in _own():
        if known == name:
            return _entry(name, importlib.import_module(module))
    for point in entry_points(group=GROUP, name=name):
        return _entry(name, importlib.import_module(point.module))
    near = difflib.get_close_matches(name, titles(), 1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"there is no benchmark {name!r}", hint=f"{hint}`vqa-client list` shows all; a file ends in .py")


@cache
def _own() -> tuple[tuple[str, str, str], ...]:
    """Name, module and title of each file here that declares a benchmark."""
    return tuple(_declared(_HERE))


def _declared(folder: Path) -> Iterator[tuple[str, str, str]]:
    for path in sorted(folder.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.name != "registry.py" and ("\nBENCHMARK = " in text or "\ndef benchmark(" in text):
            title = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
            yield path.stem.replace("_", "-"), f"{__package__}.{path.stem}", title


def _module_at(path: Path) -> ModuleType:
    """The module of a user's file; what the file raises is raised, so that its author sees the line."""
    if not path.is_file():
        raise UsageError(f"there is no {path}", hint="give the path of a file that declares a benchmark")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} can't be imported", hint="a benchmark is a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entry(name: str, module: ModuleType, sha256: str = "") -> Entry:
    declared = getattr(module, "BENCHMARK", None)
    if isinstance(declared, Benchmark):
        return Entry(name=name, settings=BenchmarkSettings, make=lambda settings: declared, sha256=sha256)
    make = getattr(module, "benchmark", None)
    if not callable(make):
        raise UsageError(
            f"{module.__file__} declares no benchmark", hint="it assigns BENCHMARK, or defines benchmark(options)"
        )
    options = next((kind for key, kind in get_type_hints(make).items() if key != "return"), None)
    if not (isinstance(options, type) and issubclass(options, BenchmarkSettings)):
        raise UsageError(
            f"{module.__file__}: benchmark(options) takes no options that extend BenchmarkSettings",
            hint="class Options(BenchmarkSettings), and def benchmark(options: Options) -> Benchmark",
        )
    needed = [field.name for field in fields(options) if field.default is MISSING and field.default_factory is MISSING]
    if needed:
        raise UsageError(f"{module.__file__}: the option {needed[0]} has no default", hint="give every option one")
    return Entry(name=name, settings=options, make=make, sha256=sha256)


def _summary(point: EntryPoint) -> str:
    """What an installed package says of itself; its benchmark isn't imported for a list."""
    return str(point.dist.metadata["Summary"] or "") if point.dist else ""
