"""The forms of question that the tiny VLM learns: each prompt has one right reply, and it follows from the picture."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_vlm import forms
from tiny_vlm.drawing import COLOURS, SHAPES, Shape, drawn, some_shape
from tiny_vlm.easy import Asked, shape_told

from vqa_client.scoring.choices.choice import read_choice
from vqa_client.scoring.explained_answer import ReplyParts, take_apart
from vqa_client.scoring.reply import reply_from
from vqa_client.tasks.explain.prompts import ESNLIVE, VQAX
from vqa_client.types import Completion, Question

seeds = st.integers(0, 10**6).map(random.Random)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ([("what color is the triangle?", "blue")], Shape("triangle", "blue")),
        ([("is there not a red shape?", "no"), ("is there a circle?", "yes")], Shape("circle", "red")),
        ([("does the image not contain a teal shape?", "yes")], Shape(None, None)),
        ([("is no rectangle present?", "yes"), ("is a gray shape present?", "no")], Shape(None, None)),
    ],
)
def test_what_a_picture_shows_follows_from_its_questions(asked: list[tuple[str, str]], told: Shape) -> None:
    assert shape_told([Asked(*each) for each in asked]) == told


@given(seeds)
def test_an_own_question_is_true_of_its_shape(chance: random.Random) -> None:
    shape = some_shape(chance)
    question, answer = forms.own_question(shape, chance)
    if answer in ("yes", "no"):
        words = set(re.findall(r"\w+", question))
        named = words & {*COLOURS, *SHAPES}
        assert (answer == "yes") == (named <= {shape.colour, shape.shape})
    else:
        assert answer in (shape.shape, shape.colour, "1")


@given(seeds)
def test_a_choice_is_read_as_the_letter_of_the_right_answer(chance: random.Random) -> None:
    shape = some_shape(chance)
    asked = forms.own_question(shape, chance)
    prompt, reply = forms.choice_form(asked, shape, chance)
    choices = dict(re.findall(r"^([A-D])\. (.+)$", prompt, re.MULTILINE))
    assert len(set(choices.values())) == 4
    answer = read_choice(Completion(text=reply), choices)
    assert answer.text is not None
    assert choices[answer.text] == asked.answer


@given(seeds)
def test_answers_and_explanations_come_apart_as_they_were_put_together(chance: random.Random) -> None:
    shape = some_shape(chance)
    asked = forms.own_question(shape, chance)
    for form in (forms.because_form, forms.entailment_form):
        _, reply = form(asked, shape, chance)
        parts = take_apart(reply_from(Completion(text=reply)))
        assert isinstance(parts, ReplyParts)
        assert reply == f"{parts.head} because {parts.rationale}"


def test_the_prompts_of_our_own_benchmarks_are_among_those_that_are_learned() -> None:
    question = Question(id="1", text="What color is the shape?")
    vqax = f"{VQAX.instruction}\n\n{VQAX.show(question)}"
    assert vqax in {wording.format(question.text) for wording in forms.BECAUSE}
    hypothesis = Question(id="1", text="The shape is red.")
    shown = "\n\n".join(f"{ESNLIVE.show(asked)}\nAnswer: {reply}" for asked, reply in ESNLIVE.examples)
    esnlive = (
        f"{ESNLIVE.instruction}\n\nThese examples come without their images and show the form of a reply.\n\n{shown}"
        f"\n\nNow the image below.\n\n{ESNLIVE.show(hypothesis)}"
    )
    assert esnlive == forms.ENTAILMENT[0].format(forms.EXAMPLES, hypothesis.text)


@given(seeds, st.integers(2, 4))
def test_a_question_about_several_pictures_names_one_of_them_or_counts(chance: random.Random, count: int) -> None:
    shapes = [some_shape(chance) for _ in range(count)]
    prompt, reply = forms.several(shapes, chance)
    if prompt.startswith("How many"):
        assert 0 <= int(reply) <= count
    else:
        (place,) = [place for place in forms.NUMBERS if f"the {place} image" in prompt]
        assert forms.NUMBERS.index(place) < count


@given(seeds)
def test_a_drawing_has_its_colour_inside_and_a_pale_ground_around(chance: random.Random) -> None:
    shape = some_shape(chance)
    picture = drawn(shape, chance)
    raw, wanted = picture.tobytes(), COLOURS[str(shape.colour)]
    inked = sum(
        all(abs(part - each) <= 12 for part, each in zip(raw[at : at + 3], wanted, strict=True))
        for at in range(0, len(raw), 3)
    )
    assert inked >= 30
    assert picture.size == (64, 64)
