"""Kills a suite of twelve benchmarks again and again: nothing is lost, little is asked twice, the bytes are the same.

python -m tests.soak.suite                          # 12 x 1,000 questions, 3 kills: some minutes on two cores
python -m tests.soak.suite --questions 8334         # 100,000 questions
"""

import argparse
import base64
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from io import BytesIO
from pathlib import Path

import msgspec
from PIL import Image

from tests.fakes.received import Received
from tests.fakes.server import FaultServer
from tests.fakes.words import answer
from tests.faults.commands import ROOT, command_line, environment
from vqa_client.reports.log_reader import LOG_ENDING

CHOICES = "ai2d realworldqa mmstar vstar seedbench scienceqa blink"
FILES = {
    **{"ai2d": "AI2D_TEST.tsv", "realworldqa": "RealWorldQA.tsv", "mmstar": "MMStar.tsv", "vstar": "VStarBench.tsv"},
    **{"seedbench": "SEEDBench_IMG.tsv", "scienceqa": "ScienceQA_TEST.tsv", "blink": "BLINK.tsv"},
    **{"docvqa": "DocVQA_VAL.tsv", "infovqa": "InfoVQA_VAL.tsv", "textvqa": "TextVQA_VAL.tsv"},
    **{"gqa": "GQA_TestDev_Balanced.tsv", "ocrbench": "OCRBench.tsv"},
}
"""Twelve benchmarks, with the files that each reads them from."""
TYPES = ("Digit String Recognition", "Handwriting Recognition")
WORKERS = 32
_MARK = re.compile(r"\[\[\w+\]\]")


class _Record(msgspec.Struct):
    prompt: str


_RECORD = msgspec.json.Decoder(_Record)


def main() -> int:
    """Print the results; returns 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1_000, help="of each benchmark")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="suite-", ignore_cleanup_errors=True) as name:
        wrong = _soak(Path(name), given.questions, given.kills, random.Random(given.seed))
    for text in wrong:
        print(f"WRONG: {text}")
    return bool(wrong)


def _soak(folder: Path, questions: int, kills: int, chance: random.Random) -> list[str]:
    _write(folder, questions)
    total, wrong = len(FILES) * questions, list[str]()
    points = sorted(chance.sample(range(total // 20, total), kills))
    kept_at: dict[int, set[str]] = {}
    began_s = time.monotonic()
    with FaultServer(answer(_reply), keep_bodies=False) as server:
        command = _command(folder, server, "killed")
        for point in points:
            process = _started(command)
            while server.counts["requests"] < point and process.poll() is None:
                time.sleep(0.02)
            process.kill()
            process.wait()
            server.wait_until(lambda: server.log.in_flight == 0)
            before, kept = len(server.chats), _kept(folder / "killed")
            print(f"killed after {before:,} questions; {kept.total():,} records are on the disk", flush=True)
            if kept.total() < before - WORKERS * (len(kept_at) + 1):
                wrong.append(f"{before - kept.total()} answers are lost after {before} questions")
            kept_at[before] = set(kept)
        if _started(command).wait():
            wrong.append("the last start failed")
        marks = _marks(server)
        wrong += [
            f"{len(again)} kept answers were asked for again after a kill"
            for before, kept in kept_at.items()
            if (again := kept & set(marks[before:]))
        ]
        killed = Counter(marks)
        if _started(_command(folder, server, "whole")).wait():
            wrong.append("the run without kills failed")
    twice = sum(count - 1 for count in killed.values())
    print(f"{total:,} questions of {len(FILES)} benchmarks, {kills} kills, {time.monotonic() - began_s:.0f} s in all")
    print(f"{killed.total():,} requests in the killed run: {twice} questions were in flight and asked again")
    if len(killed) != total or twice > kills * WORKERS:
        wrong.append(f"{len(killed):,} of {total:,} questions were asked, {twice} of them twice")
    kept = _kept(folder / "killed")
    if kept.total() != total or len(kept) != total:
        wrong.append(f"{kept.total():,} records of {len(kept):,} questions")
    reports = [path for path in sorted((folder / "whole").rglob("*.json")) if not path.name.endswith(".run.json")]
    differing = [path.name for path in reports if path.read_bytes() != _same(folder / "killed", folder / "whole", path)]
    print(f"{len(reports)} reports, {len(differing)} of them differ from those of an undisturbed run")
    return [*wrong, *(f"{name} differs" for name in differing)]


def _same(killed: Path, whole: Path, path: Path) -> bytes:
    return (killed / path.relative_to(whole)).read_bytes().replace(b"/killed", b"/whole")


def _write(folder: Path, questions: int) -> None:
    """A file for each benchmark, every question with a mark and a tiny picture, and the suite."""
    drawn = BytesIO()
    Image.new("RGB", (32, 32)).save(drawn, "PNG")
    image = base64.b64encode(drawn.getvalue()).decode()
    header = "index image question answer A B C D category l2-category l2_category split question_type hint"
    for name, file in FILES.items():
        (folder / name).mkdir()
        with (folder / name / file).open("w", encoding="utf-8") as table:
            table.write(header.replace(" ", "\t") + "\n")
            for number in range(questions):
                letter = "ABCD"[number % 4]
                options = ("one", "two", "three", "four") if name in CHOICES.split() else ("",) * 4
                right = letter if options[0] else "four"
                kind = TYPES[number % 2] if name == "ocrbench" else f"kind {number % 5}"
                asked = f"[[{name}_{number}]] Which?"
                cells = (str(number), image, asked, right, *options, kind, "part", "part", "test", "", "")
                table.write("\t".join(cells) + "\n")
    entries = (f'[{name}]\ndata = "{name}"\n' for name in FILES)
    (folder / "twelve.toml").write_text(f"max_workers = {WORKERS}\n\n" + "\n".join(entries), encoding="utf-8")


def _reply(received: Received) -> str:
    """The same answer to a question each time, right for some."""
    number = int(_mark(received.prompt).rpartition("_")[2][:-2])
    return f"The answer is {'ABCD'[number * 7 % 4]}."


def _command(folder: Path, server: FaultServer, output: str) -> list[str]:
    asked = ["suite", str(folder / "twelve.toml"), "-o", str(folder / output), "--base_url", server.base_url]
    return command_line([*asked, "--no_check", "--no-html"])


def _started(command: list[str]) -> "subprocess.Popen[bytes]":
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, env=environment(), stdin=quiet, stdout=quiet, stderr=quiet)


def _marks(server: FaultServer) -> list[str]:
    return [_mark(chat.prompt) for chat in server.chats]


def _mark(prompt: str) -> str:
    found = _MARK.search(prompt)
    return found[0] if found else ""


def _kept(folder: Path) -> Counter[str]:
    """The whole records on the disk, by their questions' marks."""
    found: Counter[str] = Counter()
    for log in folder.rglob(f"*{LOG_ENDING}"):
        for line in log.read_bytes().split(b"\n")[:-1]:
            if line:
                found[_mark(_RECORD.decode(line).prompt)] += 1
    return found


if __name__ == "__main__":
    sys.exit(main())
