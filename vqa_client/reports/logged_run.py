"""A run as its record log and run file describe it: finished or still running, written by any version."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.aggregates import Totals
from vqa_client.errors import UNDECODABLE, DataError, forbidden
from vqa_client.files import checked_nesting
from vqa_client.log_lines import check_run
from vqa_client.reports.log_reader import LOG_ENDING, LogReader, run_file_of
from vqa_client.reports.summary import description_of
from vqa_client.task import Description

CLEAN, SEEN, BLIND = "clean", "seen", "blind"
"""Variants; the headline figures are of one of the first two if a run has it."""


def headline_of(variants: Sequence[str]) -> str | None:
    """Choose the variant of the headline figures from all variants in natural order; None for fewer than two.

    Figures of several variants are never pooled: a mean over all levels of noise can't be quoted.
    """
    if len(variants) < 2:
        return None
    return next((name for name in (CLEAN, SEEN) if name in variants), variants[0])


def variant_words(variant: str) -> str:
    """A variant's name for people."""
    return "clean images" if variant == CLEAN else f"variant {variant}" if variant else "the unchanged variant"


class RunFacts(Struct, frozen=True, kw_only=True):
    """The contents of `*.run.json`; all are optional, since a log may be without one."""

    identity: dict[str, Any] = {}
    scoring: dict[str, Any] = {}
    described: dict[str, Any] = {}
    sessions: list[dict[str, Any]] = []

    @property
    def description(self) -> Description:
        """What the run's figures mean."""
        return description_of(self.identity, self.scoring, self.described)

    @property
    def totals(self) -> Totals:
        """The totals of the report; empty until it is written."""
        try:
            return msgspec.convert(self.described.get("totals", {}), Totals)
        except msgspec.ValidationError:
            return {}

    @property
    def settings(self) -> dict[str, Any]:
        """The settings as given."""
        return _mapping(self.described.get("settings"))

    def total(self, name: str) -> float:
        """The sum of a figure over all starts that have it."""
        return sum(float(start[name]) for start in self.sessions if isinstance(start.get(name), int | float))

    @property
    def model_settings(self) -> dict[str, Any]:
        """The model's settings, as sent."""
        return _mapping(self.identity.get("model"))

    @property
    def model(self) -> str:
        """The model's name, "" if unknown."""
        return str(self.model_settings.get("model_name") or "")

    @property
    def started(self) -> str:
        """The first start, "" if unknown: 2026-11-30 09:15:00+00:00."""
        return str(self.sessions[0].get("started", "")).replace("T", " ") if self.sessions else ""

    @property
    def expected(self) -> int | None:
        """How many records a complete run has, None if unknown."""
        expected = self.described.get("expected")
        return expected if isinstance(expected, int) else None


class LoggedRun(Struct, frozen=True, kw_only=True):
    """One run: its log, the facts in its run file, and the log's records as they were at one moment."""

    log: Path
    facts: RunFacts
    records: LogReader

    @property
    def stem(self) -> str:
        """The beginning of the names of all its files."""
        return self.log.name.removesuffix(LOG_ENDING)

    @property
    def task(self) -> str:
        """The benchmark, "" if unknown."""
        return str(self.facts.identity.get("task") or "")

    @property
    def folder(self) -> str:
        """The page folder, or another part of the data, that was asked about."""
        return str(self.facts.identity.get("variant") or "")

    @property
    def headline(self) -> str | None:
        """The variant of the headline figures; None if the log has only one."""
        return headline_of(self.records.variants)

    @property
    def of_words(self) -> str:
        """The variant of the headline figures in words, "" if the run has only one form."""
        variants = self.records.variants
        variant = self.headline if self.headline is not None else "".join(variants)
        if not variants or (self.headline is None and not self._is_robustness):
            return ""
        missing = ", no clean images" if self._is_robustness and CLEAN not in variants else ""
        return variant_words(variant) + missing

    @property
    def title(self) -> str:
        """The run's name for readers; with several variants, it names that of the headline figures."""
        if self._is_robustness:
            return " · ".join(filter(None, (f"robustness run of {self.task or self.stem}", self.of_words)))
        name = f"{self.task} {self.folder}".strip() or self.stem
        return " · ".join(filter(None, (name, self.of_words)))

    @property
    def _is_robustness(self) -> bool:
        """Whether images were corrupted; without a run file, the variants show it."""
        variants = self.records.variants
        return "corruption_seed" in self.facts.identity or (CLEAN in variants and any("/" in name for name in variants))


def read_run(log: Path) -> LoggedRun:
    """Read a run; raises DataError for a file that can't be read, IdentityError for a log of another run."""
    facts, records = _read_facts(log), LogReader(log)
    check_run(log, records.run, facts.identity)
    return LoggedRun(log=log, facts=facts, records=records)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_facts(log: Path) -> RunFacts:
    path = run_file_of(log)
    try:
        return msgspec.convert(checked_nesting(msgspec.json.decode(path.read_bytes())), RunFacts)
    except FileNotFoundError:
        return RunFacts()
    except PermissionError as error:
        raise forbidden(error) from None
    except (OSError, *UNDECODABLE) as error:
        raise DataError(f"{path} is not a run file: {error}", hint="move it away: a log can be read alone") from None
