"""Settings of the commands that start or examine a server."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vqa_client.settings.run import DEFAULT_BASE_URL, Engine, OneModelSettings, RunSettings
from vqa_client.settings.validation import ABOVE_0, AtLeast, CheckedSettings, Several, Switch

ServerName = Literal["vllm", "mlx", "local", "reader"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeSettings(CheckedSettings):
    """Settings of `vqa-client serve`."""

    config: Annotated[str | None, Parameter(alias="-c")] = None
    """The model's config: a file, or a shipped one's name. For vllm and mlx."""
    host: str = "127.0.0.1"
    """Where to listen; 0.0.0.0: reachable from the network."""
    port: Annotated[int, AtLeast(0, most=65535)] = 8000
    """The port to listen on."""
    images: Annotated[Path | None, Parameter(name=("--images", "-i", "--images_dir"))] = None
    """The page images of the run: vLLM's limit on images is set for the longest document."""
    start_timeout: Annotated[float, ABOVE_0] = 3600.0
    """Seconds it may take to load, downloads included."""
    dry_run: Switch = False
    """Print the command, and start nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoSettings(CheckedSettings):
    """Settings of `vqa-client demo`."""

    output: Annotated[Path, Parameter(alias="-o")] = Path("demo_results")
    """Folder for the reports."""
    max_workers: Annotated[int, AtLeast(1)] = 8
    """Requests in flight at once."""
    fresh: Switch = False
    """Ask all questions again, also those that an earlier demo asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckSettings(CheckedSettings):
    """Settings of `vqa-client check`: the server and the model."""

    base_url: Annotated[
        str | None,
        Parameter(help=f"The endpoint, with or without /v1. Default: the config's, else {DEFAULT_BASE_URL}."),
    ] = field(default=None, repr=False)
    config: Annotated[str | None, Parameter(alias="-c")] = None
    """A model's settings, sent as a run would send them: a file, or a shipped one's name."""
    model: str | None = None
    """The model to ask for. Default: the config's, else the one the server serves."""
    api_key: Annotated[str | None, Parameter(show_default=False)] = field(
        default_factory=lambda: RunSettings().api_key, repr=False
    )
    """Default: $VQA_CLIENT_API_KEY, then $OPENAI_API_KEY."""
    header: Several[str] = field(default=(), repr=False)
    """A header as name=value; repeat for more."""
    timeout: Annotated[float, ABOVE_0] = 30.0
    """Seconds that one request may take."""
    wait_for_server: Annotated[float, AtLeast(0)] = 10.0
    """Seconds to wait for a server that is starting."""
    engine: Engine = "direct"
    """HTTP client, as of a run; openai signs for Azure and Bedrock (needs the extra openai)."""
    ca_bundle: Path | None = None
    """A PEM file of certificate authorities to trust."""
    insecure: Switch = False
    """Don't verify the server's certificate."""
    json: Switch = False
    """Print the findings as JSON to standard output."""

    def as_run(self) -> OneModelSettings:
        """The settings of a run that asks the same server."""
        return OneModelSettings(**{field.name: getattr(self, field.name) for field in fields(self)})
