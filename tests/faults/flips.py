"""Flips single bits of a finished run's record log, and runs the same command on each.

`python -m tests.faults.flips` prints a table of 300 flips, in a log of today's form and in one of older versions, which
has no checksums.
"""

import asyncio
import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.fakes.server import FaultServer
from tests.fakes.words import answer, oracle
from tests.faults.questions import Notes, Questions
from vqa_client.errors import VqaClientError
from vqa_client.evaluation import arun

QUESTIONS = 12
OUTCOMES = {
    "named": "named by line, set aside, asked again; same report",
    "nothing": "nothing noticed, nothing to notice; same report",
    "wrong": "ANOTHER REPORT, without a word",
    "refused": "THE WHOLE RUN REFUSED",
}
_CHECKSUM = re.compile(rb',"crc":"[0-9a-f]{8}"|,"run":"[0-9a-f]{16}"')


async def flipped(folder: Path, flips: int, seed: int, *, checked: bool = True) -> Counter[str]:
    """Flip one bit of the untouched log so many times, and count the results."""
    of, chance, found = Questions(folder, QUESTIONS), random.Random(seed), Counter[str]()
    replies = {marker: answer(f"{said} größer 図 \n") for marker, said in of.replies().items()}
    with FaultServer(oracle(replies), keep_bodies=False) as server:
        await of.ask(server, max_workers=1, check=False)
        log = of.log_path.read_bytes() if checked else _CHECKSUM.sub(b"", of.log_path.read_bytes())
        report = of.report_path().read_bytes()
        for _ in range(flips):
            spoiled = bytearray(log)
            spoiled[chance.randrange(len(log))] ^= 1 << chance.randrange(8)
            of.log_path.write_bytes(spoiled)
            found[await _outcome(of, server, report)] += 1
    return found


async def _outcome(of: Questions, server: FaultServer, report: bytes) -> str:
    asked, notes = len(server.chats), Notes()
    try:
        await arun(of.settings(server.base_url, max_workers=1, check=False), progress=notes)
    except VqaClientError:
        return "refused"
    if of.report_path().read_bytes() != report:
        return "wrong"
    if named := notes.about("records.jsonl", "line", "set aside"):
        return "named" if len(named) == 1 and len(server.chats) - asked <= 2 else "wrong"
    return "nothing" if len(server.chats) == asked else "wrong"


async def _print_table(flips: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as new, tempfile.TemporaryDirectory() as old:
        with_sums = await flipped(Path(new), flips, seed)
        without = await flipped(Path(old), flips, seed, checked=False)
    print(f"{f'{flips} flips of one bit, seed {seed}':<60}{'as it is':>12}{'no checksums':>15}")
    for outcome, meaning in OUTCOMES.items():
        print(f"{meaning:<60}{with_sums[outcome]:>12}{without[outcome]:>15}")


if __name__ == "__main__":
    asyncio.run(_print_table(int(sys.argv[1]) if len(sys.argv) > 1 else 300, seed=1))
