"""The VQA 2.0 reports of one model and of several: the published form, then keys of our own.

Published keys keep their names, order and units: `accuracy` and `vqa_accuracy` are the published framework's simple and
enhanced scores in [0, 1], over all questions. VQA accuracy against all ten answers is under `scores`, with intervals.
The report of several models has all models under `results`.
"""

import mmap
import os
import platform
import resource
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict

from vqa_client.errors import DataError
from vqa_client.files import encode, replacing
from vqa_client.json_stream import SpooledList, place, write_entries, write_json_streamed
from vqa_client.reports.run import Pairs, Run, common_keys, in_shares
from vqa_client.reports.bottleneck import time_of
from vqa_client.reports.summary import Summary, summarise, without_scores
from vqa_client.scoring.reply import kept_completion, reply_from
from vqa_client.scoring.vqa2 import VERSION, compared
from vqa_client.scoring.vqa_normalise import normalised, on_one_line
from vqa_client.tasks.vqa2.figures import Vqa2Summary, FigureWatch, kind_figures
from vqa_client.types import ANSWERED, Question, Record
from vqa_client.version import __version__

RESIZED = "Resize to max 1024px, LANCZOS"
AS_THEY_ARE = "none: image files are sent as they are"
DATASETS = {"coco": "COCO val2014", "sample": "drawn sample pictures"}
QUESTION_RESULTS = "question_results"


class Setup(Struct, frozen=True, kw_only=True):
    """The command's settings in the report: `mode` is "coco" or "sample", `num_questions` the wanted number."""

    mode: str
    num_questions: int | None
    seed: int
    raw_images: bool = False
    annotations_path: str | None = None


def write(path: Path, run: Run, pairs: Pairs, setup: Setup) -> Vqa2Summary:
    """Write the report of one model, and the submission where no answer is known."""
    watch = FigureWatch()
    with SpooledList(path) as results:
        records = watch.watching(results.passing(pairs(), lambda pair: question_result(*pair)))
        summary = _summary(run, summarise(records), watch)
        write_json_streamed(path, _content(setup, run, summary), {QUESTION_RESULTS: results})
    if not summary.scored:
        write_submission(submission_path(path), pairs())
    return summary


def model_name(config: str | None, served: str) -> str:
    """The model's name in the results: the name of its config, or of the config's file, else the `served` name."""
    return Path(config).name.removesuffix(".json") if config else served


def submission_path(report: Path) -> Path:
    """The path of the answers to an unlabelled split, beside the report."""
    return report.with_name(f"{report.stem}_submission.json")


def write_submission(path: Path, pairs: Iterable[tuple[Question, Record]]) -> None:
    """Write the answers in the form of the VQA evaluation server, normalised; "" without a reply."""
    answered = (
        {"question_id": question.extra["question_id"], "answer": normalised(on_one_line(record.answer or ""))}
        for question, record in pairs
    )
    write_entries(path, answered)


def _summary(run: Run, summary: Summary, watch: FigureWatch) -> Vqa2Summary:
    scored = watch.labelled > 0 or not summary.overall.total
    if not scored:
        summary = without_scores(summary)
    return Vqa2Summary(
        **asdict(summary),
        name=model_name(run.config, run.model),
        scored=scored,
        times=watch.times(),
        kinds=watch.kinds(),
        gap=watch.gap(),
        sentences=watch.sentences,
        shown=tuple(watch.shown),
    )


def _content(setup: Setup, run: Run, summary: Vqa2Summary) -> dict[str, Any]:
    return {
        "experiment_metadata": _metadata(setup, run),
        "hardware_configuration": machine(),
        "model_configuration": {
            "models_tested": [summary.name],
            "model_loader": f"vqa-client {__version__}",
            "unified_parameters": True,
            "image_preprocessing": AS_THEY_ARE if setup.raw_images else RESIZED,
            "models": {summary.name: dict(run.model_settings)},
        },
        "results": {summary.name: _result(run, summary)},
    }


def _metadata(setup: Setup, run: Run) -> dict[str, Any]:
    temperature = run.model_settings.get("temperature")
    return {
        "test_date": _local_time(run.started),
        "test_mode": setup.mode,
        "num_questions": run.expected,
        "framework_version": VERSION,
        "evaluation_method": "VQA 2.0 Standard",
        "dataset": DATASETS.get(setup.mode, setup.mode),
        "generation_params": {
            "max_new_tokens": run.model_settings.get("max_tokens"),
            "do_sample": None if temperature is None else temperature > 0,
        },
        "vqa_client": __version__,
        "num_questions_asked_for": setup.num_questions,
        "seed": setup.seed,
        "questions_file": run.data_path,
        "annotations_file": setup.annotations_path,
        "images": run.images_dir,
    }


