"""The version, how extras are added, and where the folders are that travel with it: config/, data/ and serve/."""

import sys
from pathlib import Path
from typing import Literal

from vqa_client.errors import UsageError

__version__ = "0.1.0"


def install(extra: str) -> str:
    """The command that adds an extra to this installation."""
    wanted = f"'vqa-client[{extra}]'"
    if {"pipx", "venvs"} <= set(Path(sys.prefix).parts):
        return f"pipx inject vqa-client {wanted}"
    if {"uv", "tools"} <= set(Path(sys.prefix).parts):
        return f"uv tool install {wanted}"
    return f"{sys.executable} -m pip install {wanted}"


def shipped(folder: Literal["config", "data", "serve"]) -> Path:
    """The folder inside the installed package, or beside the package in a checkout.

    Raises UsageError.
    """
    package = Path(__file__).parent
    in_checkout = (package.parent / "pyproject.toml").is_file()
    for root in (package, package.parent) if in_checkout else (package,):
        if (root / folder).is_dir():
            return root / folder
    raise UsageError(f"the folder {folder}/ is missing from {package}", hint="install vqa-client again")
