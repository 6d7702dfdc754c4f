"""Settings of the command that scores explanations in files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.score import DATA
from vqa_client.settings.validation import CheckedSettings, check

TaskName = Literal["vqax", "actx", "esnlive", "vcr"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreExplanationsSettings(CheckedSettings):
    """Settings of `vqa-client score-explanations`: explanations in a file against those of people in another."""

    predictions: Annotated[
        Path,
        Parameter(
            alias="-p",
            group=DATA,
            help="A *.records.jsonl or *_eval.csv of explain, the published script's CSV, or COCO captions: "
            '[{"image_id", "caption"}].',
        ),
    ]
    references: Annotated[
        Path | None,
        Parameter(
            alias="-r",
            group=DATA,
            help="An NLE file or COCO caption annotations. Default: the NLE file of --task and --split below --data.",
        ),
    ] = None
    task: Annotated[
        TaskName | None, Parameter(group=DATA, help="Default: as the files' names say, vqax_val_eval.csv and the like.")
    ] = None
    split: Annotated[
        Literal["train", "val", "test"] | None, Parameter(group=DATA, help="Default: as the predictions' name says.")
    ] = None
    data_root: Annotated[
        Path,
        Parameter(
            name=("--data", "-d", "--data_root"),
            group=DATA,
            help="Folder with nle_data/.",
        ),
    ] = Path(".")
    vcr_mode: Annotated[
        Literal["free", "q2a", "qa2r", "q2ar"] | None,
        Parameter(group=DATA, help="What VCR was asked for. Default: as the predictions' name says, else free."),
    ] = None
    captions: Annotated[
        Literal["full", "exp"] | None,
        Parameter(
            group=DATA,
            help='full: captions read "answer because explanation"; exp: they are explanations. Default: as their '
            "name says, else what most look like.",
        ),
    ] = None
    output: Annotated[
        Path | None, Parameter(alias="-o", group=DATA, help="Folder for the scores as JSON. Default: none is written.")
    ] = None
    coco_captions: Annotated[
        bool,
        Parameter(group=DATA, negative="", help="Write both sides as COCO captions into --output, for other scorers."),
    ] = False
    json: Annotated[bool, Parameter(group=DATA, negative="", help="Print the scores as JSON to standard output.")] = (
        False
    )

    def __post_init__(self) -> None:
        check(self)
        if self.coco_captions and self.output is None:
            raise UsageError("--coco_captions has no folder to write to", hint="name one with --output")
