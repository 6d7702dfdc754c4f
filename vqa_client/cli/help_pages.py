"""Help pages in the user's cache: one that was printed before is shown without importing a command or a library."""

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vqa_client.version import __version__, cache_folder

_FLAGS = ("--help", "-h")
_LOOKS = ("COLUMNS", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "PYTHONIOENCODING", "LC_ALL", "LC_CTYPE", "LANG")
"""Variables that change how a page looks."""
_PACKAGE = Path(__file__).parents[1]


def page_of(words: list[str]) -> "HelpPage | None":
    """The page that a command line asks for; None if it asks for anything else than one command's help."""
    command, more = words[:-1], words[1:-1]
    asks_help = words[-1:] and words[-1] in _FLAGS and sys.stdout is not None
    if not asks_help or any(word.startswith("-") for word in command):
        return None
    is_known = not more or command[0] == "robustness" or (command[0] in ("run", "selftest") and _is_shipped(more[0]))
    return HelpPage(command) if is_known and len(more) <= 1 else None


def _is_shipped(name: str) -> bool:
    """Whether a name may be a benchmark of this package: a user's own file can change at any time."""
    module = name.replace("-", "_")
    files = (f"{module}.py", f"{module}/benchmark.py")
    return module.isidentifier() and any((_PACKAGE / "tasks" / file).is_file() for file in files)


class HelpPage:
    """One command's help at this width; the first line of its file is a digest of the sources that it was made from."""

    def __init__(self, words: list[str]) -> None:
        looks = (columns(), sys.stdout.isatty(), sys.stdout.encoding, *map(os.environ.get, _LOOKS))
        key = hashlib.sha256(repr((_PACKAGE, words, looks)).encode()).hexdigest()[:16]
        self._path = cache_folder() / f"help-{key}.txt"
        self._sources = _digest_sources()

    def show(self) -> bool:
        """Print the page; False if it isn't kept, was made from other sources, or can't be printed."""
        try:
            sources, _, page = self._path.read_bytes().partition(b"\n")
            if sources == self._sources:
                with open(1, "wb", closefd=False) as out:
                    out.write(page)
                return True
        except BrokenPipeError:
            return True
        except OSError:
            pass
        return False

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Keep what is printed if the program exits with code 0 and the folder can be written."""
        printed = _Copied(sys.stdout)
        sys.stdout = printed
        try:
            yield
        except SystemExit as ended:
            if not ended.code and printed.texts:
                with suppress(OSError, UnicodeError):
                    self._write("".join(printed.texts).encode(printed.encoding, printed.errors))
            raise

    def _write(self, page: bytes) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(self._sources + b"\n" + page)
        unfinished.replace(self._path)


class _Copied:
    """Standard output that keeps a copy of what is written."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.texts: list[str] = []

    def write(self, text: str) -> int:
        self.texts.append(text)
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def columns() -> int:
    """The width of the terminal on any of the three streams; 0 without a terminal."""
    for descriptor in (0, 1, 2):
        with suppress(OSError):
            return os.get_terminal_size(descriptor).columns
    return 0


def _digest_sources() -> bytes:
    """A digest of the version and of the stamps of this program, of cyclopts, and of the folders of packages.

    The last ones because another package may bring a benchmark of the same name.
    """
    cyclopts, stamps = find_spec("cyclopts"), [__version__]
    stamps += [_stamp(path, os.stat(path)) for path in sys.path if path.endswith("-packages") and os.path.isdir(path)]
    if cyclopts and cyclopts.origin:
        stamps.append(_stamp(cyclopts.origin, os.stat(cyclopts.origin)))
    folders = [os.fspath(_PACKAGE)]
    for folder in folders:
        for entry in os.scandir(folder):
            if entry.name.endswith(".py"):
                stamps.append(_stamp(entry.path, entry.stat()))
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                folders.append(entry.path)
    return hashlib.sha256("\n".join(sorted(stamps)).encode("utf-8", "surrogateescape")).hexdigest().encode()


def _stamp(path: str, stat: os.stat_result) -> str:
    """Path, time and size: some installers give all files the same time, but sizes mostly differ."""
    return f"{path} {stat.st_mtime_ns} {stat.st_size}"
