"""Choices in another order: what is sent, scored, left out and reported."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.words import error
from tests.faults.questions import CHOICES, Questions
from vqa_client.cli.report_tables import as_tables, json_rows
from vqa_client.errors import IdentityError
from vqa_client.evaluation import arun
from vqa_client.runs.plans import make_plans
from vqa_client.runs.reopened import rescore
from vqa_client.runs.varied import _unmovable
from vqa_client.types import Question


def knowing(of: Questions) -> Any:
    """A server that knows the right texts, and replies with their letters."""

    def play(received: Received) -> str:
        prompt = received.prompt
        text = CHOICES[of.gold[prompt[2:].partition("]]")[0]]]
        letter = next(line[0] for line in prompt.splitlines() if line.endswith(f". {text}"))
        return f"The correct answer is ({letter})."

    return play


def report(of: Questions, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((of.output / f"clean_mc_eval_{name}.json").read_text())
    return found


async def test_circular_evaluation_asks_every_rotation_once(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 3)
    server = fault_server(knowing(of))
    [done] = await arun(of.settings(server.base_url, circular=True))
    assert (len(server.chats), done.expected) == (12, 12)
    assert sorted(chat.prompt for chat in server.chats if "[[q0]]" in chat.prompt) == sorted(
        "[[q0]] Which one?\n\n"
        + "\n".join(f"{label}. {text}" for label, text in zip("ABCD", turned, strict=True))
        + "\n\n"
        for turned in (
            ("red", "green", "blue", "yellow"),
            ("green", "blue", "yellow", "red"),
            ("blue", "yellow", "red", "green"),
            ("yellow", "red", "green", "blue"),
        )
    )
    found = report(of, "circular")
    assert found["circular"]["value"] == found["same_text"]["value"] == 100.0
    assert found["same_letter"]["value"] == 0.0
    assert {of["recall"]["value"] for of in found["position_bias"]["positions"].values()} == {100.0}
    assert found["position_bias"]["recall_deviation"] == 0.0
    q1 = next(each for each in found["questions"] if each["question_id"] == "q1")
    assert (q1["choices"], q1["ground_truth"], q1["answers"]) == (CHOICES, "B", ["B"] * 4)
    assert q1["letters"] == ["B", "A", "D", "C"]
    shown = as_tables([done])
    for words in ("right in all rotations", "rotation/3", "of all chosen"):
        assert words in shown


async def test_a_model_that_always_says_c_has_no_question_right(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    [done] = await arun(of.settings(fault_server("C").base_url, circular=True))
    found = report(of, "circular")
    assert (found["circular"]["value"], found["mean"]["value"], found["once"]["value"]) == (0.0, 25.0, 100.0)
    assert found["same_letter"]["value"] == 100.0
    places = found["position_bias"]["positions"]
    assert (places["C"]["recall"]["value"], places["C"]["chosen_share"], places["C"]["right_share"]) == (100, 100, 25)
    [row] = json.loads(msgspec.json.encode(json_rows([done])))
    assert row["figures"]["same_letter"]["value"] == 1.0


async def test_a_failed_rotation_counts_as_wrong(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 1)
    good = knowing(of)
    server = fault_server(lambda received: error(422) if "A. blue" in received.prompt else good(received))
    await arun(of.settings(server.base_url, circular=True))
    found = report(of, "circular")
    assert (found["circular"]["value"], found["mean"]["value"]) == (0.0, 75.0)


async def test_shuffled_choices_are_scored_as_they_were_shown(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 12)
    server = fault_server(knowing(of))
    [done] = await arun(of.settings(server.base_url, shuffle_choices=True, seed=7))
    found = report(of, "shuffled")
    assert (found["accuracy"], len(server.chats)) == (100.0, 12)
    assert any(each["ground_truth"] != of.gold[each["instance_id"]] for each in found["results"])
    for each in found["results"]:
        assert each["choices"][each["ground_truth"]] == CHOICES[of.gold[each["instance_id"]]]
        assert each["extracted_answer"] == each["ground_truth"]
    assert sum(place["right"] for place in found["position_bias"]["positions"].values()) == 12
    assert not of.report_path().exists()
    assert "accuracy 100.0 %" in as_tables([done])


async def test_another_seed_is_another_run(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(knowing(of))
    await arun(of.settings(server.base_url, shuffle_choices=True, seed=1))
    await arun(of.settings(server.base_url, shuffle_choices=True, seed=1))
    assert len(server.chats) == 2
    with pytest.raises(IdentityError, match=r"shuffled/1.*shuffled/2"):
        await arun(of.settings(server.base_url, shuffle_choices=True, seed=2))


@pytest.mark.parametrize("option", ["circular", "shuffle_choices"])
async def test_a_question_whose_choices_name_each_other_is_left_out(
    option: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    of.change("q1", choice_D="All of the above")
    [done] = await arun(of.settings(fault_server("C").base_url, **{option: True}))
    assert done.left_out == {"choices_name_each_other": ("q1",)}
    [file] = of.output.glob("*.run.json")
    assert json.loads(file.read_bytes())["described"]["left_out"] == {"choices_name_each_other": 1}
    assert done.expected == (8 if option == "circular" else 2)


def test_a_question_without_choices_has_none_to_move(tmp_path: Path) -> None:
    [plan] = make_plans(Questions(tmp_path, 1).settings("http://127.0.0.1:1/v1"), None, None, lambda _: None)
    choices: list[dict[str, str]] = [{}, {"A": "one"}]
    reasons = [_unmovable(Question(id="a", text="?", choices=given), plan.task) for given in choices]
    assert reasons == ["no_choices", "choices_name_each_other"]


@pytest.mark.parametrize(("option", "name"), [("circular", "circular"), ("shuffle_choices", "shuffled")])
async def test_replies_are_scored_again_under_the_order_they_were_given_in(
    option: str, name: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 6)
    await arun(of.settings(fault_server(knowing(of)).base_url, **{option: True, "seed": 5}))
    found = rescore(of.output / f"clean_mc_eval_{name}.records.jsonl", write=False)
    assert (found.changes, found.not_in_data, found.new.accuracy) == ((), (), 1.0)


async def test_reports_of_ordinary_runs_have_no_positions_of_choices(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    await of.ask(fault_server("C"))
    assert not {"position_bias", "sample", "figures"} & of.report().keys()
