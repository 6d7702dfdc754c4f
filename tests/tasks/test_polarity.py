"""Yes or no from replies that state what was asked."""

import pytest

from tests.tasks.declared import task_of
from vqa_client.runner import judge
from vqa_client.types import Completion, Question


@pytest.mark.parametrize(
    ("asked", "reply", "answer"),
    [
        ("Is there a dog in the image?", "There is a dog in the image.", "yes"),
        ("Is there a dog in the image? Please answer yes or no.", "There is a dog in the image.", "yes"),
        ("Is there a dog in the image?", "There is a dog.", "yes"),
        ("Is there a dog in the image?", "There is a dog house in the image.", None),
        ("Is there a dog in the image?", "I can see a dog near the tree.", "yes"),
        ("Is there a dog in the image?", "The image shows a dog house.", None),
        ("Is there a dog in the image?", "1. A tail: yes.\n2. Ears: no.\n\nFinal answer: No", "no"),
        ("Is there a dog in the image?", "The answer is yes.\nWait, no.", "no"),
        ("Is there a dog in the image?", "There is a cat in the image.", None),
        ("Is there a dog in the image?", "There may be a dog in the image.", None),
        ("Is there a dog?", "There is a dog house.", None),
        ("Is there a dog?", "Sure! Based on the image, no.", "no"),
        ("Is there a dog?", "Sure! Let me look at the image.", None),
        ("Is there a dog?", "There is neither a dog nor a cat.", "no"),
        ("Is it red?", "It isn't blue, it's red.", "yes"),
        ("Is it red?", "Not red but blue.", "no"),
        *(("Is there a dog?", reply, "yes") for reply in ("I believe there is a dog.", "There appears to be a dog.")),
        *(("Is there a dog?", reply, "yes") for reply in ("No cats, but there is a dog.", "Indeed, there is.")),
        *(("Is there a dog?", reply, "no") for reply in ("None.", "There are none.", "I'm not sure, but I think no.")),
        *(("Is there a dog?", reply, "no") for reply in ("No dog, but there is a cat.", "Indeed not")),
        ("Is there a dog?", "A dog and a cat would be two, but I see none", None),
        ("Is there a dog?", "There is no dog.", "no"),
        ("Is there a dog in the image?", "I can't see a dog in the image.", "no"),
        ("Is there a dog in the image?", "I'm sorry, but I can't assist with that.", "refused"),
        ("Is there a dog in the image?", "No, I can't see any dog in the image.", "no"),
        ("Is the cat bigger than the dog?", "The dog is bigger than the cat.", None),
        ("Is the cat bigger than the dog?", "The cat is bigger than the dog.", "yes"),
        ("Is the man wearing a helmet?", "The man is wearing a helmet and gloves.", "yes"),
        ("Is it day or night?", "It is day.", None),
        ("Is there no dog?", "There is a dog.", None),
        ("Is the cat bigger than the dog?", "The cat (5 kg) is bigger than the dog (4 kg).", "yes"),
        *(("Is it red?", reply, "yes") for reply in ("It is.", "Y", "y.")),
        *(("Is it red?", reply, "no") for reply in ("It isn't.", "N")),
        ("Is it red?", "Yes. Wait, there is none. So the answer is no.", "no"),
        ("Is it red?", "Yes. Hmm, actually that is a bag; therefore, no.", "no"),
        ("Is it red?", "No. On second thought, there is one, so yes.", "yes"),
        *(("Is it red?", reply, None) for reply in ("Y axis", "N = 5", "It is what it is")),
    ],
)
def test_a_statement_of_what_is_asked_is_a_yes(asked: str, reply: str, answer: str | None) -> None:
    question = Question(id="1", text=asked, references=("yes",))
    said = judge(Completion(text=reply, finish_reason="stop"), question, task_of("pope"))[0]
    assert (said.text or said.status) == (answer or "unparsed")
