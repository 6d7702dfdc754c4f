"""Settings of the commands that start or examine a server."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vqa_client.settings.run import DEFAULT_BASE_URL, OneModelSettings, RunSettings
from vqa_client.settings.validation import AtLeast, CheckedSettings, Several, Switch

ServerName = Literal["vllm", "mlx", "local", "reader"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeSettings(CheckedSettings):
    """Settings of `vqa-client serve`."""

    config: Annotated[
        str | None, Parameter(alias="-c", help="The model's config: a file, or a shipped one's name. For vllm and mlx.")
    ] = None
    host: Annotated[str, Parameter(help="Where to listen; 0.0.0.0: reachable from the network.")] = "127.0.0.1"
    port: Annotated[int, AtLeast(0, most=65_535), Parameter(help="The port to listen on.")] = 8000
    images_dir: Annotated[
        Path | None,
        Parameter(help="The page images of the run: vLLM's limit on images is set for the longest document."),
    ] = None
    start_timeout: Annotated[float, Parameter(help="Seconds it may take to load, downloads included.")] = 3600.0
    dry_run: Annotated[Switch, Parameter(help="Print the command, and start nothing.")] = False


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoSettings(CheckedSettings):
    """Settings of `vqa-client demo`."""

    output: Annotated[Path, Parameter(alias="-o", help="Folder for the reports.")] = Path("demo_results")
    max_workers: Annotated[int, AtLeast(1), Parameter(help="Requests in flight at once.")] = 8
    fresh: Annotated[Switch, Parameter(help="Ask all questions again, also those that an earlier demo asked.")] = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckSettings(CheckedSettings):
    """Settings of `vqa-client check`: where the server is, and what will be asked for there."""

    base_url: Annotated[
        str | None,
        Parameter(help=f"The endpoint, with or without /v1. Default: the config's, else {DEFAULT_BASE_URL}."),
    ] = field(default=None, repr=False)
    config: Annotated[
        str | None,
        Parameter(
            alias="-c", help="A model's settings, sent as a run would send them: a file, or a shipped one's name."
        ),
    ] = None
    model: Annotated[
        str | None, Parameter(help="The model to ask for. Default: the config's, else the one the server serves.")
    ] = None
    api_key: Annotated[
        str | None, Parameter(help="Default: $VQA_CLIENT_API_KEY, then $OPENAI_API_KEY.", show_default=False)
    ] = field(default_factory=lambda: RunSettings().api_key, repr=False)
    header: Annotated[Several[str], Parameter(help="A header as name=value; repeat for more.")] = field(
        default=(), repr=False
    )
    timeout: Annotated[float, Parameter(help="Seconds that one request may take.")] = 30.0
    wait_for_server: Annotated[float, AtLeast(0), Parameter(help="Seconds to wait for a server that is starting.")] = (
        10.0
    )
    engine: Annotated[
        Literal["direct", "httpx2", "openai"],
        Parameter(help="HTTP client, as of a run; openai signs for Azure and Bedrock (needs the extra openai)."),
    ] = "direct"
    ca_bundle: Annotated[Path | None, Parameter(help="A PEM file of certificate authorities to trust.")] = None
    insecure: Annotated[Switch, Parameter(help="Don't verify the server's certificate.")] = False
    json: Annotated[Switch, Parameter(help="Print the findings as JSON to standard output.")] = False

    def as_run(self) -> OneModelSettings:
        """The settings of a run that asks the same server."""
        return OneModelSettings(**{each.name: getattr(self, each.name) for each in fields(self)})
