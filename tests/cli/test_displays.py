"""The progress of a run on a terminal and in a log file, and text that could control a terminal."""

import asyncio
import io
import os
import signal
import sys
from typing import Any

import pytest
from msgspec.structs import replace

from vqa_client.cli import progress as displays
from vqa_client.cli.progress import LiveCounts, LiveDisplay, PlainDisplay, display
from vqa_client.cli.runs import _state_line
from vqa_client.cli.signals import until_signalled
from vqa_client.cli.streams import SIGNALS, Stopped, emit_json, safe
from vqa_client.evaluation import Interrupted
from vqa_client.reports.names import count, duration
from vqa_client.runs.control import Standing
from vqa_client.types import Record


def record(status: str = "ok", score: float = 1.0) -> Record:
    return Record(
        question_id="1",
        status=status,  # type: ignore[arg-type]
        score=score,
        parts={"robust": score},
        completion_tokens=10,
    )


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("vqa_client.cli.progress.time", clock)
    return clock


def test_the_line_has_counts_pace_time_left_accuracy_and_tokens(clock: Clock) -> None:
    tally = LiveCounts()
    tally.begin("mc clean", 1000)
    for _ in range(20):
        tally.asking()
    clock.now_s += 10
    for status in ["ok"] * 8 + ["timeout", "unparsed"]:
        tally.finished(record(status, float(status == "ok")))
    assert tally.line() == (
        "10/1,000 · 1 timeout · 1 unparsed · 1.0 q/s · 16 min 30 s left · accuracy 80.0 % · 10 tokens/s · 10 in flight"
    )


def test_saved_answers_count_as_done_and_not_in_the_pace(clock: Clock) -> None:
    tally = LiveCounts()
    tally.begin("mc clean", 100)
    for _ in range(50):
        tally.earlier("ok", 1.0)
    clock.now_s += 10
    assert tally.line() == "50/100 · accuracy 100.0 %"
    tally.asking()
    assert tally.line() == "50/100 · 0.0 q/s · accuracy 100.0 % · 1 in flight"


def test_a_pace_of_a_hundred_is_whole_and_less_than_a_second_left_is_not_shown(clock: Clock) -> None:
    said = {
        999: "999/9,999 · 99.9 q/s · 1 min",
        1000: "1,000/9,999 · 100 q/s",
        9090: "9,090/9,999 · 909 q/s · accuracy",
    }
    tally = LiveCounts()
    tally.begin("mc clean", 9999)
    tally.asking()
    clock.now_s += 10
    for done, line in said.items():
        while tally.done < done:
            tally.finished(record())
        assert tally.line().startswith(line)


def test_the_pace_of_a_resumed_run_begins_with_its_first_question(clock: Clock) -> None:
    tally = LiveCounts()
    tally.begin("mc clean", 100)
    for _ in range(50):
        tally.earlier("ok", 1.0)
    clock.now_s += 60  # connecting, checking the server
    for _ in range(20):
        tally.asking()
        clock.now_s += 0.1
        tally.finished(record())
    assert tally.line() == "70/100 · 10.0 q/s · 3 s left · accuracy 100.0 % · 100 tokens/s"


def test_the_pace_is_that_of_the_last_seconds(clock: Clock) -> None:
    tally = LiveCounts()
    tally.begin("mc clean", 1000)
    for pace in [20] * 15 + [2] * 11:
        for _ in range(pace):
            tally.asking()
            tally.finished(record())
        clock.now_s += 1
        line = tally.line()
    assert " · 2.0 q/s · " in line


def test_a_pause_is_shown_with_the_time_left(clock: Clock) -> None:
    tally = LiveCounts()
    tally.begin("mc clean", 100)
    tally.asking()
    clock.now_s += 10
    tally.finished(record())
    tally.pulse(95.0)
    assert tally.line() == "1/100 · paused, 1 min 35 s left · accuracy 100.0 % · 1 tokens/s"
    tally.pulse(0.0)
    assert "0.1 q/s · 16 min 30 s left" in tally.line()


def test_several_processes_are_paused_when_all_are_and_their_numbers_are_added_up(clock: Clock) -> None:
    parts = [LiveCounts(), LiveCounts()]
    for part, score in zip(parts, (1.0, 0.0), strict=True):
        part.begin("mc clean", 10)
        part.earlier("ok", score)
        part.asking()
    tally = LiveCounts()
    for paused_s, said in ((0.0, "0.0 q/s"), (20.0, "paused, 20 s left")):
        parts[0].paused_s, parts[1].paused_s = paused_s, 95.0
        tally.sum_of([part.numbers() for part in parts], clock.now_s)
        assert tally.line() == f"2/20 · {said} · accuracy 50.0 % · 2 in flight"
    tally.sum_of([LiveCounts().numbers()], clock.now_s)
    assert tally.line() == "0/0"


def test_a_log_file_gets_a_line_even_if_no_question_ends(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    plain = PlainDisplay()
    plain.begin("mc clean", 100)
    plain.asking()
    for quarter in range(4 * 100):
        clock.now_s += 0.25
        plain.pulse(600 - quarter / 4)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0] == "mc clean: 0/100 · paused, 9 min 30 s left · 1 in flight"


