"""The functions of a declared benchmark as tests call them."""

from collections.abc import Iterable
from typing import Any

from vqa_client.aggregates import Aggregate, Figure, Running, Scored
from vqa_client.benchmark import Benchmark
from vqa_client.task import Task
from vqa_client.tasks import registry

_REQUIRED: dict[str, dict[str, Any]] = {
    "mc": {"data_json": "data.json", "output": "out"},
    "niah": {"data": "data.json", "output": "out"},
}


def benchmark_of(name: str, **options: Any) -> Benchmark:
    """The declaration, made with these options."""
    entry = registry.find(name)
    return entry.make(entry.settings(**_REQUIRED.get(name, {}) | options).named(name))


def task_of(name: str, prompt_template: str | None = None, **options: Any) -> Task:
    """The functions, with a config's template where one is given."""
    benchmark = benchmark_of(name, **options)
    return benchmark.task(benchmark.template(prompt_template)[0])


def template_of(name: str, prompt_template: str | None) -> tuple[str | None, str]:
    """The template that is used, and the note for people."""
    return benchmark_of(name).template(prompt_template)


def compute(aggregate: Aggregate, questions: Iterable[Scored]) -> Figure:
    """The figure of these questions, with its interval."""
    running = Running(aggregate)
    for scored in questions:
        running.add(scored)
    return running.figure()
