"""Several questions in one sequence: each sees what a single request with the same picture would."""

from collections.abc import Sequence

from tiny_vlm.forms import Pair
from tiny_vlm.packing import NOT_LEARNED, Packer
from tiny_vlm.tokens import END, IMAGE, VISION_END, VISION_START


class _Encoded:
    def __init__(self, ids: list[int]) -> None:
        self.ids = ids


class Characters:
    """A tokenizer of single characters."""

    def encode(self, text: str, *, add_special_tokens: bool) -> _Encoded:
        assert not add_special_tokens
        return _Encoded([100 + ord(character) for character in text])


GRIDS = [(1, 8, 8), (1, 4, 6)]
PAIRS = [Pair("What is it?", "red"), Pair("And?", "a circle")]


def test_a_block_after_the_pictures_is_the_single_request() -> None:
    packer = Packer(Characters())
    together = packer.pack(GRIDS, PAIRS)
    for block, pair in enumerate(PAIRS, start=1):
        alone = packer.pack(GRIDS, [pair])
        seen = [at for at, each in enumerate(together.blocks) if each in (0, block)]
        assert [together.tokens[at] for at in seen] == alone.tokens
        assert [together.positions[at] for at in seen] == alone.positions
        assert [together.labels[at] for at in seen] == alone.labels


def test_a_prompt_is_a_sequence_up_to_its_reply() -> None:
    packer = Packer(Characters())
    packed = packer.pack(GRIDS, PAIRS[:1])
    prompt = packer.prompt(GRIDS, PAIRS[0].prompt)
    assert packed.tokens[: len(prompt)] == prompt
    assert packed.tokens[len(prompt) :] == [*_ids("red"), END]


def test_the_reply_and_its_end_are_learned_one_place_ahead_and_nothing_else() -> None:
    packed = Packer(Characters()).pack(GRIDS[:1], PAIRS)
    learned = [
        (token, label) for token, label in zip(packed.tokens, packed.labels, strict=True) if label != NOT_LEARNED
    ]
    assert [label for _, label in learned] == [*_ids("red"), END, *_ids("a circle"), END]
    assert len(packed.tokens) == len(packed.labels) == len(packed.positions) == len(packed.blocks)


def test_pictures_have_a_token_for_each_four_patches_and_positions_in_two_dimensions() -> None:
    packed = Packer(Characters()).pack([(1, 4, 6)], PAIRS[:1])
    first, end = packed.tokens.index(VISION_START), packed.tokens.index(VISION_END)
    assert packed.tokens[first + 1 : end] == [IMAGE] * 6
    start = first + 1
    assert packed.positions[first + 1 : end] == [
        (start, start + row, start + column) for row in (0, 1) for column in range(3)
    ]
    assert packed.positions[end] == (start + 3,) * 3


def _ids(text: str) -> Sequence[int]:
    return Characters().encode(text, add_special_tokens=False).ids
