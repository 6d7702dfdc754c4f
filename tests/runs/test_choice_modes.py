"""Whole runs with --choice_mode structured and logprob: what is sent, kept, refused and reported."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.server import FaultServer
from tests.fakes.words import answer, hang, likeliest_token, when
from tests.faults.questions import CHOICES, Notes, Questions
from vqa_client.cli.parse import parse
from vqa_client.cli.report_tables import as_tables
from vqa_client.errors import IdentityError, ServerUnusable, UsageError
from vqa_client.evaluation import Interrupted, arun
from vqa_client.runs.reopened import rescore
from vqa_client.runs.why import why
from vqa_client.settings.reports import ParseSettings

INSTRUCTION = "Answer with the letter alone."
WRONG = {"A": "B", "B": "C", "C": "D", "D": "A"}


def shown(received: Received, text: str) -> str:
    """The letter of the choice with this text."""
    return next(line[0] for line in received.prompt.splitlines() if line.endswith(f". {text}"))


def knowing(of: Questions, right: float = 0.6, wrong: float = 0.2) -> Any:
    """A model that gives the right letter 0.5 and 0.1 as " X", the next one 0.2; to pictures of squares it says red."""

    def weights(received: Received) -> Mapping[str, float]:
        if "[[" not in received.prompt:
            return {"red": 0.9, "A": 0.05}
        letter = shown(received, CHOICES[of.gold[received.prompt[2:].partition("]]")[0]]])
        return {letter: right - 0.1, f" {letter}": 0.1, WRONG[letter]: wrong, "The": 1 - right - wrong}

    return weights


def asked(server: FaultServer) -> list[dict[str, Any]]:
    """The bodies of the questions, without those of the check."""
    return [chat.json for chat in server.chats if "[[" in chat.prompt]


async def test_structured_limits_every_reply_to_the_labels(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    server, notes = fault_server(likeliest_token(knowing(of))), Notes()
    outcomes = await of.ask(server, choice_mode="structured", progress=notes)
    assert [body["structured_outputs"] for body in asked(server)] == [{"choice": ["A", "B", "C", "D"]}] * 4
    assert {name: record["answer"] for name, record in outcomes.items()} == of.gold
    assert {(record["rule"], record["score"]) for record in outcomes.values()} == {("constrained", 1.0)}
    assert all(record["prompt"].endswith(f"\n\n{INSTRUCTION}") for record in outcomes.values())
    assert all("first_token" not in record for record in outcomes.values())
    assert notes.about("--choice_mode structured: asked by structured_outputs")
    report = of.report()
    assert (report["choice_mode"], report["accuracy"]) == ("structured", 100.0)
    assert report["scores"].keys() == {"structured"}
    assert of.run_file()["described"]["choice_form"] == "structured_outputs"


async def test_the_form_of_request_is_found_once_for_all_folders_of_a_command(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    probes = []
    for folders in (("clean",), ("clean", "blurred", "dark")):
        of = Questions(tmp_path / str(len(folders)), 4, folders=folders)
        server, notes = fault_server(likeliest_token(knowing(of))), Notes()
        reports = await arun(of.settings(server.base_url, choice_mode="logprob"), progress=notes)
        assert [report.summary.overall.correct for report in reports] == [4] * len(folders)
        assert len(notes.about("--choice_mode logprob: asked by")) == 1
        probes.append(len(server.chats) - len(asked(server)))
    assert probes[0] == probes[1] > 0


async def test_a_schema_is_used_if_the_server_has_no_other_form(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(likeliest_token(knowing(of)), kind="mlx-vlm")
    outcomes = await of.ask(server, choice_mode="structured")
    assert {name: record["answer"] for name, record in outcomes.items()} == of.gold
    assert outcomes["q1"]["output"] == '{"answer": "B"}'
    assert of.report()["accuracy"] == 100.0


@pytest.mark.parametrize("mode", ["structured", "logprob"])
async def test_a_server_that_ignores_the_mode_gets_no_question(
    mode: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(likeliest_token(knowing(of), honours=frozenset()))
    with pytest.raises(ServerUnusable, match=f"can't be asked with --choice_mode {mode}"):
        await of.ask(server, choice_mode=mode)
    assert asked(server) == []
    assert not of.report_path().exists()


async def test_a_reply_that_was_not_limited_to_labels_is_not_an_answer(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    """A gateway may send questions to another server than the checked one."""
    of = Questions(tmp_path, 4)
    held = likeliest_token(knowing(of))
    stray = when(lambda received: "[[q2]]" in received.prompt, answer("The correct answer is (C)."), held)
    outcomes = await of.ask(fault_server(stray), choice_mode="structured")
    assert {name: record["status"] for name, record in outcomes.items()} == {
        "q0": "ok", "q1": "ok", "q2": "unparsed", "q3": "ok",
    }  # fmt: skip


async def test_logprob_requests_one_token_and_keeps_its_candidates(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(likeliest_token(knowing(of)))
    outcomes = await of.ask(server, choice_mode="logprob")
    for body in asked(server):
        assert (body["max_tokens"], body["logprobs"]) == (1, True)
        assert len(body["logprob_token_ids"]) == 16
    q1 = outcomes["q1"]
    assert (q1["answer"], q1["rule"], q1["finish_reason"]) == ("B", "first token", None)
    assert q1["probabilities"]["B"] == pytest.approx(0.6, abs=1e-5)
    assert q1["probabilities"]["C"] == pytest.approx(0.2, abs=1e-5)
    assert q1["first_token"].keys() >= {"B", " B", "C"}
    assert q1["parts"] == pytest.approx({"logprob": 1.0, "probability": 0.75, "margin": 0.5, "mass": 0.8}, abs=1e-4)


async def test_logprob_is_reported_with_probabilities_and_calibration(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 4)
    [done] = await arun(of.settings(fault_server(likeliest_token(knowing(of))).base_url, choice_mode="logprob"))
    report = of.report()
    assert (report["choice_mode"], report["accuracy"], report["n_truncated"]) == ("logprob", 100.0, 0)
    assert report["scores"]["probability"]["overall"]["accuracy"] == pytest.approx(75.0, abs=0.01)
    assert report["scores"]["mass"]["overall"]["accuracy"] == pytest.approx(80.0, abs=0.01)
    assert report["calibration"]["n"] == 4
    assert report["calibration"]["expected_error"] == pytest.approx(0.25, abs=1e-4)
    assert report["calibration"]["brier"] == pytest.approx(0.0625, abs=1e-4)
    assert report["results"][1]["probabilities"]["B"] == pytest.approx(0.6, abs=1e-5)
    assert "by --choice_mode logprob" in as_tables([done])


async def test_only_the_most_probable_tokens_are_enough(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)

    def weights(received: Received) -> Mapping[str, float]:
        return {**knowing(of)(received), **{f"x{number}": 1e-6 for number in range(9)}}

    server = fault_server(likeliest_token(weights), kind="mlx-vlm")
    outcomes = await of.ask(server, choice_mode="logprob")
    assert {body["top_logprobs"] for body in asked(server)} == {20}
    assert outcomes["q1"]["answer"] == "B"
    assert outcomes["q1"]["probabilities"].keys() == {"B", "C"}


async def test_a_run_whose_letters_have_little_probability_says_so(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 4)
    many = {f"x{number}": 1e-6 for number in range(9)}
    prose = {"The": 0.7, "It": 0.1, "b": 0.12, "C": 0.05, **many}
    server = fault_server(likeliest_token(lambda received: prose), kind="mlx-vlm")
    reports = await arun(of.settings(server.base_url, choice_mode="logprob"))
    assert "only 17.0 % of the first token's probability falls on letters" in as_tables(reports)
    assert {row["extracted_answer"] for row in of.report()["results"]} == {"B"}


@pytest.mark.parametrize(
    ("first", "status", "rule"),
    [
        ({"The": 0.9, "It": 0.05}, "unparsed", "first token"),
        ({"A": 0.4, "D": 0.4, "The": 0.2}, "ambiguous", "first token"),
        ({"The": 0.9, "B": 0.05, "C": 0.01}, "unparsed", "prose first"),
        ({"<think>": 0.9, "B": 0.1}, "unparsed", "reasoning first"),
    ],
)
async def test_nothing_is_guessed_if_no_label_is_most_probable(
    first: dict[str, float], status: str, rule: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 4)
    many = {f"x{number}": 1e-6 for number in range(9)}

    def weights(received: Received) -> Mapping[str, float]:
        return {**(first if "[[q1]]" in received.prompt else knowing(of)(received)), **many}

    outcomes = await of.ask(fault_server(likeliest_token(weights), kind="mlx-vlm"), choice_mode="logprob")
    q1 = outcomes["q1"]
    assert (q1["status"], q1["answer"], q1["rule"], q1["score"]) == (status, None, rule, 0.0)
    assert outcomes["q0"]["status"] == "ok"


@pytest.mark.parametrize(("option", "count"), [("circular", 16), ("shuffle_choices", 4), ("blind", 8)])
@pytest.mark.parametrize("mode", ["structured", "logprob"])
async def test_modes_work_with_shuffled_choices_and_without_images(
    mode: str, option: str, count: int, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 4)
    server = fault_server(likeliest_token(knowing(of)))
    [done] = await arun(of.settings(server.base_url, choice_mode=mode, **{option: True, "seed": 3}))
    assert (len(asked(server)), done.expected) == (count, count)
    assert done.summary.overall.accuracy == 1.0
    [log] = of.output.glob("*.records.jsonl")
    assert (rescore(log, write=False).changes, rescore(log, write=False).new.accuracy) == ((), 1.0)


async def test_another_mode_is_another_run(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(likeliest_token(knowing(of)))
    await of.ask(server, choice_mode="logprob")
    before = len(asked(server))
    await of.ask(server, choice_mode="logprob")
    assert len(asked(server)) == before
    for mode in ("structured", "text"):
        with pytest.raises(IdentityError, match=r"choice_mode: 'logprob' in"):
            await of.ask(server, choice_mode=mode)


async def test_older_text_runs_are_resumed(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    await of.ask(fault_server(likeliest_token(knowing(of))))
    assert "choice_mode" not in of.run_file()["identity"]
    assert of.report()["choice_mode"] == "text"
    assert "calibration" not in of.report()
    assert not {"first_token", "probabilities"} & of.outcomes()["q0"].keys()


async def test_replies_with_probabilities_are_scored_again_without_asking(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 4)
    await of.ask(fault_server(likeliest_token(knowing(of))), choice_mode="logprob")
    of.change("q1", answer="C")
    found = rescore(of.log_path, write=True)
    assert [change.question_id for change in found.changes] == ["q1"]
    assert (found.changes[0].new.score, found.changes[0].new.answer) == (0.0, "B")
    assert found.changes[0].new.parts["probability"] == pytest.approx(0.25, abs=1e-4)
    assert of.outcomes()["q1"]["probabilities"]["B"] == pytest.approx(0.6, abs=1e-5)


async def test_parse_shows_the_probabilities(
    tmp_path: Path, fault_server: StartsServers, capsys: pytest.CaptureFixture[str]
) -> None:
    of = Questions(tmp_path, 2)
    await of.ask(fault_server(likeliest_token(knowing(of))), choice_mode="logprob")
    parse(ParseSettings(run=of.output, explain="q1"))
    said = capsys.readouterr().out
    for words in ("'B' 0.5", "' B' 0.1", "labels: ", "B 0.6", "by first token", "read again today: the same"):
        assert words in said
    (of.output / "clean_mc_eval.run.json").unlink()
    assert why(of.output, "q1", None).task == "mc"


async def test_parse_explains_a_reply_that_was_not_limited_to_labels(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    await of.ask(fault_server(likeliest_token(knowing(of))), choice_mode="structured")
    found = why(of.output, "q1", None)
    assert found.choice is None
    assert any("a label and nothing else" in line for line in found.why)


async def test_the_configs_prompt_is_kept_and_noted(tmp_path: Path, fault_server: StartsServers) -> None:
    of, notes = Questions(tmp_path, 2), Notes()
    config = of.config(prompt_template="{question}\n{choices}\nOne letter, please.")
    outcomes = await of.ask(
        fault_server(likeliest_token(knowing(of))), choice_mode="logprob", config=config, progress=notes
    )
    assert outcomes["q0"]["prompt"].endswith("\nOne letter, please.")
    assert notes.about("prompt_template", "letter alone")


async def test_a_parser_of_free_text_is_refused(tmp_path: Path) -> None:
    of = Questions(tmp_path, 2)
    with pytest.raises(UsageError, match="--parser reads free text"):
        await arun(of.settings("http://localhost:1", choice_mode="logprob", parser="published"))


async def test_another_form_of_request_on_resuming_is_noted(tmp_path: Path, fault_server: StartsServers) -> None:
    of, notes = Questions(tmp_path, 2), Notes()
    rows = of.rows()
    of.write_rows(rows[:1])
    await of.ask(fault_server(likeliest_token(knowing(of))), choice_mode="structured")
    of.write_rows(rows)
    older = fault_server(likeliest_token(knowing(of), honours=frozenset({"guided_choice"})))
    await of.ask(older, choice_mode="structured", progress=notes)
    assert notes.about("asked by structured_outputs, those now by guided_choice")
    assert json.loads((of.output / "clean_mc_eval.run.json").read_text())["described"]["choice_form"] == "guided_choice"


async def test_an_interruption_does_not_wait_for_the_checks(tmp_path: Path, fault_server: StartsServers) -> None:
    of, stop = Questions(tmp_path, 2), asyncio.Event()
    server = fault_server(hang())
    running = asyncio.create_task(arun(of.settings(server.base_url, choice_mode="logprob"), stop=stop))
    await asyncio.to_thread(server.wait_until, lambda: bool(server.chats))
    stop.set()
    with pytest.raises(Interrupted):
        await asyncio.wait_for(running, 60)
    assert asked(server) == []
