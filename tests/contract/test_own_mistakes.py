"""Each function and field of a benchmark's declaration that is wrong is named, with its line and the question."""

import json
from pathlib import Path

import pytest

from tests.contract.test_own_benchmarks import receipts
from vqa_client.cli.main import run_command

IMPORTS = """
from msgspec.structs import replace as changed
from vqa_client.benchmark import *
from vqa_client.errors import QuestionFailed
def failing(question): raise QuestionFailed("bad_image", "it has no image")
"""
LINE = 50
"""The line that is added to the docs' file."""
HERE = f"(receipts.py, line {LINE})"
AT = f'receipts.py", line {LINE}, in '
PARTS = "[Part(loaded=Loaded(questions={}, count=1), data_path=source.settings.data)]"
ONE = "Question(id='a', text='x')"


def replayed(start: str) -> str:
    return f"metrics=[Metric('n', equal), Metric('m', equal, read=Replay({start}))]"


def loads(questions: str) -> str:
    return f"load=lambda source: {PARTS.format(questions)}"


def total(value: str) -> str:
    return f"totals=[Total('t', {value})]"


def metric(of: str) -> str:
    return f"metrics=[Metric('m', {of})]"


DECLARED = [
    ("load='receipts.jsonl'", "receipts.load is 'receipts.jsonl'; it must be a function"),
    ("parse=lambda reply: None", f"receipts.parse {HERE} can't be called with Reply, Question"),
    (metric("lambda answer: 1.0"), f"receipts.metrics[0].of {HERE} can't be called with str, Question"),
    ("metrics=Metric('m', equal)", "it must be a tuple, each item Metric"),
    ("metrics=[Metric(3, equal)]", "receipts.metrics[0].name is 3; it must be a text"),
    ("metrics=()", "receipts has no metric"),
    (total("lambda scored: 1.0"), "it must be Sums, Over or Combined"),
    (total("Sums(lambda: 1, sum)"), f"receipts.totals[0].value.adds {HERE} can't be called with Scored"),
    ("breakdowns='shop'", "receipts.breakdowns is 'shop'; it must be a tuple, each item Breakdown or a text"),
    ("breakdowns=[Breakdown('shop', order='ab')]", "receipts.breakdowns[0].order is 'ab'; it must be a tuple"),
    ("prompt=3", "receipts.prompt is 3; it must be Prompt, a text or a function"),
    ("prompt=Prompt('{question}', max_tokens='9')", "max_tokens is '9'; it must be a whole number or None"),
    ("prompt=Prompt('{question}', images='end')", "images is 'end'; it must be one of first, last, marked"),
    ("prompt='{questin}'", "the prompt has {questin}; did you mean {question}? { questin } stays as it is"),
    (
        "metrics=[Metric('m', equal, read=Replay(lambda: None))]",
        "receipts: a record's answer can't be read by a Replay",
    ),
    ("labels='AB'", "receipts.labels is 'AB'; it must be a tuple, each item a text"),
    ("compares_answers=1", "receipts.compares_answers is 1; it must be True or False"),
    ("scoring='x'", "receipts.scoring is 'x'; it must be a dict"),
    ("scoring={'x': 1}", "receipts.scoring['x'] is 1; it must be a text"),
    ("pages=Pages(dpi=True)", "receipts.pages.dpi is True; it must be a whole number"),
    ("load=tables(dict, Form('receipts.jsonl'))", "tables.row is <class 'dict'>; it must be Struct"),
    ("load=tables(Row, 'receipts.jsonl')", "tables.forms[0] is 'receipts.jsonl'; it must be Form"),
    ("load=tables(Row, Form('a', columns={'total': 3}))", "['total'] is 3; it must be a text, Columns or Beside"),
    ("load=tables(Row, Form('a', columns={'totl': 'b'}))", "'a' name 'totl'; the row's fields are photo, total, shop"),
]


