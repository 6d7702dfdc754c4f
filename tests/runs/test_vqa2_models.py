"""Several models asked by one vqa2 command, one after the other, as people type it."""

import json
from pathlib import Path
from typing import Any

import pytest

import vqa_client
from tests.cli.test_commands import command
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import error, oracle
from tests.faults.questions import Notes
from tests.runs.vqa2_split import Split, read_report, results_of
from vqa_client.errors import IdentityError
from vqa_client.evaluation import ModelsFailed

NO_SERVER = "http://127.0.0.1:9/v1"


def combined(of: Split) -> Path:
    """The one report whose name contains no model."""
    (path,) = of.results.glob("vqa2_results_coco_*.json")
    return path


async def test_each_model_is_asked_where_its_config_says_and_all_are_in_one_file(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 5)
    good = fault_server(oracle(of.replies()), models=("org/good",))
    bad = fault_server("purple", models=("org/bad",))
    models = (of.config("bad", base_url=bad.base_url), of.config("good", base_url=good.base_url))
    notes = Notes()
    reports = await vqa_client.arun(of.settings(None, model=models), progress=notes)
    assert [(server.chats[0].json["model"], len(server.chats)) for server in (good, bad)] == [
        ("org/good", 5),
        ("org/bad", 5),
    ]
    content = read_report(combined(of))
    assert list(content["results"]) == content["model_configuration"]["models_tested"] == ["bad", "good"]
    assert [row["model"] for row in content["comparison"]] == ["good", "bad"]
    for report, name in zip(reports, ("bad", "good"), strict=True):
        assert report.path.name.startswith(f"vqa2_results_{name}_coco_")
        assert results_of(report.path) == content["results"][name]
    assert f"all models: {combined(of)}" in notes.said


async def test_the_other_models_are_asked_if_one_can_not_be(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Split(tmp_path, 5)
    server = fault_server(oracle(of.replies()), models=("org/good", "org/late"))
    gone = of.config("gone", base_url=NO_SERVER)
    models = (
        of.config("good", base_url=server.base_url),
        gone,
        of.config("late", base_url=server.base_url),
    )
    settings = of.settings(None, model=models, wait_for_server=0.0)
    notes = Notes()
    with pytest.raises(ModelsFailed, match=r"gone\.json: no answer from http://127\.0\.0\.1:9") as caught:
        await vqa_client.arun(settings, progress=notes)
    assert [report.summary.overall.correct for report in caught.value.reports] == [5, 5]
    assert "is the server running there" in caught.value.hint
    assert any(line.startswith(f"skipping {gone}: no answer") for line in notes.said)
    content = read_report(combined(of))
    assert list(content["results"]) == content["model_configuration"]["models_tested"] == ["good", "late", "gone"]
    assert list(content["results"]["gone"]) == ["error"]
    assert content["results"]["gone"]["error"].startswith("no answer from http://127.0.0.1:9")
    assert [row["model"] for row in content["comparison"]] == ["good", "late"]


async def test_a_skipped_model_is_asked_by_the_same_command_later(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Split(tmp_path, 3)
    server = fault_server(oracle(of.replies()), models=("org/a", "org/b"))
    first = of.config("a", base_url=server.base_url)
    with pytest.raises(ModelsFailed):
        await vqa_client.arun(of.settings(None, model=(first, of.config("b", base_url=NO_SERVER)), wait_for_server=0.0))
    second = of.config("b", base_url=server.base_url)
    reports = await vqa_client.arun(of.settings(None, model=(first, second)))
    assert (len(reports), len(server.chats)) == (2, 6)
    assert list(read_report(combined(of))["results"]) == ["a", "b"]


async def test_no_file_is_written_if_no_model_can_be_asked(tmp_path: Path) -> None:
    of = Split(tmp_path, 2)
    models = (of.config("a", base_url=NO_SERVER), of.config("b", base_url=NO_SERVER))
    with pytest.raises(ModelsFailed, match=r"a\.json, .*b\.json: ") as caught:
        await vqa_client.arun(of.settings(None, model=models, wait_for_server=0.0))
    assert caught.value.reports == []
    assert not list(of.results.glob("*.json"))


async def test_records_of_another_run_stop_only_their_own_model(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Split(tmp_path, 2)
    server = fault_server(oracle(of.replies()), models=("org/a", "org/b"))
    first = of.config("a", base_url=server.base_url)
    await vqa_client.arun(of.settings(None, model=(first,)))
    changed = of.config("a", base_url=server.base_url, max_tokens=5)
    second = of.config("b", base_url=server.base_url)
    with pytest.raises(IdentityError, match=r"model\.max_tokens"):
        await vqa_client.arun(of.settings(None, model=(changed,)))
    with pytest.raises(ModelsFailed, match=r"model\.max_tokens"):
        await vqa_client.arun(of.settings(None, model=(changed, second)))
    assert len(server.chats) == 4


async def test_an_address_on_the_command_line_is_used_for_all_models(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 2)
    server = fault_server(oracle(of.replies()), models=("org/a", "org/b"))
    models = (of.config("a", base_url=NO_SERVER), of.config("b"))
    await vqa_client.arun(of.settings(server.base_url, model=models))
    assert [chat.json["model"] for chat in server.chats] == ["org/a"] * 2 + ["org/b"] * 2


def test_the_command_compares_models_in_one_table_and_exits_with_3_if_one_was_skipped(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 4)
    good = fault_server(oracle(of.replies()), models=("org/good",))
    bad = fault_server("purple", models=("org/bad",))
    models = [
        of.config("bad", base_url=bad.base_url),
        of.config("lost", base_url=NO_SERVER),
        of.config("good", base_url=good.base_url),
    ]
    done = command(*of.arguments(None, "--verbose", "--wait_for_server", "0", "--model", *models))
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert f"error: not completed: {models[1]}: no answer from {NO_SERVER}" in done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["good", "4/4", "100.0", "100.0"] in [row[:4] for row in rows]
    assert ["bad", "0/4", "0.0", "10.0"] in [row[:4] for row in rows]
    assert "[[1000]] Is it day?" in done.stdout
    assert "right good: yes." in done.stdout
    assert "wrong bad: purple" in done.stdout


def test_standard_output_has_only_json(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Split(tmp_path, 4)
    server = fault_server(oracle(of.replies()))
    done = command(*of.arguments(server.base_url, "--json"))
    assert done.returncode == 0
    (row,) = json.loads(done.stdout)
    assert (row["task"], row["model"], row["overall"]["accuracy"]) == ("vqa2", "tiny-vlm", 1.0)
    assert row["scores"]["official"]["overall"]["value"] == 0.0
    assert results_of(Path(row["report"]))["total_questions"] == 4


@pytest.mark.parametrize(("fault", "code"), [(error(422), 1), (None, 0)])
async def test_failed_questions_do_not_skip_a_model(
    fault: Any, code: int, tmp_path: Path, fault_server: StartsServers
) -> None:
    from vqa_client.cli.evaluate import exit_code

    of = Split(tmp_path, 4)
    plays: dict[str, Any] = {**of.replies(), **({"[[2000]]": fault} if fault else {})}
    server = fault_server(oracle(plays), models=("org/a", "org/b"))
    models = (of.config("a", base_url=server.base_url), of.config("b", base_url=server.base_url))
    assert exit_code(await vqa_client.arun(of.settings(None, model=models))) == code
