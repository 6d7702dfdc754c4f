"""What `vqa-client run` takes for every declared benchmark."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Self

from cyclopts import Parameter

from vqa_client.settings.run import ASKED, DATA, OneModelSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkSettings(OneModelSettings):
    """Settings of `vqa-client run`; a benchmark with options of its own adds fields, each with a default.

    `benchmark` is the name of one that `vqa-client list` shows, or the path of a file that declares one.
    """

    benchmark: Annotated[str, Parameter(parse=False)] = ""
    data: Annotated[
        Path | None, Parameter(alias="-d", group=DATA, help="The benchmark's data: its folder, or one of its files.")
    ] = None
    images: Annotated[
        Path | None,
        Parameter(alias="-i", group=DATA, help="Folder of the images. Default: the data file's."),
    ] = None
    split: Annotated[
        str, Parameter(group=DATA, show_default=False, help="The split to ask. Default: the one usually reported.")
    ] = ""
    prompt_form: Annotated[
        str,
        Parameter(
            group=ASKED,
            show_default=False,
            help="Put the questions as another published evaluation does, such as lmms_eval, where the benchmark "
            "declares how.",
        ),
    ] = ""
    output: Annotated[Path, Parameter(alias="-o", group=DATA, help="Folder for the report and the records.")] = Path(
        "results"
    )

    def named(self, benchmark: str) -> Self:
        """The same settings for another benchmark."""
        return replace(self, benchmark=benchmark)
