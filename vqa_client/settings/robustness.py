"""Settings of `vqa-client robustness`."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from vqa_client.cpus import usable_cpus
from vqa_client.errors import UsageError
from vqa_client.settings.validation import AtLeast, CheckedSettings, CsvSafe, Several, Switch, Workers, check

Profile = Literal["vqa-vrb", "imagenet-c"]
FileFormat = Literal["png", "jpeg"]


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateSettings(CheckedSettings):
    """Settings of `vqa-client robustness generate`: corrupted copies of a folder of images."""

    images: Annotated[Path, Parameter(alias="-i")]
    """A folder of images; with its sub-folders."""
    output: Annotated[Path, Parameter(alias="-o")]
    """Folder for {Corruption_Lk}/... and metadata.json."""
    corruptions: str = "all"
    """all (the fourteen), or names with commas, such as snow,Zoom-Blur,grayscale."""
    levels: str = "1-5"
    """Levels, such as 1-5 or 1,3."""
    profile: Profile = "vqa-vrb"
    """Constants of VQA-VRB or ImageNet-C; they differ in shot noise and pixelate."""
    seed: int = 0
    """Random seed; each file's own is made from it, the image, corruption and level."""
    format: FileFormat = "png"
    """png is lossless; jpeg removes part of the noise."""
    quality: Annotated[int, AtLeast(1, most=100)] = 95
    """Quality of --format jpeg."""
    workers: Workers = field(default_factory=usable_cpus)
    dry_run: Switch = False
    """Print the expected number of files and megabytes; write nothing."""


CORRUPTIONS = Parameter(group=Group("Corruptions", sort_key=0))


@dataclass(frozen=True, kw_only=True, slots=True)
class RobustnessRun(CheckedSettings):
    """Which corruptions a benchmark is asked under; level 0 is the clean image, asked once."""

    corruptions: Annotated[str, CORRUPTIONS] = "all"
    """all (the fourteen), or names with commas, such as snow,gaussian_noise."""
    levels: Annotated[str, CORRUPTIONS] = "0-5"
    """Levels, such as 0-5 or 0,3; 0 is the clean images."""
    profile: Annotated[Profile, CORRUPTIONS] = "vqa-vrb"
    """Constants of VQA-VRB or ImageNet-C; they differ in shot noise and pixelate."""
    corruption_seed: Annotated[int, CORRUPTIONS] = 0
    """Random seed; each image's own is made from it, corruption and level."""
    published_files: Annotated[Switch, CORRUPTIONS] = False
    """Also write a result file per variant, in the published form."""


RUNS_HELP = (
    "Robustness runs: folders of them, *_robustness.json, *.run.json or *.records.jsonl; or a folder of result files, "
    "{Transform_Lk}/{Model}_{Transform_Lk}.json."
)
Runs = Annotated[Several[Path], Parameter(help=RUNS_HELP)]


@dataclass(frozen=True, slots=True)
class EvaluateSettings(CheckedSettings):
    """Settings of `vqa-client robustness evaluate`: how corruptions change the accuracy of finished runs."""

    runs: Runs
    _: KW_ONLY
    output: Annotated[Path | None, Parameter(alias="-o")] = None
    """Folder for robustness_evaluation.json and .csv. Default: none are written."""
    weights: Annotated[Several[str], Parameter(consume_multiple=True, show_default=False)] = ("0.2",) * 5
    """Weights in VRE of first drop, range, slope, mean error and difference. Default: 0.2 each."""
    sort_levels: Switch = False
    """Put the levels of each corruption in rising order of error, as published."""
    csv_safe: CsvSafe = False
    json: Switch = False
    """Print the evaluation as JSON to standard output."""

    def __post_init__(self) -> None:
        check(self)
        _check_runs(self.runs)
        self.shares  # noqa: B018  (raises if they can't be used)

    @property
    def shares(self) -> list[float]:
        """The weights as numbers, from several values or from one with commas."""
        try:
            return [float(word) for text in self.weights for word in str(text).split(",") if word.strip()]
        except ValueError as error:
            raise UsageError(
                f"--weights: {error}", hint="five numbers, such as 0.6,0.1,0.1,0.1,0.1; runs are named before"
            ) from None


@dataclass(frozen=True, slots=True)
class PlotSettings(CheckedSettings):
    """Settings of `vqa-client robustness plot`: figures of finished runs, as PNG and SVG."""

    runs: Runs
    _: KW_ONLY
    output: Annotated[Path, Parameter(alias="-o")]
    """Folder for the figures."""
    image: Path | None = None
    """An image for the contact sheet. Default: the first of the runs, if its file still exists."""

    def __post_init__(self) -> None:
        check(self)
        _check_runs(self.runs)


def _check_runs(runs: Sequence[Path]) -> None:
    if not runs:
        raise UsageError("no run is given", hint="name robustness runs: their folders or files")
