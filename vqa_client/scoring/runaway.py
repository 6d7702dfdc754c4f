"""How much of a reply is read: a model that runs away fills megabytes, and an answer stands at one of their ends."""

from typing import Final

READ_CHARACTERS: Final = 100_000
"""Of a longer reply the first and the last half of so many are read."""
_THOUGHT_ENDS: Final = (
    *("</think>", "</thinking>", "</thought>", "</thoughts>", "</reasoning>", "</seed:think>", "◁/think▷", "[/THINK]"),
    *("<|channel|>final<|message|>", "<channel|>", "<|end_of_thought|>", "<|END_THINKING|>", "<unused95>"),
)


def read_part(text: str) -> str:
    """The ends of a reply, and between them the end of a thought that what is left out has; by calls that are quick."""
    if len(text) <= READ_CHARACTERS:
        return text
    half = READ_CHARACTERS // 2
    at, end = max((text.rfind(end, half, -half), end) for end in _THOUGHT_ENDS)
    return "\n".join((text[:half], *([end] if at >= 0 else ()), text[-half:]))
