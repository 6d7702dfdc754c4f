"""--blind: the same questions with and without their images; what is sent and reported."""

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.words import oracle
from tests.faults.questions import Questions, niah_settings
from tests.runs.test_explain_runs import photographs
from tests.runs.vqa2_split import Split
from vqa_client.cli.main import run_command
from vqa_client.cli.progress import LiveCounts
from vqa_client.cli.report_tables import as_tables
from vqa_client.errors import UsageError
from vqa_client.evaluation import arun


def seeing(of: Questions, guesses: frozenset[str] = frozenset()) -> Any:
    """A model that is right with images, and without them only on questions that it can guess."""

    def play(received: Received) -> str:
        name = received.prompt[2:].partition("]]")[0]
        return f"The answer is {of.gold[name]}." if received.images or name in guesses else "I can't see it."

    return play


async def test_every_question_is_asked_with_and_without_images_with_the_same_prompt(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 4, pages=2)
    server = fault_server(seeing(of, frozenset({"q0"})))
    progress = LiveCounts()
    [done] = await arun(of.settings(server.base_url, blind=True), progress=progress)
    assert "accuracy over all variants 62.5 %" in progress.line()
    assert sorted(len(chat.images) for chat in server.chats) == [0] * 4 + [2] * 4
    assert len({chat.prompt for chat in server.chats}) == 4
    found = json.loads((of.output / "clean_mc_eval_blind.json").read_text())
    matter = found["images_matter"]
    assert (matter["seen"]["value"], matter["blind"]["value"], matter["gain"]["value"]) == (100.0, 25.0, 75.0)
    assert (matter["gain"]["higher"], matter["gain"]["lower"]) == (3, 0)
    assert found["right_without_images_of_those_right_with"]["value"] == found["same_answer"]["value"] == 25.0
    assert found["chance"] == 25.0
    assert " ".join(found) == (
        "model config variant data_path images_dir model_settings images_matter "
        "right_without_images_of_those_right_with same_answer chance unfinished_questions by_group by_form all_variants"
    )
    assert list(matter) == ["questions", "seen", "blind", "gain"]
    assert list(matter["seen"]) == ["n", "value", "interval"]
    assert found["by_group"]["difficulty"]["easy"]["blind"]["value"] == 50.0
    assert {form: each["accuracy"] for form, each in found["by_form"].items()} == {"blind": 25.0, "seen": 100.0}
    shown = as_tables([done])
    for words in ("+75.0", "difficulty easy", "guessing would be right in 25.0 %"):
        assert words in shown


async def test_a_second_start_asks_nothing(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server(seeing(of))
    await arun(of.settings(server.base_url, blind=True))
    before = (of.output / "clean_mc_eval_blind.json").read_bytes()
    await arun(of.settings(server.base_url, blind=True))
    assert len(server.chats) == 6
    assert (of.output / "clean_mc_eval_blind.json").read_bytes() == before


async def test_needles_have_no_choices_for_a_guess(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    await arun(niah_settings(of, fault_server("code q0#0").base_url, blind=True))
    found = json.loads((tmp_path / "needles_out_blind.json").read_text())
    assert found["chance"] is None
    assert found["same_answer"] is None
    assert found["images_matter"]["gain"]["value"] == 0.0


async def test_photographs_can_also_be_left_out(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Split(tmp_path, 5)
    server = fault_server(lambda received: "yes" if received.images else "no")
    [done] = await arun(of.settings(server.base_url, blind=True))
    assert sorted(len(chat.images) for chat in server.chats) == [0] * 5 + [1] * 5
    found = json.loads(done.path.read_text())
    assert found["images_matter"]["questions"] == 5
    assert "kind" in found["by_group"]


async def test_explained_answers_can_be_sampled_and_repeated(tmp_path: Path, fault_server: StartsServers) -> None:
    of = photographs(tmp_path, 30)
    server = fault_server("yes because it is so")
    [done] = await arun(of.settings(server.base_url, n_samples=None, sample=4, repeat=3))
    assert len(server.chats) == 12
    assert json.loads(done.path.read_text())["several_answers"]["value"] == 0.0


async def test_several_models_of_vqa2_are_not_put_into_one_published_file(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Split(tmp_path, 2)
    config = tmp_path / "other.json"
    config.write_text(json.dumps({"model_name": "tiny", "max_tokens": 9}))
    server = fault_server("yes")
    reports = await arun(of.settings(server.base_url, repeat=2, model=("llava", str(config))))
    assert len(server.chats) == 8
    assert all(json.loads(report.path.read_text())["repeats"] == 2 for report in reports)
    assert len(list(of.results.glob("*.json"))) == 4  # two reports and two run files


async def test_without_images_there_is_nothing_to_leave_out(tmp_path: Path) -> None:
    of = Questions(tmp_path, 1)
    with pytest.raises(UsageError, match="--blind leaves the images out") as caught:
        await arun(of.settings("http://127.0.0.1:1/v1", blind=True, text_only=True, images=None))
    assert caught.value.hint == "leave out --text_only"


@pytest.mark.parametrize(("option", "ending"), [("--blind", "blind"), ("--repeat=2", "repeated")])
def test_without_known_answers_other_forms_have_no_scores(
    option: str, ending: str, tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    (tmp_path / "rows.csv").write_text("question,image\nWhich?,a.png\nWhat?,a.png\n")
    server = fault_server(oracle({"": "red"}))
    words = ["ask", str(tmp_path / "rows.csv"), "--base_url", server.base_url, "--no_check", "-o", str(tmp_path)]
    assert run_command([*words, option]) == 0
    shown = capsys.readouterr().out
    assert "2 questions" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert (["pass@1", "-", "-"] if ending == "repeated" else ["all", "2", "-", "-", "-", "-"]) in lines
    [path] = tmp_path.glob(f"*{ending}.json")
    found = json.loads(path.read_text())
    assert found["all_variants"]["accuracy"] is None
    if ending == "blind":
        assert found["images_matter"]["questions"] == 2
        assert (found["images_matter"]["seen"]["value"], found["images_matter"]["gain"]) == (None, None)
        assert (found["right_without_images_of_those_right_with"]["value"], found["same_answer"]["value"]) == (
            None,
            100,
        )
    else:
        assert {of["value"] for of in found["pass_at"].values()} == {None}
        assert (found["questions_with_all_repeats"], found["several_answers"]["value"]) == (2, 0)
        assert {(each["correct"], each["majority"], each["scores"]) for each in found["questions"]} == {(None,) * 3}
