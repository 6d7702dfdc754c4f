"""The content of the suite's JSON file, from which table and plot are made."""

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from tests.bench.cases import OURS, TWO_PROCESSES, Case
from tests.bench.figures import Measured
from tests.bench.measure import Run
from tests.bench.peers.registry import PEERS
from tests.bench.processes import Usage
from tests.bench.workloads import WORKLOADS


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The machine, the date and the versions."""

    date: str
    processor: str
    cores: int
    system: str
    python: str
    versions: dict[str, str]
    rounds: int
    load_before: float
    load_after: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """All rounds of one client on one case."""

    client: str
    workload: str
    latency_ms: int
    workers: int
    questions: int
    runs: Sequence[Run]

    def measured(self) -> Measured:
        """The rounds in the form that figures are computed from."""
        case = Case(
            workload=WORKLOADS[self.workload],
            latency_ms=self.latency_ms,
            workers=self.workers,
            questions=self.questions,
        )
        return Measured(client=self.client, case=case, runs=self.runs)


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftOut:
    """A client that was not measured on a case, and the reason."""

    client: str
    workload: str
    latency_ms: int
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """What an evaluator's bodies contained, for some questions of a workload; see peers/bodies.py."""

    client: str
    workload: str
    asked: int
    requests: int
    as_files: int
    as_pictures: int
    questions: int
    problems: Sequence[str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Repeated:
    """A command measured alone, its requests, and the seconds from its start to the first request."""

    what: str
    usages: list[Usage] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    first_request_s: list[float] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Results:
    """All measurements."""

    place: Place
    rows: list[Row] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    alone: list[Repeated] = field(default_factory=list)

    def measured(self) -> list[Measured]:
        """The rows of a case, for the figures."""
        return [row.measured() for row in self.rows]

    def named(self, what: str) -> Repeated | None:
        """A command measured alone."""
        return next((repeated for repeated in self.alone if repeated.what == what), None)


def read(path: Path) -> Results:
    """Read a file that `write` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=Results)


def write(results: Results, path: Path) -> None:
    """Write the results, with one line per client's rounds or command."""
    members = []
    for of in fields(results):
        value = getattr(results, of.name)
        lines = b",\n".join(map(msgspec.json.encode, value)) if isinstance(value, list) else b""
        members.append(b'"%b": %b' % (of.name.encode(), b"[\n%b\n]" % lines if lines else msgspec.json.encode(value)))
    path.write_bytes(b"{\n" + b",\n".join(members) + b"\n}\n")


def row(measured: Measured) -> Row:
    """The rounds of a case, as they are saved."""
    case = measured.case
    return Row(
        client=measured.client,
        workload=case.workload.name,
        latency_ms=case.latency_ms,
        workers=case.workers,
        questions=case.questions,
        runs=measured.runs,
    )


def here(rounds: int, clients: Sequence[str]) -> Place:
    """The present machine, date and versions."""
    return Place(
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        processor=_processor(),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.release()}",
        python=sys.version.split()[0],
        versions={client: _version(client) for client in clients},
        rounds=rounds,
        load_before=os.getloadavg()[0],
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def _version(client: str) -> str:
    if client in PEERS:
        return f"{client} {PEERS[client].version}"
    library = {OURS: "vqa-client", TWO_PROCESSES: "vqa-client", "aiohttp_script": "aiohttp"}.get(client, "openai")
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return library
