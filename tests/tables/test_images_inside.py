"""Images inside other files are asked, resumed, corrupted, shown and compared like image files."""

import base64
import hashlib
import json
import os
import random
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.contract.forms import draw
from tests.contract.samples import write_sample
from tests.fakes.fixtures import StartsServers, fault_process, fault_server
from tests.fakes.words import answer
from tests.faults.commands import wait_until
from vqa_client.cli.main import run_command
from vqa_client.evaluation import arun
from vqa_client.images.decide import RefusedImage, read
from vqa_client.reports.log_reader import LogReader
from vqa_client.runs.dry_run import dry_run
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.tables.data_file import _read_index
from vqa_client.tables.inside import MOST_OPEN, image_at_once, open_table, opened_table

__all__ = ["fault_process", "fault_server"]

FORMS = {"parquet": ("chartqa", 1), "tsv": ("chartqa", 2), "referred": ("pope", 2)}


class Run:
    """A benchmark's sample in a form with images inside, and the folder of its results."""

    def __init__(self, form: str, root: Path) -> None:
        self.name, number = FORMS[form]
        self.data, self.output = root / "data", root / "out"
        write_sample(self.name, self.data, number)
        self.file = next(path for path in self.data.rglob("*") if path.is_file())

    def settings(self, base_url: str, **changes: Any) -> BenchmarkSettings:
        given = {"benchmark": self.name, "data": self.data, "output": self.output, "base_url": base_url}
        return BenchmarkSettings(**given | {"api_key": None, "max_workers": 4} | changes)

    def records(self) -> list[Any]:
        return list(LogReader(next(self.output.glob("*.records.jsonl"))))


@pytest.fixture(params=FORMS)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    return Run(request.param, tmp_path)


async def test_the_bytes_are_sent_unchanged_and_the_record_names_their_place(
    run: Run, fault_server: StartsServers
) -> None:
    server = fault_server(answer("3"))
    await arun(run.settings(server.base_url))
    sent = {image.sha256 for chat in server.chats for image in chat.images}
    drawn = {hashlib.sha256(draw(shade)).hexdigest() for shade in range(4 if run.name == "chartqa" else 2)}
    assert sent == drawn
    images = [image for record in run.records() for image in record.images]
    assert {image.sha256 for image in images} == drawn
    assert {(image.width, image.height, image.transforms) for image in images} == {(24, 16, ())}
    assert {image.name.partition(":")[0].partition("#")[0] for image in images} == {run.file.name}


