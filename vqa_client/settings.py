"""Every knob once, with its help text: the command line, the Python API and the run's identity are made from these."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from vqa_client.errors import UsageError

DATA = Group("Data", sort_key=0)
SERVER = Group("Server", sort_key=1)
RUN = Group("Run", sort_key=2)
IMAGES = Group("Images", sort_key=3)

DEFAULT_BASE_URL = "http://localhost:8000/v1"
PATHS = ("data_json", "images_dir", "output", "blacklist", "data", "images", "input", "ca_bundle")
CHOICES = {
    "engine": ("direct", "httpx2"),
    "image_format": ("png", "jpeg", "webp"),
    "parser": ("robust", "seed", "longbench"),
}
AT_LEAST = {
    "max_workers": 1,
    "limit": 0,
    "max_retries": 0,
    "breaker_after": 0,
    "max_pixels": 1,
    "image_quality": 1,
    "max_pages": 1,
    "wait_for_server": 0,
}


def _key_from_environment() -> str | None:
    return os.environ.get("VQA_CLIENT_API_KEY") or os.environ.get("OPENAI_API_KEY") or None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunSettings:
    """What every benchmark command takes: the server, the pace, and what happens to the images."""

    config: Annotated[
        str | None,
        Parameter(alias="-c", group=SERVER, help="A model's settings: a JSON file, or the name of a shipped one."),
    ] = None
    base_url: Annotated[str, Parameter(group=SERVER, help="The OpenAI-compatible endpoint, with or without /v1.")] = (
        DEFAULT_BASE_URL
    )
    api_key: Annotated[
        str | None,
        Parameter(group=SERVER, help="Default: $VQA_CLIENT_API_KEY, then $OPENAI_API_KEY.", show_default=False),
    ] = field(default_factory=_key_from_environment, repr=False)
    model: Annotated[
        str | None,
        Parameter(group=SERVER, help="The model to ask for. Default: the config's, else the one the server serves."),
    ] = None
    presence_penalty: Annotated[
        float | None, Parameter(group=SERVER, help="Sent with each request. Default: the config's, else not sent.")
    ] = None
    timeout: Annotated[
        float | None,
        Parameter(
            group=SERVER,
            help="Seconds a request may take from its first byte sent. Default: the config's, else 600.",
        ),
    ] = None
    wait_for_server: Annotated[
        float, Parameter(group=SERVER, help="Seconds to wait for a server that is starting, or that went away.")
    ] = 30.0
    engine: Annotated[
        Literal["direct", "httpx2"],
        Parameter(
            group=SERVER,
            help="What carries the requests: our own connection pool, or httpx2 (taken anyway where the environment "
            "names a proxy).",
        ),
    ] = "direct"
    ca_bundle: Annotated[
        Path | None, Parameter(group=SERVER, help="A PEM file of certificate authorities to trust.")
    ] = None
    insecure: Annotated[
        bool, Parameter(group=SERVER, negative="", help="Don't verify the server's certificate; recorded in the run.")
    ] = False
    max_workers: Annotated[int, Parameter(group=RUN, help="Requests in flight at once.")] = 128
    limit: Annotated[int | None, Parameter(group=RUN, help="Ask only the first N instances of the data file.")] = None
    max_retries: Annotated[int, Parameter(group=RUN, help="Repeats of a request that may succeed later.")] = 4
    breaker_after: Annotated[
        int, Parameter(group=RUN, help="Stop the run after this many failed questions in a row; 0: never.")
    ] = 50
    retry_failed: Annotated[
        bool, Parameter(group=RUN, negative="", help="On resume, also ask again what failed for good.")
    ] = False
    fresh: Annotated[
        bool, Parameter(group=RUN, negative="", help="Start over: records of an earlier run are moved aside.")
    ] = False
    json: Annotated[
        bool, Parameter(group=RUN, negative="", help="Print the summaries as JSON, alone on standard output.")
    ] = False
    max_pixels: Annotated[
        int | None, Parameter(group=IMAGES, help="Shrink images above this many pixels (recorded). Default: never.")
    ] = None
    image_format: Annotated[
        Literal["png", "jpeg", "webp"] | None,
        Parameter(group=IMAGES, help="Re-encode every image (recorded). Default: files are sent byte for byte."),
    ] = None
    image_quality: Annotated[int, Parameter(group=IMAGES, help="Quality of --image-format jpeg or webp.")] = 90
    max_pages: Annotated[
        int | None, Parameter(group=IMAGES, help="Send only the first N pages of a document (recorded). Default: all.")
    ] = None

    def __post_init__(self) -> None:
        for name in PATHS:
            value = getattr(self, name, None)
            if isinstance(value, str):  # as people write them in Python
                object.__setattr__(self, name, Path(value))
        for name, allowed in CHOICES.items():
            value = getattr(self, name, None)
            if value is not None and value not in allowed:
                raise UsageError(f"--{name} is {value!r}; it must be one of {', '.join(allowed)}")
        for name, least in AT_LEAST.items():
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | float) or value < least):
                raise UsageError(f"--{name} is {value!r}; it must be a number of at least {least}")
        if self.timeout is not None and self.timeout <= 0:
            raise UsageError(f"--timeout is {self.timeout}; it must be above 0 seconds")


@dataclass(frozen=True, kw_only=True, slots=True)
class McSettings(RunSettings):
    """Settings of `vqa-client mc`: four-choice questions on documents rendered as page images."""

    data_json: Annotated[Path, Parameter(group=DATA, help="Questions in LongBench-v2's form.")]
    images_dir: Annotated[
        Path | None,
        Parameter(group=DATA, help="Page images {_id}_page_{NNN}.png: a folder of them, or a folder of such folders."),
    ] = None
    output: Annotated[Path, Parameter(alias="-o", group=DATA, help="Folder for {folder}_mc_eval.json.")]
    blacklist: Annotated[Path | None, Parameter(group=DATA, help="A file of ids that are left out, one a line.")] = None
    text_only: Annotated[
        bool, Parameter(group=DATA, negative="", help="Send each document's text in the prompt and no images.")
    ] = False
    parser: Annotated[
        Literal["robust", "seed", "longbench"],
        Parameter(group=DATA, help="Which reading of a reply is the headline; all three are reported."),
    ] = "robust"


@dataclass(frozen=True, kw_only=True, slots=True)
class NiahSettings(RunSettings):
    """Settings of `vqa-client niah`: needles hidden in documents rendered as page images."""

    data: Annotated[Path | None, Parameter(alias="-d", group=DATA, help="Questions in the needle file's form.")] = None
    images: Annotated[Path | None, Parameter(alias="-i", group=DATA, help="The folder of page images.")] = None
    input: Annotated[
        Path | None, Parameter(group=DATA, help="Instead of both: a folder with data.json and */images.")
    ] = None
    output: Annotated[
        Path, Parameter(alias="-o", group=DATA, help="The report FILE.json; with several image folders, a folder.")
    ]
    blacklist: Annotated[Path | None, Parameter(group=DATA, help="A file of ids that are left out, one a line.")] = None
    text_only: Annotated[
        bool, Parameter(group=DATA, negative="", help="Send each document's text in the prompt and no images.")
    ] = False
    case_sensitive: Annotated[bool, Parameter(group=DATA, negative="", help="Compare answers with their case.")] = False


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoSettings:
    """Settings of `vqa-client demo`."""

    output: Annotated[Path, Parameter(alias="-o", help="Folder for the reports.")] = Path("demo_results")
    max_workers: Annotated[int, Parameter(help="Requests in flight at once.")] = 8
    fresh: Annotated[bool, Parameter(negative="", help="Ask again what an earlier demo has answered.")] = False
