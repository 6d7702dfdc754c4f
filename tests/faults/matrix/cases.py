"""The handed cases: a file beside the repository, which may be absent; their ids stand there alone."""

from pathlib import Path
from typing import Any

from msgspec import Struct, json

FILE = Path(__file__).parents[4] / "shared" / "cases" / "cases.jsonl"


class Case(Struct, frozen=True, kw_only=True):
    """One way in which an evaluation goes wrong: `io` has pairs (or triples) of what is read and what is right."""

    id: str
    area: str
    title: str
    whole_kind: str
    expected: str
    io: list[list[Any]] = []


def handed() -> list[Case]:
    """All cases in their order; FileNotFoundError where the file is absent."""
    return [json.decode(line, type=Case) for line in FILE.read_bytes().split(b"\n") if line.strip()]
