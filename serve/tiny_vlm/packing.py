"""One set of pictures with several questions as one sequence, in which every question sees what a single request would.

The pictures stand before the text in every prompt, so they are shared: each question is a block that attends to them
and to itself, and its positions go on where the pictures' ended.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tiny_vlm.checkpoint import MERGE
from tiny_vlm.forms import Pair
from tiny_vlm.tokens import END, IMAGE, PAD, START, VISION_END, VISION_START

NOT_LEARNED = -100
"""The label of a token that no loss is taken of."""
Grid = tuple[int, int, int]
Position = tuple[int, int, int]
"""Of a token in time, height and width."""


@dataclass(frozen=True, slots=True)
class Packed:
    """Tokens, their labels one place ahead, positions, and the block of each; 0 is that of the pictures."""

    tokens: list[int]
    labels: list[int]
    positions: list[Position]
    blocks: list[int]


class Packer:
    """Knows the tokens that never change."""

    def __init__(self, tokenizer: Any) -> None:
        self._encode: Callable[..., Any] = tokenizer.encode
        self._opening = [START, *self._ids("user\n")]
        self._turn = [END, *self._ids("\n"), START, *self._ids("assistant\n")]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._encode(text, add_special_tokens=False).ids
        return ids

    def pack(self, grids: Sequence[Grid], pairs: Sequence[Pair]) -> Packed:
        """Pictures of these grids, and the questions about them with their replies."""
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
        """The tokens of a single request, up to where its reply begins."""
        return [*self._pictures(grids)[0], *self._ids(text), *self._turn]

    def _pictures(self, grids: Sequence[Grid]) -> tuple[list[int], list[Position]]:
        """The opening and the pictures; in a picture height and width count, as Qwen2-VL's rotary positions do."""
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
    """Tensors of several: tokens and labels (B, T), positions (3, B, T), and the mask (B, 1, T, T), True to attend."""
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
