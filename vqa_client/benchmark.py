"""What a benchmark declares: everything that the author of one imports.

A benchmark is a file that assigns BENCHMARK, or defines `benchmark(options)` where it has options of its own; the first
line of its docstring is its title. Command, settings, resume, reports, page and comparison follow from the declaration.
"""

from collections.abc import Callable, Iterable
from typing import Final, Literal

from msgspec import Struct

from vqa_client.aggregates import ALL_RIGHT, MEAN, Aggregate, Combined, Over, Scored, Sums, mean_over, only
from vqa_client.scoring.readings import Parse, Read, pope_yes, short_answer, verbatim, whole_reply, yes_no, yorn
from vqa_client.scoring.reply import reply_from
from vqa_client.scoring.short_answers import best_of, relaxed, relaxed_published
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.tables.forms import Beside, Form, Home, LeftOut, Picture, Place, tables
from vqa_client.task import Breakdown, Description, Loaded, Part, Source, Task
from vqa_client.template import choices_text, fill
from vqa_client.types import Answer, Completion, Question, Record, Score

__all__ = [
    "ALL_RIGHT",
    "ASKS",
    "MEAN",
    "READS",
    "Answer",
    "Benchmark",
    "BenchmarkSettings",
    "Beside",
    "Breakdown",
    "Combined",
    "Form",
    "Home",
    "LeftOut",
    "Loaded",
    "Metric",
    "Over",
    "Part",
    "Picture",
    "Place",
    "Question",
    "Record",
    "Scored",
    "Source",
    "Sums",
    "Total",
    "best_of",
    "mean_over",
    "only",
    "pope_yes",
    "relaxed",
    "relaxed_published",
    "short_answer",
    "tables",
    "verbatim",
    "whole_reply",
    "yes_no",
    "yorn",
]


class _Marker(Struct, frozen=True):
    """What a benchmark's own option decides, as a mark in its annotation."""

    decides: Literal["asks", "reads"]


ASKS: Final = _Marker("asks")
"""Marks an option that decides what is asked: records made with another value belong to another run."""
READS: Final = _Marker("reads")
"""Marks an option that decides how replies are read: with another value, kept replies are scored again."""


class Metric(Struct, frozen=True):
    """A score of one question in [0, 1]; None where it doesn't count.

    `of` scores an answer: the one that `parse` gave, or what `read`, a published reader, finds in the reply as it came.
    Without an answer the score is 0. `when` says which questions it is for. `says` explains it wherever its name is
    shown; `normalise` is shown beside an answer when a reading is explained.
    """

    name: str
    of: Callable[[str, Question], float | None]
    says: str = ""
    read: Read | None = None
    when: Callable[[Question], bool] | None = None
    normalise: Callable[[str], str] | None = None

    def answer(self, record: Record, question: Question) -> str | None:
        """The answer of a record as this metric reads it; None for a failed question."""
        if self.read is None or record.output is None:
            return record.answer
        return self.read(record.output, question)

    def score(self, answer: str | None, question: Question) -> float | None:
        """The score of an answer, None where the metric doesn't count."""
        if self.when is not None and not self.when(question):
            return None
        return 0.0 if answer is None else self.of(answer, question)


class Total(Struct, frozen=True):
    """A figure of the whole run under each metric, or under those that `on` names; up to `most`."""

    name: str
    value: Aggregate
    says: str = ""
    on: tuple[str, ...] = ()
    most: float = 1.0


def first_reference(question: Question) -> str:
    """The first of a question's references."""
    return question.references[0]


Load = Callable[[Source], Iterable[Part]]


class Benchmark(Struct, frozen=True, kw_only=True):
    """One benchmark.

    `load` gives its questions, `parse` takes a reply, which is read once for all benchmarks, to an answer. The headline
    is the first metric unless `headline` names another. The first breakdown is what robustness calls a question's type.
    `ideal_reply` is what a model that is always right would say, for `vqa-client selftest`. `unit` names what several
    questions share. `version` changes when `parse` or a metric does, so that kept replies are scored again.
    """

    name: str
    load: Load
    parse: Parse
    metrics: tuple[Metric, ...]
    headline: str = ""
    totals: tuple[Total, ...] = ()
    breakdowns: tuple[Breakdown | str, ...] = ()
    prompt: str = "{question}"
    ideal_reply: Callable[[Question], str] = first_reference
    unit: str = "image"
    version: str = "1"

    @property
    def headline_name(self) -> str:
        """The metric that a score's value is of."""
        return self.headline or self.metrics[0].name

    def description(self) -> Description:
        """What reports, pages and comparisons show of the declaration."""
        breakdowns = [Breakdown(each) if isinstance(each, str) else each for each in self.breakdowns]
        return Description(
            headline=self.headline_name,
            metrics={metric.name: metric.says for metric in self.metrics},
            totals={total.name: total.says for total in self.totals},
            breakdowns=tuple(breakdowns),
            unit=self.unit,
        )

    def task(self, prompt_template: str | None = None, scoring: dict[str, str] | None = None) -> Task:
        """The functions that the engine calls; raises UsageError for an unknown placeholder in the template."""
        chosen = prompt_template or self.prompt
        headline = self.headline_name

        def prompt(question: Question) -> str:
            return fill(chosen, question=question.text, choices=choices_text(question.choices))

        def parse(completion: Completion, question: Question) -> Answer:
            reply = reply_from(completion)
            return reply.without_answer() if reply.status else self.parse(reply, question)

        def score(answer: Answer, completion: Completion, question: Question) -> Score:
            parts: dict[str, float] = {}
            for metric in self.metrics:
                said = answer.text if metric.read is None else metric.read(completion.text, question)
                value = metric.score(said, question)
                if value is not None:
                    parts[metric.name] = value
            return Score(value=parts.get(headline, 0.0), parts=parts)

        return Task(
            name=self.name,
            prompt=prompt,
            parse=parse,
            score=score,
            scoring={"benchmark": self.name, "version": self.version, **(scoring or {})},
            headline=headline,
        )
