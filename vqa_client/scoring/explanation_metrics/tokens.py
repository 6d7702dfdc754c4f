"""The two ways of cutting an explanation into tokens."""

import re
from collections.abc import Callable
from typing import Final, Literal

from vqa_client.scoring.explanation_metrics.ptb import ptb_tokens

Tokens = Literal["ptb", "simple"]
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")


def simple_tokens(text: str) -> list[str]:
    """Words in lower case, with what follows an apostrophe in them: "isn't" is one, "well-known" are two."""
    return _WORD.findall(text.lower().replace("’", "'"))


TOKENISERS: Final[dict[Tokens, Callable[[str], list[str]]]] = {"ptb": ptb_tokens, "simple": simple_tokens}
