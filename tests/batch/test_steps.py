"""`vqa-client batch`: files are written and results read without a server, and batches shown and cancelled."""

import inspect
import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.batch.conftest import COUNT, Batched
from tests.fakes.batches import Batches
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import error, oracle
from tests.faults.questions import Questions
from vqa_client.batch.service import GONE
from vqa_client.cli.main import run_command
from vqa_client.runs.batched import show_batches

NOWHERE = "http://127.0.0.1:9/v1"


class Stepwise(Questions):
    """Questions that the batch commands ask."""

    def step(self, name: str, *more: str) -> int:
        return run_command(["batch", name, *self.arguments(NOWHERE, "--model", "tiny-vlm", *more)])

    @property
    def folder(self) -> Path:
        return self.output / "clean_mc_eval.batches"

    def answer(self, *, leaves: int = 0) -> list[dict[str, Any]]:
        """Write results for the files of requests, in another order; returns the lines of these files."""
        lines = [
            json.loads(line)
            for path in sorted(self.folder.glob("part-????.jsonl"))
            for line in path.read_bytes().splitlines()
        ]
        random.Random(3).shuffle(lines)
        results = answers(map(json.dumps, lines[leaves:]), self.replies())
        (self.folder / "any-name.jsonl").write_text("".join(results))
        return lines


def answers(lines: Iterable, replies: Mapping, model: str = "") -> Iterator:  # type: ignore[type-arg]  # untyped: SERVER copies it
    """The results of a server that knows the replies."""
    for line in map(json.loads, lines):
        prompt = line["body"]["messages"][-1]["content"][-1]["text"]
        text = next(text for marker, text in replies.items() if marker in prompt)
        body = {"model": model, "choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": None}
        result = {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}
        yield json.dumps(result | {"error": None}) + "\n"


@pytest.fixture
def of(tmp_path: Path) -> Stepwise:
    return Stepwise(tmp_path, 9)


def test_written_files_and_their_results_give_a_run(of: Stepwise, capsys: pytest.CaptureFixture[str]) -> None:
    assert of.step("write", "--batch_lines", "4") == 0
    told = capsys.readouterr().out
    assert [path.name for path in of.folder.iterdir()].count("part-0003.jsonl") == 1
    assert "part-0001.jsonl: 4 questions" in told
    assert f"vllm run-batch -i {of.folder}/part-0001.jsonl -o {of.folder}/part-0001.out.jsonl --model tiny-vlm" in told
    assert of.step("status") == 0
    words = f"; 3 files of requests and 0 of results in {of.folder}, for `vqa-client batch read`\n"
    assert capsys.readouterr().out == f"mc clean: no batches{words}"
    lines = of.answer(leaves=2)
    assert len({line["custom_id"] for line in lines}) == 9
    assert of.step("read") == 1  # two have no result
    assert (len(of.records()), of.run_file()["identity"]["model"]["model_name"]) == (7, "tiny-vlm")
    of.answer()
    assert of.step("read") == 0
    assert len(of.records()) == 9


SERVER = f"""
import json, sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
{inspect.getsource(answers)}
replies, source, target, fate = sys.argv[1:]
with Path(replies).with_suffix(".asked").open("a") as asked:
    asked.write(f"{{Path(source).name}}\\n")
model = "another" if fate.startswith("another") else "tiny-vlm"
found = list(answers(Path(source).read_text().splitlines(), json.loads(Path(replies).read_text()), model))
if fate == "fails" and source.endswith("2.jsonl"):
    Path(target).write_text(found[0] + found[1][:40])
    sys.exit("the GPU has fallen off the bus")
if fate == "breaks a line":
    found[2] = found[2][:40] + "\\n"
if fate != "writes nothing":
    Path(target).write_text("".join(found).rstrip())
"""
"""A program that replaces `vllm run-batch`, and keeps the names of its files."""


