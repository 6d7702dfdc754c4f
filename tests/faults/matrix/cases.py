"""The collected cases, in a file beside the repository that may be absent."""

from pathlib import Path
from typing import Any

from msgspec import Struct, json

FILE = Path(__file__).parents[4] / "shared" / "cases" / "cases.jsonl"


class Case(Struct, frozen=True, kw_only=True):
    """One way in which an evaluation goes wrong: `io` has pairs (or triples) of an input and its right result."""

    id: str
    area: str
    title: str
    whole_kind: str
    expected: str
    io: list[list[Any]] = []


def handed() -> list[Case]:
    """All cases in order; FileNotFoundError if the file is absent."""
    return [json.decode(line, type=Case) for line in FILE.read_bytes().split(b"\n") if line.strip()]
