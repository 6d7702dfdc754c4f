"""What an evaluator must have to be a client of the benchmark."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.clients.longbench import Item

HERE = Path(__file__).parent
REPOSITORY = HERE.parent.parent.parent
REQUIREMENTS = HERE / "requirements"
TASKS = HERE / "tasks"
WATCH = HERE / "watch"
"""The folder of sitecustomize.py, which measures a process's loop stall; Python imports it from the path."""


def home() -> Path:
    """The folder of all environments: VQA_CLIENT_PEERS, or one in the user's cache."""
    return Path(os.environ.get("VQA_CLIENT_PEERS") or Path.home() / ".cache" / "vqa-client" / "peers")


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """The questions of one run; the evaluator writes only to `folder`, which is empty."""

    items: Sequence[Item]
    folder: Path
    base_url: str
    workers: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Peer:
    """An evaluator: `prepare` writes the questions in its form and returns the command; only the command is measured.

    `questions` says how many of a workload's questions it is asked in a round, since the slow ones would take minutes;
    `most_images` is how many images its form of a question holds, None for as many as there are.
    """

    name: str
    prepare: Callable[[Asked], list[str]]
    questions: Mapping[str, int]
    most_images: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Its environment."""
        return home() / self.name

    @property
    def requirements(self) -> Path:
        """The exact version of everything in it."""
        return REQUIREMENTS / f"{self.name}.txt"

    @property
    def installed(self) -> bool:
        """Whether the environment is complete and has the present requirements."""
        made_from = self.folder / "made_from.txt"
        return made_from.is_file() and made_from.read_bytes() == self.requirements.read_bytes()

    @property
    def version(self) -> str:
        """The pinned version."""
        pins = self.requirements.read_text(encoding="utf-8").replace("_", "-").splitlines()
        return next(pin.partition("==")[2] for pin in pins if pin.startswith(f"{self.name}=="))

    def program(self, name: str) -> str:
        """The path of a command in its environment."""
        return str(self.folder / "bin" / name)
