"""The environments of real servers and of Ray, each made once for its pinned versions.

`python -m tests.servers.real.environments` makes the missing ones below $VQA_CLIENT_SERVERS or
~/.cache/vqa-client/servers. If it can't make one, it prints the reason and still exits with 0.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, get_args

Kind = Literal["mlx-vlm", "vllm", "ray"]
KINDS: tuple[Kind, ...] = get_args(Kind)
HOME = Path(os.environ.get("VQA_CLIENT_SERVERS") or Path.home() / ".cache" / "vqa-client" / "servers").absolute()
FREE_BYTES: dict[Kind, int] = {"mlx-vlm": 1 << 30, "vllm": 5 << 30, "ray": 1 << 30}
"""The free space that a new environment needs, including its downloads."""
IMPORTED: dict[Kind, str] = {"mlx-vlm": "mlx.core, mlx_vlm.server", "vllm": "torch, vllm, transformers", "ray": "ray"}
TORCH_FOR_CPU = "https://download.pytorch.org/whl/cpu"
"""The index with torch for CPUs, if the registry doesn't have it."""
MADE, REASON = "made", "reason"


def requirements(kind: Kind) -> Path:
    """The file of pinned versions."""
    return Path(__file__).with_name(f"{kind}.txt")


def folder(kind: Kind) -> Path:
    """The folder of the environment for these pinned versions and this Python, also if it isn't made yet."""
    pins = re.sub(r"\s*#.*", "", requirements(kind).read_text("utf-8"))
    version = "".join(map(str, sys.version_info[:2]))
    return HOME / f"{kind}-py{version}-{hashlib.sha256(pins.encode()).hexdigest()[:12]}"


def python(kind: Kind) -> Path:
    """The environment's interpreter; its programs are in the same folder."""
    return folder(kind) / "bin" / "python"


def missing(kind: Kind) -> str | None:
    """The reason why the environment can't be used, or None."""
    where = folder(kind)
    if (where / MADE).exists():
        return None
    reason = where / REASON
    return f"no {kind}: " + (
        reason.read_text("utf-8") if reason.exists() else "its environment is missing; .ci/servers makes it"
    )


def make(kind: Kind) -> str | None:
    """Make the environment if it is missing; returns the reason of a failure, or None."""
    where = folder(kind)
    if (where / MADE).exists():
        return None
    shutil.rmtree(where, ignore_errors=True)
    if reason := _install(kind, where):
        shutil.rmtree(where, ignore_errors=True)
    where.mkdir(exist_ok=True)
    (where / (REASON if reason else MADE)).write_text(reason or "", "utf-8")
    return reason


def _install(kind: Kind, where: Path) -> str | None:
    free_bytes = shutil.disk_usage(HOME).free
    if free_bytes < FREE_BYTES[kind]:
        return f"{free_bytes >> 20} MiB are free at {HOME}, it takes {FREE_BYTES[kind] >> 20}"
    own = str(where / "bin" / "python")
    pip = [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir", "--retries", "1"]
    install = [*pip, "--no-deps", "--only-binary", ":all:", "-r", str(requirements(kind))]
    return (
        _failure_of([sys.executable, "-m", "venv", str(where)])
        or (_failure_of(install) and _failure_of([*install, "--extra-index-url", TORCH_FOR_CPU]))
        or _failure_of([own, "-c", f"import {IMPORTED[kind]}"])
    )


def _failure_of(command: list[str]) -> str | None:
    """Run a command; returns its last error line, else its last line, if it failed, and None if it succeeded."""
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode == 0:
        return None
    lines = [line.strip() for line in (ended.stdout + ended.stderr).splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or [f"{command[0]} ended with exit status {ended.returncode}"])[-1]


@contextmanager
def locked(what: str) -> Iterator[None]:
    """Hold a lock of this machine while the block runs; the lock of a process that ended is free."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / f"{what}.lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Make all environments and print the results."""
    for kind in KINDS:
        started_s = time.monotonic()
        try:
            with locked("making"):
                reason = make(kind)
        except OSError as error:
            reason = f"{HOME}: {error.strerror}"
        result = f"can't be made: {reason}" if reason else f"{folder(kind)} ({time.monotonic() - started_s:.0f} s)"
        print(f"{kind}: {result}", flush=True)


if __name__ == "__main__":
    main()
