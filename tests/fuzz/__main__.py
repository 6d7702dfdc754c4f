"""Fuzz each target for some seconds: with atheris, which looks for new paths, or at random if it isn't installed.

Exit code 1 if a fault was found; its bytes are printed.
"""

import argparse
import os
import subprocess
import sys
import time
import traceback
from importlib.util import find_spec
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
UNIT_TIMEOUT_S, MOST_BYTES, RSS_LIMIT_MB = 5, 4096, 2_000
COUNTED = ("#", "DONE", "stat::number_of_executed_units")


def main() -> None:
    """Fuzz all targets, each in its own process, or one in this process."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="names of targets; all without any")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--here", action="store_true", help="in this process (one target)")
    given = parser.parse_args()
    if given.here:
        (_guided if find_spec("atheris") else _by_chance)(given.targets[0], given.seconds, given.seed)
        return
    from tests.fuzz.targets import TARGETS

    found = [name for name in given.targets or TARGETS if not _in_a_process(name, given.seconds, given.seed)]
    print(f"found something: {', '.join(found)}" if found else "found nothing")
    sys.exit(bool(found))


def _in_a_process(name: str, seconds: float, seed: int) -> bool:
    command = [sys.executable, "-m", "tests.fuzz", name, "--seconds", str(seconds), "--seed", str(seed), "--here"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    runs = next((line.split()[-1] for line in done.stderr.splitlines() if "number_of_executed_units" in line), "?")
    print(f"{name:14} {runs:>10} runs  {'nothing' if done.returncode == 0 else 'SOMETHING'}", flush=True)
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:])
    return done.returncode == 0


def _guided(name: str, seconds: float, seed: int) -> None:
    import atheris

    with atheris.instrument_imports(include=["vqa_client"]):
        from tests.fuzz.targets import TARGETS
    target = TARGETS[name]
    with TemporaryDirectory(prefix="corpus-") as corpus:
        for number, content in enumerate(target.seeds):
            Path(corpus, str(number)).write_bytes(content)
        options = {
            "max_total_time": int(seconds),
            "seed": seed,
            "max_len": MOST_BYTES,
            "timeout": UNIT_TIMEOUT_S,
            "rss_limit_mb": RSS_LIMIT_MB,
            "print_final_stats": 1,
            "artifact_prefix": f"{corpus}{os.sep}",
        }
        atheris.Setup([sys.argv[0], *(f"-{key}={value}" for key, value in options.items()), corpus], target)
        atheris.Fuzz()


def _by_chance(name: str, seconds: float, seed: int) -> None:
    """Mutate seeds: bytes are changed, cut, doubled and spliced."""
    from tests.fuzz.targets import TARGETS

    target, chance, runs = TARGETS[name], Random(seed), 0
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        data = mutated(chance.choice(target.seeds), chance.choice(target.seeds), chance)
        started_s = time.monotonic()
        try:
            target(data)
        except Exception:
            print(f"with {data!r}\n{traceback.format_exc()}")
            sys.exit(1)
        if time.monotonic() - started_s > UNIT_TIMEOUT_S:
            sys.exit(f"too slow with {data!r}")
        runs += 1
    print(f"stat::number_of_executed_units: {runs}", file=sys.stderr)


def mutated(data: bytes, other: bytes, chance: Random) -> bytes:
    """Make a few changes at random places."""
    content = bytearray(data)
    for _ in range(chance.randrange(1, 8)):
        at = chance.randrange(len(content) + 1)
        match chance.randrange(5):
            case 0:
                content[at : at + 1] = chance.randbytes(1)
            case 1:
                content[at : at + chance.randrange(1, 9)] = b""
            case 2:
                content[at:at] = other[chance.randrange(len(other) + 1) :]
            case 3:
                content[at:at] = bytes(content[at : at + chance.randrange(1, 40)]) * chance.randrange(1, 4)
            case _:
                content[at:at] = chance.choice(
                    [b"\0", b"\xff\xff\xff\xff", b"\x1b[2J", b"[" * 300, "答é\u2028".encode()]
                )
    return bytes(content[:MOST_BYTES])


if __name__ == "__main__":
    main()
