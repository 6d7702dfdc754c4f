"""The functions of a declared benchmark for tests, and the published cases that they are compared with."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from vqa_client.aggregates import Aggregate, Estimate, Running, Scored
from vqa_client.benchmark import Benchmark
from vqa_client.task import Task
from vqa_client.tasks import registry
from vqa_client.types import Question, Record

GOLDENS = Path(__file__).parents[3] / "shared" / "data" / "benchmarks"
needs_goldens = pytest.mark.skipif(not GOLDENS.exists(), reason="../shared/data has the goldens")

_REQUIRED: dict[str, dict[str, Any]] = {
    "mc": {"data_json": "data.json", "output": "out"},
    "niah": {"data": "data.json", "output": "out"},
}


def benchmark_of(name: str, **options: Any) -> Benchmark:
    """The declaration under these options."""
    entry = registry.find(name)
    return entry.make(entry.settings(**_REQUIRED.get(name, {}) | options).named(name))


def task_of(name: str, prompt_template: str | None = None, **options: Any) -> Task:
    """The functions, with a config's template if given."""
    benchmark = benchmark_of(name, **options)
    return benchmark.task(benchmark.template(prompt_template)[0])


def template_of(name: str, prompt_template: str | None) -> tuple[str | None, str]:
    """The template that is used, and the note for people."""
    return benchmark_of(name).template(prompt_template)


def golden(name: str, kind: str | None = None) -> list[dict[str, Any]]:
    """The published cases of a benchmark, or those of one kind."""
    cases = map(json.loads, (GOLDENS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines())
    chosen = [case for case in cases if kind is None or case["kind"] == kind]
    assert chosen
    return chosen


def scored(question: Question, score: float, answer: str | None = None) -> Scored:
    """A question with its score and its answer."""
    record = Record(question_id=question.id, status="ok", cluster=question.cluster)
    return Scored(question=question, record=record, answer=answer, score=score)


def total(benchmark: str, name: str, questions: Iterable[Scored]) -> float | None:
    """The value of a benchmark's total over these questions."""
    declared = next(each for each in benchmark_of(benchmark).totals if each.name == name)
    return compute(declared.value, questions, declared.most).value


def compute(aggregate: Aggregate, questions: Iterable[Scored], most: float = 1.0) -> Estimate:
    """The figure of these questions, with its interval."""
    running = Running(aggregate, most)
    for scored in questions:
        running.add(scored)
    return running.figure()
