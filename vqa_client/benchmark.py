"""The declaration of a benchmark: everything that its author imports.

A benchmark is a file that assigns BENCHMARK, or, for options of its own, defines `benchmark(options)`. The first line
of its docstring is its title. Command, settings, resume, reports, page and comparison follow from the declaration.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from vqa_client.aggregates import ALL_RIGHT, MEAN, Aggregate, Combined, Over, Scored, Sums, mean_over, only, only_in
from vqa_client.errors import UsageError
from vqa_client.own_code import check_fields, checked_answer, place_of, shown
from vqa_client.prompt import Prompt, Shots, numbered, template_for
from vqa_client.reports.report import Report
from vqa_client.reports.run import Write
from vqa_client.scoring.choices.modes import LETTER_ALONE, MEANINGS, SCORING_VERSION, parse_with, score_with
from vqa_client.scoring.published.yes_no_readers import pope_yes, yorn
from vqa_client.scoring.readings import Parse, choice, choice_or_short, short_answer, verbatim, whole_reply, yes_no
from vqa_client.scoring.reply import READING_VERSION, Reply
from vqa_client.scoring.short_answers import best_of, equal, relaxed, relaxed_published
from vqa_client.settings.declared import (
    ASKS,
    READS,
    BenchmarkSettings,
    ChoicePageSettings,
    ChoiceSettings,
    PageSettings,
)
from vqa_client.tables.forms import Beside, ColumnNames, Columns, Form, Home, Join, LeftOut, Picture, Place
from vqa_client.tables.loading import Tables, tables
from vqa_client.task import Breakdown, Description, Loaded, Pages, Part, Source, Task
from vqa_client.types import Answer, ChoiceMode, Choosing, Content, Note, Question, Record, Score

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
    "ChoicePageSettings",
    "ChoiceSettings",
    "ColumnNames",
    "Columns",
    "Combined",
    "Content",
    "Form",
    "Home",
    "Join",
    "Judge",
    "LeftOut",
    "Loaded",
    "Metric",
    "Over",
    "PageSettings",
    "Pages",
    "Parse",
    "Part",
    "Picture",
    "Place",
    "Prompt",
    "Question",
    "Record",
    "Replay",
    "Scored",
    "Shots",
    "Source",
    "Submission",
    "Sums",
    "Total",
    "best_of",
    "choice",
    "choice_or_short",
    "equal",
    "mean_over",
    "numbered",
    "only",
    "only_in",
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


NO_OPTIONS: Final[Mapping[str, Any]] = MappingProxyType({})


class Replay(Struct, frozen=True):
    """A reading with a state, such as a random generator: each report starts it again, in the order of the data."""

    start: Callable[[], Parse]


class Metric(Struct, frozen=True):
    """A score of one question in [0, 1], or None where it doesn't count; named n_..., it is a count.

    `of` scores the answer that `parse` returned, or that `read` returns: another reading of the same reply, such as a
    published script's. With `rationale` it scores the explanation instead. Without an answer the score is 0. `when`
    selects questions; a question without references has no score. `says` explains the metric wherever its name is
    shown. `normalise` is applied to an answer when a reading is explained. A metric with a Replay is only in reports:
    its score is unknown during a run.
    """

    name: str
    of: Callable[[str, Question], float | None]
    says: str = ""
    read: Parse | Replay | None = None
    rationale: bool = False
    when: Callable[[Question], bool] | None = None
    normalise: Callable[[str], str] | None = None

    def score(self, answer: str | None, question: Question) -> float | None:
        """The score of an answer, or None where it doesn't count; raises UsageError for one outside [0, 1]."""
        if not question.references or (self.when is not None and not self.when(question)):
            return None
        score = 0.0 if answer is None else self.of(answer, question)
        if score is None or (type(score) is float and 0.0 <= score <= 1.0):  # the slower checks are for the others
            return score
        is_count = self.name.startswith("n_")
        if isinstance(score, Real) and (is_count or 0 <= round(score, 9) <= 1):  # sums may be rounded up
            return float(score)
        raise UsageError(
            f"the metric {self.name} returns {shown(score)} for question {question.id!r}{place_of(self.of)}",
            hint="return a number from 0 to 1, or None where the question doesn't count",
        )


