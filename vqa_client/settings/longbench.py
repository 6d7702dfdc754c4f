"""Settings of the LongBench-v2 commands."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vqa_client.settings.run import ASKED, DATA, OneModelSettings
from vqa_client.types import ChoiceMode


@dataclass(frozen=True, kw_only=True, slots=True)
class McSettings(OneModelSettings):
    """Settings of `vqa-client mc`: four-choice questions on documents rendered as page images."""

    data_json: Annotated[Path, Parameter(group=DATA, help="Questions in LongBench-v2's form.")]
    images_dir: Annotated[
        Path | None,
        Parameter(group=DATA, help="Page images {_id}_page_{NNN}.png: a folder of them, or a folder of such folders."),
    ] = None
    output: Annotated[Path, Parameter(alias="-o", group=DATA, help="Folder for {folder}_mc_eval.json.")] = Path(
        "results"
    )
    blacklist: Annotated[Path | None, Parameter(group=DATA, help="A file of ids that are left out, one a line.")] = None
    text_only: Annotated[
        bool, Parameter(group=DATA, negative="", help="Send each document's text in the prompt and no images.")
    ] = False
    parser: Annotated[
        Literal["robust", "seed", "longbench"],
        Parameter(group=DATA, help="Which reading of a reply is the headline; all three are reported."),
    ] = "robust"
    choice_mode: Annotated[
        ChoiceMode,
        Parameter(
            group=ASKED,
            help="text: read the letter from the reply; structured: let the server reply with nothing but a letter; "
            "logprob: one token a question, and the letter that is most probable as that.",
        ),
    ] = "text"
    shuffle_choices: Annotated[
        bool,
        Parameter(group=ASKED, negative="", help="Show each question's choices in an order drawn from --seed."),
    ] = False
    circular: Annotated[
        bool,
        Parameter(
            group=ASKED, negative="", help="Ask each question in all rotations of its choices: right if right in each."
        ),
    ] = False

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return "mc"

    @property
    def variations(self) -> tuple[str, ...]:
        """Those of every benchmark, and the orders of the choices."""
        given = {"--shuffle_choices": self.shuffle_choices, "--circular": self.circular}
        named = (option for option, wanted in given.items() if wanted)
        return (*super(McSettings, self).variations, *named)

    @property
    def shows_images(self) -> bool:
        """Whether documents are shown as page images."""
        return not self.text_only


@dataclass(frozen=True, kw_only=True, slots=True)
class NiahSettings(OneModelSettings):
    """Settings of `vqa-client niah`: needles hidden in documents rendered as page images."""

    data: Annotated[Path | None, Parameter(alias="-d", group=DATA, help="Questions in the needle file's form.")] = None
    images: Annotated[Path | None, Parameter(alias="-i", group=DATA, help="The folder of page images.")] = None
    input: Annotated[
        Path | None, Parameter(group=DATA, help="Instead of both: a folder with data.json and */images.")
    ] = None
    output: Annotated[
        Path, Parameter(alias="-o", group=DATA, help="The report FILE.json; with several image folders, a folder.")
    ] = Path("results")
    blacklist: Annotated[Path | None, Parameter(group=DATA, help="A file of ids that are left out, one a line.")] = None
    text_only: Annotated[
        bool, Parameter(group=DATA, negative="", help="Send each document's text in the prompt and no images.")
    ] = False
    case_sensitive: Annotated[bool, Parameter(group=DATA, negative="", help="Compare answers with their case.")] = False

    @property
    def shows_images(self) -> bool:
        """Whether documents are shown as page images."""
        return not self.text_only

    @property
    def benchmark(self) -> str:
        """The benchmark's name."""
        return "niah"
