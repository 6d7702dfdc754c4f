"""A sheet for people, and the comparison of their labels with a judge."""

import csv
import json
from pathlib import Path

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.script import Script
from tests.fakes.server import FaultServer
from tests.fakes.words import answer, likeliest_token
from tests.judge.judged import Run, material, on_judgements
from vqa_client.cli.main import run_command

N = 100


def _number(received: Received) -> int:
    return int(material(received.prompt)["question"].split()[-1].rstrip("?"))


@pytest.fixture
def run(tmp_path: Path, fault_server: StartsServers) -> Run:
    """Half of the replies are right, and the rule reads only some; the judge is wrong on a tenth of each half."""
    said = [f"city {n if n % 2 else n + 1}" for n in range(N)]
    run = Run(tmp_path, [f"It is {each}" if n % 4 < 2 else each for n, each in enumerate(said)])

    def judge(received: Received) -> Script:
        n = _number(received)
        return f"VERDICT: {'correct' if (n % 2 == 1) != (n % 20 in (6, 7)) else 'incorrect'}"

    assert run.judged(fault_server(on_judgements(judge)).base_url) == 0
    return run


def labelled(sheet: Path, *columns: str) -> None:
    """People label the sheet correctly, but the second one labels every tenth reply as unclear."""
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        n = int(row["question_id"][1:])
        for column in columns:
            right = "unclear" if column == "label_2" and n % 10 == 0 else "correct" if n % 2 else "incorrect"
            row[column] = right
    with sheet.open("w", newline="") as file:
        names = [name for name in rows[0] if name != "label" or name in columns]
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def test_labels_correct_a_judges_accuracy_for_its_errors(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    sheet = run.root / "labels.csv"
    assert run_command(["judge", str(run.log), "--for_people", "60", "-o", str(sheet)]) == 0
    text = sheet.read_text()
    assert text.startswith("question_id,variant,question,choices,reference,reply,image,label,weight\n")
    assert "VERDICT" not in text
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    assert sum(float(row["weight"]) for row in rows) == pytest.approx(N)
    labelled(sheet, "label_1", "label_2")
    capsys.readouterr()
    assert run_command(["judge", str(run.log), "--labels", str(sheet)]) == 0
    assert "Rogan and Gladen" in capsys.readouterr().out
    [found] = json.loads((run.log.parent / "capitals.judged-correct-people.json").read_text())
    ties = sum(int(row["question_id"][1:]) % 10 == 0 for row in rows)  # unclear to one of two
    assert found["labelled"] == 60 - ties
    assert found["sensitivity"]["value"] == pytest.approx(0.9, abs=0.06)
    assert found["specificity"]["value"] == pytest.approx(0.9, abs=0.06)
    accuracy = found["accuracy"]
    assert accuracy["value"] == pytest.approx(0.5, abs=0.03)
    assert accuracy["low"] < 0.5 < accuracy["high"]
    [(names, people)] = found["people"].items()
    assert (names, people["value"], found["fleiss"]) == ("1 - 2", 1, None)
    assert people["n"] < 60


def test_grades_by_people_have_weighted_kappa_and_ranks(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, [f"It is city {n}" for n in range(12)])
    judge = on_judgements(lambda received: f"VERDICT: {1 + _number(received) % 5}")
    assert run.judged(fault_server(judge).base_url, "--kind", "grade", "--scale", "1-5", check=False) == 0
    sheet = run.root / "labels.csv"
    given = ["judge", str(run.log), "--kind", "grade"]
    assert run_command([*given, "--for_people", "12", "-o", str(sheet)]) == 0
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert "label" in rows[0]
    for row in rows:  # ada grades as the judge does, ben and cy once otherwise, and all leave one out
        n = int(row["question_id"][1:])
        row["label_ada"] = "unclear" if n == 11 else str(1 + n % 5)
        row["label_ben"] = "unclear" if n == 11 else str(1 + n % 5 + (n == 0))
        row["label_cy"] = row["label_ben"]
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    capsys.readouterr()
    assert run_command([*given, "--labels", str(sheet)]) == 0  # by the scale that the judge had
    shown = capsys.readouterr().out
    assert "quadratic weights" in shown
    [found] = json.loads((run.log.parent / "capitals.judged-grade-people.json").read_text())
    assert found["labelled"] == 11
    assert 0.9 < found["kappa"]["value"] < 1
    assert 0.9 < found["rho"] < 1
    assert found["people"]["ada - ben"]["value"] > 0.95
    assert found["fleiss"] is None
    for labels, weighted, accuracy in (
        ([f"q{n},{'correct' if n % 5 > 1 else 'incorrect'}" for n in range(12)], False, 0.5),
        (["q0,3", "q1,3"], True, None),
    ):
        sheet.write_text("\n".join(["question_id,label", *labels]))
        assert run_command([*given, "--labels", str(sheet)]) == 0
        assert ("quadratic weights" in capsys.readouterr().out) is weighted
        [found] = json.loads((run.log.parent / "capitals.judged-grade-people.json").read_text())
        assert (found["graded"], found["rho"], found["accuracy"]["value"]) == (weighted, None, accuracy)
    sheet.write_text("question_id,label\nq1,6\n")
    assert run_command([*given, "--labels", str(sheet)]) == 2
    assert capsys.readouterr().err.endswith(
        "label '6' is unknown\nhint: 1, 2, 3, 4, 5, unclear, or correct, incorrect\n"
    )


def test_peoples_grades_are_on_the_scale_of_the_sheet_or_of_all_judges(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run, url = Run(tmp_path, ["city 0", "city 1"]), fault_server(answer("VERDICT: 4")).base_url
    sheet, given = run.root / "labels.csv", ["judge", str(run.log), "--kind", "grade"]
    for judge, scale in (("five", "1-5"), ("ten", "0-10")):
        more = ["--judge", run.config(judge, url), "--kind", "grade", "--scale", scale]
        assert run.judged(url, *more, check=False) == 0
    assert run_command([*given, "--for_people", "2", "--scale", "1-5", "-o", str(sheet)]) == 0
    assert sheet.read_text().splitlines()[1].endswith(",1 to 5")
    for scale, more, agreement in (
        ("0 to 10", [], [0.0, 1.0]),  # 4 of 10 is less than half, 4 of 5 is more
        ("1 to 5", [], [1.0, 0.0]),
        ("", ["--scale", "1-5"], [1.0, 0.0]),
        (
            *("", []),
            f"judges' grades of {run.log} are on 0-10 and 1-5\nhint: give --scale to judge --labels, or to judge "
            "--for_people N, which writes it into the sheet\n",
        ),
        (
            *("", ["--scale", "0-7"]),
            f"--scale is 0-7, and judges' grades of {run.log} are on 0-10 and 1-5\nhint: leave --scale out\n",
        ),
        (
            *("1 to 5", ["--scale", "0-10"]),
            f"--scale is 0-10, and grades in {sheet} are on 1-5\nhint: leave --scale out\n",
        ),
        ("good", [], "labels.csv are on 'good'\n"),
    ):
        sheet.write_text(f"question_id,label,scale\nq0,4,{scale}\n")
        capsys.readouterr()
        code = run_command([*given, "--labels", str(sheet), *more, "--json"])
        shown = capsys.readouterr()
        if isinstance(agreement, str):
            assert (code, agreement in shown.err) == (2, True)
        else:
            assert [each["agreement"]["value"] for each in json.loads(shown.out)[:2]] == agreement


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_judges_calibration_counts_replies_by_their_weights(
    separator: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    run = Run(tmp_path, ["city 0", "city 1"])
    judge = likeliest_token(lambda received: {"A": 0.75, "B": 0.25})
    assert run.judged(fault_server(judge).base_url, "--choice_mode", "logprob", check=False) == 0
    sheet = "question_id,label,weight\nq0,correct,30\nq1,incorrect,10\n"
    (run.root / "labels.csv").write_text(sheet.replace(",", separator))
    assert run_command(["judge", str(run.log), "--labels", str(run.root / "labels.csv")]) == 0
    [found] = json.loads((run.log.parent / "capitals.judged-correct-people.json").read_text())
    assert found["calibration"] == {
        "n": 2,
        "expected_error": pytest.approx(0, abs=1e-6),
        "brier": pytest.approx(0.1875),
    }


def test_a_judge_without_any_verdict_has_no_figures_beside_people(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, ["city 0", "city 1"])
    assert run.judged(fault_server(on_judgements("Hm.")).base_url) == 0
    (run.root / "labels.csv").write_text("question_id,label\nq0,correct\nq1,incorrect\n")
    capsys.readouterr()
    assert run_command(["judge", str(run.log), "--labels", str(run.root / "labels.csv")]) == 0
    assert "sensitivity, %                 -" in capsys.readouterr().out
    assert run_command(["judge", str(run.log), "--labels", str(run.root / "labels.csv"), "--judge", "other"]) == 2
    assert capsys.readouterr().err.endswith(
        f"--judge other has no verdicts of kind correct on {run.log}\n"
        "hint: ask it first; without --judge all judges of the run are taken\n"
    )
    assert run_command(["judge", str(run.log), "--for_people", "9", "-o", str(run.root / "sheet.csv")]) == 2
    assert f"{run.log} has no reply to label that a judge has decided\n" in capsys.readouterr().err


def test_a_judge_at_chance_gives_no_corrected_accuracy_and_full_agreement_has_an_interval(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, [f"It is city {n}" for n in range(12)])
    guesses = on_judgements(lambda received: f"VERDICT: {'correct' if _number(received) % 2 else 'incorrect'}")
    assert run.judged(fault_server(guesses).base_url) == 0
    sheet, given = run.root / "labels.csv", ["judge", str(run.log), "--labels", str(run.root / "labels.csv")]
    for says, last_weight, figure, told in (
        (lambda n: n % 4 < 2, 1, "corrected accuracy", "- (hardly better than chance)"),
        (lambda n: n in (0, 1, 3, 5, 7), 1, "sensitivity", "80.0 ("),  # calls 1, 3, 5 and 7 right
        (lambda n: n in (0, 1, 3, 5, 7), 1, "specificity", "71.4 ("),  # rejects 2, 4, 6, 8 and 10
        (lambda n: n in (0, 1, 3, 5, 7), 1, "agreement", "75.0 ("),
        (lambda n: n in (0, 1, 3, 5, 7), 1, "corrected accuracy", "41.7"),
        (lambda n: n in (0, 1, 3, 5, 7), 1, "of the rule", "58.3 ("),  # it calls none right
        (lambda n: n % 2 == 1, 1, "agreement", "100.0 (61.0-100.0)"),  # of six clusters
        (lambda n: n % 2 == 1, 6, "agreement", "100.0 (43.4-100.0)"),  # two replies of one cluster weigh as much as 12
    ):
        labels = [f"q{n},{'correct' if says(n) else 'incorrect'},{last_weight if n > 9 else ''}" for n in range(12)]
        sheet.write_text("\n".join(["question_id,label,weight", *labels]))
        capsys.readouterr()
        assert run_command(given) == 0
        assert f"{figure}, % {told}" in " ".join(capsys.readouterr().out.split())


def test_labels_of_choices_are_not_grades(tmp_path: Path, fault_server: StartsServers) -> None:
    run = Run(tmp_path, ["So it is A", "So it is A"], choices=True)
    assert run.judged(fault_server(answer("VERDICT: A")).base_url, check=False) == 0
    (run.root / "labels.csv").write_text("question_id,label\nq0,A\nq1,A\n")
    assert run_command(["judge", str(run.log), "--labels", str(run.root / "labels.csv")]) == 0
    [found] = json.loads((run.log.parent / "capitals.judged-match-people.json").read_text())
    assert (found["labelled"], found["graded"], found["agreement"]["value"]) == (2, False, 1.0)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run(tmp_path_factory.mktemp("judged"), ["city 0", "city 1"])
    with FaultServer(on_judgements("VERDICT: correct")) as server:
        assert run.judged(server.base_url) == 0
    return run


@pytest.mark.parametrize(
    ("sheet", "told"),
    [
        (None, "labels.csv does not exist\nhint: --for_people N writes a sheet\n"),
        ("question_id,label\nq1,\udcff\n", "can't decode byte 0xff in position 21: invalid start byte\n"),
        ("question_id,label\nq1,\udcff\n", "\nhint: give the sheet as CSV in UTF-8\n"),
        ("a,b\n1,2\n", "has no columns question_id and label\nhint: --for_people N writes a sheet\n"),
        (
            "question_id,label\nq9999,correct\n",
            "row 1: the run has no question 'q9999'\nhint: label the sheet that was drawn from this run\n",
        ),
        (
            "question_id,label\nq1,good\n",
            "label 'good' is unknown\nhint: correct, incorrect, unclear, or the label of a choice\n",
        ),
        ("question_id,label\nq1,\n", "has no label\nhint: the column label takes correct, incorrect, unclear\n"),
        (
            "question_id,label,weight\nq1,correct,much\n",
            "weight 'much' is not a number\nhint: leave the column as it was drawn\n",
        ),
    ],
)
def test_a_sheet_that_can_not_be_read_says_where(
    tmp_path: Path, judged: Run, capsys: pytest.CaptureFixture[str], sheet: str | None, told: str
) -> None:
    path = tmp_path / "labels.csv"
    if sheet is not None:
        path.write_bytes(sheet.encode(errors="surrogateescape"))
    assert run_command(["judge", str(judged.log), "--labels", str(path)]) == 2
    assert told in capsys.readouterr().err
