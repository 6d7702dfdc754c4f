"""Settings of the benchmarks with a command of their own: mc, niah, vqa2 and explain."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from cyclopts import Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.choices import ChoiceOptions
from vqa_client.settings.run import DATA, IMAGES, RUN, SERVER, ConfiguredSettings, OneModelSettings
from vqa_client.settings.validation import ABOVE_0, AtLeast, CsvSafe, Formerly, Several, Switch, with_former_names
from vqa_client.types import without_none

_Blacklist = Annotated[Path | None, DATA, Parameter(help="A file of ids that are left out, one per line.")]
_TextOnly = Annotated[Switch, DATA, Parameter(help="Send each document's text in the prompt and no images.")]


@with_former_names(data_json="data", images_dir="images")
@dataclass(frozen=True, kw_only=True, slots=True)
class McSettings(ChoiceOptions, OneModelSettings):
    """Settings of `vqa-client mc`: four-choice questions on documents rendered as page images."""

    data: Annotated[Path, DATA, Parameter(name=("--data", "-d", "--data_json"))]
    """Questions in LongBench-v2's form."""
    images: Annotated[Path | None, DATA, Parameter(name=("--images", "-i", "--images_dir"))] = None
    """Page images {_id}_page_{NNN}.png: a folder of them, or a folder of such folders."""
    output: Annotated[Path, DATA, Parameter(alias="-o")] = Path("results")
    """Folder for {folder}_mc_eval.json, or the report's FILE.json."""
    blacklist: _Blacklist = None
    text_only: _TextOnly = False
    parser: Annotated[
        Literal["robust", "published", "longbench"],
        DATA,
        Parameter(name=("--parser", "--parsing"), converter=Formerly(seed="published")),
    ] = "robust"
    """Which reading of a reply is the headline; all three are reported."""

    benchmark: ClassVar = "mc"


@dataclass(frozen=True, kw_only=True, slots=True)
class NiahSettings(OneModelSettings):
    """Settings of `vqa-client niah`: needles hidden in documents rendered as page images."""

    data: Annotated[Path | None, DATA, Parameter(alias="-d")] = None
    """Needle questions (JSON made by `needles`)."""
    images: Annotated[Path | None, DATA, Parameter(alias="-i")] = None
    """The folder of page images."""
    input: Annotated[Path | None, DATA] = None
    """A folder with data.json and VARIANT/images, instead of --data and --images."""
    output: Annotated[Path, DATA, Parameter(alias="-o")] = Path("results")
    """Folder for {folder}_niah_eval.json, or the report's FILE.json."""
    blacklist: _Blacklist = None
    text_only: _TextOnly = False
    case_sensitive: Annotated[Switch, DATA] = False
    """Case-sensitive matching."""

    benchmark: ClassVar = "niah"


MAX_TOKENS = 100
"""The published framework's limit."""
NUM_QUESTIONS = 20
TIMEOUT_S = 180.0
"""The published time for large models: the size of a served model is not known."""

PUBLISHED_MAX_SIDE = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Vqa2Settings(ConfiguredSettings):
    """Settings of `vqa-client vqa2`: open questions on photographs, each answered by ten people."""

    mode: Annotated[Literal["coco", "sample"], DATA] = "coco"
    """VQA 2.0's own questions, or twenty of ours on drawn pictures."""
    num_questions: Annotated[int | None, AtLeast(0), DATA, Parameter(alias="--questions")] = NUM_QUESTIONS
    """How many questions to draw from all; 0 asks every one."""
    seed: Annotated[int, DATA] = 42
    """Random seed; 42 draws the published framework's questions."""
    data_dir: Annotated[Path, DATA, Parameter(name=("--data", "-d", "--data_dir"))] = Path("materials/vqa2")
    """Folder with the questions, the annotations and images/."""
    questions_file: Annotated[Path | None, DATA] = None
    """Questions in VQA 2.0's form. Default: those in --data."""
    annotations_file: Annotated[Path | None, DATA] = None
    """Their annotations. Default: those beside the questions; without: no scores."""
    images: Annotated[Path | None, DATA, Parameter(alias="-i")] = None
    """Folder of the images, or of val2014/. Default: images/ in --data."""
    results_dir: Annotated[Path, DATA, Parameter(name=("--output", "-o", "--results_dir"))] = Path("results")
    """Folder for vqa2_results_*.json."""
    verbose: Annotated[Switch, DATA] = False
    """Print each question and answer, at most 100."""
    model: Annotated[Several[str], SERVER, Parameter(alias=("--models", "--config", "-c"), consume_multiple=True)] = ()
    """Configs of one or more models: shipped names or JSON files; or a model's name at the server. Default: the model
    that the server serves."""
    timeout: Annotated[
        float | None,
        ABOVE_0,
        SERVER,
        Parameter(
            help="Seconds per question from its first byte sent, retries included; waits that the server asks for are "
            f"not counted. Default: the config's, else {TIMEOUT_S:.0f}, as the published framework has it."
        ),
    ] = None
    max_workers: Annotated[int | Literal["auto"], AtLeast(1), RUN] = 16
    """Requests in flight at once; auto finds out how many. Small models are often served one question at a time, and
    waiting counts against --timeout; vLLM takes 128."""
    raw_images: Annotated[Switch, IMAGES] = False
    """Send images as they are (recorded). Default: shrunk to a longest side of 1024, as published."""

    benchmark: ClassVar = "vqa2"
    usual_max_tokens: ClassVar = MAX_TOKENS
    usual_timeout_s: ClassVar[float | None] = TIMEOUT_S

    def __post_init__(self) -> None:
        super(Vqa2Settings, self).__post_init__()
        _refuse_same_names(self.model)
        if self.model_name and len(self.model) > 1:
            raise UsageError("--model_name goes with one --model", hint="give the names in the configs' model_name")

    @property
    def draws(self) -> tuple[str, ...]:
        """--num_questions counts if it isn't the default: --sample draws from all questions."""
        by_hand = self.num_questions not in (NUM_QUESTIONS, 0, None)
        return (*super(Vqa2Settings, self).draws, *(["--num_questions"] if by_hand else []))

    @property
    def max_side(self) -> int | None:
        """The published framework's, unless images are sent as they are."""
        return None if self.raw_images else PUBLISHED_MAX_SIDE

    @property
    def configs(self) -> tuple[str | None, ...]:
        """The configs of the models; None asks what the server serves."""
        return self.model or (None,)


