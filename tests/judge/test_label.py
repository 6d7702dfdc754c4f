"""People label drawn replies on a local page: no label is lost, and no verdict is shown."""

import csv
import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest

from tests.contract.samples import write_sample
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import answer
from tests.html.test_viewer import posted
from tests.judge.judged import Run, honest
from vqa_client.cli.main import run_command
from vqa_client.html.serving import ReportServer
from vqa_client.judge.benchmark import for_people, only_run
from vqa_client.judge.labelling import Labelling
from vqa_client.judge.loading import JudgedRun
from vqa_client.judge.people import key_of, write_sheet
from vqa_client.settings.judge import JudgeSettings, LabelSettings
from vqa_client.tables.delimited import harmless

REPLIES = [f"It is city {n if n % 3 else n + 1}<script>{n}</script>" for n in range(12)]


def labelling(log: Path, name: str = "", number: int = 100) -> Labelling:
    sheet = log.parent / "labels.csv"
    settings = for_people(only_run(JudgeSettings(results=log)), sheet if sheet.exists() else None)
    assert settings.kind is not None
    run = JudgedRun(settings, settings.kind)
    if not sheet.exists():
        write_sheet(sheet, run, None, number)
    return Labelling(run, sheet, name)


def column(sheet: Path, name: str) -> list[str]:
    with sheet.open(newline="") as file:
        return [row.get(name, "") for row in csv.DictReader(file)]


def give(pages: Labelling, row: int, label: str) -> int:
    return pages.take("label", msgspec.json.encode({"row": row, "label": label})).status


