"""The benchmark's figures and tables, on invented measurements."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench import processes
from tests.bench.bars import BARS, Bar, keyed
from tests.bench.cases import NAIVE, OURS, Case, bar_cases, chosen_cases, command
from tests.bench.check import Exactness
from tests.bench.figures import CPU_MS, NET_S, OF_IDEAL, RSS_OVER_MB, SPAN_S, STALL_MS, Measured
from tests.bench.measure import Run
from tests.bench.processes import Usage
from tests.bench.run import options
from tests.bench.table import aligned, bar_table, case_table
from tests.bench.workloads import WORKLOADS, Workload, document_of

DOCUMENT = Case(workload=WORKLOADS["document"], latency_ms=1000)


def usage(cpu_s: float, wall_s: float = 1.5, rss_mb: float = 50) -> Usage:
    return Usage(exit_code=0, wall_s=wall_s, cpu_s=cpu_s, peak_rss_bytes=int(rss_mb * 1e6))


def measured(client: str, *cpu_s: float, case: Case = DOCUMENT, stall_s: float | None = 0.05) -> Measured:
    runs = [
        Run(
            client=client,
            case=case.title,
            round=number,
            asked=case.asked,
            asked_at_start=case.asked_at_start,
            full=usage(cpu, wall_s=3.0, rss_mb=60),
            start=usage(0.5),
            server={"span_s": 2.5, "connections": 128, "requests": 200, "in_flight_mean": 100.0, "in_flight_peak": 128},
            timeline={"slice_s": 0.5, "in_flight": [100.0] * 5},
            answered=case.asked,
            loop_stall_max_s=stall_s,
        )
        for number, cpu in enumerate(cpu_s)
    ]
    return Measured(client=client, case=case, runs=runs)


def test_figures_are_net_of_the_start_up_run() -> None:
    ours = measured(OURS, 0.890)
    assert CPU_MS.median(ours) == pytest.approx(2.0), "195 requests more than the five on the first document"
    assert NET_S.median(ours) == pytest.approx(2.5)
    assert RSS_OVER_MB.median(ours) == pytest.approx(10)
    assert OF_IDEAL.median(ours) == pytest.approx(0.8)


def test_a_cell_is_the_median_and_the_range() -> None:
    assert CPU_MS.cell(measured(OURS, 0.890, 1.280, 0.890)) == "2.000 (2.000-4.000)"
    assert SPAN_S.cell(measured(OURS, 1, 2)) == "2.50"
    assert STALL_MS.cell(measured("openai_threads", 1, stall_s=None)) == "-"


def test_questions_go_in_waves_of_as_many_as_there_are_workers() -> None:
    assert DOCUMENT.ideal_s == 2.0
    assert Case(workload=WORKLOADS["photo"], latency_ms=50).ideal_s == pytest.approx(1.0)


def test_the_start_up_run_has_waves_too() -> None:
    two_workers = Case(workload=WORKLOADS["document"], latency_ms=200, workers=2)
    assert two_workers.start_ideal_s == pytest.approx(0.6), "five questions"
    assert NET_S.median(measured(OURS, 1.0, case=two_workers)) == pytest.approx(3.0 - (1.5 - 0.6))


def test_a_run_that_is_its_own_start_up_has_no_net_cpu() -> None:
    one_document = Case(workload=WORKLOADS["document"], latency_ms=0, questions=5)
    assert CPU_MS.median(measured(OURS, 1.0, case=one_document)) is None


@pytest.mark.parametrize(
    ("workload", "questions", "limit", "asked"),
    [
        ("photo", 0, 2560, 2560),
        ("photo", 7, 7, 7),
        ("photo", 9999, 2560, 2560),
        ("document", 0, 40, 200),
        ("document", 10, 2, 10),
        ("document", 11, 3, 15),
        ("document", 9999, 40, 200),
    ],
)
def test_needles_are_asked_by_whole_documents(workload: str, questions: int, limit: int, asked: int) -> None:
    case = Case(workload=WORKLOADS[workload], latency_ms=0, questions=questions)
    assert (case.limit, case.asked) == (limit, asked)


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=list(WORKLOADS))
def test_every_record_of_a_workload_has_as_many_questions(workload: Workload) -> None:
    assert workload.records * workload.questions_per_record == workload.questions
    assert {document_of(workload, index) for index in range(workload.records)} == set(range(workload.documents))


def test_bars_compare_ours_with_the_script_in_the_same_run() -> None:
    text, kept = bar_table([measured(OURS, 0.890), measured(NAIVE, 6.740)], 1.0)
    row = next(line for line in text.splitlines() if line.startswith("20 pages at 1 s: CPU"))
    assert row.split()[-2:] == ["16.0", "pass"]
    assert not kept, "the script took as long as ours, and three times as long is the floor"


def test_a_missed_floor_is_a_miss_and_what_was_not_measured_is_not() -> None:
    floor = Bar(title="t", measure=lambda _: None, better="less", floor=64, aim=32)
    assert [floor.verdict(value) for value in (None, 65, 64, 32)] == [
        "not measured",
        "MISS",
        "pass",
        "pass, aim reached",
    ]
    assert bar_table([], None)[1]
    assert not bar_table([], 0.99)[1]


def test_every_bar_can_be_measured_by_the_cases_that_a_plain_run_measures() -> None:
    results = keyed(
        [measured(client, 0.9, 0.9, case=case) for case in bar_cases(0) for client in case.only or (OURS, NAIVE)]
    )
    assert [bar.title for bar in BARS if bar.measure(results) is None] == []


def test_a_broken_connection_or_an_unasked_question_is_not_exact() -> None:
    def share(*counts: int, problems: tuple[str, ...] = ()) -> float:
        asked, requests, exact, questions = counts
        return Exactness(
            client=OURS,
            workload="photo",
            asked=asked,
            requests=requests,
            exact=exact,
            questions=questions,
            problems=problems,
        ).share

    assert share(10, 10, 10, 10) == 1
    assert share(10, 9, 9, 9) < 1
    assert share(10, 10, 9, 9) < 1
    assert share(10, 10, 10, 10, problems=("the connection ended",)) < 1


def test_named_workloads_are_crossed_with_named_latencies_or_get_their_usual_ones() -> None:
    crossed = chosen_cases(["small", "photo"], [0, 50], 128, 0)
    assert [(case.workload.name, case.latency_ms) for case in crossed] == [
        *(("small", 0), ("small", 50)),
        *(("photo", 0), ("photo", 50)),
    ]
    assert [case.latency_ms for case in chosen_cases(["photo", "many"], [], 128, 0)] == [50, 500, 0]


def test_ours_is_called_as_users_call_it(tmp_path: Path) -> None:
    def flags(client: str, case: Case) -> list[str]:
        words = command(client, case, base_url="http://x/v1", folder=tmp_path, config=tmp_path / "c.json", limit=3)
        return [word.removeprefix(f"{tmp_path}/") for word in words]

    photo = Case(workload=WORKLOADS["photo"], latency_ms=0, root=tmp_path)
    common = ["--base_url", "http://x/v1", "--max_workers", "128", "--limit", "3"]
    choices = ["--data-json", "photo/data.json", "--images-dir", "photo/pages", "--output", "output", *common]
    ours = [sys.executable, "-m", "vqa_client"]
    assert flags(OURS, photo) == [*ours, "mc", "--no-html", "--no_check", "--config", "c.json", *choices]
    assert flags(NAIVE, photo)[3:] == choices

    needles = ["--data", "document/data.json", "--images", "document/pages/images"]
    needles += ["--output", "output/pages_niah_eval.json", *common]
    document = replace(photo, workload=WORKLOADS["document"])
    assert flags(OURS, document) == [*ours, "niah", "--no-html", "--no_check", "--config", "c.json", *needles]
    assert flags(NAIVE, document)[3:] == needles


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        options(["--workload", "large"])
    assert "'large' is none of small, photo, document, pages, many" in capsys.readouterr().err


def test_a_process_is_accounted_for_with_its_children(tmp_path: Path) -> None:
    busy = "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}]); print('said'); sys.exit(3)"
    log = tmp_path / "log"
    used = processes.run([sys.executable, "-c", parent], environment={}, log=log, limit_s=30, folder=tmp_path)
    assert used.exit_code == 3
    assert used.cpu_s >= 0.2
    assert used.peak_rss_bytes > 1e6
    assert log.read_text() == "said\n"


def test_a_process_that_does_not_end_is_killed(tmp_path: Path) -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    used = processes.run(sleeper, environment={}, log=tmp_path / "log", limit_s=0.2, folder=tmp_path)
    assert used.exit_code == -9


def test_tables_line_up() -> None:
    assert aligned([["a", "bb"], ["ccc", "d"]]) == "a    bb\nccc   d"
    header, first = case_table([measured(OURS, 1.0)]).splitlines()[1:3]
    assert len(header) == len(first)
