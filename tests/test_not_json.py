"""NaN and the infinities, which Python's json and pandas write, are named with their item and field by every reader."""

import json
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.tasks.documents import mc_record, niah_record, two_pages
from vqa_client.answers.annotated import read_annotations
from vqa_client.answers.predictions import read_explained, read_predictions
from vqa_client.errors import DataError
from vqa_client.not_json import fault, without_nan
from vqa_client.tables.data_file import read_index
from vqa_client.tasks import mc, niah
from vqa_client.tasks.explain.dataset import read_questions
from vqa_client.tasks.explain.vqax import VQAX_TASK
from vqa_client.tasks.longbench import Wanted
from vqa_client.tasks.vqa2.data import AnnotationRow


def annotations(path: Path) -> None:
    rows = read_index(path, "annotations")
    for index, record in rows.records():
        rows.decode(index, record, AnnotationRow)


def explained(path: Path) -> None:
    read_questions(VQAX_TASK, path)


def choices(path: Path) -> None:
    mc.load(path, Wanted(pages=two_pages))


def needles(path: Path) -> None:
    niah.load(path, Wanted(pages=two_pages))


def explanations(path: Path) -> None:
    read_explained(path, lambda cells: "", None)


RIGHT, NO_ANSWER = {"question_id": 1, "answer": "x"}, {"question_id": 2, "answer": nan}
TWO = {"annotations": [{"question_id": 1, "answers": ["x"]}, {"question_id": 2, "answers": [{"answer": -inf}]}]}
REPORT = {"results": {"m": {"seconds": nan, "question_results": [{"question_id": 1, "model_answer": "y"}]}}}
READERS: list[tuple[Callable[[Path], object], Any, str]] = [
    (choices, [mc_record("a"), mc_record("b", choice_D=nan)], "record 2 (_id 'b'): NaN in field `choice_D`"),
    (choices, [mc_record("a", difficulty=inf)], "record 1 (_id 'a'): Infinity in field `difficulty`"),
    (needles, [niah_record("a", answers=["7", nan])], "record 1 (_id 'a'): NaN in field `answers[1]`"),
    (annotations, TWO, "record 2: -Infinity in field `answers[0].answer`"),
    (explained, {"12": {"question": "?", "explanation": [nan]}}, "NaN in field `12.explanation[0]`"),
    (read_annotations, TWO, "-Infinity in field `annotations[1].answers[0].answer`"),
    (read_annotations, {"7": {"answers": ["x", nan]}}, "NaN in field `7.answers[1]`"),
    (read_predictions, [RIGHT, NO_ANSWER], "NaN in item 2, field `answer`"),
    (read_predictions, REPORT, "NaN in field `results.m.seconds`"),
    (explanations, [{"question_id": 1, "rationale": nan}], "NaN in item 1, field `rationale`"),
]


@pytest.mark.parametrize(("read", "content", "says"), READERS)
@pytest.mark.parametrize("indent", [None, 2])
def test_every_reader_names_the_item_and_the_field(
    tmp_path: Path, read: Callable[[Path], object], content: Any, says: str, indent: int | None
) -> None:
    path = tmp_path / "data.json"
    path.write_text(json.dumps(content, indent=indent))
    with pytest.raises(DataError) as caught:
        read(path)
    assert f"{says}, which JSON doesn't have: write null, or an empty text" in str(caught.value)


@pytest.mark.parametrize(
    ("read", "rows", "says"),
    [
        (choices, [mc_record("a"), mc_record("b", choice_D=nan)], "record 2 (_id 'b'): NaN in field `choice_D`"),
        (explained, [{"explanation": ["a"]}, {"explanation": [nan]}], "NaN in record 2, field `explanation[0]`"),
        (read_annotations, [{"question_id": 1}, {"question_id": 2, "answers": [nan]}], "line 2: NaN in field"),
        (read_predictions, [RIGHT, NO_ANSWER], "line 2: NaN in field `answer`"),
        (explanations, [{"id": 1, "rationale": "x"}, {"id": 2, "rationale": nan}], "line 2: NaN in field"),
    ],
)
def test_of_one_record_a_line_too(
    tmp_path: Path, read: Callable[[Path], object], rows: list[dict[str, Any]], says: str
) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError) as caught:
        read(path)
    assert says in str(caught.value)


@pytest.mark.parametrize("text", [b'{"a": tru}', b'{"a": nan}', b'["NaN", }'])
def test_what_else_is_wrong_stays_in_the_parser_s_words(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        msgspec.json.decode(text)
    assert fault(caught.value, text) == str(caught.value)


def test_a_text_that_ends_too_early_breaks_off() -> None:
    for text in (b'{"a": 1', b""):
        with pytest.raises(msgspec.DecodeError) as caught:
            msgspec.json.decode(text)
        assert fault(caught.value, text) == "the JSON breaks off"


def test_nan_in_a_text_is_text() -> None:
    assert without_nan(b'{"NaN": "a \\" NaN", "b": [NaN, -Infinity]}') == b'{"NaN": "a \\" NaN", "b": [null, null]}'
