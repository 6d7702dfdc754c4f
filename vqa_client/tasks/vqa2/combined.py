"""The VQA 2.0 report of several models: the published file has them all under `results`."""

import mmap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from vqa_client.errors import DataError
from vqa_client.files import encode, replacing


class _ModelConfiguration(Struct):
    models_tested: list[str]
    model_loader: str
    unified_parameters: bool
    image_preprocessing: str
    models: dict[str, Any]


class _File(Struct):
    experiment_metadata: dict[str, Any]
    hardware_configuration: dict[str, Any]
    model_configuration: _ModelConfiguration
    results: dict[str, Raw]


class _Compared(Struct):
    """What the comparison repeats of a model's results."""

    model_id: str | None = None
    total_questions: int | None = None
    correct_answers: int | None = None
    accuracy: float | None = None
    vqa_accuracy: float | None = None
    avg_inference_time: float | None = None
    performance_grade: str | None = None
    success_rate: float | None = None
    normalised_accuracy: float | None = None
    interval: dict[str, Any] | None = None


def combine(paths: Sequence[Path], output: Path, *, errors: Mapping[str, str] = {}) -> None:
    """Merge the reports of several models of one command into one file, in their order; `output` may be one of them.

    The question results are copied as they stand, from files that are mapped and not read into memory. `errors` says
    of models without a report what went wrong. Raises DataError for a file that is no report.
    """
    opened = [_open(path) for path in paths]
    compared = {name: one for file in opened for name, one in file.compared.items()}
    configuration = opened[0].content.model_configuration
    for file in opened[1:]:
        configuration.models |= file.content.model_configuration.models
    configuration.models_tested = [*compared, *errors]
    head = {
        "experiment_metadata": opened[0].content.experiment_metadata,
        "hardware_configuration": opened[0].content.hardware_configuration,
        "model_configuration": configuration,
    }
    with replacing(output) as target:
        target.write(msgspec.json.format(encode(head), indent=2).rstrip(b"}").rstrip() + b',\n  "results": {')
        separator = b"\n    "
        for name, raw in _results(opened, errors):
            target.write(separator + encode(name) + b": ")
            target.write(raw)
            separator = b",\n    "
        target.write(b'\n  },\n  "comparison": ' + encode(_ranked(compared)) + b"\n}\n")


class _Opened(Struct):
    """A mapped file, and what of it is read into memory; its results are views of the map."""

    text: mmap.mmap
    content: _File
    compared: dict[str, _Compared]

    def release(self) -> None:
        """Let the kernel drop pages that are read: they would count as this process's memory."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self.text.madvise(mmap.MADV_DONTNEED)


def _open(path: Path) -> _Opened:
    try:
        with path.open("rb") as file:
            text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        content = msgspec.json.decode(text, type=_File)
        compared = {name: msgspec.json.decode(raw, type=_Compared) for name, raw in content.results.items()}
    except (OSError, ValueError, msgspec.DecodeError) as error:
        raise DataError(f"{path} is not a report of vqa2: {error}", hint="run again: the records remain") from None
    opened = _Opened(text=text, content=content, compared=compared)
    opened.release()
    return opened


def _results(opened: Sequence[_Opened], errors: Mapping[str, str]) -> Iterator[tuple[str, bytes | memoryview]]:
    for file in opened:
        for name, raw in file.content.results.items():
            yield name, memoryview(raw)
            file.release()
    for name, message in errors.items():
        yield name, encode({"error": message})


def _ranked(compared: Mapping[str, _Compared]) -> list[dict[str, Any]]:
    """The best published VQA accuracy first, models without one last."""
    ordered = sorted(compared, key=lambda name: -(compared[name].vqa_accuracy or 0.0))
    return [{"model": name} | msgspec.structs.asdict(compared[name]) for name in ordered]
