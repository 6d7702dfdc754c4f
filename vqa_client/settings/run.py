"""What every benchmark command takes."""

import difflib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from cyclopts import Group, Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.batch import BatchSettings, check_batch
from vqa_client.settings.divided import check_divided
from vqa_client.settings.request import RequestOptions
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.validation import ABOVE_0, AtLeast, Several, Switch, check
from vqa_client.types import FAILED, STATUSES, Status

DATA = Group("Data", sort_key=0)
SERVER = Group("Server", sort_key=1)
RUN = Group("Run", sort_key=3)
ASKED = Group("Questions", sort_key=4)
IMAGES = Group("Images", sort_key=5)
JUDGE = Group("Judge", sort_key=6)
DRY = Group("Dry run", sort_key=7)

DEFAULT_BASE_URL = "http://localhost:8000/v1"


def _key_from_environment() -> str | None:
    return os.environ.get("VQA_CLIENT_API_KEY") or os.environ.get("OPENAI_API_KEY") or None


def _checked_by_default() -> bool:
    return not os.environ.get("VQA_CLIENT_NO_CHECK")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class RunSettings(RequestOptions, BatchSettings):
    """What every benchmark command takes: the server, the pace, and what happens to the images.

    `corrupted` asks every question under each corruption and level that it names: `vqa-client robustness run` sets it.
    """

    base_url: Annotated[
        str | None,
        Parameter(
            group=SERVER,
            help="The OpenAI-compatible endpoint, with or without /v1. Default: the config's, else "
            f"{DEFAULT_BASE_URL}.",
        ),
    ] = field(default=None, repr=False)
    endpoint: Annotated[
        Several[str],
        Parameter(
            group=SERVER,
            help="A server to use instead of --base_url; repeat for several that serve the same model. --max_workers "
            "counts for all of them; a document's questions go to one.",
        ),
    ] = field(default=(), repr=False)
    api_key: Annotated[
        str | None,
        Parameter(group=SERVER, help="Default: $VQA_CLIENT_API_KEY, then $OPENAI_API_KEY.", show_default=False),
    ] = field(default_factory=_key_from_environment, repr=False)
    timeout: Annotated[
        float | None,
        Parameter(
            group=SERVER,
            help="Seconds per question from its first byte sent, retries included; waits that the server asks for are "
            "not counted. Default: the config's, else 600.",
        ),
    ] = None
    wait_for_server: Annotated[
        float,
        AtLeast(0),
        Parameter(group=SERVER, help="Seconds to wait for a server that is starting, or that went away."),
    ] = 30.0
    engine: Annotated[
        Literal["direct", "httpx2", "openai"],
        Parameter(
            group=SERVER,
            help="HTTP client: built-in; httpx2 (used automatically with a proxy); openai: the SDK's, which signs for "
            "Azure and Bedrock by their own logins (needs the extra openai).",
        ),
    ] = "direct"
    check: Annotated[
        bool,
        Parameter(
            group=SERVER,
            show_default=False,
            help="Before the first question, find out which server it is and whether it sees images: two to four small "
            "requests. Default: yes, unless $VQA_CLIENT_NO_CHECK is set.",
        ),
    ] = field(default_factory=_checked_by_default)
    ca_bundle: Annotated[
        Path | None, Parameter(group=SERVER, help="A PEM file of certificate authorities to trust.")
    ] = None
    insecure: Annotated[
        Switch, Parameter(group=SERVER, help="Don't verify the server's certificate; recorded in the run.")
    ] = False
    image_uuid: Annotated[
        Literal["off", "auto"],
        Parameter(
            group=SERVER,
            help="auto: if the server knows images by a uuid (vLLM), send the bytes of each only once; questions "
            "about a document of 1 MB or more wait for the answer to its first one.",
        ),
    ] = "off"
    file_urls: Annotated[
        Switch,
        Parameter(
            group=SERVER,
            help="Send the file:// addresses of unchanged images to a server on this machine that may read them "
            "(vLLM's --allowed-local-media-path).",
        ),
    ] = False
    stream: Annotated[
        Switch,
        Parameter(
            group=SERVER,
            help="Ask for replies as streams, to measure the time to the first token and the tokens per second.",
        ),
    ] = False
    metrics: Annotated[
        bool,
        Parameter(
            group=SERVER,
            help="Read the server's own figures every few seconds (/metrics of vLLM, llama.cpp and mlx-vlm), to show "
            "them and to name the bottleneck.",
        ),
    ] = True
    max_workers: Annotated[
        int | Literal["auto"],
        AtLeast(1),
        Parameter(
            group=RUN,
            help="Requests in flight at once. auto: more while that makes the run faster, fewer if requests are "
            "refused.",
        ),
    ] = 128
    limit: Annotated[
        int | None, AtLeast(0), Parameter(group=RUN, help="Ask only the first N instances of the data file.")
    ] = None
    max_retries: Annotated[int, AtLeast(0), Parameter(group=RUN, help="Retries for transient errors.")] = 4
    breaker_after: Annotated[
        int, AtLeast(0), Parameter(group=RUN, help="Stop after this many failed questions in a row; 0: never.")
    ] = 50
    retry: Annotated[
        str,
        Parameter(
            group=RUN,
            help="When resuming, also re-ask questions with these statuses, e.g. failed,empty,unparsed. Default: "
            "only failures that may be temporary.",
        ),
    ] = ""
    retry_failed: Annotated[Switch, Parameter(group=RUN, help="The same as --retry failed.")] = False
    fresh: Annotated[Switch, Parameter(group=RUN, help="Start over: records of an earlier run are moved aside.")] = (
        False
    )
    json: Annotated[Switch, Parameter(group=RUN, help="Print the summaries as JSON to standard output.")] = False
    html: Annotated[
        bool, Parameter(group=RUN, help="Write an HTML page beside each report (needs the extra html).")
    ] = True
    sample: Annotated[
        int | None,
        AtLeast(1),
        Parameter(
            group=ASKED,
            help="Ask a random sample of N questions; with the same seed a larger sample contains a smaller one.",
        ),
    ] = None
    by: Annotated[
        str, Parameter(group=ASKED, help="Stratify --sample by these fields (comma-separated), e.g. difficulty.")
    ] = ""
    seed: Annotated[int, Parameter(group=ASKED, help="Random seed for sampling and shuffling.")] = 0
    repeat: Annotated[
        int, AtLeast(1), Parameter(group=ASKED, help="Ask each question N times: pass@k, majority and instability.")
    ] = 1
    blind: Annotated[
        Switch,
        Parameter(group=ASKED, help="Ask every question with and without its images, to measure how much they matter."),
    ] = False
    dry_run: Annotated[
        Switch, Parameter(group=DRY, help="Estimate requests, tokens, time and cost; send and write nothing.")
    ] = False
    rate: Annotated[
        float | None,
        ABOVE_0,
        Parameter(group=DRY, help="Questions per second that the server handles, to estimate the time."),
    ] = None
    context_length: Annotated[
        int | None,
        AtLeast(1),
        Parameter(group=DRY, help="Context window in tokens, prompt plus reply. Default: what the server reports."),
    ] = None
    token_rule: Annotated[
        Literal["qwen2.5-vl", "qwen3-vl"],
        Parameter(group=DRY, help="How to count image tokens: one per 28 x 28 or 32 x 32 pixels."),
    ] = "qwen3-vl"
    max_pixels: Annotated[
        int | None,
        AtLeast(1),
        Parameter(group=IMAGES, help="Shrink images above this many pixels (recorded). Default: never."),
    ] = None
    white_value: Annotated[
        float | None,
        ABOVE_0,
        Parameter(group=IMAGES, help="Which value is white in 32-bit images (float TIFF), such as 1 or 255."),
    ] = None
    image_format: Annotated[
        Literal["png", "jpeg", "webp"] | None,
        Parameter(group=IMAGES, help="Re-encode every image (recorded). Default: files are sent byte for byte."),
    ] = None
    image_quality: Annotated[
        int, AtLeast(1, most=100), Parameter(group=IMAGES, help="Quality of --image-format jpeg or webp.")
    ] = 90
    max_pages: Annotated[
        int | None,
        AtLeast(1),
        Parameter(group=IMAGES, help="Send only the first N pages of a document (recorded). Default: all."),
    ] = None
    corrupted: Annotated[RobustnessRun | None, Parameter(parse=False)] = None

    name_option: ClassVar = "--model"
    """The option that names the model."""
    usual_max_tokens: ClassVar = 1024
    """How many tokens a reply may have where no config says."""
    usual_timeout_s: ClassVar[float | None] = None
    """Seconds a request may take where no config says; None: as for a config without one."""

    def __post_init__(self) -> None:
        if isinstance(self.endpoint, str):  # as people write one in Python
            object.__setattr__(self, "endpoint", (self.endpoint,))
        check(self)
        check_divided(self)
        check_batch(self, {"several of --endpoint": len(self.endpoint) > 1, "--stream": self.stream})
        retried(self.retry)
        self.sent(None), self.headers
        self._check_asked()

    def _check_asked(self) -> None:
        """Raise UsageError where two of the options that say what is asked contradict each other."""
        if len(self.variations) > 1:
            raise UsageError(
                f"{' and '.join(self.variations)} can't be combined", hint="one run each, with an --output each"
            )
        if self.variations and self.corrupted is not None:
            raise UsageError(f"{self.variations[0]} can't be combined with corruptions", hint="a run for each")
        if self.sample is not None and self.draws:
            raise UsageError(
                f"--sample and {self.draws[0]} both say which questions are asked", hint="give one of them"
            )
        if self.by and self.sample is None:
            raise UsageError("--by says how --sample draws, and there is no --sample", hint="--sample 500 --by FIELD")
        if self.rate is not None and not self.dry_run:
            raise UsageError("--rate is of a dry run", hint="add --dry_run")

    @property
    def benchmark(self) -> str:
        """The name of the benchmark that is asked."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """What tells these settings apart from others of the same command."""
        return self.benchmark

    def named(self, benchmark: str) -> Self:
        """The same settings for the benchmark of this name; most settings are of one benchmark alone."""
        del benchmark
        return self

    @property
    def asked_again(self) -> frozenset[Status]:
        """The statuses that a resumed run asks again, besides failures that may pass."""
        return retried(self.retry) | (retried(EVERY_FAILURE) if self.retry_failed else frozenset())

    @property
    def variations(self) -> tuple[str, ...]:
        """The options that ask every question in several forms, or in another one; at most one may be given."""
        options = {"--repeat": self.repeat > 1, "--blind": self.blind}
        return tuple(option for option, is_given in options.items() if is_given)

    @property
    def draws(self) -> tuple[str, ...]:
        """The options by which, besides --sample, only some of the questions are asked."""
        return ("--limit",) if self.limit is not None else ()

    @property
    def configs(self) -> tuple[str | None, ...]:
        """The configs of the models that are asked one after the other; None asks what the server serves."""
        return (None,)

    @property
    def served_name(self) -> str | None:
        """The name to ask for, where it isn't the config's."""
        return None

    @property
    def shows_images(self) -> bool:
        return True

    @property
    def hands_over(self) -> bool:
        """Whether images at addresses go to the server as addresses."""
        return False

    @property
    def max_side(self) -> int | None:
        """The longest side that an image is sent with, in pixels; None for any."""
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfiguredSettings(RunSettings):
    """What the commands take whose --model means configs."""

    model_name: Annotated[
        str | None, Parameter(group=SERVER, help="The model's name at the server, if it isn't the config's.")
    ] = None
    name_option: ClassVar = "--model_name"

    @property
    def served_name(self) -> str | None:
        return self.model_name


@dataclass(frozen=True, kw_only=True, slots=True)
class OneModelSettings(RunSettings):
    """What the commands take that ask one model."""

    config: Annotated[
        str | None,
        Parameter(alias="-c", group=SERVER, help="A model's settings: a JSON file, or the name of a shipped one."),
    ] = None
    model: Annotated[
        str | None,
        Parameter(group=SERVER, help="The model to ask for. Default: the config's, else the one the server serves."),
    ] = None

    @property
    def configs(self) -> tuple[str | None, ...]:
        return (self.config,)

    @property
    def served_name(self) -> str | None:
        return self.model


def output_option(settings: RunSettings) -> str:
    """The name of the setting that --output gives."""
    return "output" if hasattr(settings, "output") else "results_dir"


def output_folder(settings: RunSettings) -> Path:
    """The folder that a run's files are below; --output may name its report."""
    output = given_output(settings)
    return output.parent if names_report(output) else output


def given_output(settings: RunSettings) -> Path:
    """What --output gives: a folder, or the name of a report."""
    return Path(getattr(settings, output_option(settings)))


def names_report(output: Path) -> bool:
    """Whether an --output is the name of a report, and not of a folder."""
    return output.suffix.lower() == ".json" and not output.is_dir()


EVERY_FAILURE = "failed"


def retried(words: str) -> frozenset[Status]:
    """Read names with commas: statuses, or "failed" for all without a reply; raises UsageError for any other."""
    known: dict[str, frozenset[Status]] = {EVERY_FAILURE: FAILED}
    known |= {status: frozenset({status}) for status in STATUSES if status != "ok"}
    named = [word.strip() for word in words.split(",") if word.strip()]
    unknown = next((word for word in named if word not in known), None)
    if unknown is not None:
        near = difflib.get_close_matches(unknown, known, 1)
        guess = f"did you mean {near[0]}? " if near else ""
        hint = f"{guess}known are {', '.join(known)}; --fresh asks all again"
        raise UsageError(f"unknown status {unknown!r} in --retry", hint=hint)
    return frozenset().union(*(known[word] for word in named))
