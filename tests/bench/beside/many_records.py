"""Our client on many records: a run, and a finished run started again, with time and memory.

Needles on documents of one tiny page, five on each: what is measured is the records, not the images. The run of a
million is not asked, which would take minutes: its log is the lines of 200,000 answers, five times over, each with the
document's name replaced, so that every question has a record of the form and size that it would have. Its last thousand
are cut off, as if the run had been killed there: the same command asks these and no others.
"""

import hashlib
import json
import os
import sys
import tempfile
import time
import zlib
from collections import deque
from io import BytesIO
from pathlib import Path

from PIL import Image

from tests.bench import processes
from tests.bench.alone import write_json
from tests.bench.beside.results import Repeated
from tests.bench.run import say
from tests.bench.servers import REPOSITORY, control
from vqa_client.files import stamp, state_of

PER_DOCUMENT = 5
ASKED_FEW, ASKED_MANY = "1,000 questions asked", "200,000 questions asked"
AGAIN_MANY, AGAIN_MILLION = "finished run of 200,000 started again", "finished run of 1,000,000 started again"
RESUMED = "run of 1,000,000 killed before its last 1,000, started again"
KILLED_BEFORE = 1_000
FEW, MANY, MILLION = 200, 40_000, 200_000
LINKS = 20_000
"""The most hard links to a file; ext4 allows 65,000."""
LIMIT_S = 900.0


def measure_records(rounds: int, address: str) -> list[Repeated]:
    """Measure all; the 200,000 are asked once and the million at most twice, since each takes a minute."""
    with tempfile.TemporaryDirectory(prefix="vqa-client-bench-") as name:
        for documents in (FEW, MANY, MILLION):  # before any run starts: files written later would be hashed again
            _make(Path(name) / str(documents), documents)
        few, many, million = (Path(name) / str(documents) for documents in (FEW, MANY, MILLION))
        found = [
            _repeated(few, ASKED_FEW, rounds, address, more=("--fresh",)),
            _repeated(many, ASKED_MANY, 1, address),
            _repeated(many, AGAIN_MANY, rounds, address),
        ]
        killed_bytes = _write_million(many, million)
        resumed, again = Repeated(what=RESUMED), Repeated(what=AGAIN_MILLION)
        for _ in range(min(rounds, 2)):
            os.truncate(_beside(million, "records.jsonl"), killed_bytes)
            for measured, asked in ((resumed, KILLED_BEFORE), (again, 0)):
                _measure(measured, million, address)
                if measured.requests[-1] != asked:
                    raise RuntimeError(f"{measured.what}: {measured.requests[-1]} requests, not {asked}")
        return [*found, resumed, again]


def _repeated(folder: Path, what: str, rounds: int, address: str, more: tuple[str, ...] = ()) -> Repeated:
    found = Repeated(what=what)
    for _ in range(rounds):
        _measure(found, folder, address, more)
    return found


def _measure(into: Repeated, folder: Path, address: str, more: tuple[str, ...] = ()) -> None:
    """Run the command; raises RuntimeError with its output if it fails."""
    control(address, "/reset?latency_ms=0")
    words, log = [*_command(folder, address), *more], folder / "log.txt"
    started_s = time.monotonic()
    usage = processes.run(words, environment=os.environ, log=log, limit_s=LIMIT_S, folder=REPOSITORY)
    if usage.exit_code:
        raise RuntimeError(f"{into.what} ended with {usage.exit_code}:\n{log.read_text()[-1500:]}")
    stats = control(address, "/stats")
    into.usages.append(usage)
    into.requests.append(stats["requests"])
    if stats["requests"]:
        into.first_request_s.append(time.monotonic() - started_s - stats["since_first_s"])
    say(f"{into.what}: {usage}, {stats['requests']} requests")


def _command(folder: Path, address: str) -> list[str]:
    words = [sys.executable, "-m", "vqa_client", "niah", "-d", str(folder / "data.json"), "-i", _images(folder)]
    words += ["-o", str(_report(folder)), "--base_url", f"{address}/v1", "--max_workers", "128"]
    return [*words, "--no-html", "--no_check"]


def _images(folder: Path) -> str:
    return str(folder / "needles" / "images")


def _report(folder: Path) -> Path:
    return folder / "out" / "report.json"


def _make(folder: Path, documents: int) -> None:
    images = Path(_images(folder))
    images.mkdir(parents=True)
    page = _picture()
    for number in range(documents):
        target = images / f"{_name(number)}_page_001.png"
        if number % LINKS:
            os.link(images / f"{_name(number - number % LINKS)}_page_001.png", target)
        else:
            target.write_bytes(page)
    write_json(folder / "data.json", (_needles(_name(number)) for number in range(documents)))


def _name(number: int) -> str:
    return f"{number:024x}"


def _write_million(asked: Path, million: Path) -> int:
    """Make the finished run of a million from the one of 200,000; returns the log's size before its last thousand."""
    _report(million).parent.mkdir()
    starts: deque[int] = deque(maxlen=KILLED_BEFORE)
    with open(_beside(million, "records.jsonl"), "wb") as out:
        for first in range(0, MILLION, MANY):
            with open(_beside(asked, "records.jsonl"), "rb") as lines:
                for line in lines:
                    starts.append(out.tell())
                    out.write(_renamed(line, first, million))
    run_file = json.loads(_beside(asked, "run.json").read_text(encoding="utf-8"))
    with open(million / "data.json", "rb") as data:
        data_sha256 = hashlib.file_digest(data, "sha256")  # in pieces: clients inherit this process's peak memory
    run_file["described"] |= {"data_sha256": data_sha256.hexdigest(), "expected": MILLION * PER_DOCUMENT}
    _beside(million, "run.json").write_text(json.dumps(run_file), encoding="utf-8")
    return starts[0]


def _renamed(line: bytes, first: int, folder: Path) -> bytes:
    """The line for another document, with the state of its page, so that the client needn't read its bytes again."""
    record = json.loads(line)
    before = record["question_id"].partition("#")[0]
    name = _name(int(before, 16) + first)
    page = stamp(state_of(os.stat(Path(_images(folder)) / f"{name}_page_001.png")))
    text = line.partition(b',"crc"')[0].replace(before.encode(), name.encode())
    text = text.replace(record["image_stamps"].encode(), page.encode())
    return b'%b,"crc":"%08x"}\n' % (text, zlib.crc32(text))


def _beside(folder: Path, ending: str) -> Path:
    return _report(folder).with_suffix(f".{ending}")


def _picture() -> bytes:
    """A tiny page."""
    drawn = BytesIO()
    Image.new("RGB", (32, 32)).save(drawn, "PNG")
    return drawn.getvalue()


def _needles(name: str) -> dict[str, object]:
    """A document in the form of a needle file."""
    return {
        "_id": name,
        "context": "Some words.",
        "questions": [f"What is the secret {at} in the above context?" for at in range(PER_DOCUMENT)],
        "answers": [f"value {at}" for at in range(PER_DOCUMENT)],
    }
