"""The numbers of a run in progress, and the line that shows them."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from vqa_client.cli.text import duration
from vqa_client.progress import Progress
from vqa_client.types import Record

RATE_WINDOW_S = 10.0
_SUMS = ("total", "done", "in_flight", "tokens", "score_sum")


class LiveCounts(Progress):
    """Counts what the displays show; rates are over the last ten seconds."""

    def __init__(self) -> None:
        self._reset("", 0)

    def _reset(self, title: str, total: int) -> None:
        self.title = title
        self.total = total
        self.done = 0
        self.in_flight = 0
        self.tokens = 0
        self.paused_s = 0.0
        self.served = ""
        self.measure = ""
        self._measure = "accuracy"
        self.score_sum = 0.0
        self.faults: Counter[str] = Counter()
        self._marks: list[tuple[float, int, int]] = [(time.monotonic(), 0, 0)]
        self._earlier = 0

    def begin(self, title: str, total: int) -> None:
        self._reset(title, total)

    def measuring(self, measure: str) -> None:
        self._measure = "accuracy" if measure.startswith("accuracy") else measure

    def earlier(self, record: Record) -> None:
        self._count(record)
        self._earlier = self.done

    def asking(self) -> None:
        if not self.in_flight and self.done == self._earlier:  # the first question: saved answers were only read
            self._marks = [(time.monotonic(), self.done, self.tokens)]
        self.in_flight += 1

    def finished(self, record: Record) -> None:
        self.in_flight -= 1
        self.tokens += record.completion_tokens or 0
        self._count(record)

    def pulse(self, paused_s: float) -> None:
        self.paused_s = paused_s

    def end(self) -> None:
        self.paused_s = 0.0

    def serving(self, text: str) -> None:
        self.served = f"server: {text}"

    def numbers(self) -> dict[str, Any]:
        """What `sum_of` takes."""
        return {name: getattr(self, name) for name in ("title", "measure", *_SUMS, "paused_s")} | {
            "faults": self.faults,
            "earlier": self._earlier,
            "ended": False,
        }

    def sum_of(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """Show the numbers of several processes as one run's."""
        was_asking = self.in_flight or self.done > self._earlier
        for name in _SUMS:
            setattr(self, name, sum(part[name] for part in parts))
        self._earlier = sum(part["earlier"] for part in parts)
        self.measure = next((part["measure"] for part in parts if part["measure"]), "")
        self.faults = sum((Counter(part["faults"]) for part in parts), Counter())
        if not was_asking:
            self._marks = [(time.monotonic(), self._earlier, 0)]
        self.pulse(min(part["paused_s"] for part in parts))

    def _count(self, record: Record) -> None:
        self.done += 1
        if record.parts:  # where nobody knows the answers there is no accuracy
            self.measure = self._measure
        self.score_sum += record.score
        if record.status != "ok":
            self.faults[record.status] += 1

    def line(self) -> str:
        """Done and total, faults, questions per second, the time left, accuracy so far, tokens, in flight."""
        rate, tokens_rate = self._rates()
        parts = [f"{self.done:,}/{self.total:,}"]
        parts += [f"{number:,} {status}" for status, number in self.faults.most_common()]
        asks = self.in_flight or self.done > self._earlier
        if self.paused_s:
            parts.append(f"paused, {duration(self.paused_s)} left")
        elif asks:
            parts.append(f"{rate:.1f} q/s" if rate < 100 else f"{rate:.0f} q/s")
            if rate and self.total - self.done > rate:
                parts.append(f"{duration((self.total - self.done) / rate)} left")
        if self.measure:
            parts.append(f"{self.measure} {100 * self.score_sum / self.done:.1f} %")
        if tokens_rate:
            parts.append(f"{tokens_rate:.0f} tokens/s")
        if self.in_flight:
            parts.append(f"{self.in_flight} in flight")
        return " · ".join(parts)

    def _rates(self) -> tuple[float, float]:
        now_s = time.monotonic()
        if now_s - self._marks[-1][0] >= 1:
            self._marks.append((now_s, self.done, self.tokens))
        while len(self._marks) > 2 and now_s - self._marks[1][0] > RATE_WINDOW_S:
            self._marks.pop(0)
        since_s, done, tokens = self._marks[0]
        elapsed_s = max(now_s - since_s, 1e-3)
        return (self.done - done) / elapsed_s, (self.tokens - tokens) / elapsed_s
