"""No name in a data file, of a model or of a config leads a command out of its folders."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.faults.commands import ran
from tests.faults.questions import Questions, niah_settings
from tests.html.samples import facts, record, write_run
from tests.runs.explain_sample import own
from tests.security.hostile import ELSEWHERE, files_below
from tests.tasks.explain.samples import actx, esnlive, vqax
from vqa_client.errors import VqaClientError
from vqa_client.html.shown_images import ImageFiles
from vqa_client.reports.logged_run import read_run
from vqa_client.tasks.explain.dataset import DatasetImages
from vqa_client.tasks.vqa2.data import ImageFolders
from vqa_client.types import SentImage

PNG = "secret.png"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """An image outside all folders that the commands get."""
    path = tmp_path / PNG
    Image.new("RGB", (9, 9), (1, 2, 3)).save(path)
    return path


@pytest.mark.parametrize("name", [*ELSEWHERE, "../secret.png", "images/../../secret.png"])
def test_no_image_outside_its_folder_is_found(name: str, tmp_path: Path, secret: Path) -> None:
    root = tmp_path / "root"
    (root / "images").mkdir(parents=True)
    named = [name, f"{name}.png", f"images/{name}", str(secret)]
    assert DatasetImages(root).find(named) is None
    folders = ImageFolders([root, root / "images"], "val2014")
    assert {folders.path(each) for each in named} == {""}


def test_an_image_is_still_found_by_the_name_at_the_end_of_a_foreign_path(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "1.jpg").write_bytes(b"x")
    files = DatasetImages(tmp_path)
    assert files.find(["train/1.jpg"]) == files.find(["/home/someone/train/1.jpg"]) == str(tmp_path / "train/1.jpg")


@pytest.mark.parametrize("digits", ["9" * 5000, "٣" * 40, "1" * 19])
def test_an_endless_number_is_no_image(digits: str, tmp_path: Path) -> None:
    assert ImageFolders([tmp_path], "val2014").path(digits) == ""


@pytest.mark.parametrize(
    ("task", "sample", "place"),
    [("actx", actx, "test/1.jpg"), ("vqax", vqax, "val2014/1.jpg"), ("esnlive", esnlive, "flickr30k_images/1.jpg")],
    ids=["actx", "vqax", "esnlive"],
)
async def test_no_picture_that_only_a_record_names_is_sent(
    task: str, sample: Any, place: str, tmp_path: Path, secret: Path, fault_server: StartsServers
) -> None:
    rows = {str(at): sample(image_name=name) for at, name in enumerate(("../../secret.png", str(secret), "1.jpg"))}
    of = own(tmp_path / "root", task, "test", rows, place)
    server = fault_server("yes because it is")
    await vqa_client.arun(of.settings(server.base_url))
    assert len(server.chats) == 1


@pytest.mark.parametrize("benchmark", ["mc", "niah"])
async def test_ids_name_neither_pages_elsewhere_nor_files(
    benchmark: str, tmp_path: Path, secret: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path / "of", len(ELSEWHERE))
    before = files_below(tmp_path)
    of.write_rows([row | {"_id": name} for row, name in zip(of.rows(), ELSEWHERE, strict=True)])
    server = fault_server()
    settings = of.settings(server.base_url)
    if benchmark == "niah":
        settings = niah_settings(of, server.base_url)
        rows = json.loads((of.root / "needles.json").read_bytes())
        rows = [row | {"_id": name} for row, name in zip(rows, ELSEWHERE, strict=True)]
        (of.root / "needles.json").write_text(json.dumps(rows))
    with contextlib.suppress(VqaClientError):  # the whole command may be refused
        await vqa_client.arun(settings)
    assert server.chats == []
    assert {name for name in files_below(tmp_path) - before if not name.startswith("of/")} == set()


@pytest.mark.parametrize("name", ELSEWHERE)
def test_pages_are_drawn_into_their_folder_or_not_at_all(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="extra render is not installed")
    data, output = tmp_path / "in" / "data.json", tmp_path / "in" / "pages"
    data.parent.mkdir()
    data.write_text(json.dumps([{"_id": name, "context": "A word."}]))
    done = ran(["render", str(data), "-o", str(output), "--workers", "1"])
    assert done.is_clean(), done.text
    made = files_below(tmp_path)
    assert all(path == "in/data.json" or path.startswith("in/pages/") for path in made), made
    assert done.code in (0, 2)


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "a\nb", "..", "=cmd", "\x1b[2J", "x" * 400, "ſ/é\ud800"])
def test_a_models_name_names_no_file(name: str, tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path / "of", 2)
    server = fault_server(models=(name,)) if name.isprintable() and len(name) < 100 else fault_server()
    config = of.config(model_name=name)
    done = ran(of.arguments(server.base_url, "-c", config, "--wait_for_server", "2"))
    assert done.is_clean(), done.text
    assert "\x1b" not in done.text
    assert {path.split("/")[0] for path in files_below(tmp_path)} == {"of"}


@pytest.mark.parametrize("image", ["../secret.png", "/etc/passwd", "..", "a/../../secret.png", "\x00"])
def test_a_report_shows_no_file_that_only_a_record_names(image: str, tmp_path: Path, secret: Path) -> None:
    sent = SentImage(name=image, sha256="0" * 64, size_bytes=secret.stat().st_size)
    log = write_run(tmp_path / "run", [record(images=(sent,))], run=facts(images_dir=str(tmp_path / "run")))
    assert ImageFiles(read_run(log)).find(sent) is None
