"""The command that installs an extra, and the folders that come with the package: config/, data/ and serve/."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vqa_client.errors import UsageError


def install(extra: str) -> str:
    """The command that adds an extra to this installation."""
    requirement = f"'vqa-client[{extra}]'"
    if {"pipx", "venvs"} <= set(Path(sys.prefix).parts):
        return f"pipx inject vqa-client {requirement}"
    if {"uv", "tools"} <= set(Path(sys.prefix).parts):
        return f"uv tool install {requirement}"
    return f"{sys.executable} -m pip install {requirement}"


@contextmanager
def importing(extra: str, message: str) -> Iterator[None]:
    """Import packages of an extra in this block; raises UsageError, with the way to install them, if one is missing."""
    try:
        yield
    except ImportError:
        raise UsageError(message, hint=install(extra)) from None


def shipped(place: str) -> Path:
    """A folder below config/, serve/ or data/: in the package, or in the source tree that it was installed from.

    The sample pages and the tiny VLM, 14 MB, are in the source tree only. Raises UsageError.
    """
    package = Path(__file__).parent
    for root in (package, *_sources(package)):
        if (root / place).is_dir():
            return root / place
    raise UsageError(
        f"{place}/ isn't part of the installed package, and the source tree that it came from isn't found",
        hint=f"in a clone of vqa-client: {sys.executable} -m pip install . (and keep the clone)",
    )


def _sources(package: Path) -> Iterator[Path]:
    """The checkout around the package, and the folder that it was installed from (PEP 610)."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    if (package.parent / "pyproject.toml").is_file():
        yield package.parent
    try:
        origin = distribution("vqa-client").read_text("direct_url.json")
    except PackageNotFoundError:
        return
    url = urlsplit(json.loads(origin)["url"] if origin else "")
    if url.scheme == "file":
        yield Path(unquote(url.path))
