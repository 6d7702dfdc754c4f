"""The forms of questions that `vqa-client`'s benchmarks ask, about images of one shape each.

Every form makes a prompt and its reply. Prompts are those that the commands send, or of our own wording.
"""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tiny_vlm.drawing import COLOURS, SHAPES, Shape
from tiny_vlm.easy import Asked

LETTERS = "ABCD"
NUMBERS = ("first", "second", "third", "fourth")


class Pair(NamedTuple):
    """A prompt and its reply."""

    prompt: str
    reply: str


WRAPPINGS = (
    "{}",
    "{}",
    "{}",
    "{} Answer with one word.",
    "{} Answer in one word.",
    "{}\nAnswer with a single word.",
    "{}\nAnswer the question using a single word or phrase.",
    "Question: {}",
    "Question: {} Answer:",
    "Question: {}\nAnswer:",
    "Look at the image. {}",
    "{} Be brief.",
)
INSTRUCTIONS = (
    "",
    "",
    "Answer with the letter.",
    "Answer with the letter alone.",
    "Answer with the letter of the right choice.",
    "Reply with one letter.",
)
CLOSING = (
    'Close with one sentence that begins "The correct answer is" and ends with the letter of that choice in round '
    "brackets.",
    "The document above is all you have to go by. Decide which choice it supports best; exactly one is right. Keep any "
    'reasoning short, and close with one sentence that begins "The correct answer is" and ends with the letter of that '
    "choice in round brackets.",
    'Answer in the form "The correct answer is (X)".',
)
BECAUSE = (
    "Answer the question about the image in one sentence of the form: <answer> because <explanation>\n"
    "Begin with an answer of one or two words. Then comes the word because, in lower case and only once. Then say "
    "in a few words what in the image shows it. Write nothing else.\n\nQuestion: {}",
    "{} Answer and explain, in the form: <answer> because <explanation>",
    "{} Explain your answer in one sentence with the word because.",
)
ENTAILMENT = (
    "Decide how the hypothesis relates to the image. It is entailment if the image shows that the hypothesis is "
    "true, contradiction if the image shows that it is false, and neutral if the image leaves it open.\n"
    "Reply in one sentence of the form: <label> because <explanation>\n"
    "Begin with one of the words entailment, contradiction, neutral. Then comes the word because, in lower case "
    "and only once. Then say in a few words why. Write nothing else.\n\n{}Hypothesis: {}",
    "{}Does the image entail the hypothesis? Answer entailment, neutral or contradiction because ...\nHypothesis: {}",
)
EXAMPLES = (
    "These examples come without their images and show the form of a reply.\n\n"
    "Hypothesis: A child is outdoors.\nAnswer: entailment because the girl on the swing is in a park\n\n"
    "Hypothesis: The two men are asleep.\nAnswer: contradiction because men who carry a sofa are awake\n\n"
    "Hypothesis: The woman is waiting for her sister.\nAnswer: neutral because it can't be seen whom she waits for\n\n"
    "Now the image below.\n\n"
)
OPEN_BEFORE = (
    "a child drew the {}",
    "the {} was drawn yesterday",
    "the {} is made of wood",
    "somebody likes the {}",
    "the {} will be painted over",
    "the {} is heavy",
)
THINK = ("{} Think first.", "{} Think step by step.", "Think before you answer. {}")


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def asked_anyhow(question: str, chance: random.Random) -> str:
    """A question of easy-VQA, which are in lower case, with a capital first letter or without."""
    return capital(question) if chance.random() < 0.5 else question


def own_question(shape: Shape, chance: random.Random) -> Asked:
    """A question about a known shape in our own words."""
    assert shape.shape
    assert shape.colour
    other_shape, other_colour = (chance.choice(tuple(all_)) for all_ in (SHAPES, COLOURS))
    kinds = (
        Asked(f"What color is the {chance.choice((shape.shape, 'shape', 'thing', 'object'))}?", shape.colour),
        Asked(f"Which color does the {chance.choice((shape.shape, 'shape'))} have?", shape.colour),
        Asked("What shape is it?", shape.shape),
        Asked(f"What is the {shape.colour} shape?", shape.shape),
        Asked(f"Which shape is {shape.colour}?", shape.shape),
        Asked(f"Is the shape a {other_shape}?", _yes(other_shape == shape.shape)),
        Asked(f"Is the shape {other_colour}?", _yes(other_colour == shape.colour)),
        Asked(f"Is there a {other_colour} {other_shape}?", _yes(Shape(other_shape, other_colour) == shape)),
        Asked(f"Is there a {shape.colour} {other_shape}?", _yes(other_shape == shape.shape)),
        Asked("How many shapes are there?", "1"),
    )
    return chance.choice(kinds)


def square_question(shape: Shape) -> Asked:
    """The questions of `vqa-client check`; a square counts as a rectangle."""
    assert shape.colour
    return Asked("What color is the square?", shape.colour)


def open_form(asked: Asked, _: Shape, chance: random.Random) -> Pair:
    """An open question, bare or wrapped."""
    return Pair(chance.choice(WRAPPINGS).format(asked_anyhow(asked.question, chance)), asked.answer)


