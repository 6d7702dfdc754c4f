"""Packs images and several questions into one sequence, in which each question sees what its own request would.

Images come before the text in every prompt, so questions share them: each question is a block that attends to the
images and to itself, and its positions continue those of the images.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tiny_vlm.checkpoint import MERGE
from tiny_vlm.forms import Pair
from tiny_vlm.tokens import END, IMAGE, PAD, START, VISION_END, VISION_START

NOT_LEARNED = -100
"""The label of a token without a loss."""
Grid = tuple[int, int, int]
Position = tuple[int, int, int]
"""The position of a token in time, height and width."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Tokens, labels shifted by one, positions, and the block of each token; block 0 is the images."""

    tokens: list[int]
    labels: list[int]
    positions: list[Position]
    blocks: list[int]


class Packer:
    """Packs sequences; keeps the tokens that are the same in all prompts."""

    def __init__(self, tokenizer: Any) -> None:
        self._encode: Callable[..., Any] = tokenizer.encode
        self._opening = [START, *self._ids("user\n")]
        self._turn = [END, *self._ids("\n"), START, *self._ids("assistant\n")]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._encode(text, add_special_tokens=False).ids
        return ids

    def pack(self, grids: Sequence[Grid], pairs: Sequence[Pair]) -> Packed:
        """Pack images of these grids, and the questions about them with their replies."""
        tokens, positions = self._pictures(grids)
        labels, blocks = [NOT_LEARNED] * len(tokens), [0] * len(tokens)
        start = positions[-1][0] + 1
        for block, pair in enumerate(pairs, start=1):
            asked, reply = [*self._ids(pair.prompt), *self._turn], [*self._ids(pair.reply), END]
            labels += [NOT_LEARNED] * (len(asked) - 1) + reply + [NOT_LEARNED]
            tokens += asked + reply
            positions += [(at, at, at) for at in range(start, start + len(asked) + len(reply))]
            blocks += [block] * (len(asked) + len(reply))
        return Packed(tokens, labels, positions, blocks)

    def prompt(self, grids: Sequence[Grid], text: str) -> list[int]:
        """The tokens of a single request up to its reply."""
        return [*self._pictures(grids)[0], *self._ids(text), *self._turn]

    def _pictures(self, grids: Sequence[Grid]) -> tuple[list[int], list[Position]]:
        """The beginning of the prompt and the images, whose positions count height and width as in Qwen2-VL."""
        tokens, at = list(self._opening), len(self._opening)
        positions = [(place, place, place) for place in range(at)]
        for _, rows, columns in grids:
            height, width = rows // MERGE, columns // MERGE
            tokens += [VISION_START, *[IMAGE] * (height * width), VISION_END]
            inside = [(at + 1, at + 1 + row, at + 1 + column) for row in range(height) for column in range(width)]
            end = at + 1 + max(height, width)
            positions += [(at, at, at), *inside, (end, end, end)]
            at = end + 1
        return tokens, positions


def batch(sequences: Sequence[Packed]) -> dict[str, Any]:
    """Batch several: tokens and labels (B, T), positions (3, B, T), and the mask (B, 1, T, T), True to attend."""
    import torch

    length = max(len(each.tokens) for each in sequences)

    def padded(rows: list[list[int]], filler: int) -> Any:
        return torch.tensor([row + [filler] * (length - len(row)) for row in rows])

    blocks = padded([each.blocks for each in sequences], -1)
    same = blocks[:, None, :] == blocks[:, :, None]
    shared = blocks[:, None, :] == 0
    order = torch.ones(length, length, dtype=torch.bool).tril()
    positions = [
        padded([[position[axis] for position in each.positions] for each in sequences], 0) for axis in range(3)
    ]
    return {
        "tokens": padded([each.tokens for each in sequences], PAD),
        "labels": padded([each.labels for each in sequences], NOT_LEARNED),
        "positions": torch.stack(positions),
        "mask": ((same | shared) & order)[:, None],
    }
