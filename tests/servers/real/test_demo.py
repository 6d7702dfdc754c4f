"""The demo of the README, as a whole and with the real page reader."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

LIMIT_S = 180.0
"""The demo takes 21 s on two idle cores, and longer on a machine that runs tests on all of them."""


def test_the_demo_shows_that_the_reader_gets_worse_and_leaves_no_process(tmp_path: Path) -> None:
    pytest.importorskip("tesserocr", reason="needs the extra `reader`")
    started_s = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "vqa_client", "demo", "--output", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    reports = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*/*_eval.json")}
    assert len(reports) == 6
    accuracy = {name: report["accuracy"] for name, report in reports.items()}
    assert accuracy["clean_niah_eval"] >= 95
    assert accuracy["clean_niah_eval"] > accuracy["adv_jpeg_10_niah_eval"] > accuracy["adv_dpi_56_niah_eval"]
    assert accuracy["clean_mc_eval"] > 25
    assert all(report["errors"] == 0 and not report["incomplete"] for report in reports.values())
    for path in tmp_path.glob("*/*_eval.json"):
        assert str(path) in done.stdout
    listing = subprocess.run(["ps", "-ww", "-eo", "pid,etimes,args"], capture_output=True, text=True, check=True).stdout
    since_s = time.monotonic() - started_s
    ours = [
        line
        for line in listing.splitlines()[1:]
        if "-m reader" in line and int(line.split()[1]) <= since_s and "--exit-with-parent" in line
    ]
    assert ours == []

    again = subprocess.run(
        [sys.executable, "-m", "vqa_client", "demo", "--output", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    assert "0 left to ask" in again.stderr
