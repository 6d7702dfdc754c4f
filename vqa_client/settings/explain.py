"""Settings of the command for benchmarks with explanations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from cyclopts import Parameter, Token

from vqa_client.errors import UsageError
from vqa_client.settings.run import DATA, SERVER, ConfiguredSettings
from vqa_client.settings.validation import CsvSafe, Formerly, Switch

N_SAMPLES = 10
_ALL = ("none", "null", "all")


def number_of_samples(value: Any) -> int | None:
    """Read how many samples are asked: a number, or None, none or all; raises ValueError."""
    if value is None or str(value).strip().lower() in _ALL:
        return None
    try:
        number = int(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is not a whole number, None or all") from None
    if number < 0:
        raise ValueError(f"{value!r} is below 0")
    return number


def _from_command_line(type_: Any, tokens: Sequence[Token]) -> int | None:
    del type_
    return number_of_samples(tokens[0].value)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainSettings(ConfiguredSettings):
    """Settings of `vqa-client explain`: answers with an explanation, `<answer> because <explanation>`."""

    task: Annotated[
        Literal["vqax", "actx", "esnlive", "vcr"], Parameter(group=DATA, help="VQA-X, ACT-X, e-SNLI-VE or VCR.")
    ] = "vqax"
    split: Annotated[
        Literal["train", "val", "test"], Parameter(group=DATA, help="ACT-X and e-SNLI-VE have no val and use test.")
    ] = "val"
    n_samples: Annotated[
        int | None,
        Parameter(
            group=DATA,
            converter=_from_command_line,
            help="Ask the first N samples with an image; None or all: every one.",
        ),
    ] = N_SAMPLES
    data_root: Annotated[
        Path, Parameter(name=("--data", "-d", "--data_root"), group=DATA, help="Folder with images/ and nle_data/.")
    ] = Path(".")
    results_dir: Annotated[
        Path,
        Parameter(
            name=("--output", "-o", "--results_dir"),
            group=DATA,
            help="Folder for {model}_results/{task}_{split}_eval.csv and accuracy_grid.csv.",
        ),
    ] = Path("results")
    require_images: Annotated[
        Switch, Parameter(group=DATA, help="Stop if an image is missing. Default: count and report them.")
    ] = False
    prompt_mode: Annotated[
        Literal["zero", "1shot", "3shot"] | None,
        Parameter(group=DATA, help="Examples in the prompt. Default: 3shot for e-SNLI-VE, zero for the others."),
    ] = None
    vcr_mode: Annotated[
        Literal["free", "q2a", "qa2r", "q2ar"],
        Parameter(group=DATA, help="VCR in words, or by letter: the answer's, the rationale's, or both in one reply."),
    ] = "free"
    parser: Annotated[
        Literal["robust", "published", "published_latest"],
        Parameter(
            name=("--parser", "--parsing"),
            converter=Formerly(seed="published", seed_head="published_latest"),
            group=DATA,
            help="Which reading of a reply is the headline; all are reported. published is the script as first "
            "described, published_latest its last version.",
        ),
    ] = "robust"
    csv_safe: Annotated[CsvSafe, Parameter(group=DATA)] = False
    coco_captions: Annotated[
        Switch, Parameter(group=DATA, help="Write references and explanations as COCO captions too, for scorers.")
    ] = False
    model: Annotated[
        str,
        Parameter(
            alias=("--config", "-c"),
            group=SERVER,
            help="A config: llava, qwen, another shipped one, or a JSON file; or a model's name at the server.",
        ),
    ] = "llava"

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "n_samples", number_of_samples(self.n_samples))
        except ValueError:
            raise UsageError(f"--n_samples is {self.n_samples!r}; it must be a number of at least 0, or None") from None
        super(ExplainSettings, self).__post_init__()

    def named(self, benchmark: str) -> Self:
        """The same settings for another of the benchmarks."""
        return replace(self, task=cast(Any, benchmark))

    @property
    def benchmark(self) -> str:
        return self.task

    @property
    def draws(self) -> tuple[str, ...]:
        """A number of samples that is not the usual one was given by hand: --sample draws from the whole split."""
        given = self.n_samples not in (N_SAMPLES, None)
        return (*super(ExplainSettings, self).draws, *(["--n_samples"] if given else []))

    @property
    def configs(self) -> tuple[str | None, ...]:
        return (self.model,)

    @property
    def model_label(self) -> str:
        """What results go by: the config's name without folder and suffix."""
        return Path(self.model).stem if self.model.endswith(".json") else self.model

    @property
    def conditions(self) -> tuple[str, ...]:
        """What is asked otherwise than published, as file names and the grid's columns tell it."""
        published = {"vcr_mode": "free", "prompt_mode": "3shot" if self.task == "esnlive" else "zero"}
        given = {name: getattr(self, name) for name in published}
        return tuple(value for name, value in given.items() if value not in (None, published[name]))

    @property
    def recoding(self) -> dict[str, float | str]:
        """What is done to images before they are sent, where anything is."""
        quality = self.image_quality if self.image_format in ("jpeg", "webp") else None
        given = {
            "max_pixels": self.max_pixels,
            "white_value": self.white_value,
            "image_format": self.image_format,
            "image_quality": quality,
        }
        return {name: value for name, value in given.items() if value is not None}