@pytest.fixture
def asked(of: Stepwise, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run the questions through the program; returns the exit code and standard error."""
    program, replies = of.root / "server.py", of.root / "replies.json"
    program.write_text(SERVER)
    replies.write_text(json.dumps(of.replies()))

    def asked(fate: str, *more: str) -> tuple[int, str]:
        words = f"{sys.executable} {program} {replies} {{input}} {{output}} '{fate}'"
        more = ("--model", "tiny-vlm", "--batch_command", words, "--batch_lines", "4", *more)
        return run_command(of.arguments(NOWHERE, *more)), capsys.readouterr().err

    return asked


def test_a_command_answers_each_file_and_one_that_fails_is_resumed(
    of: Stepwise, asked: Callable[..., tuple[int, str]]
) -> None:
    replies = of.root / "replies.json"
    code, told = asked("fails")
    assert (code, "the GPU has fallen off the bus" in told, len(of.records())) == (3, True, 4)
    code, told = asked("writes nothing")
    assert (code, "has not written" in told, len(of.records())) == (2, True, 5)
    assert "hint: its results go to {output}\n" in told
    code, told = asked("")
    assert (code, len(of.records()), of.folder.exists()) == (0, 9, False)
    assert "4 questions, 0.00 GB (this machine has" in told
    names = [f"part-000{number}.jsonl" for number in (1, 2, 1, 1)]
    assert replies.with_suffix(".asked").read_text().split() == names
    report = of.report_path().read_bytes()
    of.output = of.root / "by hand"
    of.step("write")
    of.answer()
    assert (of.step("read"), of.report_path().read_bytes()) == (0, report)


def test_a_damaged_line_of_a_command_is_saved_and_its_question_asked_again(
    of: Stepwise, asked: Callable[..., tuple[int, str]]
) -> None:
    code, told = asked("breaks a line", "--limit", "4")
    assert (code, len(of.records())) == (1, 3)
    assert "1 damaged result: saved in clean_mc_eval.damaged.jsonl" in told
    assert f"{sys.executable} answered 3 of 4 questions of part-0001.jsonl" in told
    assert len((of.output / "clean_mc_eval.damaged.jsonl").read_bytes().splitlines()) == 1
    code, told = asked("")
    assert (code, len(of.records()), "of part-" in told) == (0, 9, False)


def test_a_command_of_another_model_is_noted_and_its_keys_are_saved_nowhere(
    of: Stepwise, asked: Callable[..., tuple[int, str]]
) -> None:
    assert asked("fails")[0] == 3
    code, told = asked("another --api-key sk-SECRET")
    assert (code, told.count("replies name another, and tiny-vlm before: is it still the same model?")) == (0, 1)
    assert of.run_file()["described"]["answered_by"] == {"tiny-vlm": 5, "another": 4}
    kept = [path for path in of.output.rglob("*") if path.is_file()]
    assert [path for path in kept if b"sk-SECRET" in path.read_bytes()] == []
    assert "another --api-key ..." in of.run_file()["described"]["settings"]["batch_command"]


def test_a_fresh_command_uses_no_earlier_results(of: Stepwise, asked: Callable[..., tuple[int, str]]) -> None:
    asked("fails")
    assert asked("another", "--fresh")[0] == 0
    assert of.run_file()["described"]["answered_by"] == {"another": 9}
    assert [path.name for path in of.output.glob("*.batches.old-1/*")] != []


def test_results_of_other_settings_match_no_question_and_are_saved(
    of: Stepwise, capsys: pytest.CaptureFixture[str]
) -> None:
    of.step("write", "--max_tokens", "8")
    of.answer()
    for _ in range(2):  # nothing is kept twice
        assert of.step("read", "--max_tokens", "9") == 3
    assert "9 results without a question of this run" in capsys.readouterr().err
    assert len((of.output / "clean_mc_eval.unmatched.jsonl").read_bytes().splitlines()) == 9


def test_the_first_answer_to_a_question_counts_and_further_ones_are_noted(
    of: Stepwise, capsys: pytest.CaptureFixture[str]
) -> None:
    of.step("write")
    of.answer()
    lines = (of.folder / "any-name.jsonl").read_text()
    assert '"content": "' in lines
    (of.folder / "later.jsonl").write_text(lines.replace('"content": "', '"content": "another '))
    assert of.step("read") == 0
    assert "9 repeated answers: the first one to a question counts" in capsys.readouterr().err
    assert not any("another" in str(record["output"]) for record in of.records())


def test_file_urls_keep_the_images_out_of_the_files(of: Stepwise) -> None:
    of.step("write", "--file_urls")
    [line, *_] = (of.folder / "part-0001.jsonl").read_text().splitlines()
    assert f"file://{of.images}" in line
    of.answer()
    assert of.step("read") == 0


def test_a_robustness_run_is_written_and_other_commands_are_refused(
    of: Stepwise, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cv2")
    words = [*of.arguments(NOWHERE, "--model", "tiny-vlm")[1:], "--corruptions", "contrast", "--levels", "0,1"]
    assert run_command(["batch", "write", "robustness", "run", "--task", "mc", *words]) == 0
    assert "18 questions" in capsys.readouterr().out
    assert run_command(["batch", "cancel", "demo"]) == 2
    assert "for example: vqa-client batch cancel ask" in capsys.readouterr().err


def test_a_question_that_cannot_be_asked_is_named(of: Stepwise, capsys: pytest.CaptureFixture[str]) -> None:
    of.page("q4").write_bytes(b"no picture")
    assert of.step("write") == 1
    assert "1 question can't be asked: q4" in capsys.readouterr().out


def test_mistakes_have_a_hint(of: Stepwise, capsys: pytest.CaptureFixture[str]) -> None:
    asked = of.arguments(NOWHERE, "--model", "tiny-vlm", "--wait_for_server", "0")
    rows = {
        "has no file of requests yet (`vqa-client batch write` with the same options": ["batch", "read", *asked],
        "--processes can't be combined with --batch": [*asked, "--batch", "--processes", "2"],
        "--max_cost can't be combined with --batch": [*asked, "--batch", "--max_cost", "2"],
        "--rpm can't be combined with --batch": [*asked, "--batch", "--rpm", "60"],
        "--max_workers can't be combined with --batch": [*asked, "--batch", "--max_workers", "auto"],
        "--image_uuid can't be combined with --batch": [*asked, "--batch", "--image_uuid", "auto"],
        "--batch and --batch_command can't": [*asked, "--batch", "--batch_command", "a {input} {output}"],
        "--rpm can't be combined with --batch_command": [*asked, "--rpm", "6", "--batch_command", "a {input} {output}"],
        "--batch_command has no {output}": [*asked, "--batch_command", "vllm run-batch -i {input}"],
        "--batch_command is 'a \"b': No closing": [*asked, "--batch_command", 'a "b'],
        "no-such-program: No such file": [*asked, "--batch_command", "no-such-program {input} {output}"],
        "--no_wait needs batches": [*asked, "--no_wait"],
        "--batch_window is '24'": [*asked, "--batch", "--batch_window", "24"],
        "needs a server": ["batch", "write", *asked, "--choice_mode", "structured"],
        "takes 0.0 MB, and a batch 0.001\nhint: --batch_mb, or smaller questions: --max_pages, --max_pixels": [
            *("batch", "write", *asked, "--batch_mb", "0.001", "--prompt", "x" * 2000 + "{question}")
        ],
        "name the model": ["batch", "write", *of.arguments(NOWHERE)],
        "--batch_command asks no server: name the model": [
            *of.arguments(NOWHERE, "--batch_command", "a {input} {output}")
        ],
    }
    for words, command in rows.items():
        assert run_command(command) == (3 if "no-such-program" in words else 2)
        told = capsys.readouterr().err
        assert all(word in told for word in words.split(" (")), told


def test_missing_results_are_named_with_the_command_that_makes_them(
    of: Stepwise, capsys: pytest.CaptureFixture[str]
) -> None:
    assert of.step("write") == 0
    assert of.step("read") == 2
    error = capsys.readouterr().err
    assert "has no results of a batch\nhint: vllm run-batch -i" in error
    assert error.rstrip().endswith("--model tiny-vlm")


def test_a_dry_run_counts_batches_at_their_price(of: Stepwise, capsys: pytest.CaptureFixture[str]) -> None:
    config = of.config(prices={"input": 1_000_000, "output": 0, "batch": 0.25})
    asked = of.arguments(NOWHERE, "--config", config, "--dry_run", "--context_length", "99", "--batch_lines", "4")
    run_command([*asked, "--batch"])
    told = capsys.readouterr().out
    assert "3 batch files of at most 90 MB and 4 questions; those made now end by" in told
    run_command([*asked, "--batch_command", "a {input} {output}"])
    assert "3 batch files of at most 2000 MB and 4 questions\n" in capsys.readouterr().out
    prices = []
    for more in ([], ["--batch"]):
        run_command([*asked, *more, "--json"])
        [row] = json.loads(capsys.readouterr().out)
        prices.append(row["dollars_prompts"])
    assert prices[1] == prices[0] / 4


@pytest.fixture
def batched(tmp_path: Path) -> Batched:
    return Batched(tmp_path, COUNT)


async def test_batches_are_shown_and_cancelled(batched: Batched, fault_server: StartsServers) -> None:
    batches = Batches(looks=10_000)
    server = fault_server(batches.rule(oracle(batched.replies())))
    await batched.interrupted(server)
    at_config = batched.config(base_url=server.base_url)
    settings = batched.settings("", model="tiny-vlm", config=at_config)

    async def shown(*, cancel: bool) -> str:
        lines, all_known = await show_batches(settings, lambda text: None, cancel=cancel)
        assert all_known
        return "\n".join(lines)

    said = await shown(cancel=False)
    assert "mc clean: 0 of 10 answered, 10 in 3 batches (batch_1, batch_2, batch_3)\n" in said
    assert "mc clean: part 1, 4 questions: batch batch_1 in progress, 0 done" in said
    assert "batch batch_3 cancelling" in await shown(cancel=True)
    await batched.run(server)
    assert (len(batched.records()), len(batches.batches)) == (2 + 2 + 1, 3)
    assert await shown(cancel=False) == "mc clean: no batches"
    await batched.run(server, batch=False)
    assert (len(server.chats), len(batched.records())) == (5, COUNT)


async def test_a_cancel_reaches_each_batch_that_has_not_ended_though_others_are_gone(
    batched: Batched, fault_server: StartsServers
) -> None:
    batches = Batches(looks=10_000)
    server = fault_server(batches.rule(oracle(batched.replies())))
    await batched.interrupted(server)
    batches._end(batches.batches["batch_1"])
    del batches.batches["batch_2"]
    batches.batches["batch_3"]["expires_at"] = 1_700_000_000
    for cancel, third in ((False, "in progress"), (True, "cancelling")):
        settings = batched.settings(server.base_url, model="tiny-vlm")
        said, all_known = await show_batches(settings, lambda text: None, cancel=cancel)
        assert not all_known
        assert said[1] == "mc clean: part 1, 4 questions: batch batch_1 completed, 4 done"
        assert said[2] == f"mc clean: part 2, 4 questions: batch batch_2: HTTP 404: No such thing; {GONE}"
        ends = r", 0 done, ends by (Tue|Wed) \d\d:\d\d"
        assert re.fullmatch(f"mc clean: part 3, 2 questions: batch batch_3 {third}{ends}", said[3])


async def test_a_cancel_deletes_files_that_were_uploaded_and_not_submitted(
    batched: Batched, fault_server: StartsServers
) -> None:
    full = error(400, "Full", shape="openai", code="token_limit_exceeded")
    batches = Batches(scripts=[("POST /v1/batches", full)])
    server = fault_server(batches.rule(oracle(batched.replies())))
    await batched.run(server, no_wait=True, batch_lines=COUNT)
    assert (len(batches.files), batched.unfinished) == (1, True)
    await show_batches(batched.settings(server.base_url, model="tiny-vlm"), lambda text: None, cancel=True)
    assert (len(batches.files), batched.unfinished) == (0, False)
