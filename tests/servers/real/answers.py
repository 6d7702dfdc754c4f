"""The tiny model's answers without a server."""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import pytest

from tests.servers.real.environments import missing, python
from tests.servers.real.serving import OFFLINE, SHIMS, checkpoint


class Offline:
    """Answers prompts by transformers in vLLM's environment, from the first prompt on; errors go to `log`."""

    def __init__(self, log: IO[bytes]) -> None:
        self._log = log
        self._known: dict[str, str] = {}
        self._model: subprocess.Popen[str] | None = None

    def answers(self, asked: Sequence[tuple[str, Sequence[Path]]]) -> list[str]:
        """The model's greedy replies to prompts about pictures; the test is skipped without the environment."""
        keys = [json.dumps({"prompt": prompt, "images": [*map(str, pictures)]}) for prompt, pictures in asked]
        if new := [key for key in dict.fromkeys(keys) if key not in self._known]:
            self._known.update(zip(new, self._ask(new), strict=True))
        return [self._known[key] for key in keys]

    def _ask(self, asked: Sequence[str]) -> list[str]:
        model = self._model = self._model or _start(self._log)
        assert model.stdin
        assert model.stdout
        model.stdin.write(f"[{', '.join(asked)}]\n")
        model.stdin.flush()
        line = model.stdout.readline()
        assert line, self._end_of_log()
        replies: list[str] = json.loads(line)
        return replies

    def _end_of_log(self) -> str:
        """The last output of the process."""
        self._log.seek(0)
        return self._log.read()[-2000:].decode("utf-8", "replace")

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._model is not None:
            with self._model as model:
                model.kill()


def _start(log: IO[bytes]) -> subprocess.Popen[str]:
    if reason := missing("vllm"):
        pytest.skip(f"no offline answers: {reason}")
    return subprocess.Popen(
        [str(python("vllm")), str(Path(__file__).with_name("offline.py")), str(checkpoint())],
        env={**os.environ, **OFFLINE, "PYTHONPATH": str(SHIMS / "vllm")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )


@contextmanager
def offline_model() -> Iterator[Offline]:
    """The model, as long as the block runs."""
    with TemporaryFile() as log:
        model = Offline(log)
        try:
            yield model
        finally:
            model.stop()
