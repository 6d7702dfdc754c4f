import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tasks.documents import mc_record
from vqa_client.errors import DataError, UsageError
from vqa_client.pages.needles import VALUES, depth, hide, needle_places, write_needles
from vqa_client.scoring.short_answers import contains

GOLDEN = Path(__file__).parents[3] / "shared/data/seed002_longbench/niah_golden.json"
SENTENCES = [f"Ship {word} left the harbour at dawn. " for word in ("one", "two", "three", "four")]
TEXT = "".join(SENTENCES * 10)


def data_file(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "data.json"
    path.write_text(json.dumps(records))
    return path


def written(folder: Path, *records: dict[str, Any], seed: int = 42, num_secrets: int = 5) -> list[dict[str, Any]]:
    output = folder / "niah" / f"{seed}.json"
    write_needles(data_file(folder, *records), output, num_secrets=num_secrets, seed=seed)
    made: list[dict[str, Any]] = json.loads(output.read_bytes())
    return made


def test_there_are_ten_categories_of_ten_values_and_no_value_holds_another() -> None:
    values = [value.lower() for group in VALUES.values() for value in group]
    assert Counter(map(len, VALUES.values())) == {10: 10}
    assert " ".join(VALUES) == "number animal flower color city fruit element planet instrument gemstone"
    assert not [(a, b) for a in values for b in values if a != b and a in b]
    assert len(set(values)) == 100


def test_a_record_has_the_benchmarks_form(tmp_path: Path) -> None:
    (made,) = written(tmp_path, mc_record("d1", context=TEXT))
    assert list(made) == [
        *("_id", "domain", "sub_domain", "difficulty", "length", "questions", "answers", "question_depths", "context"),
        *("secrets", "original_question", "original_answer"),
    ]
    assert (made["domain"], made["sub_domain"]) == ("Needle in a Haystack", "Secret Retrieval")
    assert (made["original_question"], made["original_answer"]) == ("Which boat came in last?", "B")
    assert made["questions"] == [f"What is the secret {key} in the above context?" for key in made["secrets"]]
    assert made["answers"] == list(made["secrets"].values())
    assert made["question_depths"] == ["0-20%", "20-40%", "40-60%", "60-80%", "80-100%"]


def test_needles_stand_between_sentences_at_even_depths_and_nothing_else_changes(tmp_path: Path) -> None:
    (made,) = written(tmp_path, mc_record("d1", context=TEXT))
    context, at = made["context"], []
    for key, value in made["secrets"].items():
        needle = f"The secret {key} is {value}. "
        assert context.count(needle) == 1
        at.append(context.index(needle) / len(context))
        assert context[context.index(needle) - 2 : context.index(needle)] == ". "
    assert at == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9], abs=0.03)
    assert re.sub(r"The secret \w+ is \w+\. ", "", context) == TEXT


def test_the_same_seed_and_id_give_the_same_needles_whatever_else_is_in_the_file(tmp_path: Path) -> None:
    one, two = mc_record("d1", context=TEXT), mc_record("d2", context=TEXT)
    both = written(tmp_path, one, two)
    assert written(tmp_path, two) == both[1:]
    assert both[0]["secrets"] != both[1]["secrets"]
    assert written(tmp_path, two, seed=1) != both[1:]


def test_no_value_occurs_elsewhere_in_the_text(tmp_path: Path) -> None:
    taken = [value for group in VALUES.values() for value in group[:9]]
    text = TEXT + " ".join(f"un{value.upper()}s" for value in taken) + ". End."
    (made,) = written(tmp_path, mc_record("d1", context=text), num_secrets=10)
    assert sorted(made["answers"]) == sorted(group[9] for group in VALUES.values())
    assert not any(contains(answer, text) for answer in made["answers"])


def test_a_category_whose_values_the_text_all_has_is_not_asked(tmp_path: Path) -> None:
    text = TEXT + " ".join(VALUES["planet"]) + ". The secret city lies below. End."
    (made,) = written(tmp_path, mc_record("d1", context=text), num_secrets=8)
    assert {"planet", "city"}.isdisjoint(made["secrets"])