def test_the_page_has_the_reply_and_nothing_of_verdict_rule_and_model(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    run = Run(tmp_path, [f"<think>hidden</think>{said}" for said in REPLIES])
    assert run.judged(fault_server(answer(honest)).base_url) == 0
    page = labelling(run.log).answer("").body.decode()
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert [row[5] for row in json.loads(data)["rows"]] == REPLIES
    assert "<title>capitals · labels</title>" in page
    assert "<title>capitals · labels by ada</title>" in labelling(run.log, "ada").answer("").body.decode()
    assert not any(words in data for words in ("VERDICT", "secret-model", "hidden", "score", "weight", "exact", "<"))


def test_a_reference_that_is_a_label_has_the_text_of_its_choice(tmp_path: Path) -> None:
    page = labelling(Run(tmp_path, ["A"] * 2, choices=True).log).answer("").body.decode()
    rows = json.loads(page.partition('id="data">')[2].partition("</script>")[0])["rows"]
    assert {row[4] for row in rows} == {"A. town 0a", "B. town 1b"}


def test_a_label_is_in_the_sheet_at_once_and_can_be_undone(tmp_path: Path) -> None:
    pages = labelling(Run(tmp_path, REPLIES).log)
    assert [give(pages, 0, "correct"), give(pages, 2, "unclear"), give(pages, 0, "")] == [200, 200, 200]
    assert column(pages.sheet, "label") == pages.labels() == ["", "", "unclear", *[""] * 9]


def test_the_seed_decides_which_replies_are_drawn_and_fewer_ones_weigh_more(tmp_path: Path) -> None:
    sheet = labelling(Run(tmp_path, REPLIES).log, number=7).sheet
    assert column(sheet, "question_id") == ["q1", "q3", "q4", "q5", "q7", "q9", "q11"]
    assert column(sheet, "weight") == ["1.71429"] * 7
    for cell, written in {"=1": "'=1", "\t1": "'\t1", "＝1": "'＝1", "'s": "'s", "'-5": "'-5"}.items():
        assert (harmless([cell]), key_of({"question_id": written})) == ([written], (cell, ""))
    assert key_of({"question_id": "'=1", "variant": "'=s"}) == ("=1", "=s")


def test_grades_are_labels_on_the_scale_of_the_judges(tmp_path: Path, fault_server: StartsServers) -> None:
    run = Run(tmp_path, REPLIES, judge="Judge('grade', 'Only capitals count.')")
    assert run.judged(fault_server(answer(honest)).base_url, "--scale", "0-10") == 0
    pages = labelling(run.log)
    page = pages.answer("").body.decode()
    assert 'data-label="10" data-key="t"' in page
    assert 'data-label="unclear" data-key="u"' in page
    assert "Only capitals count." in page
    assert [give(pages, row, label) for row, label in enumerate(("10", "0", "unclear", "11", "correct"))] == [
        *[200] * 3,
        *[404] * 2,
    ]
    assert column(pages.sheet, "label")[:5] == ["10", "0", "unclear", "", ""]


def test_a_sheet_keeps_the_scale_that_it_was_drawn_with(tmp_path: Path, fault_server: StartsServers) -> None:
    run = Run(tmp_path, REPLIES, judge="Judge('grade', 'Only capitals count.')")
    sheet = labelling(run.log).sheet
    assert column(sheet, "scale") == ["0 to 10"] * 12
    assert run.judged(fault_server(answer("VERDICT: 5")).base_url, "--scale", "1-5", check=False) == 0
    assert 'data-label="10"' in labelling(run.log).answer("").body.decode()
    sheet.unlink()
    assert 'data-label="10"' not in labelling(run.log).answer("").body.decode()


def test_people_are_asked_what_the_judges_were_unless_a_sheet_says_otherwise(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    run = Run(tmp_path, REPLIES)
    sheet = labelling(run.log).sheet
    assert run.judged(fault_server(answer(honest)).base_url, "--kind", "grade", "--scale", "1-5", check=False) == 0
    assert 'data-label="correct"' in labelling(run.log).answer("").body.decode()
    sheet.unlink()
    for _ in range(2):  # by the judges, then by the sheet
        assert 'data-label="5"' in labelling(run.log).answer("").body.decode()


def test_several_people_label_at_once_and_none_loses_a_label(tmp_path: Path) -> None:
    log = Run(tmp_path, REPLIES).log
    people = [labelling(log, name) for name in ("ada", "ben")]

    def label_all(pages: Labelling) -> None:
        for row in range(12):
            assert give(pages, row, "correct" if row % 3 else "incorrect") == 200

    threads = [threading.Thread(target=label_all, args=(pages,)) for pages in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert column(people[0].sheet, "label_ada") == column(people[0].sheet, "label_ben") == people[0].labels()
    assert "" not in people[1].labels()


def test_labels_of_three_people_are_compared_with_a_judge(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(tmp_path, REPLIES)
    assert run.judged(fault_server(answer(honest)).base_url) == 0
    for person, wrong in ((LabelSettings(name="Ada L.").name, 99), ("ben", 1), ("cy", 2)):
        pages = labelling(run.log, person)
        for row in range(12):
            give(pages, row, "correct" if (row % 3 > 0) != (row == wrong) else "incorrect")
    capsys.readouterr()
    assert run_command(["judge", str(run.log), "--labels", str(run.log.parent / "labels.csv")]) == 0
    shown = capsys.readouterr().out
    assert "kappa of Ada L. - ben: 0.8" in shown
    assert "Fleiss' kappa of all people: 0.7" in shown
    [found] = json.loads((run.log.parent / "capitals.judged-correct-people.json").read_text())
    assert (found["labelled"], len(found["people"])) == (12, 3)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("label", b'{"row":12,"label":"correct"}', 404),
        ("label", b'{"row":-1,"label":"correct"}', 404),
        ("label", b'{"row":0,"label":"=1+1"}', 404),
        ("label", b"[]", 404),
        ("notes", b'{"row":0,"label":"correct"}', 404),
        ("label", b'{"row":0,"label":"correct"}', 200),
    ],
)
def test_only_labels_are_taken(tmp_path: Path, path: str, body: bytes, status: int) -> None:
    pages = labelling(Run(tmp_path, REPLIES).log)
    assert pages.take(path, body).status == status
    assert column(pages.sheet, "label")[0] == ("correct" if status == 200 else "")


def test_the_page_of_another_site_can_not_label(tmp_path: Path) -> None:
    pages = labelling(Run(tmp_path, REPLIES).log)
    with ReportServer(pages, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        body = b'{"row":0,"label":"correct"}'
        refused = [{"Origin": "http://evil.example"}, {"Host": "evil.example:1"}, {"Content-Type": "text/plain"}]
        assert [posted(server, "label", body, dict(headers)) for headers in refused] == [404, 404, 404]
        assert not any(pages.labels())
        assert posted(server, "label", body, {}) == 200
        server.shutdown()
        thread.join()


def test_a_changed_sheet_keeps_the_labels_of_others_or_says_why_not(tmp_path: Path) -> None:
    pages = labelling(Run(tmp_path, REPLIES).log)
    text = pages.sheet.read_text()
    remarked = re.sub(r"^q\d+,", r"\g<0>mine,", text, flags=re.MULTILINE)
    pages.sheet.write_text("\ufeff" + remarked.replace("question_id,", "question_id,remark,"))
    assert give(pages, 1, "correct") == 200
    assert column(pages.sheet, "remark")[0] == "mine"
    pages.sheet.write_text("question_id,label\nq5,\n")
    failed = pages.take("label", b'{"row":0,"label":"correct"}')
    assert (failed.status, failed.body.decode()) == (
        500,
        f"{pages.sheet} no longer has the question 'q0'\nhint: start label again\n",
    )


def test_the_images_are_there(tmp_path: Path, fault_server: StartsServers) -> None:
    write_sample("chartqa", tmp_path)
    out = tmp_path / "out"
    asked = ["run", "chartqa", "--data", str(tmp_path), "-o", str(out), "--no-html"]
    assert run_command([*asked, "--base_url", fault_server("3").base_url]) == 0
    pages = labelling(next(out.glob("*.records.jsonl")))
    assert pages.answer("image/0").kind == "image/png"
    assert pages.answer("image/99").status == 404


def test_the_command_prints_how_many_are_labelled_before_and_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = Run(tmp_path, REPLIES).log
    monkeypatch.setattr("vqa_client.cli.view.serve", lambda pages, port, sentence: give(pages, 0, "correct"))
    capsys.readouterr()
    assert run_command(["label", str(log)]) == 0
    sheet = log.with_name("capitals.labels.csv")
    assert capsys.readouterr().err == (
        f"0 of 12 labelled in {sheet}\n"
        f"1 of 12 labelled in {sheet}; vqa-client judge {log} --labels {sheet} --kind correct\n"
    )


def test_a_killed_server_has_lost_no_label(tmp_path: Path) -> None:
    """The server is a real process, so that it can be killed."""
    log = Run(tmp_path, REPLIES).log
    command = [sys.executable, "-m", "vqa_client", "label", str(log), "--name", "ada"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        for row in range(5):
            assert posted(address, "label", msgspec.json.encode({"row": row, "label": "correct"}), {}) == 200
        process.kill()
    assert column(log.with_name("capitals.labels.csv"), "label_ada").count("correct") == 5
    assert sorted(path.name for path in log.parent.iterdir() if "tmp" in path.name) == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--name", "=1+1"], "--name is '=1+1'"),
        (["--port", "70000"], "--port is 70000"),
        (["--number", "0"], "--number is 0"),
        (["--labels", "{root}/rows.jsonl"], "has no columns question_id and label"),
        (
            ["--labels", "{root}/other.csv"],
            "{root}/other.csv has the question 'q99', and the run doesn't\n"
            "hint: give the sheet that was drawn from this run, or another --labels\n",
        ),
        (
            ["--labels", "{root}/scaled.csv", "--kind", "grade"],
            "grades in {root}/scaled.csv are on 'good'\nhint: leave the column scale as it was drawn\n",
        ),
        (
            ["--kind", "match"],
            "has no reply to label\n"
            "hint: people label replies to questions with a reference; look at them with vqa-client view\n",
        ),
    ],
)
def test_what_can_not_be_labelled_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[str], told: str
) -> None:
    run = Run(tmp_path, ["city 0"])
    (tmp_path / "other.csv").write_text("question_id,label\nq99,\n")
    (tmp_path / "scaled.csv").write_text("question_id,label,scale\nq0,,good\n")
    assert run_command(["label", str(run.log), *(word.replace("{root}", str(tmp_path)) for word in given)]) == 2
    assert told.replace("{root}", str(tmp_path)) in capsys.readouterr().err
