"""The version of the program, and where the folders are that travel with it: config/, data/ and serve/."""

from pathlib import Path
from typing import Literal

from vqa_client.errors import UsageError

__version__ = "0.1.0"


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
