"""Settings of the robustness commands."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vqa_client.cpus import usable_cpus
from vqa_client.settings.validation import check

Profile = Literal["vqa-vrb", "imagenet-c"]
FileFormat = Literal["png", "jpeg"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateSettings:
    """Settings of `vqa-client robustness generate`: corrupted copies of a folder of images."""

    images: Annotated[Path, Parameter(alias="-i", help="A folder of images; with its sub-folders.")]
    output: Annotated[Path, Parameter(alias="-o", help="Folder for {Corruption_Lk}/... and metadata.json.")]
    corruptions: Annotated[
        str, Parameter(help="all (the fourteen), or names with commas, such as snow,Zoom-Blur,grayscale.")
    ] = "all"
    levels: Annotated[str, Parameter(help="Levels, such as 1-5 or 1,3.")] = "1-5"
    profile: Annotated[
        Profile,
        Parameter(help="Constants of VQA-VRB or ImageNet-C; they differ in shot noise and pixelate."),
    ] = "vqa-vrb"
    seed: Annotated[
        int, Parameter(help="Random seed; each file's own is made from it, the image, corruption and level.")
    ] = 0
    format: Annotated[FileFormat, Parameter(help="png is lossless; jpeg removes part of the noise.")] = "png"
    quality: Annotated[int, Parameter(help="Quality of --format jpeg.")] = 95
    workers: Annotated[int, Parameter(help="Processes. Default: one per processor.", show_default=False)] = field(
        default_factory=usable_cpus
    )
    dry_run: Annotated[
        bool, Parameter(negative="", help="Print the expected number of files and megabytes; write nothing.")
    ] = False

    def __post_init__(self) -> None:
        check(self)
