"""Tests that every declared benchmark passes, today's and future ones."""

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

from tests.contract.forms import forms_of
from tests.contract.kept import found_in, ids, kept
from tests.contract.samples import SAMPLES, write_sample
from tests.fakes.batches import Batches
from tests.fakes.fixtures import StartsServers
from tests.fakes.server import FaultServer
from tests.fakes.words import by_question, error, oracle
from vqa_client.aggregates import ALL_RIGHT, Aggregate, Combined, Over, Scored, Sums
from vqa_client.answers.of_benchmark import score_answers
from vqa_client.benchmark import Replay, choice
from vqa_client.cli.main import run_command
from vqa_client.errors import IdentityError
from vqa_client.evaluation import arun, run
from vqa_client.reports.report import Report
from vqa_client.runner import judge
from vqa_client.runs.reopened import selftest
from vqa_client.runs.robustness import read_runs
from vqa_client.scoring.readings import choice_or_short
from vqa_client.settings.declared import BenchmarkSettings
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.settings.score import AnswersSettings
from vqa_client.tables.inside import open_image
from vqa_client.task import Source
from vqa_client.tasks import registry
from vqa_client.tasks.listing import declared
from vqa_client.tasks.registry import open_benchmark
from vqa_client.types import Completion, Question, Record, group_values

NAMES = [name for name in declared() if name not in ("ask", "mc", "niah", "vqa2", "vqax", "actx", "esnlive", "vcr")]
MARK = re.compile(r"\[\[q\d+\]\]")


class Case:
    """A benchmark's sample in a folder, its questions and its ideal replies."""

    def __init__(self, name: str, root: Path, form: int = 0) -> None:
        self.name, self.data, self.output = name, root / "data", root / "out"
        write_sample(name, self.data, form)
        settings = self.settings("http://127.0.0.1:1")
        benchmark = registry.find(name).make(settings)
        self.questions: list[Question] = [
            question for part in benchmark.load(Source(settings=settings)) for question in part.loaded.questions
        ]
        self.replies = {self.mark(each): benchmark.ideal_reply(each) for each in self.questions}

    def mark(self, question: Question) -> str:
        found = MARK.search(question.text)
        assert found, f"the sample's question {question.id} has no mark"
        return found[0]

    def settings(self, base_url: str, **changes: Any) -> BenchmarkSettings:
        given = {
            "benchmark": self.name,
            "data": self.data,
            "output": self.output,
            "base_url": base_url,
            "api_key": None,
        }
        return registry.find(self.name).settings(**given | {"max_workers": 4, "wait_for_server": 5.0} | changes)

    def log(self) -> Path:
        return next(self.output.glob("*.records.jsonl"))


@pytest.fixture(scope="module", params=NAMES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def server(case: Case) -> Iterator[FaultServer]:
    """A server with the ideal replies."""
    with FaultServer(oracle(case.replies)) as server:
        yield server
        assert server.violations == []


@pytest.fixture(scope="module")
def finished(case: Case, server: FaultServer) -> list[Report]:
    """The reports of a finished run of the sample; tests that ask in another way use their own folder."""
    before = len(server.chats)
    reports = run(case.settings(server.base_url))
    assert len(server.chats) - before == len(case.questions)
    return reports


@cache
def other_forms() -> list[tuple[str, int]]:
    """Every form but the first of each benchmark."""
    found = {name: registry.find(name).make(registry.find(name).settings()) for name in NAMES}
    return [(name, number) for name, benchmark in found.items() for number in range(1, len(forms_of(benchmark)))]


def scores(reports: Sequence[Report]) -> dict[str, float | None]:
    return {name: part.overall.value for name, part in reports[0].summary.parts.items()}


def test_every_benchmark_has_a_sample() -> None:
    assert set(NAMES) == SAMPLES.keys()


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _ in other_forms()))
def test_every_form_gives_the_same_questions_images_and_scores(name: str, tmp_path: Path) -> None:
    first = Case(name, tmp_path / "first")
    found, reached = seen(first), accuracies(first)
    for form in (form for of, form in other_forms() if of == name):
        other = Case(name, tmp_path / f"form {form}", form)
        assert seen(other) == found, form
        assert accuracies(other) == reached, form
        assert ids(other) == kept()[name][f"ids of form {form}"]


def test_it_asks_and_counts_as_before(case: Case) -> None:
    before = kept().get(case.name, {})
    assert found_in(case) == {name: each for name, each in before.items() if "form" not in name}, (
        "python -m tests.contract.kept writes what it is now, where that is meant"
    )


def seen(case: Case) -> list[list[Any]]:
    """The contents of the questions without the names of images, sorted, since the order of files differs by form."""
    found = []
    for question in case.questions:
        images = []
        for image in question.images:
            with open_image(image) as file:
                images.append(file.read())
        named = question.id if SAMPLES[case.name].same_ids else ""
        groups = sorted(question.groups.items())
        found.append([named, question.text, images, question.references, sorted(question.choices.items()), groups])
    return sorted(found, key=repr)


