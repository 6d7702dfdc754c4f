"""Settings of the LongBench-v2 commands."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vqa_client.settings.declared import ChoiceOptions
from vqa_client.settings.run import DATA, OneModelSettings
from vqa_client.settings.validation import Formerly, Switch


@dataclass(frozen=True, kw_only=True, slots=True)
class McSettings(ChoiceOptions, OneModelSettings):
    """Settings of `vqa-client mc`: four-choice questions on documents rendered as page images."""

    data_json: Annotated[
        Path, Parameter(name=("--data", "-d", "--data_json"), group=DATA, help="Questions in LongBench-v2's form.")
    ]
    images_dir: Annotated[
        Path | None,
        Parameter(
            name=("--images", "-i", "--images_dir"),
            group=DATA,
            help="Page images {_id}_page_{NNN}.png: a folder of them, or a folder of such folders.",
        ),
    ] = None
    output: Annotated[
        Path, Parameter(alias="-o", group=DATA, help="Folder for {folder}_mc_eval.json, or the report's FILE.json.")
    ] = Path("results")
    blacklist: Annotated[Path | None, Parameter(group=DATA, help="A file of ids that are left out, one per line.")] = (
        None
    )
    text_only: Annotated[
        Switch, Parameter(group=DATA, help="Send each document's text in the prompt and no images.")
    ] = False
    parser: Annotated[
        Literal["robust", "published", "longbench"],
        Parameter(
            name=("--parser", "--parsing"),
            converter=Formerly(seed="published"),
            group=DATA,
            help="Which reading of a reply is the headline; all three are reported.",
        ),
    ] = "robust"

    @property
    def benchmark(self) -> str:
        return "mc"

    @property
    def shows_images(self) -> bool:
        """Whether documents are shown as page images."""
        return not self.text_only


@dataclass(frozen=True, kw_only=True, slots=True)
class NiahSettings(OneModelSettings):
    """Settings of `vqa-client niah`: needles hidden in documents rendered as page images."""

    data: Annotated[
        Path | None, Parameter(alias="-d", group=DATA, help="Needle questions (JSON made by `needles`).")
    ] = None
    images: Annotated[Path | None, Parameter(alias="-i", group=DATA, help="The folder of page images.")] = None
    input: Annotated[
        Path | None,
        Parameter(group=DATA, help="A folder with data.json and VARIANT/images, instead of --data and --images."),
    ] = None
    output: Annotated[
        Path, Parameter(alias="-o", group=DATA, help="Folder for {folder}_niah_eval.json, or the report's FILE.json.")
    ] = Path("results")
    blacklist: Annotated[Path | None, Parameter(group=DATA, help="A file of ids that are left out, one per line.")] = (
        None
    )
    text_only: Annotated[
        Switch, Parameter(group=DATA, help="Send each document's text in the prompt and no images.")
    ] = False
    case_sensitive: Annotated[Switch, Parameter(group=DATA, help="Case-sensitive matching.")] = False

    @property
    def shows_images(self) -> bool:
        """Whether documents are shown as page images."""
        return not self.text_only

    @property
    def benchmark(self) -> str:
        return "niah"