async def test_an_unchanged_file_is_resumed_without_reading_an_image(
    run: Run, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = fault_server(answer("3"))
    await arun(run.settings(server.base_url))
    asked = len(server.chats)

    def never(path: str, place: str) -> None:
        raise AssertionError(f"{place} was read")

    monkeypatch.setattr("vqa_client.images.decide.image_inside", never)
    await arun(run.settings(server.base_url))
    assert len(server.chats) == asked


async def test_a_file_written_again_is_compared_by_its_images(run: Run, fault_server: StartsServers) -> None:
    server = fault_server(answer("3"))
    await arun(run.settings(server.base_url))
    asked = len(server.chats)
    run.file.write_bytes(run.file.read_bytes())
    os.utime(run.file, (0, 0))
    await arun(run.settings(server.base_url))
    assert len(server.chats) == asked


@pytest.mark.usefixtures("in_threads")
async def test_corrupted_copies_are_made_of_images_inside(run: Run, fault_server: StartsServers) -> None:
    server = fault_server(answer("3"))
    await arun(run.settings(server.base_url), corrupted=RobustnessRun(corruptions="pixelate", levels="3"))
    transforms = {image.transforms for record in run.records() for image in record.images}
    assert {each[0].split(":")[0] for each in transforms if each} == {"pixelate"}


async def test_page_retry_parse_and_comparison_find_images_inside_files(
    run: Run, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    server = fault_server(answer("3"))
    await arun(run.settings(server.base_url, max_pixels=200))
    assert all(image.transforms[0].startswith("max_pixels:200") for record in run.records() for image in record.images)
    log = next(run.output.glob("*.records.jsonl"))
    assert run_command(["report", str(log), "--html"]) == 0
    page = log.with_name(log.name.replace(".records.jsonl", ".html")).read_text()
    assert page.count("data:image/webp") >= 2
    assert "the file is not where the run found it" not in page
    assert run_command(["parse", str(log), "--explain", run.records()[0].question_id]) == 0
    other = run.output.with_name("other")
    await arun(run.settings(fault_server(answer("Blue")).base_url, output=other))
    assert run_command(["compare", str(run.output), str(other), "-o", str(other / "c"), "--html"]) in (0, 2)
    capsys.readouterr()


async def test_a_broken_image_fails_only_its_question(tmp_path: Path, fault_server: StartsServers) -> None:
    run = Run("tsv", tmp_path)
    text = run.file.read_text()
    run.file.write_text(text.replace(base64.b64encode(draw(1)).decode(), base64.b64encode(b"\x89PNG" * 30).decode()))
    (report,) = await arun(run.settings(fault_server(answer("3")).base_url))
    assert report.summary.status_counts["bad_image"] == 1
    (failed,) = [record for record in run.records() if record.status == "bad_image"]
    assert failed.error.message.startswith(f"{run.file}#1:image: is in no known image format")


async def test_a_dry_run_counts_the_images_inside(run: Run) -> None:
    (model,) = await dry_run(run.settings("http://127.0.0.1:9/v1", model="m"), lambda _: None)
    (plan,) = model.plans
    assert (plan.images, plan.unreadable) == (plan.requests, ())
    assert plan.sent_bytes > 100 * plan.images


def test_lists_of_one_length_are_lists(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    cells = [[{"bytes": draw(1), "path": None}, {"bytes": draw(2), "path": None}], None, [{"bytes": draw(3)}] * 2]
    kind = pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]), 2)
    parquet.write_table(pa.table({"images": pa.array(cells, kind)}), tmp_path / "two.parquet")
    table = open_table(tmp_path / "two.parquet")
    names = [[here.name for here in row["images"] or ()] for _, row in table.rows()]
    assert [[table.image(name.partition("#")[2]) for name in each] for each in names] == [
        [draw(1), draw(2)],
        [],
        [draw(3), draw(3)],
    ]
    with pytest.raises(LookupError, match=r"^'?there is no image 2 in this cell, which has 2'?$"):
        table.image("0:images[2]")


