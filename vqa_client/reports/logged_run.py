"""A run as its record log and its run file tell it, whoever wrote them and whether or not it still goes on."""

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

CLEAN, SEEN = "clean", "seen"
"""The variants that headline figures are of wherever a run has them."""


def headline_of(variants: Sequence[str]) -> str | None:
    """Choose the variant that headline figures are of, given all in natural order; None where there is no choice.

    Figures of several variants are never pooled: noise of every level taken together says nothing that can be quoted.
    """
    if len(variants) < 2:
        return None
    return next((name for name in (CLEAN, SEEN) if name in variants), variants[0])


def variant_words(variant: str) -> str:
    """Name a variant as people write it."""
    return "clean images" if variant == CLEAN else f"variant {variant}" if variant else "the unchanged variant"


class RunFacts(Struct, frozen=True, kw_only=True):
    """What `*.run.json` holds, all of it optional: a log may lie alone."""

    identity: dict[str, Any] = {}
    scoring: dict[str, Any] = {}
    described: dict[str, Any] = {}
    sessions: list[dict[str, Any]] = []

    @property
    def description(self) -> Description:
        return description_of(self.identity, self.scoring, self.described)

    @property
    def totals(self) -> Totals:
        """The totals as the report has them; empty until it is written."""
        try:
            return msgspec.convert(self.described.get("totals", {}), Totals)
        except msgspec.ValidationError:
            return {}

    @property
    def settings(self) -> dict[str, Any]:
        """The settings as they were given."""
        return _mapping(self.described.get("settings"))

    def total(self, name: str) -> float:
        """Add a figure up over all starts; 0 where none has it."""
        return sum(self.of_starts(name))

    def of_starts(self, name: str) -> list[float]:
        """Each start's value of a figure, without those that don't have it."""
        return [float(start[name]) for start in self.sessions if isinstance(start.get(name), int | float)]

    @property
    def model_settings(self) -> dict[str, Any]:
        """What was asked of the model, as it was sent."""
        return _mapping(self.identity.get("model"))

    @property
    def model(self) -> str:
        """The model's name, "" where nothing says."""
        return str(self.model_settings.get("model_name") or "")

    @property
    def expected(self) -> int | None:
        """How many records a complete run has, where the run file says."""
        expected = self.described.get("expected")
        return expected if isinstance(expected, int) else None


class LoggedRun(Struct, frozen=True, kw_only=True):
    """One run: its log, what is known of it, and the log's records as they were at one moment."""

    log: Path
    facts: RunFacts
    records: LogReader

    @property
    def stem(self) -> str:
        """The name that all files of the run begin with."""
        return self.log.name.removesuffix(LOG_ENDING)

    @property
    def task(self) -> str:
        """The benchmark, "" where nothing says."""
        return str(self.facts.identity.get("task") or "")

    @property
    def folder(self) -> str:
        """The page folder, or another part of the data, that the run is of."""
        return str(self.facts.identity.get("variant") or "")

    @property
    def headline(self) -> str | None:
        """The variant that headline figures are of; None where the log has no two."""
        return headline_of(self.records.variants)

    @property
    def of_words(self) -> str:
        """Of which variant headline figures are, "" where the run has but one form."""
        variants = self.records.variants
        variant = self.headline if self.headline is not None else "".join(variants)
        if not variants or (self.headline is None and not self._is_robustness):
            return ""
        missing = ", no clean images" if self._is_robustness and CLEAN not in variants else ""
        return variant_words(variant) + missing

    @property
    def title(self) -> str:
        """What a reader calls it; of several variants, the one that its figures are of."""
        if self._is_robustness:
            return " · ".join(filter(None, (f"robustness run of {self.task or self.stem}", self.of_words)))
        named = f"{self.task} {self.folder}".strip() or self.stem
        return " · ".join(filter(None, (named, self.of_words)))

    @property
    def _is_robustness(self) -> bool:
        """Whether images were corrupted; a log that lies alone shows it by its variants."""
        variants = self.records.variants
        return "corruption_seed" in self.facts.identity or (CLEAN in variants and any("/" in name for name in variants))

    def beside(self, ending: str, folder: Path | None = None) -> Path:
        """Name a file of this run, beside the log or in another folder."""
        return (folder or self.log.parent) / f"{self.stem}{ending}"


def read_run(log: Path) -> LoggedRun:
    """Read what there is; raises DataError for what can't be read, IdentityError for a log of another run."""
    facts, records = _facts(log), LogReader(log)
    check_run(log, records.run, facts.identity)
    return LoggedRun(log=log, facts=facts, records=records)


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _facts(log: Path) -> RunFacts:
    path = run_file_of(log)
    try:
        return msgspec.convert(checked_nesting(msgspec.json.decode(path.read_bytes())), RunFacts)
    except FileNotFoundError:
        return RunFacts()
    except PermissionError as error:
        raise forbidden(error) from None
    except (OSError, *UNDECODABLE) as error:
        raise DataError(f"{path} is not a run file: {error}", hint="move it away: a log can be read alone") from None
