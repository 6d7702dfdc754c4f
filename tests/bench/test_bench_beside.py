"""The page, plot and bars of the comparison, on invented measurements."""

import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.beside.claims import CLAIMS, cells, least_lead, verdict
from tests.bench.beside.many_records import AGAIN_MILLION, ASKED_FEW, ASKED_MANY, RESUMED, _renamed
from tests.bench.beside.page import page
from tests.bench.beside.plot import draw
from tests.bench.beside.results import LeftOut, Place, Repeated, Results, Row, Sent, read, write
from tests.bench.beside.suite import HELP
from tests.bench.cases import NAIVE, OURS
from tests.bench.measure import Run
from tests.bench.processes import Usage
from vqa_client.files import stamp, state_of

PLACE = Place(
    date="2026-11-28 12:00 UTC",
    processor="a processor",
    cores=2,
    system="Linux 6",
    python="3.11.7",
    versions={OURS: "vqa-client 0.1", NAIVE: "openai 3.5", "vlmeter": "0.3.1"},
    rounds=1,
    load_before=0.5,
)


def usage(wall_s: float, cpu_s: float = 1.0, peak_mb: float = 60) -> Usage:
    return Usage(exit_code=0, wall_s=wall_s, cpu_s=cpu_s, peak_rss_bytes=int(peak_mb * 1e6))


def row(client: str, wall_s: float, *, latency_ms: int = 0, workload: str = "small", questions: int = 100) -> Row:
    run = Run(
        client=client,
        case="",
        round=0,
        asked=questions,
        asked_at_start=1,
        full=usage(wall_s),
        start=usage(1.0, 0.5),
        server={"span_s": 0.5, "connections": 128, "requests": 100, "in_flight_mean": 100.0, "in_flight_peak": 128},
        timeline={"slice_s": 0.1, "in_flight": [10.0, 128.0, 128.0, 100.0, 20.0]},
        answered=None,
        loop_stall_max_s=0.02,
    )
    return Row(client=client, workload=workload, latency_ms=latency_ms, workers=128, questions=questions, runs=[run])


@pytest.fixture
def results() -> Results:
    """A complete case, a case without one client, and every command alone."""
    rows = [row(OURS, 2.0), row(NAIVE, 4.0), row("vlmeter", 6.0), row(OURS, 2.0, latency_ms=500)]
    rows += [row(client, 2.0, latency_ms=1000, workload="document") for client in (OURS, NAIVE)]
    peaks = {ASKED_FEW: 50.0, ASKED_MANY: 60.0, AGAIN_MILLION: 300.0, HELP: 30.0}
    return Results(
        place=PLACE,
        rows=rows,
        left_out=[LeftOut(client="vlmeter", workload="document", latency_ms=1000, why="one image a question")],
        sent=[
            Sent(
                client="vlmeter",
                workload="small",
                asked=20,
                requests=20,
                as_files=20,
                as_pictures=0,
                questions=20,
                problems=[],
            )
        ],
        alone=[
            *(Repeated(what=what, usages=[usage(10.0, 0.1, peak)], requests=[0]) for what, peak in peaks.items()),
            Repeated(what=RESUMED, usages=[usage(30.0)], requests=[1000], first_request_s=[12.0]),
        ],
    )


def test_results_are_read_as_they_were_written(results: Results, tmp_path: Path) -> None:
    write(results, tmp_path / "speed.json")
    assert read(tmp_path / "speed.json") == results


def test_the_lead_is_over_the_quickest_evaluator_where_it_is_least(results: Results) -> None:
    assert least_lead(results, 0) == pytest.approx(5.0)
    slower = replace(results, rows=[*results.rows, row("evalscope", 3.0)])
    assert least_lead(slower) == pytest.approx(2.0)
    assert least_lead(slower, 500) is None, "scripts are no evaluators"


def test_every_bar_is_measured_and_a_missed_one_is_reported(results: Results) -> None:
    verdicts = {claim.title: verdict(claim, results) for claim in CLAIMS}
    missed = ["20 pages at 1 s: CPU per request, script / ours"]
    assert [title for title, said in verdicts.items() if said != "kept"] == missed
    assert [cells(claim, results)[-1] for claim in CLAIMS].count("**missed**") == 1
    nothing = Results(place=PLACE)
    assert {verdict(claim, nothing) for claim in CLAIMS} == {"not measured"}


def test_the_page_has_a_table_a_case_and_says_who_is_left_out(results: Results) -> None:
    text = page(results)
    assert "| `vqa-client` | 100 | 100 |" in text
    assert "Not measured: vlmeter (one image a question)." in text
    assert "2 cores of a processor, Linux 6, CPython 3.11.7, 2026-11-28 12:00 UTC" in text
    assert "| vlmeter | small | 20 | 20 | 20 | 0 | 20 |" in text
    assert f"| {RESUMED} | 30.00 | 1.00 | 60 | 1,000 | 12.00 |" in text


def test_the_plot_is_the_same_every_time_and_has_no_background(results: Results, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(results, tmp_path / "a.svg")
    draw(results, tmp_path / "b.svg")
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn == (tmp_path / "b.svg").read_text()
    assert "vqa-client, mean 100" in drawn
    assert "#ffffff" not in drawn


def test_a_record_of_another_document_differs_in_its_name_its_page_and_its_checksum_alone(tmp_path: Path) -> None:
    def line(name: int, page: str) -> bytes:
        text = b'{"question_id":"%024x#3","images":[{"name":"%024x_page_001.png"}]' % (name, name)
        text += b',"image_stamps":"%b"' % page.encode()
        return b'%b,"crc":"%08x"}\n' % (text, zlib.crc32(text))

    own = tmp_path / "needles" / "images" / f"{40_007:024x}_page_001.png"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"page")
    assert _renamed(line(7, "0badcafe"), 40_000, tmp_path) == line(40_007, stamp(state_of(own.stat())))
