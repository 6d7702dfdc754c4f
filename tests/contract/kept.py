"""The saved questions, prompts, forms, offers and scores (half of the replies are right) of each benchmark's sample.

`python -m tests.contract.kept` writes them again, for a new benchmark or an intended change.
"""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import msgspec

from vqa_client.answers.of_benchmark import score_answers
from vqa_client.settings.score import AnswersSettings
from vqa_client.tables.forms import Form
from vqa_client.tasks import registry
from vqa_client.types import Question

if TYPE_CHECKING:
    from tests.contract.test_contract import Case

FILE: Final = Path(__file__).with_suffix(".jsonl")
REPORTED: Final = ("headline", "totals", "scores", "breakdowns", "status_counts", "accuracy_answered")
SAID: Final = ("text", "references", "rationales", "choices", "groups", "turns", "evidence")


@cache
def kept() -> dict[str, Any]:
    """The saved facts by benchmark."""
    return {found["benchmark"]: found for found in map(json.loads, FILE.read_text(encoding="utf-8").splitlines())}


def ids(case: "Case") -> list[str]:
    """The ids of its questions."""
    return [question.id.replace(str(case.data), "") for question in case.questions]


def found_in(case: "Case") -> dict[str, Any]:
    """The present facts as JSON, without the intervals of figures and the places of images."""
    benchmark = registry.find(case.name).make(case.settings(""))
    forms = {name: benchmark.with_prompt_form(name) for name in benchmark.prompt_forms}
    found = {
        "benchmark": benchmark.name,
        "split": getattr(benchmark.load, "split", ""),
        "ids": ids(case),
        "questions": [_said(question, case) for question in case.questions],
        "description": msgspec.to_builtins(benchmark.description()),
        "prompts": {name: _prompt(form.task(), case.questions) for name, form in ({"": benchmark} | forms).items()},
        "files": [_form(form) for form in getattr(benchmark.load, "forms", ())],
        "offers": _offers(benchmark, case.questions),
        "report": _reported(case),
    }
    return dict(json.loads(json.dumps(found)))


def _said(question: Question, case: "Case") -> dict[str, Any]:
    same = [place for place, each in enumerate(case.questions) if each.cluster == question.cluster]
    return {
        **{name: getattr(question, name) for name in SAID if getattr(question, name)},
        "images": [str(image).rpartition("#")[2].rpartition("/")[2] for image in question.images],
        "with": same,
    }


def _prompt(task: Any, questions: list[Question]) -> dict[str, Any]:
    contents = [task.content(question) for question in questions]
    parts = [[each] if isinstance(each, str) else each for each in contents]
    shown = [[each if isinstance(each, str) else "<image>" for each in content] for content in parts]
    return {"contents": shown, "system": task.system, "parameters": task.parameters}


def _form(form: Form) -> dict[str, Any]:
    """The files and columns that people's data has."""
    columns = {
        name: getattr(column, "template", None) or getattr(column, "names", column)
        for name, column in form.columns.items()
    }
    facts = {name: getattr(form, name) for name in ("files", "records", "splits", "join", "home", "up", "header")}
    return {name: msgspec.to_builtins(fact) for name, fact in ({"columns": columns} | facts).items() if fact}


def _offers(benchmark: Any, questions: list[Question]) -> dict[str, Any]:
    """What else is declared: choices, worked examples, pages, a file for a test server, a judge."""
    facts = {name: getattr(benchmark, name) for name in ("version", "labels", "shots", "pages")}
    facts |= {"submission": benchmark.submission and benchmark.submission.form}
    if judge := benchmark.judge:
        facts["judge"] = judge.asks
        facts["rubrics"] = [judge.rubric(each) if callable(judge.rubric) else judge.rubric for each in questions]
    return {name: msgspec.to_builtins(fact) for name, fact in facts.items() if fact}


def _reported(case: "Case") -> dict[str, Any]:
    answers = case.output.with_name("half.json")
    replies = zip(case.questions, case.replies.values(), strict=True)
    rows = [{"question_id": each.id, "answer": "" if at % 2 else reply} for at, (each, reply) in enumerate(replies)]
    answers.write_text(json.dumps(rows))
    settings = case.settings("", output=case.output.with_name("half"))
    (report, *_) = score_answers(settings, AnswersSettings(predictions=answers, model="m"), lambda _: None)
    written = json.loads(report.path.read_text(encoding="utf-8"))
    return {name: _without_intervals(written[name]) for name in REPORTED if name in written}


def _without_intervals(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    left_out = ("interval", "low", "high", "answered", "pieces")
    return {name: _without_intervals(each) for name, each in value.items() if name not in left_out}


if __name__ == "__main__":
    from tests.contract.test_contract import NAMES, Case, other_forms

    with TemporaryDirectory() as folder:
        all_kept = {name: found_in(Case(name, Path(folder) / name)) for name in NAMES}
        for name, form in other_forms():
            all_kept[name][f"ids of form {form}"] = ids(Case(name, Path(folder) / f"{name} {form}", form))
    lines = [json.dumps(found, ensure_ascii=False) for found in all_kept.values()]
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
