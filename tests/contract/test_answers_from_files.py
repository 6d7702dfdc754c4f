"""Answers from a file instead of a server: every benchmark scores them like a run."""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from tests.contract.samples import SAMPLES, write_sample
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import in_turn
from tests.kept_runs import lay_out
from tests.kept_runs import settings as kept_settings
from tests.runs.explain_sample import own
from tests.tasks.explain.samples import actx, esnlive, vcr_own
from vqa_client.answers.of_benchmark import score_answers
from vqa_client.cli.main import run_command
from vqa_client.errors import DataError, IdentityError, UsageError
from vqa_client.evaluation import arun
from vqa_client.records import RecordLog
from vqa_client.reports.report import Report
from vqa_client.runs.reopened import selftest
from vqa_client.settings.declared import AskSettings
from vqa_client.settings.run import RunSettings
from vqa_client.settings.score import AnswersSettings
from vqa_client.task import Source
from vqa_client.tasks import registry
from vqa_client.tasks.listing import declared
from vqa_client.types import Question, Record

KEPT = ("mc", "niah", "vqa2", "vqax")
EXPLAINED = {
    "actx": ("test", actx("cooking"), "015601864.jpg"),
    "esnlive": ("test", esnlive(), "flickr30k/3416050.jpg"),
    "vcr": ("val", vcr_own(), "vcr1images/lsmdc_1/x@0.jpg"),
}
SERVED = "served-model"
NOWHERE = "http://127.0.0.1:9/v1"
UNREADABLE = {"vcr": {"published_latest"}}
"""Published readings that can't read a right answer: VCR's last version takes letters alone."""
OF_A_SERVER = frozenset(
    [
        "images",
        "images_dir",
        "prompt",
        "prompt_tokens",
        "completion_tokens",
        "server",
        "memory",
        "inference_time",
        "test_time",
        "test_date",
        "avg_inference_time",
        "inference_time_s",
        "hardware_configuration",
        "models",
        "generation_params",
        "image",
        "image_sha256",
        "latency_s",
        "attempts",
    ]
)
"""The keys of a report about requests: times, tokens, sent fields."""


class Case:
    """A benchmark's sample, its questions, and its ideal replies in order."""

    def __init__(self, name: str, root: Path) -> None:
        self.name, self.root = name, root
        self.settings = _settings(name, root)
        self.benchmark = registry.find(name).make(self.settings)
        source = Source(settings=self.settings, finds_images=False)
        self.questions: list[Question] = [
            each for part in self.benchmark.load(source) for each in part.loaded.questions
        ]
        self.replies = [self.benchmark.ideal_reply(question) for question in self.questions]

    def predictions(self, replies: list[str] | None = None, name: str = "said.json") -> Path:
        rows = [
            {"question_id": question.id, "answer": reply}
            for question, reply in zip(self.questions, replies or self.replies, strict=False)
        ]
        path = self.root / name
        path.write_text(json.dumps(rows), encoding="utf-8")
        return path

    def into(self, folder: str) -> Any:
        """The same settings with their own folder of results."""
        output = next(each for each in ("output", "results_dir") if hasattr(self.settings, each))
        return replace(self.settings, **{output: self.root / folder})

    def score(self, predictions: Path, notes: list[str] | None = None, **given: Any) -> Report:
        taken = notes if notes is not None else []
        (report,) = score_answers(
            self.into("scored"), AnswersSettings(predictions=predictions, model=SERVED, **given), taken.append
        )
        return report


def _settings(name: str, root: Path) -> RunSettings:
    server = {"check": False, "max_workers": 1}
    if name in KEPT:
        kept = kept_settings("explain" if name == "vqax" else name, NOWHERE)
        changes = {
            "mc": {"config": None, "images": Path("data/pages/clean")},
            "niah": {"config": None},
            "vqa2": {"model": ()},
            "vqax": {"model": _config(root)},
        }
        return replace(kept, **cast(Any, changes[name]))
    if name in EXPLAINED:
        split, record, picture = EXPLAINED[name]
        of = own(root, name, split, [record] if name == "vcr" else {"1": record}, picture, **_file(name))
        return of.settings(NOWHERE, model=_config(root), model_name=None, **server)
    if name == "ask":
        rows = [{"question": f"[[q{number}]] How many?", "answer": str(number)} for number in range(4)]
        (root / "rows.json").write_text(json.dumps(rows))
        return AskSettings(data=root / "rows.json", base_url=NOWHERE, api_key=None, **cast(Any, server)).named(name)
    write_sample(name, root / "data")
    return registry.find(name).settings(data=root / "data", base_url=NOWHERE, api_key=None, **server).named(name)


