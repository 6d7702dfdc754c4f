"""`vqa-client docvqa` on Parquet: 20,000 pages beside 1,000, and the hub's form beside the portal's.

    python -m tests.bench.docvqa                   # about 6 minutes on two cores, and 6 GB below the temporary folder
    python -m tests.bench.docvqa --rows 5000 --rounds 1

Each row has its own page, a JPEG of noise of some 200 KB; the server answers at once. Bars: `BARS`.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from PIL import Image

from tests.bench import processes
from tests.bench.servers import REPOSITORY, control, mock_command, running

BARS = {"peak memory over that of 1,000 rows": 1.3, "longest loop stall, ms": 50.0, "pace of Parquet over files": 0.9}
FEW, PAIRED = 1_000, 4_000
_GROUP = 100
"""Rows per row group, as in the hub's files of images."""
_SIDE = 590
_LIMIT_S = 1_800.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Figures of one run; `span_s` is from its first request to its last reply."""

    peak_mb: float
    cpu_s: float
    span_s: float
    stall_ms: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and their bars; returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="vqa-client-bench-") as name, running(mock_command()) as address:
        folder = Path(name)
        few = _run_of(_write_in_process(_parquet, folder / "few", FEW), folder, address)
        many = _run_of(_write_in_process(_parquet, folder / "many", given.rows), folder, address)
        hub, portal = folder / "hub", folder / "portal"
        forms = {
            "parquet": _write_in_process(_parquet, hub, PAIRED),
            "files": _write_in_process(_files, portal, PAIRED),
        }
        runs: dict[str, list[Run]] = {form: [] for form in forms}
        for number in range(given.rounds):
            for form in sorted(forms, reverse=number % 2 == 1):
                runs[form].append(_run_of(forms[form], folder, address))
    parquet, files = (statistics.median(run.span_s for run in runs[form]) for form in ("parquet", "files"))
    cpu = [statistics.median(run.cpu_s for run in runs[form]) for form in ("files", "parquet")]
    print(f"{cpu[0] / cpu[1]:7.2f} CPU of the runs of files over those of Parquet, start-up included")
    found = dict(zip(BARS, (many.peak_mb / few.peak_mb, many.stall_ms, files / parquet), strict=True))
    kept = [found[what] >= bar if "pace" in what else found[what] <= bar for what, bar in BARS.items()]
    for (what, value), is_kept in zip(found.items(), kept, strict=True):
        print(f"{value:7.2f} {what} (bar {BARS[what]:g}){'' if is_kept else '  MISSED'}")
    return int(not all(kept))


@cache
def _page() -> bytes:
    written = BytesIO()
    noise = random.Random(3).randbytes(3 * _SIDE * _SIDE)
    Image.frombytes("RGB", (_SIDE, _SIDE), noise).save(written, "JPEG", quality=75)
    return written.getvalue()


def _rows(rows: int) -> Iterator[tuple[dict[str, Any], bytes]]:
    """The rows of both forms, each with its page; all pages have different bytes."""
    for number in range(rows):
        row = {
            "questionId": str(number),
            "question": f"Question {number}: what is the date?",
            "question_types": ["handwritten" if number % 3 else "table/list"],
            "docId": number,
            "ucsf_document_id": f"p{number:06d}",
            "ucsf_document_page_no": "1",
            "answers": [f"{number % 28 + 1} May 1999"],
            "data_split": "val",
        }
        yield row, b"\xff\xd8\xff\xfe\0\x08%06d" % number + _page()[2:]


def _write_in_process(write: Callable[[Path, int], None], folder: Path, rows: int) -> Path:
    """Write a folder in a separate process, because a run inherits the peak memory of its parent process."""
    process = get_context("spawn").Process(target=write, args=(folder, rows))
    process.start()
    process.join()
    if process.exitcode:
        raise RuntimeError(f"{folder} could not be written")
    return folder


def _parquet(folder: Path, rows: int) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    lists = {name: pa.list_(pa.string()) for name in ("question_types", "answers")}
    names = next(_rows(1))[0]
    kinds = {name: lists.get(name, pa.int64() if name == "docId" else pa.string()) for name in names}
    schema = pa.schema([*kinds.items(), ("image", kind)])
    (folder / "DocVQA").mkdir(parents=True)
    with parquet.ParquetWriter(folder / "DocVQA/validation-00000-of-00001.parquet", schema) as file:
        group = []
        for row, page in _rows(rows):
            group.append({**row, "image": {"bytes": page, "path": None}})
            if len(group) == _GROUP:
                file.write_table(pa.Table.from_pylist(group, schema))
                group.clear()
        file.write_table(pa.Table.from_pylist(group, schema))


def _files(folder: Path, rows: int) -> None:
    (folder / "documents").mkdir(parents=True)
    data = []
    for row, page in _rows(rows):
        name = f"documents/{row['ucsf_document_id']}_1.jpg"
        (folder / name).write_bytes(page)
        data.append({**row, "image": name})
    (folder / "val_v1.0.json").write_text(json.dumps({"dataset_name": "docvqa", "data": data}))


def _run_of(data: Path, folder: Path, address: str) -> Run:
    control(address, "/reset?latency_ms=0")
    out = Path(tempfile.mkdtemp(dir=folder))
    words = ["run", "docvqa", "--data", str(data), "-o", str(out), "--base_url", f"{address}/v1"]
    command = [sys.executable, "-m", "vqa_client", *words, "--no_check", "--no-html"]
    usage = processes.run(command, environment=os.environ, log=out / "log", limit_s=_LIMIT_S, folder=REPOSITORY)
    if usage.exit_code:
        raise RuntimeError((out / "log").read_text()[-1500:])
    stats = control(address, "/stats")
    (path,) = out.glob("*.run.json")
    stall_s = json.loads(path.read_text())["sessions"][-1]["loop_stall_max_s"]
    run = Run(
        peak_mb=usage.peak_rss_bytes / processes.MB,
        cpu_s=usage.cpu_s,
        span_s=stats["span_s"],
        stall_ms=1000 * stall_s,
    )
    summary = f"{data.name}: {stats['requests']:,} requests in {run.span_s:.2f} s, {run.cpu_s:.1f} s of CPU"
    print(f"{summary}, peak {run.peak_mb:.0f} MB, longest stall {run.stall_ms:.0f} ms", flush=True)
    return run


if __name__ == "__main__":
    sys.exit(main())
