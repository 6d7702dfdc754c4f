"""The fault server in its own process, for tests of commands and the soak."""

import json
import ssl
import subprocess
import sys
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).parents[2]
STOP_TIMEOUT_S, REPORT_TIMEOUT_S = 60.0, 60.0


class FaultProcess:
    """Runs `python -m tests.fakes`; `script` is text in the vocabulary, `options` are further arguments."""

    def __init__(self, script: str = "answer", *options: str) -> None:
        self._command = [sys.executable, "-m", "tests.fakes", "--script", script, *options]
        self._process: subprocess.Popen[str] | None = None
        self.base_url = self.origin = ""
        self.port = 0
        self.ca_file: str | None = None

    def start(self) -> Self:
        """Start, and wait until it serves; RuntimeError if it doesn't."""
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.stop()
            raise RuntimeError(f"the fault server doesn't start: {self._command}")
        for name, value in json.loads(line).items():
            setattr(self, name, value)
        return self

    def stop(self) -> None:
        """End it; a second call does nothing."""
        if self._process:
            self._process.terminate()
            self._process.communicate(timeout=STOP_TIMEOUT_S)
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def counts(self) -> dict[str, int]:
        """The server's counters."""
        counts: dict[str, int] = self._ask("/_fake/counts")
        return counts

    @property
    def violations(self) -> list[str]:
        """The rules that the client broke."""
        violations: list[str] = self._ask("/_fake/violations")
        return violations

    @property
    def requests(self) -> list[dict[str, Any]]:
        """All requests so far: the fields of `Received` but for bodies; prompts are cut at 2,000 characters."""
        requests: list[dict[str, Any]] = self._ask("/_fake/requests")
        return requests

    def _ask(self, path: str) -> Any:
        address = self.origin.rpartition("/")[2]
        connection = HTTPConnection(address, timeout=REPORT_TIMEOUT_S)
        if self.ca_file:
            context = ssl.create_default_context(cafile=self.ca_file)
            connection = HTTPSConnection(address, timeout=REPORT_TIMEOUT_S, context=context)
        try:
            connection.request("GET", path)
            return json.load(connection.getresponse())
        finally:
            connection.close()
