import os
import re
import signal

import pytest

from vqa_client.cli import files_progress as shown
from vqa_client.cli.files_progress import files_progress, pages_progress, resumable
from vqa_client.pages.render import PageStep


def test_without_a_terminal_there_is_a_plain_line_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(float(second) for second in range(1000))
    monkeypatch.setattr(shown.time, "monotonic", lambda: next(clock))
    with files_progress("copy", 40, noun="pages") as advance:
        for _ in range(20):
            advance()
        advance(20)
    lines = capsys.readouterr().err.splitlines()
    counts = [line.split()[1] for line in lines]  # each file takes a second, and a line another two
    assert counts == ["5/40", "9/40", "13/40", "17/40", "40/40", "40/40"]
    assert lines[0] == "copy: 5/40 pages · 0.6 pages/s · 56 s left"
    assert lines[-1] == "copy: 40/40 pages · 1.2 pages/s"


def test_on_a_terminal_there_is_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with files_progress("copy [x]", 3) as advance:
        advance(3)
    assert re.search(r"copy \[x\]\x1b\[0m \S+ 3/3 files · \d+\.\d files/s\n", capsys.readouterr().err)


def test_one_long_document_shows_its_pages_and_the_time_that_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(float(second) for second in range(1000))
    monkeypatch.setattr(shown.time, "monotonic", lambda: next(clock))
    with pages_progress("render", documents=2, characters=100_000) as advance:
        advance(PageStep(documents=1, pages=500, made=0, characters=50_000))  # an earlier run has drawn it
        for _ in range(50):
            advance(PageStep(documents=0, pages=4, made=4, characters=1_000))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "render: 1/2 documents · 516 pages · 2.0 pages/s · 1 min 32 s left"
    assert lines[-1] == "render: 1/2 documents · 700 pages · 2.6 pages/s"


def test_documents_of_an_earlier_run_do_not_count_in_the_pace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0
    monkeypatch.setattr(shown.time, "monotonic", lambda: now_s)
    with pages_progress("render", documents=9, characters=100) as advance:
        now_s = 4.0
        advance(PageStep(documents=4, pages=40, made=0, characters=40))
        for later_s in (4.0, 8.0):
            now_s += later_s
            advance(PageStep(documents=1, pages=3, made=2, characters=16))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "render: 5/9 documents · 43 pages · 0.2 pages/s · 22 s left"
    assert lines[1] == "render: 6/9 documents · 46 pages · 0.2 pages/s · 14 s left"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_lets_the_work_clean_up_and_prints_how_to_resume(
    number: signal.Signals, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned = []

    @resumable
    def work(_: None) -> int:
        try:
            os.kill(os.getpid(), number)
            return 0
        finally:
            cleaned.append(number)

    monkeypatch.setattr("sys.argv", ["vqa-client", "render", "-o", "x"])
    before = signal.getsignal(number)
    assert work(None) == code
    assert cleaned == [number]
    assert signal.getsignal(number) is before
    assert capsys.readouterr().err.endswith("stopped. Resume with: vqa-client render -o x\n")


def test_work_without_a_signal_returns_its_own_exit_code() -> None:
    assert resumable(lambda code: code)(7) == 7
