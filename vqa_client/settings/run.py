"""Settings of every benchmark command."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from cyclopts import Group, Parameter

from vqa_client.errors import UsageError, did_you_mean
from vqa_client.settings.batch import BatchSettings, check_batch
from vqa_client.settings.divided import check_divided
from vqa_client.settings.request import RequestOptions
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.validation import ABOVE_0, STORES, AtLeast, Several, Switch, check
from vqa_client.types import FAILED, STATUSES, Status

DATA = Parameter(group=Group("Data", sort_key=0))
SERVER = Parameter(group=Group("Server", sort_key=1))
RUN = Parameter(group=Group("Run", sort_key=3))
ASKED = Parameter(group=Group("Questions", sort_key=4))
IMAGES = Parameter(group=Group("Images", sort_key=5))
JUDGE = Parameter(group=Group("Judge", sort_key=6))
DRY = Parameter(group=Group("Dry run", sort_key=7))

MOST_REPEATS = 10_000
"""Repeats of a question; a larger number is a typing error."""
DEFAULT_BASE_URL = "http://localhost:8000/v1"
Engine = Literal["direct", "httpx2", "openai"]


def _key_from_environment() -> str | None:
    return os.environ.get("VQA_CLIENT_API_KEY") or os.environ.get("OPENAI_API_KEY") or None


def _checked_by_default() -> bool:
    return not os.environ.get("VQA_CLIENT_NO_CHECK")


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class RunSettings(RequestOptions, BatchSettings):
    """Settings of every benchmark command: the server, the pace, and what happens to the images.

    `corrupted` asks every question under each of its corruptions and levels; `vqa-client robustness run` sets it.
    `entry` is the name of one of several runs of a benchmark in a suite.
    """

    base_url: Annotated[
        str | None,
        SERVER,
        Parameter(
            help=f"The OpenAI-compatible endpoint, with or without /v1. Default: the config's, else {DEFAULT_BASE_URL}."
        ),
    ] = field(default=None, repr=False)
    endpoint: Annotated[Several[str], SERVER] = field(default=(), repr=False)
    """A server to use instead of --base_url; repeat for several that serve the same model. --max_workers counts for all
    of them; a document's questions go to one."""
    api_key: Annotated[str | None, SERVER, Parameter(show_default=False)] = field(
        default_factory=_key_from_environment, repr=False
    )
    """Default: $VQA_CLIENT_API_KEY, then $OPENAI_API_KEY."""
    timeout: Annotated[float | None, ABOVE_0, SERVER] = None
    """Seconds per question from its first byte sent, retries included; waits that the server asks for are not counted.
    Default: the config's, else 600."""
    wait_for_server: Annotated[float, AtLeast(0), SERVER] = 30.0
    """Seconds to wait for a server that is starting, or that went away."""
    engine: Annotated[Engine, SERVER] = "direct"
    """HTTP client: built-in; httpx2 (used automatically with a proxy); openai: the SDK's, which signs for Azure and
    Bedrock by their own logins (needs the extra openai)."""
    check: Annotated[bool, SERVER, Parameter(show_default=False)] = field(default_factory=_checked_by_default)
    """Before the first question, find out which server it is and whether it sees images: two to four small requests.
    Default: yes, unless $VQA_CLIENT_NO_CHECK is set."""
    ca_bundle: Annotated[Path | None, SERVER] = None
    """A PEM file of certificate authorities to trust."""
    insecure: Annotated[Switch, SERVER] = False
    """Don't verify the server's certificate; recorded in the run."""
    image_uuid: Annotated[Literal["off", "auto"], SERVER] = "off"
    """auto: if the server knows images by a uuid (vLLM), send the bytes of each only once; questions about a document
    of 1 MB or more wait for the answer to its first one."""
    file_urls: Annotated[Switch, SERVER] = False
    """Send the file:// addresses of unchanged images to a server on this machine that may read them (vLLM's
    --allowed-local-media-path)."""
    stream: Annotated[Switch, SERVER] = False
    """Ask for replies as streams, to measure the time to the first token and the tokens per second."""
    metrics: Annotated[bool, SERVER] = True
    """Read the server's own figures every few seconds (/metrics of vLLM, llama.cpp and mlx-vlm), to show them and to
    name the bottleneck."""
    max_workers: Annotated[int | Literal["auto"], AtLeast(1), RUN] = 128
    """Requests in flight at once. auto: more while that makes the run faster, fewer if requests are refused."""
    limit: Annotated[int | None, AtLeast(0), RUN] = None
    """Ask only the first N instances of the data file."""
    max_retries: Annotated[int, AtLeast(0), RUN] = 4
    """Retries for transient errors."""
    breaker_after: Annotated[int, AtLeast(0), RUN] = 50
    """Stop after this many failed questions in a row; 0: never."""
    retry: Annotated[str, RUN] = ""
    """When resuming, also re-ask questions with these statuses, e.g. failed,empty,unparsed. Default: only failures that
    may be temporary."""
    retry_failed: Annotated[Switch, RUN] = False
    """The same as --retry failed."""
    fresh: Annotated[Switch, RUN] = False
    """Start over: records of an earlier run are moved aside."""
    json: Annotated[Switch, RUN] = False
    """Print the summaries as JSON to standard output."""
    html: Annotated[bool, RUN] = True
    """Write an HTML page beside each report (needs the extra html)."""
    sample: Annotated[int | None, AtLeast(1), ASKED] = None
    """Ask a random sample of N questions; with the same seed a larger sample contains a smaller one."""
    by: Annotated[str, ASKED] = ""
    """Stratify --sample by these fields (comma-separated), e.g. difficulty."""
    seed: Annotated[int, ASKED] = 0
    """Random seed for sampling and shuffling."""
    repeat: Annotated[int, AtLeast(1, most=MOST_REPEATS), ASKED] = 1
    """Ask each question N times: pass@k, majority and instability."""
    blind: Annotated[Switch, ASKED] = False
    """Ask every question with and without its images, to measure how much they matter."""
    dry_run: Annotated[Switch, DRY] = False
    """Estimate requests, tokens, time and cost; send and write nothing."""
    rate: Annotated[float | None, ABOVE_0, DRY] = None
    """Questions per second that the server handles, to estimate the time."""
    context_length: Annotated[int | None, AtLeast(1), DRY] = None
    """Context window in tokens, prompt plus reply. Default: what the server reports."""
    token_rule: Annotated[Literal["qwen2.5-vl", "qwen3-vl"], DRY] = "qwen3-vl"
    """How to count image tokens: one per 28 x 28 or 32 x 32 pixels."""
    max_pixels: Annotated[int | None, AtLeast(1), IMAGES] = None
    """Shrink images above this many pixels (recorded). Default: never."""
    white_value: Annotated[float | None, ABOVE_0, IMAGES] = None
    """Which value is white in 32-bit images (float TIFF), such as 1 or 255."""
    image_format: Annotated[Literal["png", "jpeg", "webp"] | None, IMAGES] = None
    """Re-encode every image (recorded). Default: files are sent byte for byte."""
    image_quality: Annotated[int, AtLeast(1, most=100), IMAGES] = 90
    """Quality of --image-format jpeg or webp."""
    max_pages: Annotated[int | None, AtLeast(1), IMAGES] = None
    """Send only the first N pages of a document (recorded). Default: all."""
    corrupted: Annotated[RobustnessRun | None, Parameter(parse=False)] = None
    entry: Annotated[str, Parameter(parse=False)] = ""

    addresses: ClassVar = {
        "data": ("hf", *STORES),
        **dict.fromkeys(("images", "blacklist", "questions_file", "annotations_file"), STORES),
    }
    """Settings that may be addresses, and the kinds of address."""
    name_option: ClassVar = "--model"
    """The option that names the model."""
    usual_max_tokens: ClassVar = 1024
    """Maximum tokens of a reply if no config has them."""
    usual_timeout_s: ClassVar[float | None] = None
    """Timeout in seconds if no config has one; None: the general default."""

    def __post_init__(self) -> None:
        check(self)
        check_divided(self)
        check_batch(self)
        retried(self.retry)
        self.sent(None), self.headers
        self._check_asked()

    def _check_asked(self) -> None:
        """Raise UsageError for options that contradict each other about which questions are asked."""
        if len(self.variations) > 1:
            names = f"{', '.join(self.variations[:-1])} and {self.variations[-1]}"
            raise UsageError(f"{names} can't be combined", hint="one run each, with an --output each")
        if self.variations and self.corrupted is not None:
            raise UsageError(f"{self.variations[0]} can't be combined with corruptions", hint="a run for each")
        if self.sample is not None and self.draws:
            raise UsageError(f"--sample and {self.draws[0]} both select questions", hint="give one of them")
        if self.by and self.sample is None:
            raise UsageError("--by needs --sample", hint="--sample 500 --by FIELD")
        if self.rate is not None and not self.dry_run:
            raise UsageError("--rate needs a dry run", hint="add --dry_run")

    @property
    def benchmark(self) -> str:
        """The name of the benchmark."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """The name that distinguishes these settings from others of the same command."""
        return entry_title(self.benchmark, self.entry)

    def named(self, benchmark: str) -> Self:
        """The same settings for another benchmark; settings that belong to one benchmark ignore the name."""
        del benchmark
        return self

    @property
    def asked_again(self) -> frozenset[Status]:
        """Statuses that a resumed run asks again, in addition to temporary failures."""
        return retried(self.retry) | (retried(EVERY_FAILURE) if self.retry_failed else frozenset())

    @property
    def variations(self) -> tuple[str, ...]:
        """The given options that ask every question in several forms, or in another form; only one is allowed."""
        options = {"--repeat": self.repeat > 1, "--blind": self.blind}
        return tuple(option for option, is_given in options.items() if is_given)

    @property
    def draws(self) -> tuple[str, ...]:
        """The given options other than --sample that select some of the questions."""
        return ("--limit",) if self.limit is not None else ()

    @property
    def configs(self) -> tuple[str | None, ...]:
        """The configs of the models, asked one after the other; None is the model that the server serves."""
        return (None,)

    @property
    def served_name(self) -> str | None:
        """The model's name at the server, if it isn't the config's."""
        return None

    @property
    def shows_images(self) -> bool:
        """Whether questions are asked with their images."""
        return not getattr(self, "text_only", False)

    @property
    def hands_over(self) -> bool:
        """Whether images at addresses go to the server as addresses."""
        return False

    @property
    def max_side(self) -> int | None:
        """The maximum side of an image in pixels; larger ones are shrunk. None: no limit."""
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfiguredSettings(RunSettings):
    """Settings of commands whose --model is a config."""

    model_name: Annotated[str | None, SERVER] = None
    """The model's name at the server, if it isn't the config's."""
    name_option: ClassVar = "--model_name"

    @property
    def served_name(self) -> str | None:
        return self.model_name


