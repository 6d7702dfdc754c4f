"""The sample data of data/: that it is what its README says, and that the page reader falls on it as it should."""

import importlib.util
import json
import re
from collections import Counter

import pytest
from PIL import Image

from vqa_client.shipped import shipped

DATA = shipped("data")
VARIANTS = ("clean", "adv_dpi_56", "adv_jpeg_10")
PAGE = re.compile(r"([0-9a-f]{24})_page_(\d{3})\.png")


def records(task):
    return json.loads((DATA / task / "data.json").read_text(encoding="utf-8"))


def page_paths(task, variant, record):
    return sorted((DATA / task / variant / "images").glob(f"{record['_id']}_page_*.png"))


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make", DATA / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_data_files_are_what_the_documents_make(make):
    made = make.documents()
    assert made == records("longbench")
    assert [make.with_needles(record, make.SEED + i) for i, record in enumerate(made)] == records("niah")


def test_every_record_has_the_fields_of_longbench():
    fields = "_id domain sub_domain difficulty length question choice_A choice_B choice_C choice_D answer context"
    for record in records("longbench"):
        assert list(record) == fields.split()
        assert re.fullmatch("[0-9a-f]{24}", record["_id"])
        assert record["difficulty"] in {"easy", "hard"}
        assert len({record[f"choice_{letter}"] for letter in "ABCD"}) == 4


def test_the_letters_are_balanced_and_the_documents_differ():
    longbench = records("longbench")
    assert set(Counter(record["answer"] for record in longbench).values()) == {len(longbench) // 4}
    assert len({record["_id"] for record in longbench}) == len(longbench) >= 5


def test_every_document_holds_its_five_secrets_once_and_in_order():
    for record in records("niah"):
        places = []
        for key, value in record["secrets"].items():
            needle = f"The secret {key} is {value}. "
            assert record["context"].count(needle) == 1
            assert record["context"].lower().count(value.lower()) == 1
            places.append(record["context"].index(needle) / len(record["context"]))
        assert [f"{int(5 * place) * 20}-{int(5 * place) * 20 + 20}%" for place in places] == record["question_depths"]
        assert record["questions"] == [f"What is the secret {key} in the above context?" for key in record["secrets"]]
        assert record["answers"] == list(record["secrets"].values())


def test_the_needles_are_all_that_was_put_into_the_texts():
    for plain, record in zip(records("longbench"), records("niah"), strict=True):
        assert re.sub(r"The secret \w+ is \w+\. ", "", record["context"]) == plain["context"]


@pytest.mark.parametrize("task", ["longbench", "niah"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_document_has_all_its_pages_and_no_page_is_a_strangers(task, variant):
    folder = DATA / task / variant
    names = [PAGE.fullmatch(path.name).groups() for path in sorted((folder / "images").iterdir())]
    ids = {record["_id"] for record in records(task)}
    assert {each for each, _ in names} == ids
    for each in ids:
        numbers = [int(number) for own, number in names if own == each]
        assert numbers == list(range(1, len(numbers) + 1))
        assert 2 <= len(numbers) <= 5
    assert json.loads((folder / "metadata.json").read_text())["task"] == task


def test_the_pages_are_small_and_grey():
    paths = list(DATA.rglob("*.png"))
    assert sum(path.stat().st_size for path in paths) < 12e6
    for path in paths[::7]:
        with Image.open(path) as image:
            colours = image.convert("RGB").getcolors()
            assert len(colours) <= 16
            assert all(red == green == blue for _, (red, green, blue) in colours)


def test_drawing_again_gives_the_same_bytes_and_the_pages_that_lie_here(make, tmp_path):
    record = records("niah")[0]
    for variant, about in make.VARIANTS.items():
        drawn = make.pages(record["context"], about["params"])
        again = make.pages(record["context"], about["params"])
        assert [page.tobytes() for page in drawn] == [page.tobytes() for page in again]
        make.save(drawn[0], tmp_path / "one.png")
        lying = page_paths("niah", variant, record)
        with Image.open(tmp_path / "one.png") as made, Image.open(lying[0]) as kept:
            assert made.size == kept.size
        assert len(drawn) == len(lying)


def found(client, variant, some):
    return sum(
        value in client.ask(question, *(path.read_bytes() for path in page_paths("niah", variant, record)))
        for record in some
        for question, value in zip(record["questions"], record["answers"], strict=True)
    )


def test_the_page_reader_finds_all_secrets_on_clean_pages_and_fewer_on_the_others(served):
    some = records("niah")[:3]
    clean, low, jpeg = (found(served, variant, some) for variant in VARIANTS)
    assert clean == 15
    assert low < jpeg < clean