def accuracies(case: Case) -> dict[str, float | None]:
    """The figures of a report where every second question is left unanswered."""
    answers = case.output.with_name("answers.json")
    replies = case.replies.values()
    answers.write_text(
        json.dumps(
            [
                {"question_id": question.id, "answer": "" if number % 2 else reply}
                for number, (question, reply) in enumerate(zip(case.questions, replies, strict=True))
            ]
        )
    )
    given = AnswersSettings(predictions=answers, model="m")
    return scores(score_answers(case.settings("http://127.0.0.1:1"), given, lambda _: None))


def test_its_own_references_are_right(case: Case) -> None:
    found = selftest(case.settings(""))
    assert (found.total, found.faults) == (len(case.questions), ())


@pytest.mark.parametrize(
    "around",
    [
        *(
            "<think>It may be 7, or (C), or no.</think>\n{}",
            "{}<|im_end|>\n<|im_start|>user\nAnd now?",
            "assistant\n{}",
        ),
        *("&lt;think&gt;7?&lt;/think&gt; &lt;answer&gt;{}&lt;/answer&gt;", "<answer> {} </answer>", "$\\boxed{{{}}}$"),
        *("<|begin_of_box|>{}<|end_of_box|>", "**{}**", "```\n{}\n```"),
        *('{{"reasoning": "I look.", "answer": JSON}}', '```json\n{{"answer": JSON}}\n```'),
    ],
)
def test_what_is_around_an_answer_is_taken_off_before_it_is_read(case: Case, around: str) -> None:
    task = open_benchmark(case.settings("")).task
    for question in case.questions:
        ideal = case.replies[case.mark(question)]
        reply = around.replace("JSON", "{}").format(json.dumps(ideal) if "JSON" in around else ideal)
        assert judge(Completion(text=reply, finish_reason="stop"), question, task)[1].value == 1, reply


def overs_of_wholes(aggregate: Aggregate) -> Iterator[Over]:
    """The parts of an aggregate over groups that count only if all of their questions are right."""
    if isinstance(aggregate, Over) and isinstance(aggregate.inner, Sums):
        yield from [aggregate] if aggregate.inner.of is ALL_RIGHT.of else []
    elif isinstance(aggregate, Over | Combined):
        inner = aggregate.parts if isinstance(aggregate, Combined) else (aggregate.inner,)
        yield from (over for part in inner for over in overs_of_wholes(part))


def test_a_group_that_counts_as_a_whole_is_in_one_cluster(case: Case) -> None:
    totals = registry.find(case.name).make(case.settings("")).totals
    for over in (over for total in totals for over in overs_of_wholes(total.value)):
        clusters: dict[object, set[str]] = {}
        for question in case.questions:
            record = Record(question_id=question.id, status="ok", cluster=question.cluster)
            scored = Scored(question=question, record=record, answer="", score=1.0)
            found = question.groups.get(over.by, ()) if isinstance(over.by, str) else over.by(scored)
            for group in group_values(found) if isinstance(over.by, str) else [found]:
                clusters.setdefault(group, set()).add(question.cluster or question.id)
        clusters.pop(None, None)
        assert [len(each) for each in clusters.values()] == [1] * len(clusters)


def test_ideal_replies_score_one_by_every_metric(case: Case, finished: list[Report]) -> None:
    found = scores(finished)
    assert found
    assert {name: value for name, value in found.items() if value != 1} == {}
    assert finished[0].summary.status_counts["ok"] == len(case.questions)


async def test_a_finished_run_asks_nothing_again_and_writes_the_same_report(
    case: Case, finished: list[Report], server: FaultServer
) -> None:
    written, asked = finished[0].path.read_bytes(), len(server.chats)
    again = await arun(case.settings(server.base_url))
    assert asked == len(server.chats)
    assert again[0].path.read_bytes() == written


async def test_its_batches_are_valid_and_give_the_same_report(
    case: Case, finished: list[Report], tmp_path: Path
) -> None:
    pytest.importorskip("openai")
    batches = Batches()
    with FaultServer(batches.rule(oracle(case.replies))) as server:
        given: dict[str, Any] = {"model": "tiny-vlm", "check": False, "max_workers": 128, "output": tmp_path}
        batched = await arun(case.settings(server.base_url, batch=True, poll=0.01, batch_lines=3, **given))
    assert (batches.faults, server.chats, len(set(batches.asked))) == ([], [], len(case.questions))
    assert [each.path.read_bytes() for each in batched] == [each.path.read_bytes() for each in finished]


