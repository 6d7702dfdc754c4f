"""Errors of runs, run files and folders: whole messages and hints."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.tasks.documents import mc_record
from vqa_client import AskSettings, McSettings, run
from vqa_client.batch.parts import PartFolder, refuse_open
from vqa_client.client.endpoint import tls_context
from vqa_client.errors import DataError, IdentityError, QuestionFailed, ServerAway, UsageError
from vqa_client.evaluation import ModelsFailed
from vqa_client.runs import document_pages
from vqa_client.runs.control import Order, order_all
from vqa_client.runs.merge import merge_folder
from vqa_client.runs.plans import make_plans
from vqa_client.runs.reopened import reopen
from vqa_client.runs.resume import RunPaths, any_answer, carry_over
from vqa_client.runs.robustness import read_result_files, read_runs
from vqa_client.runs.run_file import RunFile, check_identity
from vqa_client.runs.stage import prepared_images
from vqa_client.settings.robustness import RobustnessRun
from vqa_client.shipped import install
from vqa_client.types import Question

ASIDE = "give another --output, or --fresh to move the old records aside"
ROBUST = "give a robustness run: its folder, its *_robustness.json, *.run.json or *.records.jsonl"
COMMANDED: list[dict[str, Any]] = [{"processes": "2"}, {"shard": "next/4"}, {"ray": "auto", "shards": 4}]


def shard_file(data: str) -> str:
    asked = {"data_json": data, "output": "apart", "text_only": True}
    model = {"model_name": "m", "max_tokens": 5}
    described = {"settings": asked, "shard": [1, 1]}
    return json.dumps({"identity": {"task": "mc", "model": model}, "scoring": {}, "described": described})


FILES = {
    "alone.records.jsonl": "{}\n",
    "taken.json": "{}",
    "broken.run.json": "[",
    "plain.run.json": '{"identity": {"task": "mc"}, "scoring": {}}',
    "plain.records.jsonl": "",
    "none.run.json": '{"identity": {"task": "mc", "profile": "p"}, "scoring": {}}',
    "none.records.jsonl": "",
    "empty/a.txt": "",
    "torn.batches/part-0001.json": "{",
    "open.batches/part-0001.json": '{"number": 1, "name": "n", "ids": ["a", "b"], "size_bytes": 9, "state": "open"}',
    "bare/a.shard-1-of-2.records.jsonl": "",
    "bare/a.shard-1-of-2.run.json": '{"identity": {}, "scoring": {}}',
    "gone/a.shard-1-of-1.records.jsonl": "",
    "gone/a.shard-1-of-1.run.json": shard_file("gone.json"),
    "apart/a.shard-1-of-1.records.jsonl": "",
    "apart/a.shard-1-of-1.run.json": shard_file("d.json"),
    "pages/b_page_1.png": "",
    "d.json": json.dumps([mc_record("a")]),
    "Grayscale/m_Grayscale.json": "[]",
    "half/a.shard-1-of-2.records.jsonl": "{}\n",
    "far/a.ctl": '{"socket": "/no/socket", "host": "elsewhere", "pid": 7}',
}


def now() -> RunFile:
    return RunFile(identity={"task": "mc"}, scoring={})


def asking(**given: Any) -> None:
    run(AskSettings(data=Path("nowhere.csv"), output=Path("out"), **given))


@patch.dict(sys.modules, {"bm25s": None})
def retrieved() -> None:
    document_pages._Search().best_pages(Question(id="a", text="?", images=("a.png",)), 1)


def merged(folder: Path) -> None:
    list(merge_folder(folder, partial=False, tidy=False, note=print))


SHARDS = "--shard K/N writes NAME.shard-K-of-N.records.jsonl"
UNSHARDED = {"no": "no does not exist", "empty": "empty has no shard of a run"}
COMMAND_LINE = "--processes, --ray and next/N are of the command line"
ROWS: list[tuple[Callable[[], Any], str, str]] = [
    (
        lambda: asking(dry_run=True),
        "a dry run asks nothing",
        "vqa_client.runs.dry_run.dry_run says what a run would take",
    ),
    (
        lambda: prepared_images(
            AskSettings(data=Path("a.csv"), output=Path("out"), image_urls="send", corrupted=RobustnessRun()), print
        ).__enter__(),
        "an image that the server fetches can't be corrupted",
        "--image_urls fetch",
    ),
    (
        lambda: make_plans(
            McSettings(data=Path("d.json"), images=Path("pages"), output=Path("out")), None, None, lambda _: None
        ),
        "mc pages: there are no questions to ask in d.json",
        "every question was skipped; the lines above say why",
    ),
    (retrieved, "--pages retrieved needs bm25s", install("retrieval")),
    (
        lambda: document_pages._text_layers("d.json"),
        "d.json: PDFium can't open the document: it is damaged, or has no pages",
        "leave --pages retrieved out",
    ),
    *((partial(asking, **each), COMMAND_LINE, "shard='1/4' here, then merge") for each in COMMANDED),
    (
        lambda: asking(judge=("m",)),
        "a run from Python asks no judge",
        "vqa-client judge RESULTS judges the finished run",
    ),
    (
        lambda: carry_over(RunPaths.beside(Path("alone.json")), now(), print),
        "alone.records.jsonl has records, and alone.run.json which identifies their run, is missing",
        ASIDE,
    ),
    (
        lambda: carry_over(RunPaths.beside(Path("taken.json")), now(), print),
        "taken.json was not written by this program",
        ASIDE,
    ),
    (
        lambda: RunFile.read(Path("broken.run.json")),
        "broken.run.json is not a run file: Input data was truncated",
        "the run's own command, with the same settings, writes it again; --fresh moves the records aside",
    ),
    (
        lambda: RunFile.read(Path("empty")),
        "empty can't be read: it is not a file",
        "the same command reads it again",
    ),
    (
        lambda: check_identity({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}}, Path("x/r.run.json")),
        "the records next to x/r.run.json belong to a different run:\n  b.c: 2 in r.run.json, 3 now",
        ASIDE,
    ),
    (
        lambda: check_identity({"server": {"kind": "a"}}, {"server": {"kind": "b"}}, Path("r.run.json")),
        "the records next to r.run.json belong to a different run:\n  server.kind: 'a' in r.run.json, 'b' now",
        f"{ASIDE}; --no_check continues with the server as it is",
    ),
    (
        lambda: check_identity({"a": 1}, {"a": 2}, Path("r.judge-correct-m.run.json")),
        "the records next to r.judge-correct-m.run.json belong to a different run:\n"
        "  a: 1 in r.judge-correct-m.run.json, 2 now",
        "--fresh moves the earlier verdicts of this judge aside",
    ),
    (
        lambda: reopen(Path("alone.records.jsonl")),
        "alone.run.json is missing, which names the run's data and parser",
        "put it back beside the log; the run's own command writes it again",
    ),
    (lambda: any_answer(Path("empty")), "empty can't be read: Is a directory", ASIDE),
    (
        lambda: PartFolder(Path("torn.records.jsonl")).all(),
        "torn.batches/part-0001.json can't be read: Input data was truncated",
        "was it edited?",
    ),
    (
        lambda: refuse_open(Path("open.records.jsonl")),
        "2 questions already in batches (open.batches)",
        "the same command with --batch collects them; `vqa-client batch cancel` ends them",
    ),
    (
        lambda: merged(Path("half")),
        "half/a.shard-1-of-2.run.json is missing, which identifies the shard's run",
        "put it back, or --shard 1/2 writes it again",
    ),
    (
        lambda: merged(Path("gone")),
        "the shards in gone need their data: gone.json does not exist",
        "start in the folder in which the run was started, since its paths are relative to it, or put the file back",
    ),
    (lambda: merged(Path("bare")), "bare/a.shard-1-of-2.run.json is of no shard", "was it copied or renamed?"),
    (lambda: merged(Path("apart")), "a.records.jsonl is not a run of mc", "was it renamed?"),
    *((partial(merged, Path(name)), said, SHARDS) for name, said in UNSHARDED.items()),
    (
        lambda: tls_context(Path("no.pem"), insecure=False),
        "--ca_bundle no.pem does not exist",
        "",
    ),
    (lambda: read_runs([Path("no")]), "no does not exist", ROBUST),
    (lambda: read_runs([Path("empty")]), "empty: no robustness run in it or its folders", ROBUST),
    (
        lambda: read_runs([Path("alone.records.jsonl")]),
        "alone.run.json is missing, which names the run's model",
        ROBUST,
    ),
    (
        lambda: read_result_files(Path("Grayscale")),
        "Grayscale/m_Grayscale.json: Expected `object`, got `array`",
        "its form is {dataset, data: [{correct, imageID, questionID, ...}], accuracy, totalAnswered}",
    ),
    (lambda: read_runs([Path("plain.run.json")]), "plain.run.json is of a run without corruptions", ROBUST),
    (
        lambda: read_runs([Path("none.run.json")]),
        "none.records.jsonl has no record of a corrupted image",
        ROBUST,
    ),
    (
        lambda: order_all(Path("empty"), Order()),
        "no run is asking questions in empty now",
        "RUN is a folder of runs, or a log, run file or report",
    ),
    (
        lambda: order_all(Path("far"), Order()),
        "a.ctl: the run is on elsewhere, as process 7",
        "run ctl on that machine",
    ),
    (
        lambda: order_all(Path("no"), Order()),
        "no does not exist",
        "RUN is a folder of runs, or a log, run file or report",
    ),
]


@pytest.fixture
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize(("made", "said", "hint"), ROWS, ids=[said for _, said, _ in ROWS])
def test_faults_are_named_with_a_hint(made: Callable[[], Any], said: str, hint: str) -> None:
    with pytest.raises((DataError, UsageError, IdentityError, QuestionFailed)) as caught:
        made()
    assert (str(caught.value), caught.value.hint) == (said, hint)


def test_models_that_failed_are_named_by_their_errors_and_each_hint_once() -> None:
    errors = {name: ServerAway("it is away", hint="start it") for name in ("a", "c")}
    failed = ModelsFailed(
        {"a": errors["a"], "b": UsageError("odd"), "c": errors["c"], "d": UsageError("x", hint="y")}, []
    )
    assert (str(failed), failed.hint) == ("not completed: a, c: it is away; b: odd; d: x", "start it; y")