def test_documents_that_can_take_no_needles_are_counted_by_reason(tmp_path: Path) -> None:
    full = TEXT + " ".join(value for group in VALUES.values() for value in group)
    records = [mc_record("good", context=TEXT), mc_record("void", context=""), mc_record("none", context=None)]
    records += [
        mc_record("blank", context=" \n"),
        mc_record("short", context="One. Two."),
        mc_record("full", context=full),
    ]
    output = tmp_path / "niah.json"
    hidden = write_needles(data_file(tmp_path, *records), output, num_secrets=5, seed=0)
    assert (hidden.documents, hidden.needles) == (1, 5)
    assert hidden.left_out == {
        "no_context": ["void", "none", "blank"],
        "too_few_sentences": ["short"],
        "too_few_values_that_the_text_lacks": ["full"],
    }
    assert [record["_id"] for record in json.loads(output.read_bytes())] == ["good"]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([mc_record("d", context=TEXT), mc_record("d", context=TEXT)], "record 2: _id 'd' comes twice"),
        ([mc_record("1", context=TEXT), mc_record("x", _id=1, context=TEXT)], "_id '1' comes twice"),
        ([mc_record("d", context=[TEXT])], "`context` is not text"),
        ([mc_record("d", context="One. Two.")], "1 too few sentences"),
        ([mc_record("", context=TEXT)], "`_id` is empty"),
    ],
)
def test_a_file_that_cant_be_used_is_named_and_nothing_is_written(
    records: list[dict[str, Any]], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message):
        write_needles(data_file(tmp_path, *records), tmp_path / "niah.json", num_secrets=5, seed=0)
    assert [path.name for path in tmp_path.iterdir()] == ["data.json"]


def test_more_secrets_than_categories_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="num_secrets is 11"):
        write_needles(data_file(tmp_path, mc_record("d")), tmp_path / "niah.json", num_secrets=11, seed=0)


def test_the_data_file_is_never_overwritten(tmp_path: Path) -> None:
    path = data_file(tmp_path, mc_record("d", context=TEXT))
    with pytest.raises(UsageError, match="is the data file itself"):
        write_needles(path, path, num_secrets=5, seed=0)


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path) -> None:
    path = data_file(tmp_path, mc_record("d", context=TEXT))
    hidden = write_needles(path, tmp_path / "niah.json", num_secrets=4, seed=0, dry_run=True)
    assert (hidden.documents, hidden.needles) == (1, 4)
    assert not (tmp_path / "niah.json").exists()


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("He saw Mrs. Bell. She left.", ["He saw Mrs. Bell. ", "She left."]),
        ("1. Oil\n2. Salt. Then wait.", ["1. Oil\n2. Salt. ", "Then wait."]),
        ('"Go." He went.', ['"Go." ', "He went."]),
        ("A title\n\nThe text", ["A title\n\n", "The text"]),
        ("船来了。天亮了。人走", ["船来了。", "天亮了。", "人走"]),
        ("Wait ... now?! Yes", ["Wait ... ", "now?! ", "Yes"]),
        ("Version 2.5 is out", ["Version 2.5 is out"]),
    ],
)
def test_sentences_end_where_a_reader_would_say_so(text: str, pieces: list[str]) -> None:
    ends = sorted(set(needle_places(text, len(pieces) - 1))) if len(pieces) > 1 else []
    assert [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)] == pieces
    assert needle_places(text, len(pieces)) == []


@given(st.text("ab.!? \n。", max_size=300), st.integers(1, 5))
def test_needles_only_add_to_a_text(text: str, n: int) -> None:
    places = needle_places(text, n)
    secrets = {f"key{i}": f"value{i}" for i in range(len(places))}
    assert places == sorted(places)
    assert len(places) in (0, n)
    assert re.sub(r"The secret \w+ is \w+\. ", "", hide(text, secrets, places)) == text
    assert all(depth(place, len(text)).endswith("%") for place in places)


def test_depths_and_places_are_those_of_the_published_script() -> None:
    if not GOLDEN.is_file():
        pytest.skip(f"{GOLDEN.name} is not here")
    golden = msgspec.json.decode(GOLDEN.read_bytes())
    checked = 0
    for record, published in zip(golden["input_data_json"], golden["output_data_json"], strict=True):
        text, secrets = record["context"], published["secrets"]
        places = needle_places(text, golden["num_secrets"])
        if not places:  # the script piles needles up where sentences are too few
            continue
        depths = dict(zip(secrets, (depth(place, len(text)) for place in places), strict=True))
        keys = [question.split()[4] for question in published["questions"]]
        assert [depths[key] for key in keys] == published["question_depths"]
        if len(set(places)) == len(places):
            assert hide(text, secrets, places) == published["context"]
            checked += 1
    assert checked == 3
