"""`vqa-client render` as people type it."""

import json
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests import forked
from tests.runs.test_document_pages import pdf
from vqa_client.cli.main import run_command

pytest.importorskip("pypdfium2", reason="needs the extra `render`")

PARAGRAPH = "The quick brown fox jumps over the lazy dog, and the dog lies in the sun. "


@pytest.fixture
def data_json(tmp_path: Path) -> Path:
    path = tmp_path / "data.json"
    path.write_text(json.dumps([{"_id": f"d{number}", "context": PARAGRAPH * 400} for number in range(3)]))
    return path


def test_a_summary_has_the_number_of_pages_and_their_folder(
    data_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "pages"
    assert run_command(["render", "--data_json", str(data_json), "-o", str(output), "--workers", "1"]) == 0
    captured = capsys.readouterr()
    assert re.fullmatch(rf"3 documents · 12 pages · \d\.\d MB · 12 pages drawn in \d+ s\n{output}\n", captured.out)
    assert "render: 3/3 documents" in captured.err
    assert len(list((output / "images").glob("d?_page_00?.png"))) == 12
    said = json.loads((output / "metadata.json").read_bytes())
    assert (said["perturbation_type"], said["params"], said["input_dir"]) == ("clean", {"dpi": 96}, "data.json")


def test_a_dry_run_makes_nothing_and_names_the_rule_of_the_tokens(
    data_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "pages"
    assert run_command(["render", "--data-json", str(data_json), "-o", str(output), "--workers", "1", "--dry-run"]) == 0
    text, progress = capsys.readouterr()
    assert re.search(r"^lay out: 3/3 documents · \d+\.\d documents/s\n\Z", progress, re.MULTILINE)
    size, *rules = text.splitlines()
    assert re.fullmatch(r"3 documents · 12 pages · about \d\.\d MB \(by \d+ pages drawn as a sample\)", size)
    assert re.fullmatch(r"about [\d,]+ image tokens by the rule qwen2.5-vl: one for each 28 x 28 pixels", rules[0])
    assert not output.exists()


def test_legibility_is_printed_for_the_drawn_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tesserocr", reason="needs the extra `reader`")
    data, output = tmp_path / "data.json", tmp_path / "pages"
    data.write_text(json.dumps([{"_id": "d", "context": PARAGRAPH}]))
    words = ["render", "--data_json", str(data), "-o", str(output), "--dpi", "150", "--legibility"]
    assert run_command(words) == 0
    assert capsys.readouterr().out.splitlines()[-1] == ("pages  mean 100.0  worst 100.0 (d)  n = 1 document, 1 page")


def test_a_missing_reader_is_reported_before_the_first_page_is_drawn(
    data_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.pages.legibility.find_spec", lambda _: None)
    assert run_command(["render", "--data_json", str(data_json), "-o", str(tmp_path / "pages"), "--legibility"]) == 2
    assert "pip install 'vqa-client[reader]'" in capsys.readouterr().err
    assert not (tmp_path / "pages").exists()


def test_the_settings_reach_the_style(data_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--dpi 72 --font_size 9 --page_size letter --margins 20x30 --crop none --max_pages 1 --line_bbox"
    output = tmp_path / "pages"
    words = ["render", "--data_json", str(data_json), "-o", str(output), "--workers", "1", *options.split()]
    assert run_command(words) == 0
    assert capsys.readouterr().err.endswith("\n3 documents drawn in part (--max_pages)\n")
    style = json.loads((output / "metadata.json").read_bytes())["style"]
    assert (style["page_width_pt"], style["page_height_pt"]) == (612, 792)
    assert (style["margin_x_pt"], style["margin_y_pt"], style["line_height_pt"]) == (20, 30, 10)
    assert (style["dpi"], style["crop_width"], style["crop_last_page"], style["max_pages"]) == (72, False, False, 1)
    assert (output / "line_bbox.jsonl").exists()


def test_characters_that_no_font_has_are_named_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.pages.fonts._cjk", lambda _: ())
    from vqa_client.pages import fonts, layout

    for known in (fonts.chain, layout.typesetter):
        known.cache_clear()
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("中 中 " + " ".join(chr(0xF0000 + number) for number in range(13)), "utf-8")
    try:
        assert run_command(["render", "--data_json", str(texts), "-o", str(tmp_path / "out"), "--workers", "1"]) == 0
    finally:
        for known in (fonts.chain, layout.typesetter):
            known.cache_clear()
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "no font" in line]
    assert line.startswith("15 characters in no font, drawn as \ufffd: 中 U+4E2D (2), ")
    assert " U+F000A (1) and 2 more (" in line
    assert "U+F0000 (1)" in line
    assert "pip install 'vqa-client[cjk]' has Chinese, Japanese and Korean)" in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--page_size", "big"], "--page_size is 'big'"),
        (["--margins", "wide"], "--margins is 'wide'"),
        (["--margins", "400"], "leaves no room"),
        (["--font_size", "nan"], "--font_size is nan"),
        (["--line_height", "inf"], "--line_height is inf"),
        (["--dpi", "5000"], "is 2,416 megapixels a page"),
        (["--page_size", "999999999x842"], "megapixels a page"),
        (["--dpi", "1"], "--dpi is 1"),
        (["--workers", "0"], "--workers is 0"),
        (["--font", "/nowhere.ttf"], "the font /nowhere.ttf does not exist"),
    ],
)
def test_an_impossible_setting_is_named(
    options: list[str], message: str, data_json: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["render", "--data_json", str(data_json), "-o", str(tmp_path / "pages"), *options]
    assert run_command(words) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "pages" / "images").exists()


def test_a_fault_in_the_last_record_is_reported_before_the_first_page_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data.json"
    data.write_text(json.dumps([{"_id": "a", "context": "text"}, {"_id": "b", "context": ""}]))
    assert run_command(["render", "--data_json", str(data), "-o", str(tmp_path / "pages")]) == 2
    assert "record 2 (_id 'b'): the text is empty" in capsys.readouterr().err
    assert not (tmp_path / "pages").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_command_and_the_same_command_resumes(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    data, output = tmp_path / "data.json", tmp_path / "pages"
    data.write_text(json.dumps([{"_id": "a", "context": PARAGRAPH * 4_000}]))
    words = ["render", "--data_json", str(data), "-o", str(output), "--workers", "1", "--max_pages", "40"]
    running = forked.popen(words, stderr=subprocess.PIPE, text=True)
    while not list((output / "images").glob("*.png")):
        time.sleep(0.02)
        assert running.poll() is None
    running.send_signal(number)
    _, said = running.communicate(timeout=120)
    assert running.returncode == code
    assert said.splitlines()[-1] == f"stopped. Resume with: vqa-client {' '.join(words)}"
    made = len(list((output / "images").glob("*.png")))
    assert 0 < made < 40
    assert not list(output.rglob("*.tmp"))
    assert run_command(words) == 0
    assert len(list((output / "images").iterdir())) == 40


def test_pages_of_pdf_files_are_drawn_once_and_broken_ones_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, output = tmp_path / "pdf", tmp_path / "pages"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(pdf(["one", "two"]))
    (folder / "b.pdf").write_bytes(b"%PDF-1.4 and nothing else")
    (folder / "c.pdf").write_bytes(pdf(["one"], side=14_000))
    words = ["render", "--pdf", str(folder), "-o", str(output), "--workers", "1", "--dpi", "72"]
    assert run_command(words) == 1
    said = capsys.readouterr()
    assert said.out == f"2 pages at 72 dpi\n{output}\n"
    progress, *errors = said.err.splitlines()
    assert re.fullmatch(r"render: 3/3 pages · \d+\.\d pages/s", progress)
    assert errors == [
        f"error: {folder / 'b.pdf'}: PDFium can't open the document: it is damaged, or has no pages",
        f"error: {folder / 'c.pdf'}: page 1 would have 14,000 x 14,000 pixels at 72 dpi; the limit is 80,000,000",
    ]
    drawn = {path.name: path.stat().st_mtime_ns for path in (output / "images").iterdir()}
    assert sorted(drawn) == ["a_page_001.png", "a_page_002.png"]
    (folder / "b.pdf").unlink()
    (folder / "c.pdf").unlink()
    assert run_command(words) == 0
    assert {path.name: path.stat().st_mtime_ns for path in (output / "images").iterdir()} == drawn
    assert run_command(["render", "--pdf", str(folder), "--data_json", "x.json", "-o", str(output)]) == 2
