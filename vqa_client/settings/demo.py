"""Settings of the demo."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoSettings:
    """Settings of `vqa-client demo`."""

    output: Annotated[Path, Parameter(alias="-o", help="Folder for the reports.")] = Path("demo_results")
    max_workers: Annotated[int, Parameter(help="Requests in flight at once.")] = 8
    fresh: Annotated[bool, Parameter(negative="", help="Ask again what an earlier demo has answered.")] = False