@pytest.mark.parametrize(("change", "said"), DECLARED)
def test_a_field_of_another_type_is_named_with_the_line_that_gives_it(
    change: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert selftest(tmp_path, change) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert AT in shown
    assert "vqa_client/" not in shown


RETURNED = [
    ("load=lambda source: None", f"receipts: load {HERE} returns None\nhint: return a list of Part("),
    (f"load=lambda source: [{ONE}]", f"receipts: load {HERE} returns Question(id='a'"),
    (loads("[1]"), f"receipts: load {HERE}: question 1: it makes 1, which is not a Question"),
    (loads("[LeftOut('no answer', 'a')]"), "question 1: it makes LeftOut(reason='no answer', id='a'), which is not a"),
    (loads("[Question(id=3, text='x')]"), "question 1: its Question has a wrong type: Expected `str`, got `int` - at"),
    (loads(f"[{ONE}, {ONE}]"), "two questions have the id 'a'\nhint: an id names one question"),
    (loads(f"iter([{ONE}])"), "its questions can be walked over only once\nhint: give a list"),
    (loads("[]"), "the count is 1, and it gives 0\nhint: correct the count"),
    ("load=lambda source: [Part(loaded=Loaded(questions=[], count=0), data_path='x')]", "data_path is 'x'; it must be"),
    (
        "load=tables(Row, Form('receipts.jsonl'), question=lambda row, place: 1)",
        f"it makes 1, which is not a Question {HERE}",
    ),
    (
        "load=tables(Row, Form('receipts.jsonl'), question=lambda row, place: int(row.shop))",
        f"row 1: invalid literal for int() with base 10: 'Mall' {HERE}",
    ),
    (
        "prompt=lambda question: [question.text, 0.5]",
        f"the prompt of question 'receipts#0' is ['What is the total on this receipt?', 0.5] {HERE}",
    ),
    ("prompt=lambda question: question.lost", "the prompt of question 'receipts#0'\nhint: mend the file"),
    ("prompt=Prompt(system=lambda question: None)", f"the system message of question 'receipts#0' is None {HERE}"),
    (
        "prompt=Prompt(system=lambda question: 1 / 0)",
        "the system message of question 'receipts#0'\nhint: mend the file",
    ),
    ("prompt=Prompt(frame=lambda text, question: None)", f"the prompt of question 'receipts#0' is None {HERE}"),
    (
        "parse=lambda reply, question: Answer(text='1', rule=3)",
        f"rule=3, rivals=(), rationale=None, source='content', probabilities={{}}) {HERE}",
    ),
    (
        "parse=lambda reply, question: Answer(status='bad')",
        "hint: return Answer(text='...'), or Answer(status='unparsed') wh",
    ),
    (
        metric("lambda answer, question: 2"),
        f"the metric m returns 2 for question 'receipts#0' {HERE}\nhint: return a number",
    ),
    (
        replayed("lambda: lambda reply, question: None"),
        f"the reading of question 'receipts#0' is None {HERE}",
    ),
    (
        replayed("lambda: lambda reply, question: 1 / 0"),
        "the metric m, question 'receipts#0'\nhint: mend",
    ),
    (
        replayed("lambda: None"),
        f"start of the metric m returns None {HERE}",
    ),
    (
        total("Sums(lambda scored: 1.0, sum)"),
        f"receipts: the total t, question 'receipts#0': adds {HERE} returns 1.0\nhint: return as",
    ),
    (total("Sums(lambda scored: '12', sum)"), f"adds {HERE} returns '12'"),
    (
        total("Sums(lambda scored: scored.lost, sum)"),
        "receipts: the total t, question 'receipts#0'\nhint: mend the file",
    ),
    (
        total("Sums(lambda scored: (1,) * int(scored.answer[0]), max)"),
        f"'receipts#1': adds {HERE} returns (1, 1), another number of them",
    ),
    (total("Sums(lambda scored: (1, 1), lambda n: n)"), f"the total t: of {HERE} can't be called: <lambda>() takes 1"),
    (total("Sums(lambda scored: (1, 1), lambda n, of: 'x')"), f"receipts: the total t: of {HERE} returns 'x'"),
    (total("Sums(lambda scored: (1, 1), lambda n, of: float('nan'))"), f"of {HERE} returns nan"),
    (total("Sums(lambda scored: (1, 1), lambda n, of: n.lost)"), "receipts: the total t\nhint: mend the file"),
    (
        total("Sums(lambda scored: (1, 1), lambda n, of: n)"),
        "the total t: it is 4\nhint: a total is from 0 to its `most`, here 1",
    ),
    (total("mean_over(lambda scored: ['a'])"), f"'receipts#0': by {HERE} returns ['a']\nhint: return a text or None"),
    (total("Over('shop', MEAN, lambda values: values['lost'])"), "KeyError: 'lost'\nreceipts: the total t\nhint"),
    (total("Combined([MEAN, MEAN], lambda a, b: (a, b))"), f"the total t: of {HERE} returns (1.0, 1.0)"),
    ("ideal_reply=lambda question: None", f"the ideal reply of question 'receipts#0' is None {HERE}"),
    ("ideal_reply=failing", "error: the ideal reply of question 'receipts#0': it has no image\n"),
    ("ideal_reply=lambda question: question.lost", "the ideal reply of question 'receipts#0'\nhint: mend the file"),
]


@pytest.mark.parametrize(("change", "said"), RETURNED)
def test_a_value_of_another_type_and_an_error_are_named_with_function_and_question(
    change: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert selftest(tmp_path, change) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "vqa_client/" not in shown


WRITTEN = [
    ("submission=Submission(lambda scored: None)", f"the submission's entry, question 'receipts#0': it is None {HERE}"),
    (
        "submission=Submission(lambda scored: 1 / 0)",
        "receipts: the submission's entry, question 'receipts#0'\nhint: mend",
    ),
    ("write=lambda path, run, pairs: None", f"receipts: write {HERE} returns None\nhint: return a Summary"),
    ("report_path=lambda part, config: None", f"receipts: report_path {HERE} returns None\nhint: return a Path"),
]


@pytest.mark.parametrize(("change", "said"), WRITTEN)
def test_a_report_and_a_submission_of_another_type_are_named(
    change: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, answers = changed(tmp_path, change), tmp_path / "answers.jsonl"
    answers.write_text(json.dumps({"question_id": "receipts#0", "answer": "12.40"}))
    score = ["score", "--task", str(path), "-p", str(answers), "--data", str(tmp_path / "receipts")]
    more = ["--submission"] if "submission" in change else []
    assert run_command([*score, "-o", str(tmp_path / "out"), *more]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert "vqa_client/" not in shown


def changed(folder: Path, change: str) -> Path:
    path = receipts(folder)
    lines = [*path.read_text().splitlines(), *IMPORTS.strip().splitlines()]
    lines += [""] * (LINE - 1 - len(lines))
    assert len(lines) == LINE - 1
    path.write_text("\n".join([*lines, f"BENCHMARK = changed(BENCHMARK, {change})", ""]))
    return path


def selftest(folder: Path, change: str) -> int:
    return run_command(["selftest", str(changed(folder, change)), "--data", str(folder / "receipts")])
