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

    images: Annotated[Path, Parameter(alias="-i", help="A folder of images; with its sub-folders.")]
    output: Annotated[Path, Parameter(alias="-o", help="Folder for {Corruption_Lk}/... and metadata.json.")]
    corruptions: Annotated[
        str, Parameter(help="all (the fourteen), or names with commas, such as snow,Zoom-Blur,grayscale.")
    ] = "all"
    levels: Annotated[str, Parameter(help="Levels, such as 1-5 or 1,3.")] = "1-5"
    profile: Annotated[
        Profile, Parameter(help="Constants of VQA-VRB or ImageNet-C; they differ in shot noise and pixelate.")
    ] = "vqa-vrb"
    seed: Annotated[
        int, Parameter(help="Random seed; each file's own is made from it, the image, corruption and level.")
    ] = 0
    format: Annotated[FileFormat, Parameter(help="png is lossless; jpeg removes part of the noise.")] = "png"
    quality: Annotated[int, AtLeast(1, most=100), Parameter(help="Quality of --format jpeg.")] = 95
    workers: Workers = field(default_factory=usable_cpus)
    dry_run: Annotated[Switch, Parameter(help="Print the expected number of files and megabytes; write nothing.")] = (
        False
    )


CORRUPTIONS = Group("Corruptions", sort_key=0)


@dataclass(frozen=True, kw_only=True, slots=True)
class RobustnessRun(CheckedSettings):
    """Which corruptions a benchmark is asked under; level 0 is the clean image, asked once."""

    corruptions: Annotated[
        str, Parameter(group=CORRUPTIONS, help="all (the fourteen), or names with commas, such as snow,gaussian_noise.")
    ] = "all"
    levels: Annotated[str, Parameter(group=CORRUPTIONS, help="Levels, such as 0-5 or 0,3.")] = "0-5"
    profile: Annotated[
        Literal["vqa-vrb", "imagenet-c"],
        Parameter(
            group=CORRUPTIONS, help="Constants of VQA-VRB or ImageNet-C; they differ in shot noise and pixelate."
        ),
    ] = "vqa-vrb"
    corruption_seed: Annotated[
        int, Parameter(group=CORRUPTIONS, help="Random seed; each image's own is made from it, corruption and level.")
    ] = 0
    published_files: Annotated[
        Switch, Parameter(group=CORRUPTIONS, help="Also write a result file per variant, in the published form.")
    ] = False


RUNS_HELP = (
    "Robustness runs: folders of them, *_robustness.json, *.run.json or *.records.jsonl; or a folder of result files, "
    "{Transform_Lk}/{Model}_{Transform_Lk}.json."
)
Runs = Annotated[Several[Path], Parameter(help=RUNS_HELP)]


@dataclass(frozen=True, slots=True)
class EvaluateSettings(CheckedSettings):
    """Settings of `vqa-client robustness evaluate`: how the models of finished runs bear corruptions."""

    runs: Runs
    _: KW_ONLY
    output: Annotated[
        Path | None,
        Parameter(alias="-o", help="Folder for robustness_evaluation.json and .csv. Default: none are written."),
    ] = None
    weights: Annotated[
        Several[str],
        Parameter(
            consume_multiple=True,
            help="Weights in VRE of first drop, range of error, error rate, average error and average difference. "
            "Default: 0.2 each.",
            show_default=False,
        ),
    ] = ("0.2", "0.2", "0.2", "0.2", "0.2")
    sort_levels: Annotated[
        Switch, Parameter(help="Put the levels of each corruption in rising order of error, as published.")
    ] = False
    csv_safe: CsvSafe = False
    json: Annotated[Switch, Parameter(help="Print the evaluation as JSON to standard output.")] = False

    def __post_init__(self) -> None:
        check(self)
        _need_runs(self.runs)
        self.shares  # noqa: B018  (raises where they can't be used)

    @property
    def shares(self) -> list[float]:
        """The weights as numbers, given apart or with commas."""
        texts = [self.weights] if isinstance(self.weights, str) else self.weights
        try:
            return [float(word) for text in texts for word in str(text).split(",") if word.strip()]
        except ValueError as error:
            raise UsageError(
                f"--weights: {error}", hint="five numbers, such as 0.6,0.1,0.1,0.1,0.1; runs are named before"
            ) from None


@dataclass(frozen=True, slots=True)
class PlotSettings(CheckedSettings):
    """Settings of `vqa-client robustness plot`: the same as figures, each as PNG and SVG."""

    runs: Runs
    _: KW_ONLY
    output: Annotated[Path, Parameter(alias="-o", help="Folder for the figures.")]
    image: Annotated[
        Path | None,
        Parameter(help="An image for the contact sheet. Default: the first of the runs, if its file still exists."),
    ] = None

    def __post_init__(self) -> None:
        check(self)
        _need_runs(self.runs)


def _need_runs(runs: Sequence[Path]) -> None:
    if not runs:
        raise UsageError("there is no run to look at", hint="name robustness runs: their folders or files")
