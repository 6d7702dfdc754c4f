"""Lists all benchmarks, files of this folder and entry points of installed packages, without importing them."""

import re
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final, NamedTuple

GROUP: Final = "vqa_client.benchmarks"
"""The group of entry points of packages with a benchmark: `my_name = "my_package.my_module"`."""
_HERE: Final = Path(__file__).parent
_DECLARATION: Final = re.compile(r"^(?:BENCHMARK = |def benchmark\()", re.MULTILINE)
_OPTIONS: Final = re.compile(r"^def benchmark\(|^    (?:labels|pages)=", re.MULTILINE)
"""The code of a benchmark that may have options of its own."""


class DeclaringModule(NamedTuple):
    """The module that declares a benchmark, its title, and whether it may have options of its own."""

    module: str
    title: str
    has_options: bool


@cache
def declared() -> dict[str, DeclaringModule]:
    """Every installed benchmark by its name, in alphabetical order."""
    benchmarks = _shipped_benchmarks() | {point.name: _of_package(point) for point in entry_points(group=GROUP)}
    return dict(sorted(benchmarks.items()))


def of_runs() -> dict[str, str]:
    """The modules of benchmarks about finished runs, by the names of their folders; these aren't listed."""
    files = _HERE.parent.glob("*/benchmark.py")
    rooms = [path.parent.name for path in files if _DECLARATION.search(path.read_text(encoding="utf-8"))]
    return {name: f"{__package__.partition('.')[0]}.{name}.benchmark" for name in rooms}


def _shipped_benchmarks() -> dict[str, DeclaringModule]:
    benchmarks = {}
    for path in _HERE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if _DECLARATION.search(text):
            module = ".".join((__package__, *path.relative_to(_HERE).with_suffix("").parts))
            stem = path.parent.name if path.stem == "benchmark" else path.stem
            title = text.removeprefix('"""').partition("\n")[0].removesuffix('"""')
            benchmarks[stem.replace("_", "-")] = DeclaringModule(module, title, bool(_OPTIONS.search(text)))
    return benchmarks


def _of_package(point: EntryPoint) -> DeclaringModule:
    """The declaration of a package; its title is the package's summary."""
    return DeclaringModule(point.module, str(point.dist.metadata["Summary"] or "") if point.dist else "", True)