def test_a_log_file_gets_a_line_at_a_twentieth_of_the_run_and_five_seconds_apart(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, lines = PlainDisplay(), list[int]()
    plain.begin("mc clean", 1000)
    for seconds, done in ((6.0, 49), (0.0, 50), (4.9, 100), (0.1, 101), (29.9, 102), (0.1, 103)):
        clock.now_s += seconds
        while plain.done < done:
            plain.asking()
            plain.finished(record())
        lines.append(len(capsys.readouterr().err.splitlines()))
    assert lines == [0, 1, 0, 1, 0, 1]


BOLD, FULL, REST, DIM, PLAIN = "\x1b[1m", "\x1b[91m", "\x1b[90m", "\x1b[2m", "\x1b[0m"


@pytest.mark.parametrize(
    ("width", "encoding", "total", "first", "second"),
    [
        (
            *(110, "utf-8", 100),
            f"{FULL}{'━' * 10}{PLAIN}{REST}╺{PLAIN}{REST}{'━' * 9}{PLAIN} 50/100 · paused, 20 s left",
            "server: 24 waiting · KV 12 %",
        ),
        (110, "utf-8", 0, f"{REST}{'━' * 20}{PLAIN} 0/0 · paused, 20 s left", "server: 24 waiting · KV 12 %"),
        (109, "utf-8", 100, "50/100 · paused, 20 s left", "server: 24 waiting · KV 12 %"),
        (24, "utf-8", 100, "50/100 · pause…", "server: 24 waiting · KV…"),
        (24, "ascii", 100, "50/100 \\xb7 paused", "server: 24 waiting \\xb7 KV "),
    ],
)
def test_a_terminal_of_110_columns_has_a_bar_and_lines_are_cut_to_it(
    width: int, encoding: str, total: int, first: str, second: str
) -> None:
    from rich.console import Console

    live, written = LiveDisplay(), io.BytesIO()
    file = io.TextIOWrapper(written, encoding, "backslashreplace", write_through=True)
    live._console = Console(file=file, force_terminal=True, width=width, color_system="standard")
    live.title, live.total, live.done, live.paused_s = "mc clean", total, total // 2, 20.0
    live.serving("24 waiting · KV 12 %")
    live._console.print(live._draw())
    assert written.getvalue().decode() == f"{BOLD}mc clean{PLAIN} {first}\n{DIM}{second}{PLAIN}\n"


def test_the_servers_figures_are_at_the_end_of_a_plain_line_and_below_a_live_one(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    from rich.console import Console

    plain, live, said = PlainDisplay(), LiveDisplay(), "8 running · 24 waiting · KV 12 %"
    plain.begin("mc clean", 100)
    plain.asking()
    plain.serving(said)
    clock.now_s += 31
    plain.finished(record())
    assert capsys.readouterr().err.endswith(f" · server: {said}\n")
    live._console = Console(file=io.StringIO(), force_terminal=True, width=120)
    live.begin("mc clean", 100)
    live.serving(said)
    with live._console.capture() as drawn:
        live._console.print(live._draw())
    live.end()
    assert drawn.get().splitlines()[1].strip("\x1b[02m ") == f"server: {said}"
    assert live.served == ""


def test_a_log_file_gets_few_plain_lines(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    plain = PlainDisplay()
    plain.begin("mc clean", 500)
    for _ in range(500):
        plain.asking()
        clock.now_s += 0.5
        plain.finished(record())
    plain.end()
    lines = capsys.readouterr().err.splitlines()
    assert 10 <= len(lines) <= 50
    assert not any("\x1b" in line or "\r" in line for line in lines)


def test_a_slow_run_still_prints_lines(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    plain = PlainDisplay()
    plain.begin("mc clean", 100_000)
    for _ in range(10):
        plain.asking()
        clock.now_s += 31
        plain.finished(record())
    assert len(capsys.readouterr().err.splitlines()) == 10


@pytest.mark.parametrize("term", ["dumb", ""])
def test_only_a_real_terminal_gets_the_live_display(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(display(), PlainDisplay)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", term)
    assert isinstance(display(), PlainDisplay)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert isinstance(display(), LiveDisplay)


def test_the_live_display_shows_markup_in_names_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    live = LiveDisplay()
    live._console = Console(file=io.StringIO(), force_terminal=True, width=120)
    live.note("path imgs/[slug]/1.png and [/INST] and :bug: and \x1b[31mred")
    live.begin("mc [bold]x", 10)
    live.finished(record())
    live.end()
    drawn = live._console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[2mpath imgs/[slug]/1.png and [/INST] and :bug: and \\x1b[31mred\x1b[0m" in drawn
    assert "mc [bold]x" in drawn


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[2Jx", "\\x1b[2Jx"),
        ("\r\x07\x00", "\\x0d\\x07\\x00"),
        ("\u202egnp.exe", "\\x202egnp.exe"),
        ("答案 ✓ naïve e\u0301 ❤\ufe0f ١٢٣", "答案 ✓ naïve e\u0301 ❤\ufe0f ١٢٣"),
        ("a\u200bb\u00adc\u200e\u061c\u2060\ufeff", "a\\x200bb\\xadc\\x200e\\x61c\\x2060\\xfeff"),
        ("\u2066x\u2069 \u2028", "\\x2066x\\x2069 \\x2028"),
        ("\U000e0041\U000e0100\ufe00\u3164\u115f", "\\xe0041\\xe0100\\xfe00\\x3164\\x115f"),
        ("\ufe0fa\ufe0e\ufe0f", "\\xfe0fa\ufe0e\\xfe0f"),
        ("\x85\x9b31m\x7f", "\\x85\\x9b31m\\x7f"),
    ],
)
def test_control_characters_are_shown_as_codes(foreign: str, shown: str) -> None:
    assert safe(foreign) == shown


def test_json_has_escapes_for_them(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json({"a": "\x1b[31m\u202e ✓"})
    assert capsys.readouterr().out == '{\n  "a": "\\u001b[31m\\u202e ✓"\n}\n'


def test_numbers_and_times_read_well() -> None:
    assert [count(n, "question") for n in (0, 1, 1200)] == ["0 questions", "1 question", "1,200 questions"]
    assert [duration(s) for s in (3.2, 59.4, 61, 3600, 90_000)] == [
        "3 s",
        "59 s",
        "1 min 01 s",
        "1 h 00 min",
        "25 h 00 min",
    ]


def test_displays_write_only_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    displays.say("x")
    LiveDisplay().note("y")
    assert capsys.readouterr() == ("", "x\ny\n")


def test_the_score_by_ten_answers_is_shown_by_its_name() -> None:
    tally = LiveCounts()
    tally.begin("vqa2", 2)
    tally.measuring("VQA accuracy (ten answers)")
    tally.asking()
    tally.finished(Record(question_id="1", status="ok", score=0.3, parts={"normalised": 0.3, "simple": 1.0}))
    assert "VQA accuracy (ten answers) 30.0 %" in tally.line()


def test_the_last_plain_line_is_printed_once(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    plain = PlainDisplay()
    plain.begin("mc clean", 3)
    for _ in range(3):
        plain.asking()
        clock.now_s += 40
        plain.finished(record())
    plain.end()
    assert [line.split()[2] for line in capsys.readouterr().err.splitlines()] == ["1/3", "2/3", "3/3"]


def test_questions_without_known_answers_have_no_accuracy() -> None:
    tally = LiveCounts()
    tally.begin("vqa2", 2)
    tally.asking()
    tally.finished(Record(question_id="1", status="ok", output="a dog"))
    assert "accuracy" not in tally.line()
    tally.earlier("ok", 1.0)
    assert "accuracy 50.0 %" in tally.line()  # as in the report, where a score that isn't known counts as 0
    tally.finished(Record(question_id="2", status="timeout"))  # a failed question has no parts, and is wrong
    assert "accuracy 33.3 %" in tally.line()


STANDING = Standing(
    title="mc clean",
    total=2_000,
    done=1_000,
    failed=3,
    in_flight=4,
    workers=1_024,
    paused=False,
    stopping=False,
    pace=2.55,
)
FIGURES = "1,000 of 2,000 done · 3 failed · 4 in flight, 1,024 at most · 2.5 q/s"


@pytest.mark.parametrize(
    ("standing", "state"),
    [
        (STANDING, "running"),
        (replace(STANDING, paused=True), "paused"),
        (replace(STANDING, paused=True, stopping=True), "stopping"),
    ],
)
def test_the_state_of_a_run_is_one_line(standing: Standing, state: str) -> None:
    assert _state_line(standing) == f"mc clean: {state} · {FIGURES}"


def test_the_first_signal_stops_in_order_and_the_next_one_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    async def in_order(stop: asyncio.Event) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await stop.wait()
        raise Interrupted([report])

    async def at_once(stop: asyncio.Event) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), number)
        await asyncio.sleep(60)

    async def with_a_report(stop: asyncio.Event) -> None:
        try:
            await at_once(stop)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.01)
            written.append("report")

    before = {number: signal.getsignal(number) for number in SIGNALS}
    written: list[str] = []
    report: Any = "of what is answered"
    line = "stopping; waiting 1.5 s for running requests (Ctrl-C again: stop now)\n"
    impatient = f"{line}still writing what is answered\n"
    rows = ((in_order, 143, line, [report]), (at_once, 130, line, []), (with_a_report, 130, impatient, []))
    for work, code, said, reports in rows:
        with pytest.raises(Stopped) as caught:
            until_signalled(work, PlainDisplay())
        for number, action in before.items():
            assert signal.signal(number, action) == signal.SIG_IGN
        assert (caught.value.code, capsys.readouterr().err) == (code, said)
        assert list(caught.value.reports) == reports
    assert written == ["report"]