def options(asked: Asked, chance: random.Random) -> list[str]:
    """Four random answers, one of them right."""
    alike: Sequence[str] = next(
        (all_ for all_ in (tuple(COLOURS), SHAPES, ("yes", "no")) if asked.answer in all_), ("1", "2", "3", "4", "5")
    )
    others = [other for other in alike if other != asked.answer]
    strangers = [*COLOURS, *SHAPES, "nothing", "both", "a line", "a star"]
    chance.shuffle(others)
    while len(others) < 3:
        stranger = chance.choice(strangers)
        if stranger not in others and stranger != asked.answer:
            others.append(stranger)
    chosen = [asked.answer, *others[:3]]
    chance.shuffle(chosen)
    return chosen


def choice_form(asked: Asked, _: Shape, chance: random.Random) -> Pair:
    """A question with four choices as mc asks it; the reply is the letter, or the sentence that the prompt asks for."""
    chosen = options(asked, chance)
    letter = LETTERS[chosen.index(asked.answer)]
    lines = "\n".join(f"{label}. {text}" for label, text in zip(LETTERS, chosen, strict=True))
    closing = chance.random() < 0.35
    told = chance.choice(CLOSING if closing else INSTRUCTIONS)
    prompt = f"{asked_anyhow(asked.question, chance)}\n\n{lines}\n\n{told}"
    return Pair(prompt, f"The correct answer is ({letter})" if closing else letter)


def because_form(asked: Asked, shape: Shape, chance: random.Random) -> Pair:
    """An answer and its explanation."""
    prompt = chance.choice(BECAUSE).format(asked_anyhow(asked.question, chance))
    return Pair(prompt, f"{asked.answer} because the image shows a {shape}")


def entailment_form(_: Asked, shape: Shape, chance: random.Random) -> Pair:
    """A hypothesis, whether it follows from the image, and why."""
    assert shape.shape
    assert shape.colour
    label = chance.choice(("entailment", "contradiction", "neutral"))
    if label == "neutral":
        told, why = chance.choice(OPEN_BEFORE).format(shape.shape), "the image leaves it open"
    else:
        other_colour = chance.choice([colour for colour in COLOURS if colour != shape.colour])
        other_shape = chance.choice([other for other in SHAPES if other != shape.shape])
        right = label == "entailment"
        told = chance.choice(
            (
                f"the shape is {shape.colour if right else other_colour}",
                f"there is a {shape.shape if right else other_shape}",
                f"the image shows a {shape if right else Shape(shape.shape, other_colour)}",
                f"a {shape if right else Shape(other_shape, shape.colour)} is in the image",
            )
        )
        why = f"the image shows a {shape}"
    hypothesis = f"{capital(told)}."
    examples = EXAMPLES if chance.random() < 0.2 else ""
    return Pair(chance.choice(ENTAILMENT).format(examples, hypothesis), f"{label} because {why}")


def thinking_form(asked: Asked, shape: Shape, chance: random.Random) -> Pair:
    """An answer after a thought."""
    prompt = chance.choice(THINK).format(asked_anyhow(asked.question, chance))
    return Pair(prompt, f"<think>\nThe image shows a {shape}.\n</think>\n\n{asked.answer}")


Form = Callable[[Asked, Shape, random.Random], Pair]
SINGLE: dict[Form, float] = {
    open_form: 0.36,
    choice_form: 0.30,
    because_form: 0.12,
    entailment_form: 0.14,
    thinking_form: 0.08,
}
"""The weight of each form of question about one image in the random draw."""


def single(asked: Asked, shape: Shape, chance: random.Random) -> Pair:
    """A question about one image in a random form; if its shape isn't known, a form that doesn't need it."""
    forms = SINGLE if shape.known else {open_form: 0.6, choice_form: 0.4}
    (form,) = chance.choices(tuple(forms), tuple(forms.values()))
    return form(asked, shape, chance)


def several(shapes: Sequence[Shape], chance: random.Random) -> Pair:
    """A question about two to four images of known shapes."""
    at = chance.randrange(len(shapes))
    shape, place = shapes[at], NUMBERS[at]
    kind = chance.choice(("colour", "shape", "whole", "count"))
    if kind == "count":
        counted = chance.choice(SHAPES)
        number = sum(each.shape == counted for each in shapes)
        return Pair(f"How many images show a {counted}?", str(number))
    assert shape.colour
    assert shape.shape
    question, answer = {
        "colour": (f"What color is the shape in the {place} image?", shape.colour),
        "shape": (f"What shape is in the {place} image?", shape.shape),
        "whole": (f"What does the {place} image show?", f"a {shape}"),
    }[kind]
    if kind != "whole" and chance.random() < 0.35:
        return choice_form(Asked(question, answer), shape, chance)
    return Pair(chance.choice(WRAPPINGS).format(question) if kind != "whole" else question, answer)


def _yes(is_so: bool) -> str:
    return "yes" if is_so else "no"
