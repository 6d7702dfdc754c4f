"""The commands that make and examine pages, as people type them."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests import forked
from tests.pages.sheets_of_paper import WORDS, clean_folder, paper
from tests.tasks.documents import mc_record
from vqa_client.cli.main import run_command
from vqa_client.cli.perturb import as_json, as_table
from vqa_client.pages.legibility import Legibility, Recall
from vqa_client.pages.page_files import read_page

SPECS = ("jpeg:10", "noise", "blur")


def command(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return forked.run([str(word) for word in words], text=True)


def data_file(folder: Path, **texts: str) -> Path:
    path = folder / "data.json"
    path.write_text(json.dumps([mc_record(name, context=text) for name, text in texts.items()]))
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_needles_are_counted_and_documents_without_them_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short, empty = {f"d{n}": "One. Two." for n in range(2, 7)}, {f"e{n}": "" for n in range(6)}
    data, output = data_file(tmp_path, d1="A boat came. " * 20, **short, **empty), tmp_path / "niah" / "data.json"
    words = ["needles", "--data-json", str(data), "--output", str(output), "--num_secrets", "3", "--seed", "7"]
    for more, contains in (["--dry_run"], "would contain"), ([], "contains"):
        assert run_command([*words, *more]) == 0
        out, err = capsys.readouterr()
        assert out == f"{output} {contains} 1 document, 3 questions\n"
        progress, *left_out = err.splitlines()
        assert re.fullmatch(r"needles: 12/12 documents · \d+\.\d documents/s", progress)
        assert left_out == [
            "5 documents left out, too few sentences: d2, d3, d4, d5, d6",
            "6 documents left out, no context: e0, e1, e2, e3, e4 ...",
        ]
        assert output.exists() == (not more)
    assert len(json.loads(output.read_bytes())) == 1


def test_several_perturbations_are_made_and_made_once(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path)
    words = ("perturb", "--images", clean, "--output", tmp_path, "--perturbation", *SPECS)
    done = command(*words, "--workers", "2")
    assert (done.returncode, done.stderr.count("error")) == (0, 0)
    assert "adv_jpeg_10: 3 pages, 3 of them new" in done.stdout
    assert (tmp_path / "adv_blur" / "images" / "d2_page_001.png").is_file()
    again = command(*words, "--workers", "1")
    assert again.stdout.count("3 pages, 0 of them new") == len(SPECS)


def test_a_dry_run_prints_an_estimate_and_makes_nothing(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path)
    done = command("perturb", "-i", clean, "-o", tmp_path / "out", "-p", *SPECS, "--dry_run")
    assert done.returncode == 0
    told, expected = done.stdout.splitlines()[0].split("; ")
    assert told == f"{tmp_path / 'out' / 'adv_jpeg_10'}: 3 pages to be made, 0 there"
    assert expected == "all about 0.0 MB, image tokens 108 (qwen2.5-vl), 96 (qwen3-vl)"
    data = data_file(tmp_path, d1="Two words.")
    assert run_command(["render", "--data", str(data), "-o", str(tmp_path / "drawn"), "--workers", "1"]) == 0
    words = ("perturb", "-i", tmp_path / "drawn", "-o", tmp_path / "out", "-p", "dpi:56", "--data", data, "--dry_run")
    again = command(*words, "--workers", "1").stdout
    assert again.startswith(
        f"{tmp_path / 'out/adv_dpi_56'}: 1 page of 1 document to be drawn again; all about 0.0 MB, "
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("perturb", "-i", "clean", "-o", ".", "-p", "jpg:10"),
            "--perturbation 'jpg:10' is unknown\nhint: did you mean jpeg:QUALITY? it may be dpi:N, fontsize:N, "
            "upscale[:DPI], jpeg:Q, webp:Q, binary, noise[:TYPE[:INTENSITY]], blur[:RADIUS] or resample:METHOD:SCALE",
        ),
        (
            ("perturb", "-i", "nowhere", "-o", ".", "-p", "blur"),
            "nowhere does not exist\nhint: give the folder with the page images",
        ),
        (
            ("perturb", "-i", "clean", "-o", ".", "-p", "dpi:56"),
            "--perturbation dpi:56 draws the text again\nhint: give the text with --data",
        ),
        (
            ("perturb", "-i", "clean", "-o", ".", "-p", "blur", "--legibility"),
            "--legibility compares the pages with their text\nhint: give the text with --data",
        ),
        (
            ("perturb", "-i", "clean", "-o", ".", "-p", "blur", "--workers", "0"),
            "--workers is 0; it must be a whole number of at least 1",
        ),
        (("needles", "--data-json", "gone.json", "-o", "n.json"), "gone.json does not exist"),
        (
            ("needles", "--data-json", "gone.json", "-o", "n.json", "--num_secrets", "0"),
            "--num_secrets is 0; it must be a whole number of at least 1",
        ),
        (
            ("pages-preview", "-i", "clean", "-o", "sheet.jpg"),
            "--output is sheet.jpg: the sheet is a PNG\nhint: name a file that ends in .png",
        ),
        (
            ("pages-preview", "-i", "clean", "-o", "sheet.png", "--page", "x9"),
            "--page 'x9': no page of that name\nhint: the nearest is d2_page_001",
        ),
        (("legibility", "-i", "clean", "--data-json", "gone.json"), "gone.json does not exist"),
    ],
)
def test_impossible_options_end_with_2_and_the_reason(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    clean_folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    assert run_command([*words]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"
    assert contents(tmp_path) == before


def test_a_contact_sheet_shows_clean_pages_first(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path)
    assert command("perturb", "-i", clean, "-o", tmp_path / "out", "-p", *SPECS).returncode == 0
    sheet = tmp_path / "sheet.png"
    done = command("pages-preview", "--images", clean, tmp_path / "out", "--output", sheet, "--page", "d1", "d2")
    shown = f"{sheet}: 2 pages in 4 forms: clean, adv_blur, adv_jpeg_10, adv_noise\n"
    assert (done.returncode, done.stdout) == (0, shown)
    assert read_page(sheet.read_bytes(), "sheet").width > 4 * 420


def test_legibility_is_a_line_for_each_folder() -> None:
    forms = {
        name: Legibility(documents=1, pages=1_000, mean=mean, worst=Recall(id="d\x1b", words=4, found=1))
        for name, mean in (("clean", 1.0), ("adv_blur_40", 0.125))
    }
    assert as_table(forms).splitlines() == [
        "words that an OCR reader reads back, in %",
        "clean        mean 100.0  worst  25.0 (d\\x1b)  n = 1 document, 1,000 pages",
        "adv_blur_40  mean  12.5  worst  25.0 (d\\x1b)  n = 1 document, 1,000 pages",
    ]
    (row, _) = as_json(forms)
    worst = {"id": "d\x1b", "words": 4, "found": 1}
    assert row == {"folder": "clean", "documents": 1, "pages": 1_000, "mean": 1.0, "worst": worst, "worst_share": 0.25}


def test_legibility_is_printed_for_every_folder(tmp_path: Path) -> None:
    pytest.importorskip("tesserocr")
    clean = clean_folder(tmp_path)
    for page in (clean / "images").iterdir():
        paper(f"{WORDS} {WORDS}", size=(700, 160)).resize((1400, 320)).save(page)
    data = data_file(tmp_path, d1=f"{WORDS}. {WORDS} {WORDS} {WORDS}", d2=f"{WORDS} unseen")
    words = ("perturb", "-i", clean, "-o", tmp_path / "out", "-p", "blur:40")
    done = command(*words, "--legibility", "--data_json", data, "--workers", "1")
    assert done.returncode == 0
    assert "clean        mean  95.8  worst  91.7 (d2)  n = 2 documents, 3 pages" in done.stdout
    assert "adv_blur_40  mean   0.0" in done.stdout
    told = command("legibility", "-i", clean, tmp_path / "out", "--data-json", data, "--limit", "1", "--json")
    rows = json.loads(told.stdout)
    assert [(row["folder"], row["documents"], row["pages"]) for row in rows] == [("clean", 1, 2), ("adv_blur_40", 1, 2)]
    assert (rows[0]["mean"], rows[0]["worst"]["id"]) == (1.0, "d1")


def test_ctrl_c_ends_all_processes_and_the_same_command_resumes(tmp_path: Path) -> None:
    clean = clean_folder(tmp_path, *(f"d{n:02d}_page_001.png" for n in range(16)))
    for page in (clean / "images").iterdir():
        paper(WORDS * 12, size=(480, 480)).save(page)
    words = ("perturb", "-i", clean, "-p", *SPECS, "-o")
    output = tmp_path / "a" / "out"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with forked.popen(
        [str(word) for word in (*words, output, "--workers", "2")], text=True, start_new_session=True, **pipes
    ) as run:
        try:
            until_s = time.monotonic() + 120
            while len(list(output.rglob("*.png"))) < 8 and time.monotonic() < until_s:
                time.sleep(0.01)
            os.killpg(run.pid, signal.SIGINT)
            told, complaint = run.communicate(timeout=120)  # ends once no process has the pipes open
        finally:
            run.kill()
    assert (run.returncode, told, "Traceback" in complaint) == (130, "", False)
    assert "stopped. Resume with: vqa-client perturb" in complaint
    made = {path for path in output.rglob("*") if path.is_file()}
    assert {path.suffix for path in made} == {".png"}
    assert not [path for path in made if path.name.startswith(".")]
    assert command(*words, output, "--workers", "2").returncode == 0
    assert run_command([*map(str, words), str(tmp_path / "b" / "out"), "--workers", "1"]) == 0
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
