"""The version, and the program's cache folder; importing this imports nothing else."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

__version__ = "0.1.0"


def cache_folder() -> "Path":
    """The folder for files that can be made again."""
    import os
    from pathlib import Path

    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named if os.path.isabs(named) else os.path.expanduser("~/.cache"), "vqa-client")
