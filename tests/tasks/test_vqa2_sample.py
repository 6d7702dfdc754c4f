import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from PIL import Image

from tests.tasks.declared import task_of
from vqa_client.errors import OutputError, UsageError
from vqa_client.runner import judge
from vqa_client.settings.own_commands import Vqa2Settings
from vqa_client.shipped import shipped
from vqa_client.task import Source
from vqa_client.tasks import registry
from vqa_client.tasks.vqa2 import benchmark as vqa2
from vqa_client.tasks.vqa2 import data as vqa2_files
from vqa_client.tasks.vqa2.data import copy_sample
from vqa_client.types import Completion, Question

Pixel = tuple[int, ...]


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> list[Question]:
    files = copy_sample(tmp_path_factory.mktemp("sample"))
    loaded = vqa2.load(files, num_questions=0)
    assert loaded.left_out == {}
    return list(loaded.questions)


def pixels(question: Question) -> "Counter[Pixel]":
    with Image.open(question.images[0]) as picture:
        assert picture.size == (640, 480)
        return Counter({color: count for count, color in picture.convert("RGB").getcolors(640 * 480)})


def answer_of(question: Question) -> str:
    return str(question.extra["multiple_choice_answer"])


def test_there_are_twenty_questions_and_pictures_and_the_published_five_come_first(questions: list[Question]) -> None:
    assert [question.id for question in questions] == [str(1000 + n) for n in range(20)]
    assert [question.extra["image_id"] for question in questions] == [
        *(139, 285, 632, 724, 776, 785, 802, 872, 885, 1000),
        *(1268, 1296, 1353, 1584, 1818, 2006, 2149, 2153, 2157, 2261),
    ]
    assert [(question.text, answer_of(question)) for question in questions[:5]] == [
        ("What color is the car?", "red"),
        ("How many people are in the image?", "2"),
        ("Is this person wearing a hat?", "yes"),
        ("What is the weather like?", "sunny"),
        ("Where is this photo taken?", "park"),
    ]
    assert {question.groups["kind"] for question in questions} == {"yes/no", "color", "count", "other"}


def test_the_answers_differ_so_that_no_model_is_right_by_always_saying_the_same(questions: list[Question]) -> None:
    given: defaultdict[str, set[str]] = defaultdict(set)
    for question in questions:
        given[question.text].add(answer_of(question))
    assert len(given) == 5
    assert all(len(answers) >= 2 for answers in given.values())


def test_ten_people_with_ids_gave_each_answer(questions: list[Question]) -> None:
    for question in questions:
        _, score = judge(Completion(text=answer_of(question), finish_reason="stop"), question, task_of("vqa2"))
        assert set(score.parts.values()) == {1.0}
        assert len(question.references) == 10


def test_the_car_has_the_color_of_the_answer(questions: list[Question]) -> None:
    paints = {"red": (208, 31, 31), "blue": (31, 79, 208), "green": (30, 140, 58), "yellow": (242, 207, 29)}
    cars = [question for question in questions if "car" in question.text]
    assert {answer_of(car) for car in cars} == set(paints)
    for car in cars:
        found = pixels(car)
        assert found[paints[answer_of(car)]] > 20_000
        assert all(found[paint] == 0 for color, paint in paints.items() if color != answer_of(car))


def test_a_picture_has_as_many_people_as_the_answer_says(questions: list[Question]) -> None:
    for question in questions:
        if "people" not in question.text:
            continue
        with Image.open(question.images[0]) as picture:
            row = [picture.getpixel((x, 310)) for x in range(640)]
        shirts = {(61, 126, 166), (181, 84, 60), (106, 154, 75), (138, 90, 168)}
        shown = [pixel in shirts for pixel in row]
        assert sum(now and not before for now, before in zip(shown[1:], shown, strict=False)) == int(
            answer_of(question)
        )


def test_a_picture_has_a_hat_where_the_answer_says_so(questions: list[Question]) -> None:
    for question in questions:
        if "hat" in question.text.split("a ")[-1]:
            assert (pixels(question)[(122, 31, 31)] > 1_000) == (answer_of(question) == "yes")


def test_pictures_of_two_weathers_or_places_differ(questions: list[Question]) -> None:
    pictures = {Path(q.images[0]).read_bytes() for q in questions if q.text.startswith("Wh") and "car" not in q.text}
    assert len(pictures) == 8


def test_the_script_makes_what_the_package_has(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-W", "error", shipped("data") / "vqa2_sample.py", tmp_path], check=True)
    here = Path(vqa2_files.__file__).with_name("sample")
    names = {path.relative_to(here) for path in here.rglob("*") if path.is_file()}
    assert names == {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert len(names) == 22
    for name in names:
        if name.suffix == ".json":
            assert (tmp_path / name).read_bytes() == (here / name).read_bytes()
        else:  # a newer Pillow may pack the same pixels differently
            with Image.open(tmp_path / name) as new, Image.open(here / name) as kept:
                assert new.tobytes() == kept.tobytes(), name


def test_copying_the_sample_again_changes_damaged_files_alone(tmp_path: Path) -> None:
    files = copy_sample(tmp_path)
    first = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.rglob("*.*") if path.is_file()}
    assert len(first) == 22
    copy_sample(tmp_path)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in first} == first
    files.questions.write_text("{")
    copy_sample(tmp_path)
    assert files.questions.read_bytes() == first[files.questions][0]


def test_a_place_that_can_t_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file"):
        copy_sample(tmp_path / "file")


def test_a_dry_run_of_the_sample_is_refused(tmp_path: Path) -> None:
    benchmark = registry.find("vqa2").make(Vqa2Settings(mode="sample", dry_run=True, results_dir=tmp_path))
    with pytest.raises(UsageError) as caught:
        benchmark.load(Source(settings=Vqa2Settings(mode="sample", dry_run=True, results_dir=tmp_path)))
    assert str(caught.value) == "a dry run writes nothing, and --mode sample begins by writing its pictures"


def test_the_pictures_are_small(questions: list[Question]) -> None:
    assert max(Path(question.images[0]).stat().st_size for question in questions) < 40_000
