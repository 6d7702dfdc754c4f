"""A shard of a run: its plan, and its files as they grow in a folder of their own."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace as with_settings
from itertools import islice
from pathlib import Path
from typing import IO, Any

from msgspec.structs import replace

from vqa_client.reports.log_reader import LOG_ENDING
from vqa_client.reports.run import Pairs, Run
from vqa_client.reports.summary import Summary, summarise
from vqa_client.runs.plan import Plan, per_plan
from vqa_client.settings.divided import Shard
from vqa_client.settings.run import RunSettings, given_output, names_report, output_option
from vqa_client.types import Question


@per_plan
def take_part(plan: Plan, settings: RunSettings) -> Plan:
    """The plan with the shard's questions only; each may be asked in several forms later.

    They are neighbours in the data, so that a shard reads only its part of a Parquet file or tar. Questions about one
    document or image are in one shard, so that a server which has the document in its cache gets all of them.
    """
    assert settings.part is not None
    start, stop = _bounds(plan.loaded.questions, plan.loaded.count, settings.part)
    return plan.asking(lambda questions: islice(questions, start, stop), stop - start)


@per_plan
def name_files(plan: Plan, settings: RunSettings) -> Plan:
    """The plan of a shard with its own files; the report is written when all shards are merged."""
    shard = settings.part
    assert shard is not None
    words = " · ".join(filter(None, (plan.shown, f"shard {shard}")))
    described = {**plan.described, "shard": list(shard)}
    return replace(plan, paths=plan.paths.shard(*shard), shown=words, write=_only_summed, described=described)


def _bounds(questions: Iterable[Question], count: int, shard: Shard) -> tuple[int, int]:
    """The first questions of this shard and of the next; a group of questions is in the shard in which it begins."""
    start, group = count, ""
    for place, question in enumerate(questions):
        of = question.cluster or (question.images[0] if question.images else question.id)
        if of == group:
            continue
        group = of
        if place * shard.of >= shard.number * count:
            return min(start, place), place
        if start == count and place * shard.of >= (shard.number - 1) * count:
            start = place
    return start, count


def _only_summed(path: Path, run: Run, pairs: Pairs) -> Summary:
    return summarise(record for _, record in pairs())


PREFIX = "vqa-client-shard-"
PIECE_BYTES = 1 << 20
"""The most that is read of a log at once."""


def with_output(settings: RunSettings, folder: Path) -> RunSettings:
    """The settings with another --output, which may name the report."""
    output = given_output(settings)
    moved: dict[str, Any] = {output_option(settings): folder / output.name if names_report(output) else folder}
    return with_settings(settings, **moved)


def write_file(path: Path, content: bytes) -> None:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


class Growing(ExitStack):
    """Gives what is new in a shard's files below a folder, after `kept`; names are relative to the folder."""

    def __init__(self, folder: Path, shard: Shard, kept: Mapping[str, bytes]) -> None:
        super().__init__()
        self._folder, self._files = folder, dict(kept)
        self._mark = f".shard-{shard.number}-of-{shard.of}"
        self._logs: dict[str, IO[bytes]] = {}
        for name, content in kept.items():
            write_file(folder / name, content)
            if name.endswith(LOG_ENDING):
                self._logs[name] = self.enter_context((folder / name).open("rb"))
                self._logs[name].seek(len(content))

    def run_files(self) -> dict[str, bytes]:
        """Run files that have changed; they have to be kept before their logs."""
        changed = {}
        for path in self._paths(".run.json"):
            name = str(path.relative_to(self._folder))
            with suppress(FileNotFoundError):
                content = path.read_bytes()
                if self._files.get(name) != content:
                    self._files[name] = changed[name] = content
        return changed

    def lines(self) -> dict[str, bytes]:
        """The next whole lines of each log, at most a piece; a log that was rewritten is read again from its beginning.

        The last line of a question counts.
        """
        new = {}
        for path in self._paths(LOG_ENDING):
            name = str(path.relative_to(self._folder))
            if name.replace(LOG_ENDING, ".run.json") not in self._files:
                continue
            with suppress(FileNotFoundError):
                log = self._logs.get(name)
                if log is None or not os.path.samestat(os.fstat(log.fileno()), path.stat()):
                    log = self._logs[name] = self.enter_context(path.open("rb"))
                piece = log.read(PIECE_BYTES) + log.readline()
                whole = piece.rfind(b"\n") + 1
                log.seek(whole - len(piece), os.SEEK_CUR)
                if whole:
                    new[name] = piece[:whole]
        return new

    def whole(self) -> dict[str, bytes]:
        """All files of the shard."""
        paths = [*self._paths(".run.json"), *self._paths(LOG_ENDING)]
        return {str(path.relative_to(self._folder)): path.read_bytes() for path in paths}

    def _paths(self, ending: str) -> Iterator[Path]:
        return self._folder.rglob(f"*{self._mark}{ending}")
