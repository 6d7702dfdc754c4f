"""Settings of the score command, for annotations and for benchmarks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.validation import check

DATA = Group("Data", sort_key=0)
METRICS = (
    "normalised",
    "official",
    "official-2017",
    "raw",
    "simple",
    "simple-words",
    "enhanced",
    "enhanced-words",
    "contains",
)
"""The names in the table of answers.annotated."""
_FORMS = (
    "An official result JSON, a CSV or JSONL with question_id and answer, a vqa2_results_*.json, or a *.records.jsonl."
)
_Predictions = Annotated[Path, Parameter(alias="-p", group=DATA, help=_FORMS)]
_Variant = Annotated[
    str | None, Parameter(group=DATA, help="Which variant of a record log, or model of a vqa2 report, is scored.")
]
_OF_EXPLANATIONS = frozenset({"explanation", "explanations", "bleu", "rouge", "cider", "meteor", "spice", "bertscore"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreSettings:
    """Settings of `vqa-client score`: predictions in a file against annotations in another, without a server."""

    predictions: _Predictions
    annotations: Annotated[
        Path, Parameter(alias="-a", group=DATA, help="VQA annotations; a question file gives no accuracy.")
    ]
    output: Annotated[
        Path | None,
        Parameter(alias="-o", group=DATA, help="Folder for the official evaluation files. Default: none are written."),
    ] = None
    metrics: Annotated[
        tuple[str, ...],
        Parameter(group=DATA, consume_multiple=True, negative="", help=f"Any of {', '.join(METRICS)}."),
    ] = ("normalised", "official", "contains")
    variant: _Variant = None
    json: Annotated[bool, Parameter(group=DATA, negative="", help="Print the scores as JSON to standard output.")] = (
        False
    )

    def __post_init__(self) -> None:
        check(self)
        unknown = [name for name in self.metrics if name not in METRICS]
        if unknown or not self.metrics:
            named = ", ".join(map(repr, unknown)) or "empty"
            hint = "vqa-client score-explanations scores explanations" if _OF_EXPLANATIONS.intersection(unknown) else ""
            raise UsageError(f"--metrics is {named}; it must be any of {', '.join(METRICS)}", hint=hint)
        object.__setattr__(self, "metrics", tuple(dict.fromkeys(self.metrics)))


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswersSettings:
    """Settings of `vqa-client score --task NAME` beside the benchmark's own: answers in a file, and what they are."""

    predictions: _Predictions
    model: Annotated[
        str, Parameter(group=DATA, show_default=False, help="Who answered. Default: the predictions' name.")
    ] = ""
    variant: _Variant = None
    missing: Annotated[
        Literal["left-out", "wrong"], Parameter(group=DATA, help="What questions without an answer count as.")
    ] = "left-out"
    fresh: Annotated[
        bool, Parameter(group=DATA, negative="", help="Move the records of other predictions in --output aside.")
    ] = False
    json: Annotated[
        bool, Parameter(group=DATA, negative="", help="Print the summaries as JSON to standard output.")
    ] = False

    def __post_init__(self) -> None:
        check(self)
