"""Writes the results as a page of Markdown: a table for each case, the bars, and the machine and method."""

import statistics
from collections.abc import Iterable, Sequence

from tests.bench.beside.claims import CLAIMS, cells
from tests.bench.beside.results import Results, Sent
from tests.bench.cases import OURS, TWO_PROCESSES, Case
from tests.bench.figures import (
    CPU_MS,
    IN_FLIGHT,
    OF_IDEAL,
    RATE,
    RSS_MB,
    STALL_MS,
    Figure,
    Measured,
)
from tests.bench.processes import MB
from tests.bench.workloads import WORKLOADS

NAMES = {
    OURS: "`vqa-client`",
    TWO_PROCESSES: "`vqa-client --processes 2`",
    "openai_script": "AsyncOpenAI, semaphore, base64",
    "openai_threads": "OpenAI in threads",
    "aiohttp_script": "aiohttp, streamed",
}
COLUMNS: Sequence[tuple[str, Figure]] = (
    ("requests/s", RATE),
    ("of ideal", OF_IDEAL),
    ("CPU ms per request", CPU_MS),
    ("peak memory, MB", RSS_MB),
    ("in flight, mean", IN_FLIGHT),
    ("longest stall, ms", STALL_MS),
)
IMAGES = {"small": "one JPEG of 8 KB", "document": "20 PNG pages, 6 MB; five questions on each document"}
COMMAND = "python -m tests.bench.beside"
INTRODUCTION = """\
# Side by side

Whole commands, each in its own processes, against the same server (`tests/bench/mock_server.c`), which reads a
request and answers after the latency in the title. {workers} workers; clients take turns in each of {rounds} rounds;
cells are medians. `{command}` repeats all measurements and writes this page, `speed.json` and `speed.svg`.
`python -m tests.bench.peers install` makes the evaluators' environments with pinned versions; the docstrings in
[`tests/bench/peers/`](../tests/bench/peers/) describe their set-up.

{place}

![CPU per request and requests in flight](speed.svg)

* requests/s: questions / time of the whole process without start-up (the same command on one record), or questions /
  time from the first request to the last reply, if noise makes that longer.
* CPU: of all processes of a command, without start-up. At 50 and 500 ms an evaluator's start-up was measured once
  instead of in each round.
* peak memory: of the largest process of a command.
* of ideal: the shortest time that latency and workers allow / the time from the first request to the last reply.
* in flight: requests that the server has received in full and hasn't answered, averaged over the same time.
* Slow clients got fewer questions, as the column says. With latency, fewer than {workers} questions can't keep all
  workers busy: then CPU says more than requests/s.
"""


def page(results: Results) -> str:
    """The whole page."""
    measured = results.measured()
    workers = measured[0].case.workers if measured else 0
    head = INTRODUCTION.format(workers=workers, rounds=_rounds(results), command=COMMAND, place=_place(results))
    cases = sorted({_key(one) for one in measured}, key=lambda key: (list(IMAGES).index(key[0]), key[1]))
    tables = [case_section(results, [m for m in measured if _key(m) == case]) for case in cases]
    return "\n".join([head, *tables, _alone(results), _bars(results), _sent(results.sent)])


def table(rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first row is its head."""
    head, *others = rows
    lines = [head, ["---"] * len(head), *others]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def case_section(results: Results, measured: Sequence[Measured]) -> str:
    """A heading and a table with a row for each client; a line for each client that was not measured."""
    case = max((one.case for one in measured), key=lambda one: one.asked)
    shown = [(title, figure) for title, figure in COLUMNS if any(figure.values(one) for one in measured)]
    rows = [["", "asked", *(title for title, _ in shown)]]
    for one in measured:
        rows.append([named(one.client), f"{one.case.asked:,}", *(cell(figure, one) for _, figure in shown)])
    left_out = {one.client: one.why for one in results.left_out if (one.workload, one.latency_ms) == _key(measured[0])}
    lines = [f"Not measured: {named(client)} ({why}).\n" for client, why in left_out.items()]
    return "\n".join([f"## {_title(case)}\n", table(rows), *lines])


def named(client: str) -> str:
    """A client's name for readers."""
    return NAMES.get(client, client)


def cell(figure: Figure, measured: Measured) -> str:
    """The median, with fewer decimals if it is large."""
    median = figure.median(measured)
    if median is None:
        return ""
    return f"{median:,.{0 if median >= 100 else max(0, min(figure.decimals, 2 if median < 10 else 1))}f}"


def _rounds(results: Results) -> str:
    counts = sorted({len(row.runs) for row in results.rows})
    return " or ".join(map(str, counts))


def _key(measured: Measured) -> tuple[str, int]:
    return measured.case.workload.name, measured.case.latency_ms


def _title(case: Case) -> str:
    latency = f"{case.latency_ms} ms" if case.latency_ms < 1000 else f"{case.latency_ms / 1000:g} s"
    return f"{IMAGES[WORKLOADS[case.workload.name].name]}, answered after {latency}"


def _place(results: Results) -> str:
    place = results.place
    versions = ", ".join(dict.fromkeys(place.versions.values()))
    machine = f"{place.cores} cores of {place.processor}, {place.system}, CPython {place.python}, {place.date}"
    load = f"{place.load_before:.1f} before the last part, {place.load_after:.1f} after it, the suite's own included"
    return f"Measured on {machine}. The machine's load was {load}.\nVersions: {versions}."


def _alone(results: Results) -> str:
    rows = [["`vqa-client`", "seconds", "CPU s", "peak memory, MB", "requests", "s to the first"]]
    for one in results.alone:
        figures = [
            ([usage.wall_s for usage in one.usages], 2),
            ([usage.cpu_s for usage in one.usages], 2),
            ([usage.peak_rss_bytes / MB for usage in one.usages], 0),
            (one.requests, 0),
            (one.first_request_s, 2),
        ]
        rows.append([one.what, *(f"{statistics.median(of):,.{digits}f}" if of else "" for of, digits in figures)])
    return f"## Many records\n\n{RECORDS}\n{table(rows)}"


RECORDS = """\
Five needles on each document of one tiny page, no latency. A finished run is started again with the same command: it
reads its log, checks that no question and no image has changed, asks nothing and writes its report. The run of a
million was not asked: its log is five copies of that of 200,000, each with other names of documents. Without its last
thousand lines it is like a run that was killed there. No evaluator got 200,000 questions: at the pace above, that
would take many minutes to hours.
"""


def _bars(results: Results) -> str:
    return "## Bars\n\n" + table([["", "bar", "measured", ""], *(cells(claim, results) for claim in CLAIMS)])


def _sent(sent: Sequence[Sent]) -> str:
    rows = [["", "workload", "asked", "requests", "images as they are", "images encoded again", "questions seen"]]
    for one in sent:
        counts = (one.asked, one.requests, one.as_files, one.as_pictures, one.questions)
        rows.append([one.client, one.workload, *map(str, counts)])
    text = "A server read every body of a run of its own: was each question asked, with all its images in full size?\n"
    return f"## What the evaluators sent\n\n{text}\n{table(rows)}" if sent else ""
