"""Settings of the VQA 2.0 command."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from cyclopts import Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.run import DATA, IMAGES, RUN, SERVER, ConfiguredSettings
from vqa_client.settings.validation import AtLeast, Several, Switch

MAX_TOKENS = 100
"""As many as the published framework lets a model say."""
NUM_QUESTIONS = 20
TIMEOUT_S = 180.0
"""The published time for large models: nobody knows how large a served one is."""

PUBLISHED_MAX_SIDE = 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Vqa2Settings(ConfiguredSettings):
    """Settings of `vqa-client vqa2`: open questions on photographs, each answered by ten people."""

    mode: Annotated[
        Literal["coco", "sample"],
        Parameter(group=DATA, help="VQA 2.0's own questions, or twenty of ours on drawn pictures."),
    ] = "coco"
    num_questions: Annotated[
        int | None,
        AtLeast(0),
        Parameter(alias="--questions", group=DATA, help="How many questions to draw from all; 0 asks every one."),
    ] = NUM_QUESTIONS
    seed: Annotated[int, Parameter(group=DATA, help="Random seed; 42 draws the published framework's questions.")] = 42
    data_dir: Annotated[
        Path,
        Parameter(
            name=("--data", "-d", "--data_dir"),
            group=DATA,
            help="Folder with the questions, the annotations and images/.",
        ),
    ] = Path("materials/vqa2")
    questions_file: Annotated[
        Path | None, Parameter(group=DATA, help="Questions in VQA 2.0's form. Default: those in --data.")
    ] = None
    annotations_file: Annotated[
        Path | None,
        Parameter(group=DATA, help="Their annotations. Default: those beside the questions; without: no scores."),
    ] = None
    images: Annotated[
        Path | None,
        Parameter(alias="-i", group=DATA, help="Folder of the images, or of val2014/. Default: images/ in --data."),
    ] = None
    results_dir: Annotated[
        Path, Parameter(name=("--output", "-o", "--results_dir"), group=DATA, help="Folder for vqa2_results_*.json.")
    ] = Path("results")
    verbose: Annotated[Switch, Parameter(group=DATA, help="Print each question and answer, at most 100.")] = False
    model: Annotated[
        Several[str],
        Parameter(
            alias=("--models", "--config", "-c"),
            group=SERVER,
            consume_multiple=True,
            help="Configs of one or more models: shipped names or JSON files; or a model's name at the server. "
            "Default: the model that the server serves.",
        ),
    ] = ()
    timeout: Annotated[
        float | None,
        Parameter(
            group=SERVER,
            help="Seconds per question from its first byte sent, retries included; waits that the server asks for are "
            f"not counted. Default: the config's, else {TIMEOUT_S:.0f}, as the published framework has it.",
        ),
    ] = None
    max_workers: Annotated[
        int | Literal["auto"],
        AtLeast(1),
        Parameter(
            group=RUN,
            help="Requests in flight at once; auto finds out how many. Small models are often served one question "
            "at a time, and waiting counts against --timeout; vLLM takes 128.",
        ),
    ] = 16
    raw_images: Annotated[
        Switch,
        Parameter(
            group=IMAGES,
            help="Send images as they are (recorded). Default: shrunk to a longest side of 1024, as published.",
        ),
    ] = False

    usual_max_tokens: ClassVar = MAX_TOKENS
    usual_timeout_s: ClassVar[float | None] = TIMEOUT_S

    def __post_init__(self) -> None:
        models = (self.model,) if isinstance(self.model, str) else tuple(self.model)
        object.__setattr__(self, "model", models)
        _refuse_twins(self.model)
        if self.model_name and len(self.model) > 1:
            raise UsageError("--model_name goes with one --model", hint="give the names in the configs' model_name")
        super(Vqa2Settings, self).__post_init__()

    @property
    def benchmark(self) -> str:
        return "vqa2"

    @property
    def draws(self) -> tuple[str, ...]:
        """A number of questions that is not the usual one was given by hand: --sample draws from all."""
        given = self.num_questions not in (NUM_QUESTIONS, 0, None)
        return (*super(Vqa2Settings, self).draws, *(["--num_questions"] if given else []))

    @property
    def max_side(self) -> int | None:
        """The published framework's, unless images are sent as they are."""
        return None if self.raw_images else PUBLISHED_MAX_SIDE

    @property
    def configs(self) -> tuple[str | None, ...]:
        """The configs of the models; None asks what the server serves."""
        return self.model or (None,)


def _refuse_twins(configs: Sequence[str]) -> None:
    """Results go by the config's name: two of one name would be one model's."""
    names = [Path(config).stem if config.endswith(".json") else config for config in configs]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--model names {name!r} twice", hint="name each once; configs of one name need another")
