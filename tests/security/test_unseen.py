"""Invisible characters, marks of direction and terminal commands: no command prints them and no page has them."""

from pathlib import Path

import pytest

from tests.compare.logged import put
from tests.compare.logged import record as compared
from tests.html.samples import facts, record, write_run
from vqa_client.cli.main import run_command
from vqa_client.unseen import unseen

TEXT = "a\u202eb\u200bc\x1b[2Jd\u2066e\xadf\U000e0041g\x9bh\ufe0f\ufe0fi"
FOUND = unseen(lines=True)


def log_of(root: Path) -> Path:
    told = facts()
    told["identity"] |= {"task": "mc", "variant": TEXT, "model": {"model_name": TEXT}}
    whole = record(
        1, output=TEXT, answer=TEXT, groups={"kind": TEXT, TEXT: "x"}, cluster=TEXT, references=(TEXT,), rule=TEXT
    )
    others = [record(n, question_id=f"{TEXT}{n}", groups={"kind": f"{TEXT}{n}"}) for n in (2, 3)]
    return write_run(root, [whole, *others], run=told)


def test_a_report_has_nothing_unseen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = log_of(tmp_path)
    assert run_command(["report", str(log), "--html", "--md"]) == 0
    said = capsys.readouterr()
    (page,) = (path.read_text(encoding="utf-8").partition('id="data"')[0] for path in tmp_path.glob("*.html"))
    (table,) = (path.read_text(encoding="utf-8") for path in tmp_path.glob("*.md"))
    assert "U+202E" in page
    assert not FOUND.search(said.out + said.err + page + table)


def test_a_comparison_has_nothing_unseen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for side, score in (("a", 1.0), ("b", 0.0)):
        records = [
            compared(f"{TEXT}{at}", score=score, answer=TEXT, groups={"kind": TEXT}, cluster=TEXT) for at in range(9)
        ]
        put(tmp_path / side, records, model=f"{TEXT} {side}")
    sides = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert run_command(["compare", *sides, "-o", str(tmp_path / "out")]) == 0
    assert run_command(["compare", *sides, "-o", str(tmp_path / "out"), "--json"]) == 0
    said = capsys.readouterr()
    read = [path.read_text(encoding="utf-8") for path in (tmp_path / "out").glob("*.html")]
    pages = "".join(page.partition('id="data"')[0] for page in read)  # the page shows characters of the data as codes
    assert "U+202E" in pages
    assert not FOUND.search(said.out + said.err + pages)


def test_how_a_reply_was_parsed_is_printed_without_invisible_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = log_of(tmp_path)
    for options in ([], ["--json"]):
        assert run_command(["parse", str(log), "--explain", f"{TEXT}2", *options]) == 0
    said = capsys.readouterr()
    assert not FOUND.search(said.out + said.err), said.out + said.err
