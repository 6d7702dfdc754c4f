"""What a setting may be, whoever gives it: the command line or code."""

from pathlib import Path
from typing import Any

from vqa_client.errors import UsageError

PATHS = ("data_json", "images_dir", "output", "blacklist", "data", "images", "input", "ca_bundle", "font")
CHOICES = {
    "engine": ("direct", "httpx2"),
    "image_format": ("png", "jpeg", "webp"),
    "parser": ("robust", "seed", "longbench"),
    "crop": ("both", "width", "last_page", "none"),
}
AT_LEAST = {
    "max_workers": 1,
    "limit": 0,
    "num_secrets": 1,
    "max_retries": 0,
    "breaker_after": 0,
    "max_pixels": 1,
    "image_quality": 1,
    "max_pages": 1,
    "dpi": 20,
    "font_size": 1,
    "line_height": 1,
    "workers": 1,
    "wait_for_server": 0,
}


def check(settings: Any) -> None:
    """Turn paths given as text into paths; raises UsageError for a value that a setting can't have."""
    for name in PATHS:
        value = getattr(settings, name, None)
        if isinstance(value, str):  # as people write them in Python
            object.__setattr__(settings, name, Path(value))
    for name, allowed in CHOICES.items():
        value = getattr(settings, name, None)
        if value is not None and value not in allowed:
            raise UsageError(f"--{name} is {value!r}; it must be one of {', '.join(allowed)}")
    for name, least in AT_LEAST.items():
        value = getattr(settings, name, None)
        if value is not None and (not isinstance(value, int | float) or value < least):
            raise UsageError(f"--{name} is {value!r}; it must be a number of at least {least}")
    timeout = getattr(settings, "timeout", None)
    if timeout is not None and timeout <= 0:
        raise UsageError(f"--timeout is {timeout}; it must be above 0 seconds")
