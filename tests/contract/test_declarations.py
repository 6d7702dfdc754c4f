"""Declarations with more than a metric of one question: several groups, draws, totals as headline, submissions."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.contract.forms import draw
from tests.contract.samples import write_sample
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import by_question, error, oracle
from vqa_client.cli.main import run_command
from vqa_client.evaluation import arun
from vqa_client.settings.declared import ChoiceSettings

BENCHMARK = '''
"""Shapes on pages, asked in pairs."""

import random

from msgspec import Struct

from vqa_client.benchmark import ALL_RIGHT, Answer, Benchmark, Breakdown, Form, Metric, Question, Replay, Scored
from vqa_client.benchmark import Submission, Sums, Total, choice, mean_over, tables


class Row(Struct):
    text: str
    pair: str
    options: list[str]
    answer: str = ""
    sources: tuple[str, ...] = ()
    other: str = ""


def question(row, place):
    return Question(
        id=str(place.number),
        text=row.text,
        choices=dict(zip("ABCD", row.options)),
        references=(row.answer,) if row.answer else (),
        groups={"source": row.sources},
        cluster=row.pair,
        row=row,
    )


def right(answer, question):
    return float(answer == question.references[0])


def drawing():
    draw = random.Random(7)

    def read(reply, question):
        letter = draw.choice("ABCD")
        return Answer(text=reply.raw if reply.raw in question.choices else letter)

    return read


def agrees(scored: Scored):
    of = scored.other(scored.question.row_as(Row).other)
    return None if of is None else (of, 1)


def entry(scored):
    return {"id": scored.question.id, "answer": scored.answer, "drawn": scored.said("drawn")}


BENCHMARK = Benchmark(
    name="shapes",
    load=tables(Row, Form("*.json"), question=question),
    prompt="{question}\\n{choices}",
    parse=choice,
    metrics=(Metric("ours", right, "as read"), Metric("drawn", right, "letters drawn", read=Replay(drawing))),
    headline="whole_pairs",
    totals=(
        Total("points", Sums(lambda scored: (scored.score,), lambda score: 40 * score), "40 each", most=240),
        Total("whole_pairs", mean_over(lambda scored: scored.question.cluster, ALL_RIGHT), "pairs that are all right"),
        Total("others", Sums(agrees, lambda score, n: score / n), "the score of the other question", on=("ours",)),
    ),
    breakdowns=("source",),
    labels=tuple("ABCD"),
    submission=Submission(entry),
)
'''
ROWS: list[dict[str, Any]] = [
    {"text": "[[q0]] Which?", "pair": "p", "options": ["disc", "cube"], "answer": "A", "sources": ["Table", "Figure"]},
    {"text": "[[q1]] Which?", "pair": "p", "options": ["disc", "cube", "cone"], "answer": "C", "sources": "Table"},
    {"text": "[[q2]] Which?", "pair": "q", "options": ["disc", "cube"], "answer": "B", "sources": []},
    {
        "text": "[[q3]] Which?",
        "pair": "q",
        "options": ["disc", "cube"],
        "answer": "B",
        "sources": ["Figure"],
        "other": "0",
    },
]
REPLIES = {"[[q0]]": "A", "[[q1]]": "C", "[[q2]]": "B", "[[q3]]": "A"}
"""The last one is wrong."""


class Shapes:
    def __init__(self, root: Path, rows: list[dict[str, Any]]) -> None:
        self.path, self.out = root / "shapes.py", root / "out"
        self.path.write_text(BENCHMARK, encoding="utf-8")
        self.data = root / "rows.json"
        self.data.write_text(json.dumps(rows), encoding="utf-8")

    def run(self, base_url: str, *options: str) -> int:
        asked = ["run", str(self.path), "--data", str(self.data), "-o", str(self.out), "--base_url", base_url]
        return run_command([*asked, "--no_check", *options])

    def report(self, name: str = "shapes") -> Any:
        return json.loads((self.out / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def shapes(tmp_path: Path) -> Shapes:
    return Shapes(tmp_path, ROWS)


def test_a_question_counts_in_each_of_its_groups(
    shapes: Shapes, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shapes.run(fault_server(oracle(REPLIES)).base_url) == 0
    tallies = shapes.report()["breakdowns"]["source"]
    assert {value: (of["total"], of["accuracy"]) for value, of in tallies.items()} == {
        "Figure": (2, 0.5),
        "Table": (2, 1.0),
    }
    assert run_command(["report", str(shapes.out), "--html", "--csv", "--md"]) == 0
    other = shapes.out.with_name("other")
    assert run_command(["compare", str(shapes.out), str(shapes.out), "-o", str(other)]) == 2  # one run twice
    assert "Table, Figure" in next(shapes.out.glob("*.csv")).read_text()
    assert "by source" in capsys.readouterr().out


def test_totals_lead_are_in_points_and_see_other_questions(
    shapes: Shapes, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shapes.run(fault_server(oracle(REPLIES)).base_url, "--html") == 0
    totals = shapes.report()["totals"]
    assert totals["whole_pairs"]["ours"]["value"] == 0.5
    assert totals["points"]["ours"]["value"] == 120
    assert totals["others"] == {"ours": {"value": 1.0, "low": None, "high": None, "pieces": 0}}
    head = next(line for line in capsys.readouterr().out.splitlines() if "folder" in line)
    assert head.split()[1:4] == ["questions", "whole", "pairs"]
    page = next(shapes.out.glob("*.html")).read_text(encoding="utf-8")
    assert "120.0 of 240 points" in page


def test_a_draw_is_the_same_in_each_report_and_reads_failed_questions_as_empty(
    shapes: Shapes, fault_server: StartsServers
) -> None:
    replies = dict(list(REPLIES.items())[:2])
    server = fault_server(by_question(replies, error(400, "the image can't be decoded: invalid image")))
    assert shapes.run(server.base_url) == 1
    drawn = shapes.report()["totals"]["points"]["drawn"]
    score = shapes.report()["scores"]["drawn"]["overall"]
    draw = random.Random(7)
    letters = [draw.choice("ABCD") for _ in ROWS]
    right = 2 + sum(letters[number] == ROWS[number]["answer"] for number in (2, 3))
    assert (drawn["value"], score["accuracy"], score["n"]) == (40 * right, right / 4, 4)
    assert run_command(["rescore", str(shapes.out)]) == 0
    assert shapes.report()["totals"]["points"]["drawn"] == drawn


def test_a_submission_has_an_entry_for_each_question_with_or_without_references(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    shapes = Shapes(tmp_path, [{**row, "answer": ""} for row in ROWS])
    assert shapes.run(fault_server(oracle(REPLIES)).base_url, "--submission") == 0
    entries = json.loads((shapes.out / "shapes_submission.json").read_text(encoding="utf-8"))
    assert [entry["answer"] for entry in entries] == ["A", "C", "B", "A"]
    assert [entry["drawn"] for entry in entries] == ["A", "C", "B", "A"]
    assert shapes.report()["accuracy"] is None
    assert "totals" not in shapes.report()
    (tmp_path / "pope").mkdir()
    write_sample("pope", tmp_path / "pope")
    asked = ["run", "pope", "--submission", "--data", str(tmp_path / "pope"), "--base_url", "http://127.0.0.1:1"]
    assert run_command(asked) == 2
    assert "pope has no test server to submit to\nhint: leave --submission out\n" in capsys.readouterr().err


def test_choices_are_shown_in_other_orders_where_the_benchmark_has_labels(
    shapes: Shapes, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    server = fault_server(oracle(dict.fromkeys(REPLIES, "The answer is A")))
    assert shapes.run(server.base_url, "--circular") == 0
    assert len(server.chats) == 2 + 3 + 2 + 2
    assert shapes.report("shapes_circular")["circular"]["value"] == 0
    assert shapes.report("shapes_circular")["questions_with_all_rotations"] == 4
    assert shapes.run(server.base_url, "--shuffle_choices") == 0
    assert "position_bias" in shapes.report("shapes_shuffled")
    asked = ["run", "pope", "--circular", "--data", str(shapes.data), "--base_url", server.base_url]
    assert run_command(asked) == 2
    assert "--circular" in capsys.readouterr().err


@pytest.mark.parametrize("option", [{"circular": True}, {"shuffle_choices": True}])
async def test_choices_that_the_prompt_does_not_list_stay_in_their_order(
    option: dict[str, bool], tmp_path: Path, fault_server: StartsServers
) -> None:
    write_sample("mmmu-pro", tmp_path / "data")
    screenshot = {"id": "q", "image": {"bytes": draw(1), "path": None}, "options": "['4', '5']", "answer": "B"}
    (tmp_path / "data/vision").mkdir()
    parquet.write_table(pa.Table.from_pylist([screenshot]), tmp_path / "data/vision/test-0.parquet")
    settings = ChoiceSettings(
        benchmark="mmmu-pro",
        data=tmp_path / "data",
        output=tmp_path,
        base_url=fault_server("A").base_url,
        **option,
    )
    (report,) = await arun(settings)
    assert report.left_out == {"choices_not_in_prompt": ("vision/q",)}
    assert report.expected == (16 if option.get("circular") else 4)