class Total(Struct, frozen=True):
    """A figure of the whole run under each metric, or under the metrics in `on`.

    It is a share, shown in per cent. If `most`, its highest possible value, is above 1, it is in points.
    """

    name: str
    value: Aggregate
    says: str = ""
    on: tuple[str, ...] = ()
    most: float = 1.0


class Judge(Struct, frozen=True):
    """The question to a judging model about each reply; its verdicts are beside the metrics, see `vqa_client.judge`.

    `rubric` describes, in our own words, a right reply, or the grades, for all questions or for each.
    """

    asks: Literal["match", "extract", "correct", "grade"]
    rubric: str | Callable[[Question], str] = ""


class Submission(Struct, frozen=True):
    """A file for a benchmark's test server, with one `entry` per question: a JSON list, or JSON Lines."""

    entry: Callable[[Scored], Mapping[str, Any]]
    form: Literal["list", "lines"] = "list"


def first_reference(question: Question) -> str:
    """The first of a question's references."""
    return question.references[0]


Load = Callable[[Source], Iterable[Part]]
Combine = Callable[[Sequence[Report], Mapping[str, Exception], Note], None]
"""Takes the reports of all models, the errors of models without a report, and a function that notes a line."""


class Benchmark(Struct, frozen=True, kw_only=True):
    """One benchmark.

    `load` returns its questions, and `parse` reads the answer of a reply. The headline is the first metric, or the
    metric or total named in `headline`; a record's score and answer are of that metric, or of the first metric where
    the headline is a total. `answers_by` names another metric whose reading is the answer. `measure` is the accuracy in
    words. `prompt` is a Prompt or its text. `prompt_forms` are other prompts by name, such as a published one, for
    --prompt_form; `form` is the name of the chosen one. `shots` is the source of the worked examples of --shots.
    `ideal_reply` is the reply of a model that is always right, for `vqa-client selftest` and worked examples.

    `unit` is the thing that several questions share, `question_type` the group that robustness compares.
    `compares_answers` is off where two right replies are hardly ever the same text. `labels` are the labels of all
    choices: they offer --choice_mode, --shuffle_choices and --circular. `choosing` is set where answers are not read
    from free text; without `labels` `parse` reads them. Where the data has rotations of a question as rows,
    `rotation_of` returns the question's id: such data refuses --shuffle_choices and --circular. `pages` offers --pages
    and --dpi, and `submission` offers --submission. Instead of the common report, `report_path` returns the file of a
    published report by part and config, and `write` writes it; `combine` is called once with the reports of all models.
    `identity` has what else decides what is asked, in addition to marked options; `scoring`, how replies are read.
    `version` changes when `parse` or a metric does, so that saved replies are scored again. `judge` is the judgement
    that the published score needs. `gate` writes the report of questions that are asked first, and raises
    ServerUnusable if no other should be asked. `names_model` is as in Task.
    """

    name: str
    load: Load
    parse: Parse
    metrics: tuple[Metric, ...]
    headline: str = ""
    answers_by: str = ""
    measure: str = ""
    totals: tuple[Total, ...] = ()
    breakdowns: tuple[Breakdown | str, ...] = ()
    prompt: Prompt | str | Callable[[Question], str | Content] = "{question}"
    prompt_forms: Mapping[str, Prompt] = NO_OPTIONS
    form: str = ""
    shots: Shots | None = None
    ideal_reply: Callable[[Question], str] = first_reference
    unit: str = "image"
    question_type: str = ""
    compares_answers: bool = True
    labels: tuple[str, ...] = ()
    choosing: Choosing | None = None
    rotation_of: Callable[[Question], str] | None = None
    submission: Submission | None = None
    pages: Pages | None = None
    report_path: Callable[[str, str | None], Path] | None = None
    write: Write | None = None
    combine: Combine | None = None
    judge: Judge | None = None
    gate: Write | None = None
    names_model: bool = False
    identity: Mapping[str, Any] = NO_OPTIONS
    scoring: Mapping[str, str] = NO_OPTIONS
    version: str = "1"

    def __post_init__(self) -> None:
        check_fields(self, self.name if isinstance(self.name, str) else "")
        if not self.metrics:
            raise ValueError(f"{self.name} has no metric")
        if isinstance(self.answering_metric.read, Replay):
            raise ValueError(f"{self.name}: a record's answer can't be read by a Replay: name a metric in answers_by")
        self._prompt()  # raises ValueError for a wrong template
        metrics, totals = [metric.name for metric in self.metrics], [total.name for total in self.totals]
        named = {self.headline, self.answers_by, *(name for total in self.totals for name in total.on)}
        if unknown := named - {"", *metrics, *totals}:
            raise ValueError(f"{self.name} has no metric or total {unknown.pop()!r}")
        if twice := [name for names in (metrics, totals) for name in names if names.count(name) > 1]:
            raise ValueError(f"{self.name} has two metrics or two totals {twice[0]!r}")

    @property
    def headline_metric(self) -> Metric:
        """The metric of a score's value."""
        return self._metric(self.headline)

    @property
    def answering_metric(self) -> Metric:
        """The metric whose reading is a record's answer."""
        return self._metric(self.answers_by or self.headline)

    def _metric(self, name: str) -> Metric:
        return next((metric for metric in self.metrics if metric.name == name), self.metrics[0])

    def description(self) -> Description:
        """The part of the declaration that reports, pages and comparisons show."""
        breakdowns = [Breakdown(by) if isinstance(by, str) else by for by in self.breakdowns]
        headline = self.headline_metric.name
        leading = next((total for total in self.totals if total.name == self.headline), None)
        measure = "accuracy" if headline == "accuracy" else f"accuracy ({headline})"
        return Description(
            headline=headline,
            leading_total=leading.name if leading else "",
            measure=self.measure or measure,
            metrics={metric.name: metric.says for metric in self.metrics},
            totals={total.name: total.says for total in self.totals},
            points={total.name: total.most for total in self.totals if total.most > 1},
            breakdowns=tuple(breakdowns),
            unit=self.unit,
            question_type=self.question_type,
            compares_answers=self.compares_answers,
        )

    def template(self, config_template: str | None) -> tuple[str | None, str]:
        """The config's template where it fits the benchmark, and a note for people where it doesn't."""
        text = self._prompt().text
        if self.form or not isinstance(text, str):
            used = f"--prompt_form {self.form} is used" if self.form else f"{self.name} uses its own prompts"
            return None, f"{used}, not the config's prompt_template" if config_template else ""
        template, message = template_for(config_template, text, self.name)
        if self.choosing and config_template:
            kept = "the config's prompt_template is kept; it should ask for the letter alone"
            return template, f"--choice_mode {self.choosing.mode}: {kept}"
        return template, message

    def with_prompt_form(self, name: str) -> Self:
        """The same benchmark with one of its prompt forms, by its name or the beginning of its name.

        Raises UsageError for an unknown name, and for a beginning of several names.
        """
        if not name:
            return self
        names = [name] if name in self.prompt_forms else [form for form in self.prompt_forms if form.startswith(name)]
        if len(names) > 1:
            raise UsageError(
                f"{self.name}: --prompt_form {name} fits {' and '.join(names)}", hint="write more of the name"
            )
        if not names:
            known = f"it has {', '.join(self.prompt_forms)}" if self.prompt_forms else "it has only one prompt"
            raise UsageError(f"{self.name} has no prompt form {name!r}", hint=known)
        (form,) = names
        return replace(self, prompt=self.prompt_forms[form], form=form, identity={**self.identity, "prompt_form": form})

    def with_choice_mode(self, mode: ChoiceMode) -> Self:
        """The same benchmark where the server chooses, or weighs, among the labels.

        Questions without choices are not asked. Raises UsageError where no question has choices.
        """
        if not self.labels:
            raise UsageError(f"--choice_mode {mode}: no question of {self.name} has choices", hint="leave it out")
        load = replace(self.load, choices_only=True) if isinstance(self.load, Tables) else self.load
        prompt = self._prompt()
        if isinstance(prompt.text, str):
            prompt = replace(prompt, text=f"{prompt.text.rstrip()}\n\n{LETTER_ALONE}")
        choosing = Choosing(mode=mode, labels=self.labels)
        identity = {**self.identity, "choice_mode": mode}
        return replace(self, load=load, prompt=prompt, choosing=choosing, identity=identity)

    def _prompt(self, template: str | None = None) -> Prompt:
        """The prompt, with a given template as its text."""
        prompt = self.prompt if isinstance(self.prompt, Prompt) else Prompt(self.prompt)
        return replace(prompt, text=template) if template else prompt

    def answer(self, metric: Metric, reply: Reply, question: Question) -> Answer:
        """The answer of a reply in the reading of a metric without a Replay; raises UsageError where it isn't one."""
        if metric.read is not None:
            assert not isinstance(metric.read, Replay), metric.name
            return checked_answer(metric.read(reply, question), question, metric.read)
        return (
            reply.without_answer()
            if reply.status
            else checked_answer(self.parse(reply, question), question, self.parse)
        )

    def task(
        self, prompt_template: str | None = None, scoring: Mapping[str, str] = NO_OPTIONS, system: str | None = None
    ) -> Task:
        """The functions that the engine calls; `scoring` has the options that change how replies are read.

        A given `prompt_template` or `system` replaces the benchmark's own.
        """
        headline, answering, description = self.headline_metric, self.answering_metric, self.description()
        plain = [metric for metric in self.metrics if not isinstance(metric.read, Replay)]
        prompt = self._prompt(prompt_template)
        system_message = prompt.system if system is None else system
        scoring = {**scoring, **self.scoring, "version": f"{READING_VERSION}.{self.version}"}

        def parse(reply: Reply, question: Question) -> Answer:
            return self.answer(answering, reply, question)

        def score(answer: Answer, reply: Reply, question: Question) -> Score:
            parts: dict[str, float] = {}
            answers = {answering.read: answer}
            for metric in plain:
                if metric.read not in answers:
                    answers[metric.read] = self.answer(metric, reply, question)
                reading = answers[metric.read]
                value = metric.score(reading.rationale if metric.rationale else reading.text, question)
                if value is not None:
                    parts[metric.name] = value
            return Score(value=parts.get(headline.name, 0.0), parts=parts)

        task = Task(
            name=self.name,
            content=prompt.content,
            prompt=prompt.visible,
            check=prompt.check if prompt.needs_check else None,
            system=system_message if isinstance(system_message, str) else "",
            system_of=None if isinstance(system_message, str) else system_message,
            parameters={"max_tokens": prompt.max_tokens} if prompt.max_tokens else {},
            parse=parse,
            score=score,
            scoring=scoring,
            headline=headline.name,
            names_model=self.names_model,
            description=description,
        )
        if not (self.choosing and self.labels):
            return replace(task, choosing=self.choosing)
        mode = self.choosing.mode
        measure = f"accuracy by --choice_mode {mode}"
        return replace(
            task,
            parse=parse_with(self.choosing),
            score=score_with(self.choosing),
            scoring={"choice_mode": mode, "version": SCORING_VERSION},
            headline=mode,
            choosing=self.choosing,
            description=replace(description, headline=mode, measure=measure, metrics=MEANINGS),
        )
