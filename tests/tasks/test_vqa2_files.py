from pathlib import Path

import pytest

from tests.tasks.vqa2_files import OFFICIAL, SHORT, annotation, question, write_split
from vqa_client.errors import DataError
from vqa_client.tasks.vqa2.data import ImageFolders, find_files


@pytest.mark.parametrize("names", [OFFICIAL, SHORT])
def test_both_layouts_are_found(tmp_path: Path, names: tuple[str, str]) -> None:
    files = find_files(write_split(tmp_path, [question(1)], [annotation(1)], names=names))
    assert (files.questions, files.annotations) == (tmp_path / names[0], tmp_path / names[1])


def test_the_official_layout_goes_first(tmp_path: Path) -> None:
    write_split(tmp_path, [question(1)], [annotation(1)], names=SHORT)
    write_split(tmp_path, [question(1)], [annotation(1)])
    assert find_files(tmp_path).questions.name == OFFICIAL[0]


def test_files_given_by_hand_need_no_folder(tmp_path: Path) -> None:
    write_split(tmp_path, [question(1)], [annotation(1)])
    files = find_files(
        tmp_path / "absent", tmp_path / OFFICIAL[0], tmp_path / OFFICIAL[1], images=tmp_path / "elsewhere"
    )
    assert files.annotations == tmp_path / OFFICIAL[1]
    assert files.image_roots == (tmp_path / "elsewhere",)


def test_the_annotations_beside_given_questions_are_taken(tmp_path: Path) -> None:
    write_split(tmp_path, [question(1)], [annotation(1)])
    assert find_files(Path("absent"), tmp_path / OFFICIAL[0]).annotations == tmp_path / OFFICIAL[1]


def test_a_test_split_has_no_annotations(tmp_path: Path) -> None:
    names = ("v2_OpenEnded_mscoco_test2015_questions.json", "")
    files = find_files(write_split(tmp_path, [question(1)], None, names=names, subtype="test2015"))
    assert (files.questions.name, files.annotations) == (names[0], None)


def test_missing_annotations_are_an_error(tmp_path: Path) -> None:
    write_split(tmp_path, [question(1)], None)
    with pytest.raises(DataError, match="no annotations") as caught:
        find_files(tmp_path)
    assert "--annotations_file" in caught.value.hint
    assert find_files(tmp_path, tmp_path / OFFICIAL[0]).annotations is None


def test_the_splits_that_are_there_are_listed(tmp_path: Path) -> None:
    for split in ("train2014", "test2015"):
        (tmp_path / f"v2_OpenEnded_mscoco_{split}_questions.json").touch()
    with pytest.raises(DataError, match="of test2015, train2014") as caught:
        find_files(tmp_path)
    assert "--questions_file" in caught.value.hint


def test_the_error_of_an_empty_folder_lists_the_expected_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no questions of VQA 2\.0") as caught:
        find_files(tmp_path)
    assert OFFICIAL[0] in caught.value.hint


@pytest.mark.parametrize(
    "name",
    [
        "images/val2014_sample/COCO_val2014_000000000139.jpg",
        "images/val2014/COCO_val2014_000000000139.jpg",
        "images/val2014_sample/COCO_val2014_000139.jpg",
        "images/COCO_val2014_000000000139.jpg",
        "images/000000000139.jpg",
        "images/139.png",
        "val2014/COCO_val2014_000000000139.jpg",
    ],
)
def test_every_name_of_an_image_is_found(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.touch()
    (tmp_path / "questions.json").touch()
    roots = find_files(tmp_path, tmp_path / "questions.json").image_roots
    folders = ImageFolders(roots, "val2014")
    assert (folders.path(139), folders.path("139"), folders.path(140)) == (str(path), str(path), "")


def test_the_published_order_of_names_holds(tmp_path: Path) -> None:
    names = ("val2014_sample/COCO_val2014_000000000139.jpg", "val2014/COCO_val2014_000000000139.jpg")
    for name in (*names, "val2014_sample/COCO_val2014_000139.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert ImageFolders((tmp_path,), "val2014").path(139) == str(tmp_path / names[0])
    (tmp_path / names[0]).unlink()
    assert ImageFolders((tmp_path,), "val2014").path(139) == str(tmp_path / names[1])


def test_an_id_that_is_not_a_number_is_a_file_name(tmp_path: Path) -> None:
    (tmp_path / "boat.jpg").touch()
    assert ImageFolders((tmp_path,), "val2014").path("boat") == str(tmp_path / "boat.jpg")
    assert ImageFolders((tmp_path,), "val2014").path("boat.jpg") == str(tmp_path / "boat.jpg")