def _refuse_same_names(configs: Sequence[str]) -> None:
    """Raise UsageError for two configs of one name: their results would have the same name."""
    names = [Path(config).stem if config.endswith(".json") else config for config in configs]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--model names {name!r} twice", hint="name each once; configs of one name need another")


ExplainTask = Literal["vqax", "actx", "esnlive", "vcr"]
Split = Literal["train", "val", "test"]
VcrMode = Literal["free", "q2a", "qa2r", "q2ar"]
N_SAMPLES = 10
_ALL = ("none", "null", "all")
"""Words of --n_samples for all samples."""


def _number_of_samples(value: object) -> int | None:
    """The number of samples to ask, None for all; raises UsageError."""
    words = str(value).strip().lower()
    with suppress(ValueError):
        if words in _ALL or int(words) >= 0:
            return None if words in _ALL else int(words)
    raise UsageError(f"--n_samples is {value!r}; it must be a whole number of at least 0, None or all")


_SAMPLES = Parameter(converter=lambda kind, tokens: _number_of_samples(tokens[0].value))
"""Converts `None` before cyclopts, where pydantic is imported, checks the value against its type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainSettings(ConfiguredSettings):
    """Settings of `vqa-client explain`: answers with an explanation, `<answer> because <explanation>`."""

    task: Annotated[ExplainTask, DATA] = "vqax"
    """VQA-X, ACT-X, e-SNLI-VE or VCR."""
    split: Annotated[Split, DATA] = "val"
    """ACT-X and e-SNLI-VE have no val and use test."""
    n_samples: Annotated[int | None, DATA, _SAMPLES] = N_SAMPLES
    """Ask the first N samples with an image; None or all: every one."""
    data_root: Annotated[Path, DATA, Parameter(name=("--data", "-d", "--data_root"))] = Path(".")
    """Folder with images/ and nle_data/."""
    results_dir: Annotated[Path, DATA, Parameter(name=("--output", "-o", "--results_dir"))] = Path("results")
    """Folder for {model}_results/{task}_{split}_eval.csv and accuracy_grid.csv."""
    require_images: Annotated[Switch, DATA] = False
    """Stop if an image is missing. Default: count and report them."""
    prompt_mode: Annotated[Literal["zero", "1shot", "3shot"] | None, DATA] = None
    """Examples in the prompt. Default: 3shot for e-SNLI-VE, zero for the others."""
    vcr_mode: Annotated[VcrMode, DATA] = "free"
    """VCR in words, or by letter: the answer's, the rationale's, or both in one reply."""
    parser: Annotated[
        Literal["robust", "published", "published_latest"],
        DATA,
        Parameter(name=("--parser", "--parsing"), converter=Formerly(seed="published", seed_head="published_latest")),
    ] = "robust"
    """Which reading of a reply is the headline; all are reported. published is the script as first described,
    published_latest its last version."""
    csv_safe: Annotated[CsvSafe, DATA] = False
    coco_captions: Annotated[Switch, DATA] = False
    """Write references and explanations as COCO captions too, for scorers."""
    model: Annotated[str, SERVER, Parameter(alias=("--config", "-c"))] = "llava"
    """A config: llava, qwen, another shipped one, or a JSON file; or a model's name at the server."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_samples", _number_of_samples(self.n_samples))
        super(ExplainSettings, self).__post_init__()

    def named(self, benchmark: str) -> Self:
        """The same settings for another of the benchmarks."""
        return replace(self, task=cast(Any, benchmark))

    @property
    def benchmark(self) -> str:
        return self.task

    @property
    def draws(self) -> tuple[str, ...]:
        """--n_samples counts if it isn't the default: --sample draws from the whole split."""
        by_hand = self.n_samples not in (N_SAMPLES, None)
        return (*super(ExplainSettings, self).draws, *(["--n_samples"] if by_hand else []))

    @property
    def configs(self) -> tuple[str | None, ...]:
        return (self.model,)

    @property
    def model_label(self) -> str:
        """The model's name in file names: the config's, without folder and suffix."""
        return Path(self.model).stem if self.model.endswith(".json") else self.model

    @property
    def conditions(self) -> tuple[str, ...]:
        """The values that differ from the published ones, as in file names and the grid's columns."""
        published = {"vcr_mode": "free", "prompt_mode": "3shot" if self.task == "esnlive" else "zero"}
        values = {name: getattr(self, name) for name in published}
        return tuple(value for name, value in values.items() if value not in (None, published[name]))

    @property
    def recoding(self) -> dict[str, float | str]:
        """How images are changed before they are sent; empty if they aren't."""
        quality = self.image_quality if self.image_format in ("jpeg", "webp") else None
        options = {
            "max_pixels": self.max_pixels,
            "white_value": self.white_value,
            "image_format": self.image_format,
            "image_quality": quality,
        }
        return without_none(options)
