"""Runs the work of other processes in threads, because starting processes takes seconds and has its own tests."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class InThreads(ThreadPoolExecutor):
    """Replaces `vqa_client.parallel.Processes`."""

    def __init__(self, work: Callable[[Any], Any], workers: int) -> None:
        super().__init__(workers)
        self.work = work

    def submit(self, job: Any) -> Any:  # type: ignore[override]
        return super().submit(self.work, job)

    def close(self) -> None:
        self.shutdown()
