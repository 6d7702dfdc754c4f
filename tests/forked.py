"""Runs commands in forks of a process that has imported the library, which saves a second of start-up for each.

`popen(arguments)` is `subprocess.Popen([sys.executable, "-W", "error", "-m", "vqa_client", *arguments])`, with its
options, and with `limits` on resources, by the constants of `resource`. It starts a new interpreter if the process gets
its own session, if the environment has variables that an interpreter reads at its start, and on systems that can't
watch a process.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import re
import runpy
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, Final

from tests.options_once import assemble_options_once

ROOT: Final = Path(__file__).parents[1]
READ_AT_START: Final = re.compile("PYTHON|LC_|LANG|TZ$|LD_|MALLOC|OPENSSL")
IMPORTED_LATE: Final = (
    *("PIL.Image", "PIL.JpegImagePlugin", "PIL.PngImagePlugin", "anyio._backends._asyncio", "httptools", "jinja2"),
    *("cyclopts.help", "rich.console", "rich.progress", "rich.table", "rich.traceback", "ssl", "uuid"),
)
BENCHMARKS: Final = ("chartqa", "ai2d", "mp-docvqa", "aokvqa")
"""One for each type of settings that several benchmarks share."""
MOST_BYTES: Final = 1 << 17
NUMBER_BYTES: Final = 4
Limits = Sequence[tuple[int, tuple[int, int]]]
"""Arguments of `resource.setrlimit`: a resource, with its soft and hard limit."""


def popen(arguments: Sequence[str], limits: Limits = (), **options: Any) -> subprocess.Popen[Any]:
    """Start `vqa-client` with these words; warnings are errors."""
    environment = options.get("env") or os.environ
    is_usual = hasattr(os, "pidfd_open") and _at_start(environment) == _at_start(os.environ)
    if is_usual and not options.keys() & {"start_new_session", "pass_fds"}:
        return Forked(arguments, limits, **options)
    before = {"preexec_fn": lambda: limit(limits)} if limits else {}
    return subprocess.Popen([sys.executable, "-W", "error", "-m", "vqa_client", *arguments], **before, **options)


def run(arguments: Sequence[str], *, timeout: float = 300, **options: Any) -> "subprocess.CompletedProcess[Any]":
    """Run `vqa-client` to its end and return its output."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with popen(arguments, **pipes | options) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        finally:
            process.kill()
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def limit(limits: Limits) -> None:
    """Set the limits of this process."""
    import resource  # not on every system

    for kind, most in limits:
        resource.setrlimit(kind, tuple(most))


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if READ_AT_START.match(name)}


class Forked(subprocess.Popen[Any]):
    """A command in a fork of another process, which sends the command's process id and, at its end, its status."""

    def __init__(self, arguments: Sequence[str], limits: Limits, **options: Any) -> None:
        self._limits = limits
        super().__init__(arguments, **options)

    def _execute_child(self, args: Any, *given: Any) -> None:
        cwd, env, pipes = given[4], given[5], given[9:15]
        standard = [number if end == -1 else end for number, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        self._status, sent = os.pipe()
        order = {"words": list(map(str, args)), "env": dict(env or os.environ), "cwd": str(cwd or Path.cwd())}
        order["limits"] = self._limits
        socket.send_fds(_server(), [json.dumps(order).encode()], [*standard, sent])
        os.close(sent)
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]
        self.pid = self._number()
        self._child_created = True

    def _number(self) -> int:
        return int.from_bytes(os.read(self._status, NUMBER_BYTES), sys.byteorder)

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if not select.select([self._status], [], [], 0 if flags else None)[0]:
            return 0, 0
        status = self._number()
        os.close(self._status)
        return self.pid, status

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(False):  # type: ignore[attr-defined]
            try:
                if self.returncode is None and (ended := self._try_wait(os.WNOHANG))[0]:
                    self._handle_exitstatus(ended[1])  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


@cache
def _server() -> socket.socket:
    """The connection to the process that forks; that process ends with this one."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-W", "error", "-m", "tests.forked", str(theirs.fileno())]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], **quiet)  # type: ignore[call-overload]
    theirs.close()
    atexit.register(lambda: (ours.close(), process.wait()))
    return ours


def forked(connection: socket.socket) -> None:
    """Fork for each order; returns only in the fork, which then runs the command."""
    running: dict[int, tuple[int, int]] = {}
    while True:
        for ready in select.select([connection, *running], [], [])[0]:
            if ready is not connection:
                pid, status = running.pop(ready)
                with suppress(OSError):  # its parent has ended
                    os.write(status, os.waitpid(pid, 0)[1].to_bytes(NUMBER_BYTES, sys.byteorder))
                os.close(status)
                os.close(ready)
                continue
            order, descriptors, *_ = socket.recv_fds(connection, MOST_BYTES, 4)
            if not order:
                sys.exit()
            if not (pid := os.fork()):
                connection.detach()
                return become(json.loads(order), descriptors[:3])
            for each in descriptors[:3]:
                os.close(each)
            os.write(descriptors[3], pid.to_bytes(NUMBER_BYTES, sys.byteorder))
            running[os.pidfd_open(pid)] = pid, descriptors[3]


def become(order: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Take over the working folder, environment, standard streams and limits of the command."""
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for wanted, given in enumerate(descriptors):
        os.dup2(given, wanted)
    os.closerange(3, max(descriptors) + 1024)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        was = getattr(sys, name)
        buffering = 1 if number == 2 or os.isatty(number) else -1
        mode = "w" if number else "r"
        stream = open(number, mode, buffering, was.encoding, was.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    limit(order["limits"])
    sys.argv = ["", *order["words"]]


def prepare() -> None:
    """Load and compile in advance what a command's first options, page, picture and reply need."""
    from PIL import Image

    from vqa_client.cli.commands import COMMANDS
    from vqa_client.cli.main import run_command
    from vqa_client.html.page import environment
    from vqa_client.scoring.readings import choice
    from vqa_client.scoring.reply import reply_from
    from vqa_client.types import Completion, Question

    for template in environment().list_templates(extensions=["j2"]):
        environment().get_template(template)
    asked = Question(id="", text="?", choices={"A": "red", "B": "green", "C": "blue", "D": "yellow"})
    for text in ("B", "The answer is (B).", "I think that it is green, not red."):
        choice(reply_from(Completion(text=text)), asked)
    Image.init()
    for words in [*map(str.split, COMMANDS), *(["run", name] for name in BENCHMARKS)]:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            run_command([*words, "--no_such_option"])


def run_to_end() -> None:
    """Run the command and end like an interpreter, but without clearing modules, which would copy all memory."""
    code: Any = 0
    try:
        runpy.run_module("vqa_client", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code or 0
        if not isinstance(code, int):
            raise
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()  # files left open give warnings
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)
    os._exit(code)


if __name__ == "__main__":
    import vqa_client

    for module in pkgutil.walk_packages(vqa_client.__path__, "vqa_client."):
        if not module.name.startswith(("vqa_client.__main__", "vqa_client.metrics")):  # run later; for other programs
            importlib.import_module(module.name)
    for late in IMPORTED_LATE:
        importlib.import_module(late)
    assemble_options_once()
    prepare()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as orders:
        forked(orders)
    run_to_end()
