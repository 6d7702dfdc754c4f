"""How long a text may be to be read: a text of the limit is read, and one with a character or word more isn't."""

from collections.abc import Callable

import pytest

from tests.scoring.explained_answer.replies import said
from vqa_client.scoring.choices.choice import read_choice
from vqa_client.scoring.counts import summed_numbers
from vqa_client.scoring.explained_answer import read_phrase
from vqa_client.scoring.finish import is_cut
from vqa_client.scoring.maths import number_of, same_maths
from vqa_client.scoring.refusal import misses_image
from vqa_client.scoring.restated import affirms, answer_in
from vqa_client.scoring.strict.commitment import lists_lines
from vqa_client.scoring.strict.containment import contains_strict
from vqa_client.scoring.vqa_accuracy import is_sentence
from vqa_client.scoring.vqa_normalise import without_punctuation
from vqa_client.scoring.wrappers import answer_and_explanation
from vqa_client.tasks.mm_niah import _choice
from vqa_client.types import Completion


def lists_choices(text: str) -> bool:
    return read_choice(Completion(text=text), {"A": "red bus", "B": "blue car"}).status == "ambiguous"


LIMITS: list[tuple[int, Callable[[int], object]]] = [
    (1_000, lambda size: answer_in("The car is red".ljust(size), "What color is the car?")),
    (1_000, lambda size: affirms("There is a dog".ljust(size), "Is there a dog?")),
    (100, lambda size: answer_in(f"The sign says {'x' * size}", "What does the sign say?")),
    (400, lambda size: number_of("7".ljust(size))),
    (800, lambda size: same_maths("1/2".ljust(size), "0.5")),
    (800, lambda size: same_maths("0.5", "1/2".ljust(size))),
    (50_000, lambda size: answer_and_explanation('{"answer": "a"}'.ljust(size))),
    (80, lambda size: is_cut("length".rjust(size, "-"))),
    (39, lambda size: number_of("(" * size + "7" + ")" * size)),
    (500, lambda size: number_of(f"{size}!/{size}!")),
    (5_000, lambda size: number_of(f"2^{{{size}}}/2^{{{size}}}")),
    (50, lambda size: same_maths(", ".join(["1/2"] * size), ", ".join(["0.5"] * size))),
    (30, lambda size: summed_numbers(", ".join(map(str, range(1, size + 1))), "")),
    (32, lambda size: "." not in without_punctuation("a." * size)),
    (5, lambda size: not is_sentence("word " * size)),
    (800, lambda size: misses_image("there is no image attached".center(size))),
    (5, lambda size: not contains_strict("7421", f"The secret is 7421.\nAnswer: {' '.join(['word'] * size)}.")),
    (40, lambda size: lists_lines("\n".join(("a" * size, "b", "c")))),
    (3, lambda size: lists_lines("\n".join(("a " * size, "b", "c")))),
    (20, lambda size: lists_choices("red bus:\n" + "x\n" * (size - 1) + "blue car:\nit is")),
    (9, lambda size: _choice("1" * size)),
    (8, lambda size: read_phrase(said("red " * size)).text),
]


@pytest.mark.parametrize(("limit", "read"), LIMITS)
def test_a_text_is_read_up_to_its_limit(limit: int, read: Callable[[int], object]) -> None:
    assert read(limit)
    assert not read(limit + 1)
