"""Twenty questions of our own with drawn pictures, in VQA 2.0's files: a check of the way from question to score."""

from io import BytesIO
from pathlib import Path
from typing import Any, Final

from vqa_client.errors import UsageError
from vqa_client.files import encode, replacing
from vqa_client.tasks.vqa2.drawings import SCENES, Scene
from vqa_client.tasks.vqa2.files import Vqa2Files

SUBTYPE = "sample"
QUESTIONS = "val_questions_sample.json"
ANNOTATIONS = "val_annotations_sample.json"
FIRST_ID = 1000
ANSWERS = 10
IMAGE_IDS: Final = (
    *(139, 285, 632, 724, 776, 785, 802, 872, 885, 1000),
    *(1268, 1296, 1353, 1584, 1818, 2006, 2149, 2153, 2157, 2261),
)
"""The published framework's; the pictures are not COCO's, so their names don't say COCO."""


def make_sample(folder: Path) -> Vqa2Files:
    """Write the files and pictures that are missing or differ, and say where they are; raises UsageError."""
    items = [_item(number) for number in range(len(IMAGE_IDS))]
    head = {"info": {"description": "Drawn pictures with questions, in the form of VQA 2.0."}, "data_subtype": SUBTYPE}
    for name, key, at in ((QUESTIONS, "questions", 0), (ANNOTATIONS, "annotations", 1)):
        _keep(folder / name, encode({**head, key: [item[at] for item in items]}))
    for number, image_id in enumerate(IMAGE_IDS):
        _keep(folder / "images" / f"{SUBTYPE}_{image_id:012d}.png", _png(number))
    return Vqa2Files(questions=folder / QUESTIONS, annotations=folder / ANNOTATIONS, image_roots=(folder / "images",))


def _shown(number: int) -> tuple[Scene, str]:
    scene = SCENES[number % len(SCENES)]
    return scene, scene.answers[number // len(SCENES) % len(scene.answers)]


def _item(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A question and its annotation."""
    scene, answer = _shown(number)
    ids = {"question_id": FIRST_ID + number, "image_id": IMAGE_IDS[number]}
    answers = [{"answer": answer, "answer_confidence": "yes", "answer_id": at} for at in range(1, ANSWERS + 1)]
    annotation = {
        "question_type": scene.question_type,
        "multiple_choice_answer": answer,
        "answers": answers,
        "answer_type": scene.answer_type,
    }
    return ids | {"question": scene.question}, annotation | ids


def _png(number: int) -> bytes:
    scene, answer = _shown(number)
    buffer = BytesIO()
    scene.draw(answer).picture().save(buffer, "PNG")
    return buffer.getvalue()


def _keep(path: Path, content: bytes) -> None:
    """Write a file unless it is there: one that a run has begun with must not look new."""
    try:
        if path.is_file() and path.read_bytes() == content:
            return
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}", hint="allow reading it, or remove it") from None
    with replacing(path) as file:
        file.write(content)
