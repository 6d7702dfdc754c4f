"""`vqa-client ask` on Parquet: memory and first request with a million rows, and images in cells beside files.

    python -m tests.bench.own_data                 # about 8 minutes on two cores
    python -m tests.bench.own_data --rows 100000 --rounds 1

The run of many rows is stopped soon after its first request; its peak is from reading all rows and asking the first.
Bars: `BARS`.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from io import BytesIO
from pathlib import Path

from PIL import Image

from tests.bench import processes
from tests.bench.servers import REPOSITORY, control, mock_command, running

BARS = {"MB over the run of few rows": 60.0, "s to the first request": 12.0, "pace of Parquet over files": 0.9}
FEW = 1_000
PHOTOS = 4_000
_BATCH = 10_000
_TICKS = os.sysconf("SC_CLK_TCK")
_WATCH_S = 2.0
"""The seconds from the first request until the run is stopped."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures and their bars; returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="vqa-client-bench-") as name, running(mock_command()) as address:
        folder = Path(name)
        few_mb, _ = _start_of_run(folder, FEW, address)
        many_mb, first_s = _start_of_run(folder, given.rows, address)
        ratio = _ratio(folder, given.rounds, address)
    figures = dict(zip(BARS, (many_mb - few_mb, first_s, ratio), strict=True))
    kept = [figures[what] >= bar if "pace" in what else figures[what] <= bar for what, bar in BARS.items()]
    for (what, value), is_kept in zip(figures.items(), kept, strict=True):
        print(f"{value:7.2f} {what} (bar {BARS[what]:g}){'' if is_kept else '  MISSED'}")
    return int(not all(kept))


def _pictures() -> list[bytes]:
    """A thousand tiny pictures."""
    drawn = random.Random(1)
    return [_encoded(Image.frombytes("RGB", (8, 8), drawn.randbytes(192)), "PNG") for _ in range(1_000)]


@cache
def _photo() -> bytes:
    """A JPEG of noise, some 30 KB."""
    return _encoded(Image.frombytes("RGB", (224, 224), random.Random(2).randbytes(3 * 224 * 224)), "JPEG")


def _encoded(image: Image.Image, form: str) -> bytes:
    written = BytesIO()
    image.save(written, form, quality=75)
    return written.getvalue()


def _asked(number: int) -> dict[str, str]:
    return {"id": f"q{number}", "question": f"Question {number}: how many are there?", "answer": str(number % 7)}


def write_parquet(path: Path, rows: int, pictures: Sequence[bytes]) -> None:
    """Write rows in the hub's form, each with an image, in groups of 10,000."""
    import pyarrow as pa
    from pyarrow import parquet

    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema([("image", kind), *((name, pa.string()) for name in ("id", "question", "answer"))])
    with parquet.ParquetWriter(path, schema, use_dictionary=False) as file:
        for start in range(0, rows, _BATCH):
            numbers = range(start, min(start + _BATCH, rows))
            images = [{"bytes": pictures[number % len(pictures)], "path": None} for number in numbers]
            made = [{"image": image, **_asked(number)} for image, number in zip(images, numbers, strict=True)]
            file.write_table(pa.Table.from_pylist(made, schema))


def _start_of_run(folder: Path, rows: int, address: str) -> tuple[float, float]:
    """The peak memory in MB of a run that is stopped soon after its first request, and the seconds to that request."""
    data = folder / f"{rows}.parquet"
    write_parquet(data, rows, _pictures())
    control(address, "/reset?latency_ms=50")
    before = set(folder.rglob("*"))
    began_s, peak_mb = time.monotonic(), 0.0
    process = subprocess.Popen(
        _command(data, folder / f"out_{rows}", address),
        cwd=REPOSITORY,
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        while not control(address, "/stats")["requests"]:
            if process.poll() is not None:
                raise RuntimeError(f"ask ended with {process.returncode} and asked nothing")
            time.sleep(0.05)
        first_s = time.monotonic() - began_s
        cpu_s = sum(map(int, Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13])) / _TICKS
        while time.monotonic() < began_s + first_s + _WATCH_S:
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
            if "VmHWM:" not in status:  # the process has ended
                break
            peak_mb = int(status.split("VmHWM:")[1].split()[0]) * 1024 / processes.MB
            time.sleep(0.05)
        written = {path.name for path in set(folder.rglob("*")) - before}
        process.send_signal(signal.SIGINT)
        process.wait(120)
    finally:
        process.kill()
        process.wait()
    summary = f"{rows:,} rows: first request after {first_s:.1f} s and {cpu_s:.1f} s of CPU, peak {peak_mb:.0f} MB"
    print(f"{summary}, wrote {', '.join(sorted(written))}", flush=True)
    return peak_mb, first_s


def _ratio(folder: Path, rounds: int, address: str) -> float:
    """The pace of images in Parquet relative to the same images as files, in alternating runs."""
    data = folder / "photos.parquet"
    photos = [b"\xff\xd8\xff\xfe\0\x08%06d" % number + _photo()[2:] for number in range(PHOTOS)]
    write_parquet(data, PHOTOS, photos)
    (folder / "photos").mkdir()
    with (folder / "photos.jsonl").open("w") as file:
        for number, photo in enumerate(photos):
            (folder / f"photos/{number}.jpg").write_bytes(photo)
            row = {"image": f"photos/{number}.jpg", **_asked(number)}
            file.write(json.dumps(row) + "\n")
    photos.clear()
    spans: dict[str, list[float]] = {"photos.parquet": [], "photos.jsonl": []}
    cpu: dict[str, list[float]] = {name: [] for name in spans}
    for number in range(rounds):
        for name in sorted(spans, reverse=number % 2 == 0):
            control(address, "/reset?latency_ms=0")
            out = folder / f"{name}_{number}"
            command = _command(folder / name, out, address)
            usage = processes.run(command, environment=os.environ, log=folder / "log", limit_s=600, folder=REPOSITORY)
            if usage.exit_code:
                raise RuntimeError((folder / "log").read_text()[-1500:])
            stats = control(address, "/stats")
            spans[name].append(stats["span_s"])
            cpu[name].append(usage.cpu_s)
            print(f"{name}: {stats['requests']} requests in {stats['span_s']:.2f} s, {usage.cpu_s:.1f} s of CPU")
    parquet, files = (statistics.median(each) for each in cpu.values())
    print(f"{files / parquet:.2f} CPU of the runs of files over those of Parquet, start-up included")
    parquet, files = (statistics.median(each) for each in spans.values())
    return files / parquet


def _command(data: Path, output: Path, address: str) -> list[str]:
    asked = ["ask", str(data), "-o", str(output), "--base_url", f"{address}/v1", "--no_check", "--no-html"]
    return [sys.executable, "-m", "vqa_client", *asked]


if __name__ == "__main__":
    sys.exit(main())
