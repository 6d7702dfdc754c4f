"""Several benchmarks in one command, and finished runs in one table."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import encode

from tests.compare.logged import failed, many, put, record
from tests.contract.samples import write_sample
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import by_question, caches_images, error, first_n, hang, looks_at_images, oracle, restart
from vqa_client.cli.main import run_command
from vqa_client.compare.leaderboard import BoardColumn, leaderboard
from vqa_client.settings.suite import Entry, SuiteSettings, read_suite, settings_of, words
from vqa_client.shipped import shipped
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
    options = {"benchmark": "chartqa", "data": "a/b", "metrics": False, "submission": True, "prompt": "-x", "limit": 3}
    entry = Entry(name="chartqa", options=options | {"fresh": False, "images": "s3://a/b", "judge": ["a", "b"]})
    found = words(entry, registry.find("chartqa").settings, Path("/data"))
    assert found[:5] == ["--data=/data/a/b", "--no-metrics", "--submission", "--prompt=-x", "--limit=3"]
    assert found[5:] == ["--images=s3://a/b", "--judge=a", "--judge=b"]
    hyphens = Entry(name="mc", options={"data-json": "a.json"})
    assert words(hyphens, registry.find("mc").settings, Path("/data")) == ["--data-json=/data/a.json"]
    shown = Entry(name="mc", options={"data": "a.json", "images": "{shipped}/b", "parser": "robust"})
    of_mc = words(shown, registry.find("mc").settings, Path("/data"))
    assert of_mc == ["--data=/data/a.json", f"--images={shipped('data')}/b", "--parser=robust"]
    assert words(Entry(name="vqa2", options={"data": "a"}), registry.find("vqa2").settings, Path("/b")) == [
        "--data=/b/a"
    ]


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
    assert run_command([*asked, "--json"]) == 0
    assert [report["task"] for report in json.loads(capsys.readouterr().out)] == ["chartqa", "pope"]
    assert len(server.chats) == 12, "a finished suite asks nothing again"
    cells = {column["title"]: list(column["cells"].values()) for column in board(tmp_path / "out")["columns"]}
    assert [cell["value"] for cell in cells["chartqa"]] == [1.0]
    page = (tmp_path / "out/leaderboard.html").read_text(encoding="utf-8")
    assert 'href="chartqa.html"' in page


def test_the_smoke_suite_asks_at_most_ten_questions_of_each_sample_and_several_models_in_one_table(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    server = fault_server("B", models=("one", "two"), keep_bodies=False)
    models = ["--model", "one", "--model", "two"]
    assert (
        run_command(["suite", "smoke", "-o", str(tmp_path), "--base_url", server.base_url, *models, "--no-html"]) == 0
    )
    ends = [line.split(": ")[0] for line in capsys.readouterr().err.splitlines() if "accuracy" in line]
    assert {end.rpartition(" · ")[2] for end in ends} == {"one", "two"}, "progress says which model is asked"
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
    (run_file,) = (tmp_path / "out/bad").rglob("pope*.run.json")
    older = json.loads(run_file.read_text())
    newer, older["scoring"]["version"] = older["scoring"]["version"], "1.1"
    run_file.write_text(json.dumps(older))
    capsys.readouterr()
    assert run_command(["leaderboard", str(tmp_path / "out"), "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "third is not comparable with good" in said
    assert re.search(rf"good and bad: warning: [^:]*: version [a-z ]*: '{newer}' and '1.1'", " ".join(said.split()))
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


def test_a_dry_run_of_a_suite_prints_its_estimates_and_asks_nothing(
    suite: Path, tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    server = fault_server(oracle(RIGHT | YES_NO))
    asked = ["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", server.base_url]
    assert run_command([*asked, "--dry_run"]) == 0
    said = capsys.readouterr().out
    assert ("all 2 together" in said, "12 requests" in said, server.chats) == (True, True, [])
    assert run_command([*asked, "--dry_run", "--json"]) == 0
    assert [row["requests"] for row in json.loads(capsys.readouterr().out)] == [4, 8]
    suite.write_text(SUITE.replace("max_workers = 4", ""), encoding="utf-8")
    assert run_command(["batch", "write", *asked, "--model", "m"]) == 0
    assert (len(list((tmp_path / "out").rglob("*.jsonl"))), server.chats) == (2, [])


def test_a_repeated_benchmark_and_models_with_similar_names_have_their_own_folders(
    suite: Path, tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    suite.write_text('[chartqa]\ndata = "chartqa"\n["again: 2"]\nbenchmark = "chartqa"\ndata = "chartqa"\n')
    server = fault_server(oracle(RIGHT), models=("a/vlm-2.5-7b", "a/vlm-2.5-72b"))
    asked = ["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", server.base_url, "--no-html"]
    models = ["--model", "a/vlm-2.5-7b", "--model", "a/vlm-2.5-72b"]
    assert run_command([*asked, *models]) == 0
    assert "chartqa (again: 2) · a/vlm-2.5-72b: 4/4" in capsys.readouterr().err
    assert len(server.chats) == 4 * 2 * 2
    logs = sorted(str(log.relative_to(tmp_path / "out").parent) for log in (tmp_path / "out").rglob("*.records.jsonl"))
    assert logs == [f"a_vlm-2.5-7{model}b/{entry}" for model in ("2", "") for entry in ("again_ 2", "chartqa")]
    made = board(tmp_path / "out")
    assert sorted(made["models"]) == ["a/vlm-2.5-72b", "a/vlm-2.5-7b"]
    assert [(column["title"], len(column["cells"])) for column in made["columns"]] == [
        ("chartqa", 2),
        ("chartqa (again: 2)", 2),
    ]
    assert made["in_mean"] == 2
    assert made == json.loads(encode(leaderboard([tmp_path / "out"]), enc_hook=str)), "the folder gives the same table"
    assert run_command([*asked, "--model", "x", "--model", "x"]) == 2, "two of one name are one model's"
    assert run_command([*asked, *models, "--dry_run", "--json"]) == 0
    titles = {row["title"] for row in json.loads(capsys.readouterr().out)}
    assert titles == {"chartqa", "chartqa (again: 2)"}


def test_a_run_with_and_without_images_is_not_in_the_mean(
    suite: Path, tmp_path: Path, fault_server: StartsServers
) -> None:
    suite.write_text(f'{SUITE}["pope, blind"]\nbenchmark = "pope"\ndata = "pope"\nblind = true\n')
    server = fault_server(oracle(RIGHT | dict.fromkeys(YES_NO, "yes")))
    assert run_command(["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", server.base_url]) == 0
    made = board(tmp_path / "out")
    values = {column["title"]: cell["value"] for column in made["columns"] for cell in column["cells"].values()}
    assert values == {"chartqa": 1.0, "pope (pope twice)": 0.5, "pope (pope, blind)": 0.5}
    assert (list(made["means"].values()), made["in_mean"]) == ([0.75], 2)


def test_images_that_are_processed_in_two_ways_have_two_names_at_the_server(
    suite: Path, tmp_path: Path, fault_server: StartsServers
) -> None:
    server = fault_server(caches_images(then=looks_at_images()))
    table = "[pope_{0}]\nbenchmark = 'pope'\ndata = 'pope'\nextra_body = 'mm_processor_kwargs.max_pixels={0}'\n"
    suite.write_text(table.format(784) + table.format(3136), encoding="utf-8")
    asked = ["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", server.base_url, "--no-html"]
    run_command([*asked, "--image_uuid", "auto"])
    names = {
        (chat.json["mm_processor_kwargs"]["max_pixels"], image.uuid.partition("-")[2])
        for chat in server.chats
        for image in chat.images
        if "[[q" in chat.prompt
    }
    assert (len(names), len(dict(names)), len({name for _, name in names})) == (2, 2, 2), "a pair for each way"


def test_a_model_of_the_file_is_asked_unless_the_line_names_one_and_a_default_on_the_line_wins(
    suite: Path, tmp_path: Path
) -> None:
    (tmp_path / "own.json").write_text("{}")
    suite.write_text('model = "of the file"\nconfig = "own.json"\nseed = 3\nmax_workers = 4\n[chartqa]\n[pope]\n')
    _, entries = read_suite(str(suite))

    def parse(entry: Entry, root: Path) -> Any:
        given = {key: value for key, value in entry.options.items() if key != "benchmark"}
        return registry.find(entry.name).settings(**given)

    for given, model in (((), "of the file"), (("of the line",), "of the line")):
        runs = settings_of(SuiteSettings(model=given), entries, parse, tmp_path, ["--seed", "0", "--max-workers=128"])
        facts = {(run.served_name, run.configs, run.seed, run.max_workers) for run in runs}
        assert facts == {(model, (str(tmp_path / "own.json"),), 0, 128)}


def test_a_stopped_suite_ends_with_the_table_of_its_results(
    suite: Path, tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = oracle(RIGHT | YES_NO)
    server = fault_server(first_n(2, answers, then=first_n(1, hang(), then=answers)))
    asked = ["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", server.base_url, "--no_check"]
    assert run_command([*asked, "--max_workers", "1", "--max_minutes", "0.05"]) == 130
    assert "not asked" in capsys.readouterr().out
    assert board(tmp_path / "out")["columns"]
    assert not list((tmp_path / "out").glob("chartqa.html")), "pages are of finished runs"
    assert run_command(asked) == 0
    assert len({chat.prompt for chat in server.chats}) == 12


def test_a_benchmark_that_the_server_interrupted_is_in_the_table_with_its_part(
    suite: Path, tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    server = fault_server(first_n(6, "yes", then=error(500)))
    asked = ["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", server.base_url, "--max_workers", "1"]
    assert run_command([*asked, "--max_retries", "0", "--breaker_after", "2", "--no-html"]) == 3
    cells = {column["title"]: list(column["cells"].values()) for column in board(tmp_path / "out")["columns"]}
    assert [(cell["n"] - cell["failed"], cell["expected"]) for cell in (*cells["chartqa"], *cells["pope"])] == [
        (4, 4),
        (2, 8),
    ]
    assert "not completed: pope" in capsys.readouterr().err


def columns(*places: Path) -> dict[str, BoardColumn]:
    return {column.title: column for column in leaderboard(places).columns}


def test_runs_of_one_model_are_named_with_their_folders_in_every_column(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        put(tmp_path / folder, [record("1")])
    put(tmp_path / "a", [record("1")], stem="mc", task="mc")
    put(tmp_path / "c", [record("1")], model="org/two")
    found = columns(tmp_path)
    assert set(found["vqa2"].cells) == {"org/one (a)", "org/one (b)", "org/two"}
    assert set(found["mc"].cells) == {"org/one (a)"}
    assert found["mc"].cells["org/one (a)"].best is None, "a run alone has no rank"


def test_a_leaderboard_has_the_readable_runs_and_compares_those_on_the_most_frequent_data(tmp_path: Path) -> None:
    put(tmp_path / "odd", [record("1", references=("boat",))], model="odd", described={"data_sha256": "cd" * 32})
    for name, seed in (("one", 1), ("two", 2)):
        put(tmp_path / name, many(seed, 0.5), model=name, described={"expected": 301})
    put(tmp_path / "damaged", [record("1")], model="damaged").with_name("vqa2_results.run.json").write_text("{")
    made = leaderboard([tmp_path])
    assert ["damaged" in reason for reason in made.left_out] == [True]
    cells = made.columns[0].cells
    assert {name: bool(cell.apart) for name, cell in cells.items()} == {"odd": True, "one": False, "two": False}
    assert made.means == {}
    assert {name: cell.incomplete for name, cell in cells.items()} == {"odd": False, "one": True, "two": True}


def test_samples_without_a_common_question_share_a_rank(tmp_path: Path) -> None:
    for name, of in (("all", "123456789"), ("first", "123"), ("last", "789")):
        put(tmp_path / name, [record(each, score=float(name != "last")) for each in of], model=name)
    column = columns(tmp_path)["vqa2"]
    assert {(cell.best, cell.worst) for cell in column.cells.values()} == {(1, 3)}
    assert "first and last can't be compared with each other, only with others" in column.notes


def test_a_run_in_several_forms_is_compared_by_the_form_in_its_cell(tmp_path: Path) -> None:
    forms = ("clean", "snow/3")
    noisy = [record(f"q{n}", score=float(form == "clean"), variant=form) for n in range(9) for form in forms]
    put(tmp_path / "a", noisy, model="a", described={"expected": 20})
    put(tmp_path / "b", [failed(f"q{n}") for n in range(9)], model="b")
    noisy = [record(f"q{n}", score=0.0, variant="snow/3") for n in range(9)]
    put(tmp_path / "c", noisy, model="c", identity={"corruption_seed": 0})
    cells = columns(tmp_path)["vqa2"].cells
    assert [(cell.value, cell.n, cell.of, cell.expected) for cell in cells.values()] == [
        (1.0, 9, "clean images", 11),
        (0.0, 9, "", None),
        (0.0, 9, "variant snow/3, no clean images", None),
    ]
    assert [(cell.best, cell.worst) for cell in cells.values()] == [(1, 1), (2, 3), (2, 3)]


def test_another_programs_file_at_the_tables_path_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "run", [record("1")])
    (tmp_path / "leaderboard.json").write_text('{"mine": 1}')
    assert run_command(["leaderboard", str(tmp_path / "run"), "-o", str(tmp_path)]) == 2
    assert "is there already, and not from this program" in capsys.readouterr().err
    (tmp_path / "leaderboard.json").unlink()
    for _ in range(2):
        assert run_command(["leaderboard", str(tmp_path / "run"), "-o", str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no benchmark"),
        ("[chartqa\n", "two.toml"),
        (f"a = {'[' * 5000}", "two.toml: "),
        ("[nothing]\n", "two.toml, [nothing]: there is no benchmark 'nothing'"),
        ('[chartqa]\ndata = "chartqa"\ncolour = 3\n', "colour"),
        ('[chartqa]\ndata = "elsewhere"\n', "elsewhere does not exist"),
        ('[chartqa]\ndata = "chartqa"\n[pope]\n', "pope: there is no data to ask"),
        ('[chartqa]\nlimit = "many"\n', "two.toml, [chartqa]: --limit is 'many'; it must be a whole number"),
        ('[chartqa]\n[again]\nbenchmark = "chartqa"\nlimit = "many"\n', "two.toml, [again]: --limit is 'many'"),
        ('[[chartqa]]\ndata = "chartqa"\n', "chartqa is a table, not an option"),
        ('[chartqa]\noutput = "here"\n', "[chartqa]: output belongs to the whole command"),
        ("[chartqa]\nmax-cost = 1\n", "max-cost belongs to the whole suite"),
        ("[chartqa]\nhelp = true\n", "help belongs to the whole command"),
        ('benchmark = "pope"\n[chartqa]\n', "benchmark is above the tables"),
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


def test_a_server_with_several_models_wants_one_named(
    suite: Path, tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    server = fault_server("yes", models=("one", "two"))
    assert run_command(["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", server.base_url]) == 2
    assert "choose one with --model: one, two" in capsys.readouterr().err


def test_a_server_that_is_away_is_waited_for_once(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.client.probe.POLL_S", 0.05)
    suite.write_text(f"{SUITE}max_workers = 2\n", encoding="utf-8")  # so that the two share no session
    asked = ["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", "http://127.0.0.1:9/v1"]
    assert run_command([*asked, "--wait_for_server", "0.2"]) == 3
    told = capsys.readouterr().err
    assert (told.count("waiting up to"), told.count("skipping ")) == (1, 2), told


@pytest.mark.parametrize("options", ["", "max_workers = 2\n"], ids=["one session", "two"])
def test_a_server_that_dies_is_waited_for_by_the_first_benchmark_alone(
    options: str,
    suite: Path,
    tmp_path: Path,
    fault_server: StartsServers,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vqa_client.client.probe.POLL_S", 0.05)
    suite.write_text(f"{SUITE}{options}", encoding="utf-8")
    server = fault_server(first_n(2, oracle(RIGHT | YES_NO), then=restart(60.0)))
    asked = ["suite", str(suite), "-o", str(tmp_path / "out"), "--base_url", server.base_url, "--no_check"]
    assert run_command([*asked, "--wait_for_server", "0.2"]) == 3
    told = capsys.readouterr().err
    assert (told.count("waiting up to"), told.count("skipping ")) == (1, 2), told


def test_unknown_suites_are_named_with_those_that_are_shipped(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["suite", "everything"]) == 2
    assert "documents, general, smoke" in capsys.readouterr().err
    assert run_command(["suite", "some/nothing.toml"]) == 2
    assert "error: some/nothing.toml does not exist" in capsys.readouterr().err