@dataclass(frozen=True, kw_only=True, slots=True)
class OneModelSettings(RunSettings):
    """Settings of commands that ask one model."""

    config: Annotated[str | None, SERVER, Parameter(alias="-c")] = None
    """A model's settings: a JSON file, or the name of a shipped one."""
    model: Annotated[str | None, SERVER] = None
    """The model to ask for. Default: the config's, else the one the server serves."""

    @property
    def configs(self) -> tuple[str | None, ...]:
        return (self.config,)

    @property
    def served_name(self) -> str | None:
        return self.model


def entry_title(benchmark: str, entry: str, part: str = "") -> str:
    """A benchmark with a part of its data, if any, and its name in a suite that has it several times."""
    title = f"{benchmark} {part}".rstrip()
    return title if entry in ("", benchmark) else f"{title} ({entry})"


def output_option(settings: RunSettings) -> str:
    """The name of the field that --output sets."""
    return "output" if hasattr(settings, "output") else "results_dir"


def output_folder(settings: RunSettings) -> Path:
    """The folder of a run's files, also if --output names its report."""
    output = given_output(settings)
    return output.parent if names_report(output) else output


def given_output(settings: RunSettings) -> Path:
    """The value of --output: a folder, or the name of a report."""
    return Path(getattr(settings, output_option(settings)))


def names_report(output: Path) -> bool:
    """Whether --output is the name of a report rather than a folder."""
    return output.suffix.lower() == ".json" and not output.is_dir()


EVERY_FAILURE = "failed"


def retried(words: str) -> frozenset[Status]:
    """Read comma-separated statuses, or "failed" for all without a reply; raises UsageError for other words."""
    known: dict[str, frozenset[Status]] = {EVERY_FAILURE: FAILED}
    known |= {status: frozenset({status}) for status in STATUSES if status != "ok"}
    named = [word.strip() for word in words.split(",") if word.strip()]
    unknown = next((word for word in named if word not in known), None)
    if unknown is not None:
        hint = did_you_mean(unknown, known, f"known are {', '.join(known)}; --fresh asks all again")
        raise UsageError(f"unknown status {unknown!r} in --retry", hint=hint)
    return frozenset().union(*(known[word] for word in named))