async def test_failed_questions_count_in_every_metric_and_total(
    case: Case, fault_server: StartsServers, tmp_path: Path
) -> None:
    half = dict(list(case.replies.items())[: len(case.replies) // 2])
    server = fault_server(by_question(half, error(400, "the image can't be decoded: invalid image")))
    report = (await arun(case.settings(server.base_url, output=tmp_path)))[0]
    assert report.failed == len(case.questions) - len(half)
    share = len(half) / len(case.questions)
    benchmark = registry.find(case.name).make(case.settings(""))
    drawn = {metric.name for metric in benchmark.metrics if isinstance(metric.read, Replay)}  # some of it may be right
    found = {name: value for name, value in scores([report]).items() if name not in drawn}
    assert {name: value for name, value in found.items() if value != pytest.approx(share)} == {}
    written = json.loads(report.path.read_text())
    first = "benchmark part model config data_path images_dir headline total_questions accuracy"
    assert [*written][:9] == first.split()
    assert set(written.get("totals", {})) == {total.name for total in benchmark.totals}


@pytest.mark.usefixtures("finished")
def test_it_is_read_again_without_asking(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["rescore", str(case.output)]) == 0
    assert f"0 of {len(case.questions)} questions changed" in capsys.readouterr().out
    assert run_command(["parse", str(case.output), "--explain", case.questions[0].id]) == 0
    explained, benchmark = capsys.readouterr().out, registry.find(case.name).make(case.settings(""))
    assert case.questions[0].id in explained
    reads_choices = benchmark.parse in (choice, choice_or_short) and case.questions[0].choices != {}
    assert ("rules, in the order of reading" in explained) == reads_choices
    plain = [metric.name for metric in benchmark.metrics if not isinstance(metric.read, Replay | None)]
    assert [name for name in plain if not re.search(rf"^other parsers: .*\b{name} '", explained, re.MULTILINE)] == []


@pytest.mark.usefixtures("in_threads")
async def test_it_is_asked_under_corruptions(case: Case, server: FaultServer, tmp_path: Path) -> None:
    settings, before = case.settings(server.base_url, output=tmp_path), len(server.chats)
    reports = await arun(settings, corrupted=RobustnessRun(corruptions="pixelate", levels="0,3"))
    assert len(server.chats) - before == 2 * len(case.questions)
    assert reports[0].summary.overall.accuracy == 1
    (found,) = read_runs([tmp_path])
    assert (found.questions, found.notes) == ({each.id for each in case.questions}, ())


@pytest.mark.usefixtures("finished")
def test_it_shows_up_in_page_table_exports_and_comparison(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    description = registry.find(case.name).make(case.settings("")).description()
    assert run_command(["report", str(case.output), "--html", "--csv", "--json", "--md"]) == 0
    assert description.measure in capsys.readouterr().out
    log = case.log()
    page = log.with_name(log.name.replace(".records.jsonl", ".html")).read_text()
    for name, says in description.metrics.items():
        assert name.replace("_", " ") in page
        assert not says or str(escape(says)) in page
    table = log.with_name(log.name.replace(".records.jsonl", ".md")).read_text()
    for name in description.totals:
        assert name.replace("_", " ") in page
        assert name.replace("_", "\\_") in table
    other = shutil.copytree(case.output, tmp_path / "other")
    assert run_command(["compare", str(case.output), str(other), "-o", str(tmp_path / "compared")]) == 0
    assert description.measure in capsys.readouterr().out


@pytest.mark.parametrize("option", [{"blind": True}, {"repeat": 2, "sample": 2}])
async def test_it_is_asked_in_other_forms(
    case: Case, server: FaultServer, tmp_path: Path, option: dict[str, Any]
) -> None:
    before = len(server.chats)
    reports = await arun(case.settings(server.base_url, output=tmp_path, **option))
    assert reports[0].summary.overall.accuracy == 1
    assert len(server.chats) - before == 2 * option.get("sample", len(case.questions))
    assert run_command(["rescore", str(tmp_path)]) == 0


def test_an_option_with_the_name_of_a_field_of_the_run_file_stays_part_of_the_run(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    case = Case("aokvqa", tmp_path)
    server = fault_server(oracle(case.replies))
    run(case.settings(server.base_url, blind=True, asked="direct"))
    run_file = json.loads((case.output / "aokvqa_blind.run.json").read_text())
    assert (run_file["identity"]["asked"], run_file["identity"]["own_asked"]) == ("blind", "direct")
    assert run_command(["rescore", str(case.output)]) == 0
    with pytest.raises(IdentityError, match="own_asked"):
        run(case.settings(server.base_url, blind=True))


def test_the_folder_of_the_files_themselves_is_data_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sample("chartqa", tmp_path / "chartqa", form=1)
    assert (tmp_path / "chartqa" / "data").is_dir()
    assert run_command(["selftest", "chartqa", "--data", str(tmp_path / "chartqa" / "data")]) == 0
    assert " questions: every score is 1" in capsys.readouterr().out
