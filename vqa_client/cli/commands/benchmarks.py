"""The commands that ask a benchmark."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from vqa_client.settings.ask import AskSettings
from vqa_client.settings.explain import ExplainSettings
from vqa_client.settings.longbench import McSettings, NiahSettings
from vqa_client.settings.suite import SuiteSettings
from vqa_client.settings.vqa2 import Vqa2Settings

_VQA2 = Vqa2Settings()
_SUITE = SuiteSettings()
_ASK = AskSettings()
_EXPLAIN = ExplainSettings()
_NIAH = NiahSettings()


_Name = Annotated[str | None, Parameter(allow_leading_hyphen=True, help="A name that `list` shows, or FILE.py.")]
_Data = Annotated[Path, Parameter(help="A file, a folder, a quoted glob, or hf://owner/name.")]
_Suite = Annotated[str, Parameter(help="smoke, documents, general, or a FILE.toml.")]
_Step = Annotated[
    Literal["write", "read", "status", "cancel"],
    Parameter(help="write and read need no server; a benchmark's command with its options follows."),
]
_Options = Annotated[str, Parameter(show=False, allow_leading_hyphen=True)]


def run(name: _Name = None, /, *options: _Options) -> int:
    from vqa_client.cli import benchmark

    return benchmark.run(name, options)


def list_benchmarks() -> int:
    from vqa_client.cli import main

    return main.list_benchmarks()


def selftest(name: _Name = None, /, *options: _Options) -> int:
    from vqa_client.cli import benchmark

    return benchmark.selftest(name, options)


def batch(step: _Step, /, *command: _Options) -> int:
    from vqa_client.cli import batch as steps

    return steps.batch(step, command)


def ask(data: _Data, /, settings: Annotated[AskSettings, Parameter(name="*")] = _ASK) -> int:
    from vqa_client.cli import ask as asking

    return asking.ask(replace(settings, data=data))


def suite(name: _Suite, /, settings: Annotated[SuiteSettings, Parameter(name="*")] = _SUITE) -> int:
    from vqa_client.cli import suite as whole

    return whole.suite(name, settings)


def mc(settings: Annotated[McSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli.evaluate import evaluate

    return evaluate(settings)


def niah(settings: Annotated[NiahSettings, Parameter(name="*")] = _NIAH) -> int:
    from vqa_client.cli.evaluate import evaluate

    return evaluate(settings)


def vqa2(settings: Annotated[Vqa2Settings, Parameter(name="*")] = _VQA2) -> int:
    from vqa_client.cli.evaluate import evaluate

    return evaluate(settings)


def explain(settings: Annotated[ExplainSettings, Parameter(name="*")] = _EXPLAIN) -> int:
    from vqa_client.cli.evaluate import evaluate

    return evaluate(settings)
