"""Several benchmarks in one command, and finished runs in one table."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.samples import write_sample
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import by_question, error, oracle
from vqa_client.cli.main import run_command
from vqa_client.settings.suite import Entry, words
from vqa_client.tasks import registry

SUITE = """
max_workers = 4

[chartqa]
data = "chartqa"

["pope twice"]
benchmark = "pope"
data = "pope"
"""
RIGHT = {"[[q0]]": "3", "[[q1]]": "Blue", "[[q2]]": "62%", "[[q3]]": "0"}
YES_NO = {f"[[q{number}]] Is there": ("yes", "no")[number % 2] for number in range(8)}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    for name in ("chartqa", "pope"):
        (tmp_path / name).mkdir()
        write_sample(name, tmp_path / name)
    path = tmp_path / "two.toml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def board(folder: Path) -> Any:
    return json.loads((folder / "leaderboard.json").read_text(encoding="utf-8"))


def test_an_entrys_options_are_those_of_the_command_line_and_its_paths_begin_at_the_suites() -> None:
    options = {"benchmark": "chartqa", "data": "a/b", "html": False, "json": True, "prompt_form": "x", "limit": 3}
    entry = Entry(name="chartqa", options=options | {"fresh": False})
    assert words(entry, registry.find("chartqa").settings, Path("/root")) == (
        ["--data", "/root/a/b", "--no-html", "--json", "--prompt_form", "x", "--limit", "3"]
    )


def test_a_suite_asks_all_of_its_benchmarks_by_one_session_and_ends_with_one_table(
    suite: Path, tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    server = fault_server(oracle(RIGHT | YES_NO))
    asked = ["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", server.base_url]
    assert run_command(asked) == 0
    assert len(server.chats) == 4 + 8
    assert [each.path for each in server.requests].count("/v1/models") == 1, "one session for both benchmarks"
    out = capsys.readouterr().out
    assert "chartqa" in out
    assert "pope" in out
    assert run_command(asked) == 0
    assert len(server.chats) == 12, "a finished suite asks nothing again"
    cells = {column["title"]: list(column["cells"].values()) for column in board(tmp_path / "out")["columns"]}
    assert [cell["value"] for cell in cells["chartqa"]] == [1.0]
    page = (tmp_path / "out/leaderboard.html").read_text(encoding="utf-8")
    assert 'href="chartqa.html"' in page


def test_the_smoke_suite_asks_at_most_ten_questions_of_each_sample_and_several_models_in_one_table(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    server = fault_server("B", models=("one", "two"), keep_bodies=False)
    models = ["--model", "one", "--model", "two"]
    assert (
        run_command(["suite", "smoke", "-o", str(tmp_path), "--base_url", server.base_url, *models, "--no-html"]) == 0
    )
    made = board(tmp_path)
    assert sorted(made["models"]) == ["one", "two"]
    asked = {column["title"]: {cell["n"] for cell in column["cells"].values()} for column in made["columns"]}
    assert {name.split()[0] for name in asked} == {"mc", "niah", "vqa2"}
    assert max(max(numbers) for numbers in asked.values()) == 10


def test_a_limit_on_the_line_replaces_the_sample_of_the_file(tmp_path: Path, fault_server: StartsServers) -> None:
    server = fault_server("B", keep_bodies=False)
    assert (
        run_command(["suite", "smoke", "-o", str(tmp_path), "--base_url", server.base_url, "--limit", "1", "--no-html"])
        == 0
    )
    asked = {column["title"]: {cell["n"] for cell in column["cells"].values()} for column in board(tmp_path)["columns"]}
    assert max(max(numbers) for numbers in asked.values()) == 5  # one document's needles


def test_models_are_ranked_and_what_is_not_comparable_is_named(
    suite: Path, tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = dict.fromkeys(RIGHT, "no idea") | dict.fromkeys(YES_NO, "yes")
    for name, replies in (("good", RIGHT | YES_NO), ("bad", wrong)):
        server = fault_server(oracle(replies))
        asked = ["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", server.base_url, "--no_check"]
        assert run_command([*asked, "--model", name]) == 0
    other = json.loads((tmp_path / "chartqa/test_human.json").read_text())
    other[0]["label"] = "4"
    (tmp_path / "chartqa/test_human.json").write_text(json.dumps(other))
    server = fault_server(by_question(RIGHT, error(400, "the image can't be decoded: invalid image")))
    asked = ["run", "chartqa", "--data", str(tmp_path / "chartqa"), "-o", str(tmp_path / "out/third"), "--no_check"]
    assert run_command([*asked, "--base_url", server.base_url, "--model", "third"]) == 0
    capsys.readouterr()
    assert run_command(["leaderboard", str(tmp_path / "out"), "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "third is not comparable with good" in said
    made = board(tmp_path / "out")
    assert made["models"][:1] == ["good"]
    assert ["benchmark", *made["models"]] in [line.split() for line in said.splitlines()]
    chartqa, pope = made["columns"]
    assert (chartqa["title"], pope["title"]) == ("chartqa", "pope")
    assert chartqa["cells"]["third"]["apart"]
    assert [pope["cells"][name]["value"] for name in ("good", "bad")] == [1.0, 0.5]
    assert {name: (cell["best"], cell["worst"]) for name, cell in pope["cells"].items()} == {
        "good": (1, 2),
        "bad": (1, 2),
    }, "eight questions on two photographs don't tell them apart"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no benchmark"),
        ("[chartqa\n", "two.toml"),
        ("[nothing]\n", "there is no benchmark 'nothing'"),
        ('[chartqa]\ndata = "chartqa"\ncolour = 3\n', "colour"),
        ('[chartqa]\ndata = "elsewhere"\n', "there is no"),
    ],
)
def test_a_suite_that_can_not_be_asked_is_named_before_anything_is_asked(
    suite: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    suite.write_text(text, encoding="utf-8")
    server = fault_server(oracle(RIGHT))
    assert run_command(["suite", str(suite), "--base_url", server.base_url]) == 2
    assert words in capsys.readouterr().err
    assert not server.chats


def test_a_server_that_is_away_is_waited_for_once(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.client.probe.POLL_S", 0.05)
    suite.write_text(f"{SUITE}max_workers = 2\n", encoding="utf-8")  # so that the two share no session
    asked = ["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", "http://127.0.0.1:9/v1"]
    assert run_command([*asked, "--wait_for_server", "0.2"]) == 3
    told = capsys.readouterr().err
    assert (told.count("waiting up to"), told.count("skipping ")) == (1, 2), told


def test_unknown_suites_are_named_with_those_that_are_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["suite", "everything"]) == 2
    assert "documents, general, smoke" in capsys.readouterr().err
