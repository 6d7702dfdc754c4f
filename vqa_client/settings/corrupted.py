"""Settings of a robustness run, beside those of the benchmark that it runs."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from vqa_client.settings.validation import check

CORRUPTIONS = Group("Corruptions", sort_key=0)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class RobustnessRun:
    """Which corruptions a benchmark is asked under; level 0 is the clean image, asked once."""

    corruptions: Annotated[
        str,
        Parameter(group=CORRUPTIONS, help="all (the fourteen), or names with commas, such as snow,gaussian_noise."),
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
        bool,
        Parameter(group=CORRUPTIONS, negative="", help="Also write a result file per variant, in the published form."),
    ] = False

    def __post_init__(self) -> None:
        check(self)