def _file(name: str) -> dict[str, str]:
    return {"file": "VCR/val.jsonl"} if name == "vcr" else {}


def _config(root: Path) -> str:
    path = root / f"{SERVED}.json"
    path.write_text(json.dumps({"model_name": SERVED, "max_tokens": 1024}))
    return str(path)


@pytest.fixture(params=list(declared()))
def case(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    return _case(request.param, tmp_path, monkeypatch)


def _case(name: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.chdir(place)
    if name in KEPT:
        lay_out(Path("none"), place)
    elif name in SAMPLES:
        (place / "data").mkdir()
    return Case(name, place)


def content(report: Report) -> Any:
    if report.path.suffix == ".csv":
        with report.path.open(encoding="utf-8", newline="") as file:
            return _without_asking(list(csv.DictReader(file)))
    return _without_asking(json.loads(report.path.read_bytes()))


def _without_asking(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_asking(each) for name, each in value.items() if name not in OF_A_SERVER}
    return [_without_asking(each) for each in value] if isinstance(value, list) else value


async def test_ideal_replies_score_one_and_report_as_those_of_a_server(case: Case, fault_server: StartsServers) -> None:
    server = fault_server(in_turn(*case.replies), models=(SERVED,))
    (asked,) = await arun(replace(case.into("asked"), base_url=server.base_url))
    notes: list[str] = []
    scored = case.score(case.predictions(), notes)
    of_the_data = case.name == "ask"  # which says how it reads the columns
    assert [note for note in notes if not of_the_data and "judge" not in note and "skipped" not in note] == []
    found = {name: part.overall.value for name, part in scored.summary.parts.items() if not name.startswith("n_")}
    assert found
    assert {name: value for name, value in found.items() if value != 1}.keys() == UNREADABLE.get(case.name, set())
    assert (scored.summary.overall.total, scored.incomplete) == (len(case.questions), False)
    assert content(scored) == content(asked)
    assert scored.path.name.split("_2")[0] == asked.path.name.split("_2")[0]


@pytest.mark.parametrize("case", [name for name in declared() if name not in SAMPLES], indirect=True)
def test_its_own_references_are_right(case: Case) -> None:  # of the others, test_contract runs the command
    found = selftest(case.settings)
    assert found.total == len(case.questions)
    assert {fault.reason for fault in found.faults} == {f"{name} is 0" for name in UNREADABLE.get(case.name, ())}


@pytest.mark.parametrize("case", ["chartqa", *(name for name in declared() if name not in SAMPLES)], indirect=True)
def test_it_is_read_again_shown_and_compared(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(case.score(case.predictions()).log)  # test_contract looks at a run of each
    assert run_command(["rescore", log]) == 0
    count = len(case.questions)
    assert f"0 of {count} question{'s' * (count > 1)} changed" in capsys.readouterr().out
    assert run_command(["parse", log, "--explain", case.questions[0].id]) == 0
    assert case.questions[0].id in capsys.readouterr().out
    assert run_command(["report", log, "--html", "--csv", "--json", "--md"]) == 0
    assert run_command(["compare", log, log]) in (0, 2)


def test_missing_and_unknown_answers_are_counted_and_named(case: Case) -> None:
    notes: list[str] = []
    path = case.predictions()
    rows = json.loads(path.read_bytes())
    lost, known = rows[-1]["question_id"], rows[:-1] or rows
    path.write_text(json.dumps([*known, {"question_id": "stranger", "answer": "x"}, known[0]]))
    report = case.score(path, notes)
    assert "1 prediction (stranger) without question, not scored" in notes
    assert any("1 question (" in note and "with several predictions (0 of them differ)" in note for note in notes)
    if len(rows) > 1:
        assert f"1 question ({lost}) without a prediction, not scored (--missing wrong counts them)" in notes
        assert report.left_out["no_prediction"] == (lost,)
        assert (report.summary.overall.total, report.summary.overall.accuracy) == (len(known), 1)
        wrong = case.score(path, notes, missing="wrong", fresh=True)
        assert f"1 question ({lost}) without a prediction, counted as wrong" in notes
        assert wrong.summary.overall.accuracy == pytest.approx(len(known) / len(rows))
        assert run_command(["rescore", str(wrong.log)]) == 0


def test_a_records_reply_is_read_whole_and_a_failed_question_counts_as_wrong(case: Case) -> None:
    path = case.root / "of.records.jsonl"
    with RecordLog(path) as log:
        for question, reply in zip(case.questions, case.replies, strict=True):
            log.append(Record(question_id=question.id, status="ok", output=f"<think>hm</think>{reply}", answer="?"))
        log.append(Record(question_id=case.questions[0].id, status="timeout"))
    report = case.score(path)
    assert (report.failed, report.summary.status_counts["timeout"]) == (1, 1)
    assert report.summary.overall.correct == len(case.questions) - 1
    with RecordLog(report.log) as log:
        assert [each.error.message for each in log if each.error] == ["the predictions have no reply"]


@pytest.fixture
def vqa2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    return _case("vqa2", tmp_path, monkeypatch)  # type: ignore[return-value]


def test_a_blank_answer_in_a_file_is_compared_as_in_the_official_evaluator(vqa2: Case) -> None:
    file = next((vqa2.root / "data/vqa2").glob("*annotations.json"))
    content = json.loads(file.read_bytes())
    for number, answer in enumerate(content["annotations"][0]["answers"]):
        answer["answer"] = "one wont" if number < 5 else " " if number < 7 else "x"
    file.write_text(json.dumps(content))
    report = vqa2.score(vqa2.predictions([" ", *vqa2.replies[1:]]))
    assert report.summary.status_counts["empty"] == 1
    with RecordLog(report.log) as log:
        record = log.get((vqa2.questions[0].id, ""))
    assert record is not None
    assert {name: record.parts[name] for name in ("normalised", "official")} == pytest.approx(
        {"normalised": 0.6, "official": 0.6}
    )
    assert run_command(["rescore", str(report.log)]) == 0


def test_other_predictions_of_the_same_place_are_refused_unless_moved_aside(vqa2: Case) -> None:
    first = vqa2.score(vqa2.predictions())
    assert vqa2.score(vqa2.predictions()).path == first.path
    with pytest.raises(IdentityError):
        vqa2.score(vqa2.predictions(["x", *vqa2.replies[1:]]))
    vqa2.score(vqa2.predictions(["x", *vqa2.replies[1:]]), fresh=True)


def test_what_can_not_be_scored_is_an_error(vqa2: Case) -> None:
    strange = vqa2.root / "strange.json"
    strange.write_text('[{"question_id": "other", "answer": "x"}]')
    with pytest.raises(DataError, match="the first ids are 'other' and"):
        vqa2.score(strange)
    vqa2.settings = replace(vqa2.settings, num_questions=5)
    with pytest.raises(UsageError, match="--num_questions"):
        vqa2.score(vqa2.predictions())


def test_the_command_takes_the_benchmarks_own_data_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case = _case("mc", tmp_path, monkeypatch)
    words = ["score", "--task", "mc", "-p", str(case.predictions()), "--data_json", "data/mc/data.json", "-o", "out"]
    assert run_command(words) == 0
    assert "accuracy in % by the robust parser" in capsys.readouterr().out
    assert run_command([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert run_command([*words, "--base_url", "http://127.0.0.1:9"]) == 2
    assert run_command([*words, "--circular"]) == 2
    assert "--circular says what is asked" in capsys.readouterr().err
    assert run_command(["score", "--task", "mc", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Usage: vqa-client score --task mc " in shown
    assert "--data_json" in shown
    assert "--base_url" not in shown
