"""Settings of the commands that score answers and explanations from files."""

from dataclasses import Field, dataclass, field, fields, make_dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from cyclopts import Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.own_commands import ExplainTask, Split, VcrMode
from vqa_client.settings.run import DATA, ConfiguredSettings, OneModelSettings, RunSettings
from vqa_client.settings.validation import CheckedSettings, Several, Switch, check, option_helps

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
_Predictions = Annotated[Path, DATA, Parameter(help=_FORMS, alias="-p")]
_Variant = Annotated[
    str | None, DATA, Parameter(help="Which variant of a record log, or model of a vqa2 report, is scored.")
]
OF_PROMPTS = frozenset({"prompt_form", "shots", "shots_from", "dpi", "shuffle_choices", "circular"})
"""Options of a benchmark that change only what a model is sent."""
_OF_EXPLANATIONS = frozenset({"explanation", "explanations", "bleu", "rouge", "cider", "meteor", "spice", "bertscore"})


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreSettings(CheckedSettings):
    """Settings of `vqa-client score`: predictions in a file against annotations in another, without a server."""

    predictions: _Predictions
    annotations: Annotated[Path, DATA, Parameter(alias="-a")]
    """VQA annotations; a question file gives no accuracy."""
    output: Annotated[Path | None, DATA, Parameter(alias="-o")] = None
    """Folder for the official evaluation files. Default: none are written."""
    metrics: Annotated[Several[str], DATA, Parameter(help=f"Any of {', '.join(METRICS)}.", consume_multiple=True)] = (
        "normalised",
        "official",
        "contains",
    )
    variant: _Variant = None
    json: Annotated[Switch, DATA] = False
    """Print the scores as JSON to standard output."""

    def __post_init__(self) -> None:
        check(self)
        unknown = [name for name in self.metrics if name not in METRICS]
        if unknown or not self.metrics:
            named = ", ".join(map(repr, unknown)) or "empty"
            hint = "vqa-client score-explanations scores explanations" if _OF_EXPLANATIONS.intersection(unknown) else ""
            raise UsageError(f"--metrics is {named}; it must be any of {', '.join(METRICS)}", hint=hint)
        object.__setattr__(self, "metrics", tuple(dict.fromkeys(self.metrics)))


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreOptions(ScoreSettings):
    """The options of `score` on its help page, where --task may replace --annotations."""

    annotations: Annotated[Path | None, DATA, Parameter(alias="-a")] = None  # type: ignore[assignment]
    """VQA annotations; a question file gives no accuracy. Needed without --task."""
    task: Annotated[str | None, DATA] = None
    """A benchmark that `vqa-client list` shows, or a file: scores answers to its questions. Its options replace the
    others: --task NAME --help shows them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswersSettings(CheckedSettings):
    """Settings of `vqa-client score --task NAME` in addition to the benchmark's own: answers in a file."""

    predictions: _Predictions
    model: Annotated[str, DATA] = ""
    """Who answered. Default: the predictions' name."""
    variant: _Variant = None
    missing: Annotated[Literal["left-out", "wrong"], DATA] = "left-out"
    """What questions without an answer count as."""
    fresh: Annotated[Switch, DATA] = False
    """Move the records of other predictions in --output aside."""
    json: Annotated[Switch, DATA] = False
    """Print the summaries as JSON to standard output."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreExplanationsSettings(CheckedSettings):
    """Settings of `vqa-client score-explanations`: explanations in a file against human ones in another."""

    predictions: Annotated[Path, DATA, Parameter(alias="-p")]
    """A *.records.jsonl or *_eval.csv of explain, the published script's CSV, or COCO captions: [{"image_id",
    "caption"}]."""
    references: Annotated[Path | None, DATA, Parameter(alias="-r")] = None
    """An NLE file or COCO caption annotations. Default: the NLE file of --task and --split below --data."""
    task: Annotated[ExplainTask | None, DATA] = None
    """Default: as the files' names say, vqax_val_eval.csv and the like."""
    split: Annotated[Split | None, DATA] = None
    """Default: as the predictions' name says."""
    data_root: Annotated[Path, DATA, Parameter(name=("--data", "-d", "--data_root"))] = Path(".")
    """Folder with nle_data/."""
    vcr_mode: Annotated[VcrMode | None, DATA] = None
    """What VCR was asked for. Default: as the predictions' name says, else free."""
    captions: Annotated[Literal["full", "exp"] | None, DATA] = None
    """full: captions read "answer because explanation"; exp: they are explanations. Default: as their name says, else
    what most look like."""
    output: Annotated[Path | None, DATA, Parameter(alias="-o")] = None
    """Folder for the scores as JSON. Default: none is written."""
    coco_captions: Annotated[Switch, DATA] = False
    """Write both sides as COCO captions into --output, for other scorers."""
    json: Annotated[Switch, DATA] = False
    """Print the scores as JSON to standard output."""

    def __post_init__(self) -> None:
        check(self)
        if self.coco_captions and self.output is None:
            raise UsageError("--coco_captions has no folder to write to", hint="name one with --output")


def answers_and_data_fields(kind: type[RunSettings]) -> tuple[list[Field[Any]], list[Field[Any]]]:
    """The fields of AnswersSettings, and the benchmark's own fields about its data."""
    own = list(fields(AnswersSettings))
    others = {field.name for field in (*own, *fields(OneModelSettings), *fields(ConfiguredSettings))}
    return own, [
        field
        for field in fields(kind)
        if field.init and field.name not in others and field.name not in ("benchmark", "judge")
    ]


def answers_and_data(kind: type[RunSettings]) -> type[Any]:
    """A settings type with both groups of fields."""
    hints = get_type_hints(kind, include_extras=True) | get_type_hints(AnswersSettings, include_extras=True)
    helps = option_helps(kind) | option_helps(AnswersSettings)
    copies: list[tuple[str, Any, Any]] = []
    for option in chain(*answers_and_data_fields(kind)):
        name = option.name
        hint = Annotated[hints[name], Parameter(help=helps[name])] if name in helps else hints[name]
        copies.append((name, hint, field(default=option.default, default_factory=option.default_factory)))
    return make_dataclass("Answers", copies, kw_only=True, namespace={"__module__": __name__})
