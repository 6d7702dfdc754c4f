"""The command line that goes on where one was interrupted."""

import shlex
from collections.abc import Sequence

from vqa_client.client.url import without_secrets

ADDRESSES = ("--base-url", "--endpoint")


def resume_command(argv: Sequence[str]) -> str:
    """The same command without a key or password, which the environment has, and without --fresh."""
    words: list[str] = []
    previous = ""
    for word in argv[1:]:
        option = word.replace("_", "-")
        if previous == "--header":
            word = f"{word.partition('=')[0]}=..."  # it may be a key
        elif option.startswith("--header="):
            word = f"--header={word.split('=')[1]}=..."
        if previous != "--api-key" and option not in ("--api-key", "--fresh") and not option.startswith("--api-key="):
            words.append(_shown(word, is_address=previous in ADDRESSES))
        previous = option
    return shlex.join(["vqa-client", *words])


def _shown(word: str, *, is_address: bool) -> str:
    """A word without the keys in its address, which may be typed without its scheme."""
    option, equals, value = word.partition("=")
    if equals and option.replace("_", "-") in ADDRESSES:
        return f"{option}={_shown(value, is_address=True)}"
    if is_address and "://" not in word:
        return without_secrets(f"http://{word}").removeprefix("http://")
    return without_secrets(word)
