"""The command line that goes on where one was interrupted."""

import shlex
from collections.abc import Sequence

from vqa_client.client.url import without_secrets


def resume_command(argv: Sequence[str]) -> str:
    """The same command without a key or password, which the environment has, and without --fresh."""
    words: list[str] = []
    previous = ""
    for word in argv[1:]:
        option = word.replace("_", "-")
        if previous != "--api-key" and option not in ("--api-key", "--fresh") and not option.startswith("--api-key="):
            words.append(_address(word) if previous in ("--base-url", "--endpoint") else without_secrets(word))
        previous = option
    return shlex.join(["vqa-client", *words])


def _address(word: str) -> str:
    """An address as it was typed, which may be without its scheme, with no key in it."""
    return without_secrets(word) if "://" in word else without_secrets(f"http://{word}").removeprefix("http://")