def _result(run: Run, summary: Vqa2Summary) -> dict[str, Any]:
    return {
        "model_id": run.model,
        "test_time": time_of(run.sessions) or None,
        "total_questions": summary.overall.total,
        "correct_answers": summary.correct,
        "accuracy": summary.simple_accuracy,
        "vqa_accuracy": summary.vqa_accuracy,
        "avg_inference_time": summary.times.mean,
        "performance_grade": summary.assessment,
        QUESTION_RESULTS: place(QUESTION_RESULTS),
        "success_rate": summary.success_rate,
        "inference_time_s": summary.times,
        "memory": memory_of_client() | {"server_bytes": run.server.get("memory_bytes")},
        "question_type_analysis": kind_figures(summary.kinds, scored=summary.scored),
        "error_summary": _errors(run, summary),
        "server": dict(run.server),
        "normalised_accuracy": summary.overall.accuracy,
        "normalised_above_official": summary.gap,
        "replies_of_more_than_5_words": summary.sentences,
        **common_keys(run, summary, in_shares),
    }


def _errors(run: Run, summary: Summary) -> dict[str, int]:
    """The published framework's four sums: they count the questions left out, which are in no accuracy."""
    left_out = {reason: len(ids) for reason, ids in run.left_out.items()}
    bad_images = summary.status_counts["bad_image"]
    return {
        "image_load_errors": left_out.pop("no_image", 0) + bad_images,
        "inference_errors": summary.overall.failed - bad_images,
        "annotation_errors": left_out.pop("no_annotation", 0) + left_out.pop("no_answer", 0),
        "other_errors": sum(left_out.values()),
    }


def _local_time(started: str) -> str:
    when = datetime.fromisoformat(started) if started else datetime.now(UTC)
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def question_result(question: Question, record: Record) -> dict[str, Any]:
    """The result of one question; a question without a reply has no answer and no time, and counts as wrong.

    `model_answer` is the reply without its reasoning, which the published scores read; `model_output` is the whole
    reply where it is longer. Without a known answer there are no scores.
    """
    answer = _model_answer(record)
    gold, known = question.extra["multiple_choice_answer"], bool(question.references)
    details = compared(gold or "", answer or "")
    return {
        "question_id": question.extra["question_id"],
        "image_id": question.extra["image_id"],
        "image_filename": question.extra["image_filename"],
        "question": question.text,
        "model_answer": answer,
        "ground_truth": gold,
        "is_correct": record.parts.get("simple", 0.0) >= 1.0 if known else None,
        "vqa_accuracy": record.parts.get("enhanced", 0.0) if known else None,
        "inference_time": record.latency_s if record.status in ANSWERED else None,
        "debug_info": details
        if known
        else dict.fromkeys(details) | {"model_answer_lower": details["model_answer_lower"]},
        "status": record.status,
        **({"error": record.error.message} if record.error else {}),
        **({"model_output": record.output} if record.output != answer else {}),
        "answers": list(question.references),
        "scores": record.parts,
        "groups": record.groups,
        "rule": record.rule,
        "source": record.source,
        "finish_reason": record.finish_reason,
        **({"reasoning": record.reasoning} if record.reasoning else {}),
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "images": record.images,
    }


def _model_answer(record: Record) -> str | None:
    if record.answer is None or record.output is None:
        return record.output
    return reply_from(kept_completion(record)).visible


_GIB = 1 << 30


def machine() -> dict[str, Any]:
    """The published framework's keys; torch and accelerator are null, since a client has none."""
    return {
        "device": platform.platform(terse=True) + f" {platform.machine()}",
        "memory": _installed_memory(),
        "mps_available": None,
        "torch_version": None,
        "python_version": sys.version.replace("\n", " "),
    }


def memory_of_client() -> dict[str, int | None]:
    """The memory of this process in bytes, now (null where the system doesn't say) and at its peak."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "client_rss_bytes": _resident_bytes(),
        "client_peak_rss_bytes": peak if sys.platform == "darwin" else peak * 1024,
    }


def _installed_memory() -> str | None:
    try:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / _GIB:.0f}GB"
    except (ValueError, OSError):
        return None


def _resident_bytes() -> int | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


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
    """The part of a model's results that the comparison repeats."""

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

    The question results are copied unchanged from mapped files, without reading them into memory. `errors` has the
    errors of models without a report. Raises DataError for a file that isn't a report.
    """
    opened = [_open(path) for path in paths]
    compared = {name: result for file in opened for name, result in file.compared.items()}
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
        target.write(b'\n  },\n  "comparison": ' + encode(_ranking(compared)) + b"\n}\n")


class _Opened(Struct):
    """A mapped file, and the part in memory; its results are views of the map."""

    text: mmap.mmap
    content: _File
    compared: dict[str, _Compared]

    def release(self) -> None:
        """Let the kernel drop the pages that were read, which count as this process's memory."""
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


def _ranking(compared: Mapping[str, _Compared]) -> list[dict[str, Any]]:
    """The models by published VQA accuracy, best first; models without it last."""
    ordered = sorted(compared, key=lambda name: -(compared[name].vqa_accuracy or 0.0))
    return [{"model": name} | msgspec.structs.asdict(compared[name]) for name in ordered]
