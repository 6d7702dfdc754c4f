"""Reads what a run has on the disk."""

from collections import defaultdict
from pathlib import Path

from msgspec import Struct, json

from vqa_client.types import ANSWERED, PERMANENT, Status

FINAL = ANSWERED | PERMANENT


class Line(Struct, frozen=True):
    """The fields of a record that matter here."""

    question_id: str
    status: Status


_decode = json.Decoder(Line).decode


class Kept(Struct, frozen=True, kw_only=True):
    """The statuses of each question in the order of its records, and the number of whole lines."""

    statuses: dict[str, list[Status]]
    lines: int

    @property
    def done(self) -> set[str]:
        """The questions that need not be asked again."""
        return {name for name, statuses in self.statuses.items() if statuses[-1] in FINAL}


def kept_in(log: Path) -> Kept:
    """Read a log whose last line may be cut by a kill; raises if another line is not a record."""
    statuses: dict[str, list[Status]] = defaultdict(list)
    lines = log.read_bytes().split(b"\n")[:-1] if log.exists() else []
    for text in lines:
        line = _decode(text)
        statuses[line.question_id].append(line.status)
    return Kept(statuses=dict(statuses), lines=len(lines))