def test_places_in_a_file_of_4_gb_have_eight_bytes(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text("[{}]")
    sizes = {4_294_967_295: "I", 4_294_967_296: "Q"}
    assert {size: _read_index(str(path), "", (size, 0, 0, 0)).starts.typecode for size in sizes} == sizes


def test_a_list_of_rows_in_an_object_has_one_of_these_keys(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    keys = "annotations data entries examples instances items questions records rows samples"
    for key in keys.split():
        path.write_text(json.dumps({"version": 1, key: [{"text": "a"}, {"text": "b"}]}))
        assert [cells["text"] for _, cells in open_table(path).rows()] == ["a", "b"], key


def test_a_place_without_an_image_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"image": null, "text": 5}\n')
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7\n")
    member = tarfile.TarInfo("a.png")
    member.size = 600
    (tmp_path / "a.tar").write_bytes(member.tobuf() + b"x" * 500)
    member.size = 536_870_913
    (tmp_path / "large.tar").write_bytes(member.tobuf())
    places = {
        ("a.jsonl", "0:image"): "there is no image in this cell",
        ("a.jsonl", "0:text"): "there is no image in this cell",
        ("a.jsonl", "7"): "'7' is not a place in a table, such as 17:image[0]",
        ("a.pdf", "3"): "'3' is not a page, such as 3@144",
        ("a.tar", "b.png"): "there is no b.png in this tar",
        ("a.tar", "a.png"): "the tar is cut: 500 of 600 bytes are there",
        ("large.tar", "a.png"): "it has 536870913 bytes; at most 536870912 are read",
    }
    for (name, place), said in places.items():
        image = f"{tmp_path / name}#{place}"
        assert read(image) == RefusedImage(message=f"{image}: {said}", hint="mend the image in the data file")


@pytest.mark.parametrize("order", ["in order", "backwards", "at random", "with jumps"])
def test_images_of_a_column_belong_to_their_rows_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("vqa_client.tables.parquet_table.BATCH_ROWS", 4)
    rows = [{"image": {"bytes": b"image %d" % number, "path": None}} for number in range(90)]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet", row_group_size=20)
    numbers = list(range(90))
    asked = {
        "in order": numbers,
        "backwards": numbers[::-1],
        "at random": random.Random(1).sample(numbers, 90),
        "with jumps": [*range(30), *range(5, 45), *range(70, 90), *range(41, 60)],
    }[order]
    table = open_table(tmp_path / "rows.parquet")
    assert [table.image(f"{number}:image") for number in asked] == [b"image %d" % number for number in asked]
    for place, missing in {"90:image": "there is no row with id 90", "0:image_1": "there is no column image_1"}.items():
        for _ in range(2):
            with pytest.raises(LookupError, match=missing):
                table.image(place)
    monkeypatch.setattr("vqa_client.tables.parquet_table.MOST_BYTES", 6)
    with pytest.raises(ValueError, match=r"^the image has 7 bytes; at most 6 are read$"):
        table.image("0:image")


def test_an_image_that_is_next_is_near_once_its_batch_was_read_ahead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("vqa_client.tables.parquet_table.BATCH_ROWS", 2)
    parquet.write_table(pa.table({"image": [b"1", b"2", b"3", b"4", b"5", b"6"]}), tmp_path / "rows.parquet")
    table = open_table(tmp_path / "rows.parquet")
    assert not table.is_near("0:image")
    assert image_at_once(str(tmp_path / "rows.parquet"), "0:image") is None
    table.image("0:image")
    assert table.is_near("1:image")
    assert not table.is_near("2:image")
    table.image("2:image")
    assert wait_until(lambda: table.is_near("4:image"))


def test_a_batch_has_as_many_rows_as_the_images_of_its_column_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("vqa_client.tables.parquet_table.BATCH_BYTES", 3_000)
    images = [random.Random(number).randbytes(1_000) for number in range(8)]
    parquet.write_table(pa.table({"id": [*range(8)], "image": images}), tmp_path / "rows.parquet")
    table = open_table(tmp_path / "rows.parquet")
    table.image("0:image")
    assert [table.is_near(f"{row}:image") for row in (1, 7)] == [True, False]


def test_of_many_open_tables_the_least_recently_read_one_is_closed(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.jsonl" for number in range(MOST_OPEN + 1)]
    for path in paths:
        path.write_text("{}\n")
    first, second, *_ = (opened_table(str(path))[0] for path in paths[:-1])
    assert opened_table(str(paths[0]))[0] is first
    opened_table(str(paths[-1]))
    assert opened_table(str(paths[0]))[0] is first
    assert opened_table(str(paths[1]))[0] is not second


FORKED = """
import os, sys
from pathlib import Path
from vqa_client.tables.inside import open_table

def read():
    table = open_table(Path(sys.argv[1]))
    return [table.image(f"{row}:image") for row in range(3000)]

read()
child = os.fork()
if not child:
    os._exit(len(read()) != 3000)
sys.exit(os.waitpid(child, 0)[1])
"""


def test_a_forked_process_reads_ahead_with_its_own_thread(tmp_path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"image": [b"1"] * 3000}), tmp_path / "rows.parquet")
    command = [sys.executable, "-c", FORKED, str(tmp_path / "rows.parquet")]
    assert subprocess.run(command, timeout=300, check=False).returncode == 0
