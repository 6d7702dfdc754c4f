"""Logs are read as they are on disk and never changed."""

import fcntl
import os
import random
from pathlib import Path
from zlib import crc32

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.html.samples import record, write_run
from vqa_client.errors import DataError
from vqa_client.files import natural_key
from vqa_client.reports.log_reader import LogReader, find_logs
from vqa_client.reports.logged_run import read_run


def test_the_last_record_of_a_question_counts(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record(1, right=False), record(2), record(1)])
    assert [(one.question_id, one.score) for one in LogReader(log)] == [("q1", 1.0), ("q2", 1.0)]


def test_records_are_in_the_order_of_their_ids_not_of_their_ends(tmp_path: Path) -> None:
    names = ("q10", "q2", "Q1")
    log = write_run(tmp_path, [record(question_id=name, variant=v) for name in names for v in ("b/10", "b/9", "")])
    found = [(one.question_id, one.variant) for one in LogReader(log)]
    assert found == [(name, variant) for name in ("Q1", "q2", "q10") for variant in ("", "b/9", "b/10")]


def test_a_line_that_is_still_being_written_is_ignored(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record(1)])
    with log.open("ab") as file:
        file.write(msgspec.json.encode(record(2))[:-20])
    before = log.read_bytes()
    reader = LogReader(log)
    assert (len(reader), reader.unreadable) == (1, 0)
    assert log.read_bytes() == before


def test_a_line_that_is_not_a_record_is_counted(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record(1)])
    with log.open("ab") as file:
        file.write(b'{"a": 1}\n\n\xff\xfe\nnull\n' + msgspec.json.encode(record(2)))
    reader = LogReader(log)
    assert ([one.question_id for one in reader], reader.unreadable) == (["q1", "q2"], 3)


def test_a_log_that_is_being_written_can_be_read(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record(1)])
    log.chmod(0o444)
    with log.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert len(LogReader(log)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [log.name, "clean_mc_eval.run.json"]


def test_a_log_that_is_rewritten_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record(1), record(2)])
    reader = LogReader(log)
    log.write_bytes(b"x" * log.stat().st_size)
    with pytest.raises(DataError, match=f"^{log} was rewritten while it was read$") as caught:
        list(reader)
    assert caught.value.hint == "try again"


@pytest.mark.parametrize(
    "name",
    [
        "a.records.jsonl",
        "a.run.json",
        "a.json",
        "a_20261128_034551.json",
        "a.html",
        "a.csv",
        "a.md",
        "a.summary.json",
        "a.records.csv",
        "a.records.parquet",
        "a.explanations.json",
    ],
)
def test_any_file_of_a_run_names_its_log(tmp_path: Path, name: str) -> None:
    log = write_run(tmp_path, [record()], name="a")
    (tmp_path / name).touch()
    assert find_logs(tmp_path / name) == [log]


def test_a_dated_report_names_its_log_with_any_text_after_the_date(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record()], name="vqa2_results_coco_robustness")
    (tmp_path / "vqa2_results_coco_20261128_034551_robustness.json").touch()
    assert find_logs(tmp_path / "vqa2_results_coco_20261128_034551_robustness.json") == [log]


def test_a_folder_names_all_logs_in_it_and_its_folders(tmp_path: Path) -> None:
    logs = [write_run(tmp_path / folder, [record()], name="x") for folder in ("a2", "a10", "b/c")]
    assert find_logs(tmp_path) == logs


def test_a_record_with_a_field_of_another_type_is_named_by_the_field(tmp_path: Path) -> None:
    log = write_run(tmp_path, [])
    covered = msgspec.json.encode(record(1)).replace(b'"references":["A"]', b'"references":"A"')[:-1]
    log.write_bytes(b'%b,"crc":"%08x"}\n' % (covered, crc32(covered)))
    with pytest.raises(DataError, match=r"a record can't be read: Expected `array`, got `str` - at `\$.references`"):
        list(LogReader(log))


@pytest.mark.parametrize("name", ["", "nothing.json", "absent/absent.json"])
def test_a_path_without_a_log_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"no record log|does not exist"):
        find_logs(tmp_path / name)


def test_a_log_is_read_without_a_run_file(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record()], name="alone")
    os.unlink(tmp_path / "alone.run.json")
    run = read_run(log)
    assert (run.title, run.facts.model, run.facts.expected) == ("alone", "", None)


def test_a_run_file_of_another_form_is_named(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record()], run={"identity": []})
    with pytest.raises(DataError, match=r"clean_mc_eval\.run\.json is not a run file") as caught:
        read_run(log)
    assert caught.value.hint == "move it away: a log can be read alone"


@pytest.mark.parametrize("odd", [{"identity": {"model": "name"}}, {"described": {"settings": 3}}, {"sessions": [{}]}])
def test_a_run_file_with_odd_values_is_read(tmp_path: Path, odd: dict[str, object]) -> None:
    facts = read_run(write_run(tmp_path, [record()], run=odd)).facts
    assert (facts.model, facts.settings, facts.total("wall_s")) == ("", {}, 0.0)


@given(st.lists(st.text(max_size=30)), st.randoms())
def test_any_ids_have_one_order(names: list[str], shuffle: random.Random) -> None:
    ordered = sorted(names, key=natural_key)
    shuffle.shuffle(names)
    assert sorted(names, key=natural_key) == ordered


def test_an_id_of_thousands_of_digits_is_sorted() -> None:
    assert natural_key("9" * 10_000) > natural_key("1" * 10_000)
