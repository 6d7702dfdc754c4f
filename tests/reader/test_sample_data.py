"""The sample data of data/: that it is what its README says, and that the page reader falls on it as it should."""

import io
import json
import os
import platform
import re
import subprocess
import sysconfig
from collections import Counter

import pytest
from PIL import Image, ImageChops, ImageStat

from vqa_client.cli.main import run_command
from vqa_client.shipped import shipped

DATA = shipped("data")
MACHINE = "x86_64"
"""Where the sample pages were made; another processor may round differently."""
VARIANTS = {"clean": ("clean", 88), "adv_dpi_56": ("dpi", 56), "adv_jpeg_10": ("jpeg", 10)}
PAGE = re.compile(r"([0-9a-f]{24})_page_(\d{3})\.png")


def records(task):
    return json.loads((DATA / task / "data.json").read_text(encoding="utf-8"))


def page_paths(task, variant, record):
    return sorted((DATA / task / variant / "images").glob(f"{record['_id']}_page_*.png"))


def remade(folder):
    """What the recipe of data/README.md makes here."""
    pytest.importorskip("pypdfium2", reason="needs the extra `render`")
    path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"]))
    subprocess.run(
        ["sh", DATA / "make.sh", folder], env=os.environ | {"PATH": path}, check=True, capture_output=True, timeout=300
    )
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def versions(files):
    """Of the packages that made the pages, as their metadata note them."""
    drawn, damaged = (json.loads(files[f"niah/{variant}/metadata.json"]) for variant in ("clean", "adv_jpeg_10"))
    return drawn["versions"] | damaged["versions"]


def test_the_recipe_makes_what_lies_here_and_the_same_bytes_each_time(tmp_path):
    made = remade(tmp_path / "made")
    for folder in ("longbench", "niah", "shapes"):
        lying = {str(file.relative_to(DATA)) for file in (DATA / folder).rglob("*") if file.is_file()}
        assert lying == {name for name in made if name.startswith(folder)}
        for name in (name for name in lying if name.endswith("data.json") or (folder == "shapes" and "json" in name)):
            assert (DATA / name).read_bytes() == made[name]
    for name in (name for name in made if name.endswith(".png")):
        assert difference((DATA / name).read_bytes(), made[name]) < 2, f"{name} shows something else"
    kept = {name: (DATA / name).read_bytes() for name in made}
    otherwise = changes(versions(kept) | {"machine": MACHINE}, versions(made) | {"machine": platform.machine()})
    again = remade(tmp_path / "again") if otherwise else kept
    assert [name for name in made if made[name] != again[name]] == []
    if otherwise:
        pytest.skip(f"not compared with the bytes that lie here, which were made with {otherwise}")


def changes(before, now):
    return ", ".join(f"{name} {before.get(name)}, now {now.get(name)}" for name in now if before.get(name) != now[name])


def difference(*pages):
    """How many greys two pages are apart, the mean over their pixels; another size is another page."""
    one, other = (Image.open(io.BytesIO(page)).convert("L") for page in pages)
    return ImageStat.Stat(ImageChops.difference(one, other)).mean[0] if one.size == other.size else 255


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
    about = json.loads((folder / "metadata.json").read_text())
    assert (about["perturbation_type"], *about["params"].values()) == VARIANTS[variant]


def test_a_release_changes_no_metadata():
    for path in DATA.glob("*/*/metadata.json"):
        assert "vqa-client" not in json.loads(path.read_text())["versions"]


def test_the_pages_are_small_and_grey():
    paths = [path for task in ("longbench", "niah") for path in (DATA / task).rglob("*.png")]
    assert sum(path.stat().st_size for path in paths) < 12e6
    for path in paths:
        with Image.open(path) as image:
            assert image.mode == "L"


def found(client, variant, some):
    return sum(
        value in client.ask(question, *(path.read_bytes() for path in page_paths("niah", variant, record)))
        for record in some
        for question, value in zip(record["questions"], record["answers"], strict=True)
    )


def test_the_page_reader_finds_all_secrets_on_clean_pages_and_fewer_on_the_others(served):
    some = records("niah")[2:3]
    clean, low, jpeg = (found(served, variant, some) for variant in ("clean", "adv_dpi_56", "adv_jpeg_10"))
    assert clean == 5
    assert low < jpeg < clean


def test_the_secrets_of_a_document_are_found_on_evidence_pages_all_pages_and_the_pages_that_a_search_finds(
    served, tmp_path
):
    pytest.importorskip("bm25s")
    asked = ["run", "mmlongbench-doc", "--data", str(DATA / "mmlongbench"), "--images", str(DATA / "niah/clean/images")]
    asked += ["--pages", "evidence,all,retrieved:1", "--limit", "5", "-o", str(tmp_path), "--no-html", "--no_check"]
    assert run_command([*asked, "--base_url", served.base_url]) == 0
    found = json.loads((tmp_path / "mmlongbench-doc_pages.json").read_text())
    by_pages = {form: of["accuracy"] for form, of in found["by_pages"].items()}
    assert by_pages == {"all": 100.0, "evidence": 100.0, "retrieved:1": 100.0}
