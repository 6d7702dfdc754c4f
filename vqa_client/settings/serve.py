"""Settings of the serve and demo commands."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vqa_client.settings.validation import check

ServerName = Literal["vllm", "mlx", "local", "reader"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class ServeSettings:
    """Settings of `vqa-client serve`."""

    config: Annotated[
        str | None,
        Parameter(
            alias="-c",
            help="The model's config: a file, or a shipped one's name. For vllm and mlx.",
        ),
    ] = None
    host: Annotated[str, Parameter(help="Where to listen; 0.0.0.0: reachable from the network.")] = "127.0.0.1"
    port: Annotated[int, Parameter(help="The port to listen on.")] = 8000
    images_dir: Annotated[
        Path | None,
        Parameter(help="The page images of the run: vLLM's limit on images is set for the longest document."),
    ] = None
    start_timeout: Annotated[float, Parameter(help="Seconds it may take to load, downloads included.")] = 3600.0
    dry_run: Annotated[bool, Parameter(negative="", help="Print the command, and start nothing.")] = False

    def __post_init__(self) -> None:
        check(self)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True, slots=True)
class DemoSettings:
    """Settings of `vqa-client demo`."""

    output: Annotated[Path, Parameter(alias="-o", help="Folder for the reports.")] = Path("demo_results")
    max_workers: Annotated[int, Parameter(help="Requests in flight at once.")] = 8
    fresh: Annotated[
        bool, Parameter(negative="", help="Ask all questions again, also those that an earlier demo asked.")
    ] = False
