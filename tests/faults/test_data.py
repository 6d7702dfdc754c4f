"""Data files in the forms that editors, platforms and authors write, and replies that must reach their questions."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import vqa_client
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import (
    answer,
    at_random,
    close_without_reply,
    delay,
    echo_question_id,
    error,
    first_n_of_each,
    oracle,
    question_id,
)
from tests.faults.commands import ran
from tests.faults.questions import Questions, niah_settings
from vqa_client.errors import DataError, UsageError

BOM = b"\xef\xbb\xbf"
FOREIGN = "[[q0]] Wie heißt das „Straßencafé“? 答案 ✓ \U0001f600"
BREAKERS = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1eh\ri\r\nj\nk\x00l\ufeffm\U0001f600n"
"""Every character at which some library splits lines, and others that cause errors."""


def as_list(rows: list[dict[str, Any]], escape: bool) -> bytes:
    return json.dumps(rows, ensure_ascii=escape, indent=1).encode()


def as_lines(rows: list[dict[str, Any]], escape: bool) -> bytes:
    return "\r\n".join(json.dumps(row, ensure_ascii=escape) for row in rows).encode()


@pytest.mark.parametrize("head", [b"", BOM])
@pytest.mark.parametrize("form", [as_list, as_lines])
@pytest.mark.parametrize("escape", [True, False])
async def test_every_encoding_of_a_data_file_asks_the_same(
    escape: bool, form: Any, head: bytes, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    of.change("q0", question=FOREIGN, choice_B="\\frac{a}{b} € ")
    of.data_json.write_bytes(head + form(of.rows(), escape))
    server = fault_server(oracle(of.replies()))
    records = await of.ask(server)
    assert sorted(records) == of.ids
    assert {record["score"] for record in records.values()} == {1.0}
    asked = next(chat.prompt for chat in server.chats if question_id(chat) == "q0")
    assert asked.startswith(FOREIGN)
    assert "B. \\frac{a}{b} € \n" in asked
    assert not any(file.read_bytes().startswith(BOM) for file in of.output.iterdir())
    assert of.report()["results"][0]["question"] == FOREIGN


async def test_a_byte_order_mark_hides_neither_config_nor_blacklist(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    config = Path(of.config(prompt_template="{question} ✓ {choices}"))
    config.write_bytes(BOM + config.read_bytes())
    blacklist = tmp_path / "blacklist.txt"
    blacklist.write_bytes(BOM + b"q0\r\nq2\r\n")
    server = fault_server(oracle(of.replies()))
    records = await of.ask(server, config=str(config), blacklist=blacklist)
    assert list(records) == ["q1"]
    assert "✓" in server.chats[0].prompt


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "utf-32"])
async def test_a_data_file_in_another_encoding_is_named_before_anything_is_asked(
    encoding: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 2)
    of.change("q0", question="[[q0]] Straße?")
    of.data_json.write_bytes(json.dumps(of.rows(), ensure_ascii=False).encode(encoding))
    server = fault_server()
    with pytest.raises(DataError, match=r"data\.json"):
        await of.ask(server)
    assert server.requests == []


@pytest.mark.parametrize(
    "env",
    [
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"},
    ],
    ids=["C", "cp1252"],
)
def test_no_locale_changes_what_is_read_or_written(
    env: dict[str, str], tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path / "Straße 答案", 2)
    of.change("q0", question=FOREIGN)
    of.data_json.write_bytes(json.dumps(of.rows(), ensure_ascii=False).encode())
    server = fault_server("答案 is A ✓")
    done = ran(of.arguments(server.base_url, "--config", of.config(prompt_template="{question}✓{choices}")), env)
    assert (done.code, done.is_clean()) == (0, True), done.text
    assert sum(chat.prompt.startswith(FOREIGN + "✓") for chat in server.chats) == 1
    assert of.outcomes()["q0"]["output"] == "答案 is A ✓"
    assert of.report()["results"][0]["question"] == FOREIGN


@pytest.mark.parametrize(
    ("template", "question", "choice", "prompt"),
    [
        (
            "{question}\n{choices}",
            "What does {x: 1} print?",
            "\\frac{a}{b}",
            "What does {x: 1} print?\nA. \\frac{a}{b}",
        ),
        ('{question} {choices}\n{"answer": "B"}', "Which?", "{}", 'Which? A. {}|\n{"answer": "B"}'),
        ("{question} {choices}", "{choices}{question}", "{question}", "{choices}{question} A. {question}"),
        ("{{question}} {0} {} {choices}", "Which?", "{0!r:>{w}}", "{Which?} {0} {} A. {0!r:>{w}}"),
        ("100 % {question} %s $question {choices}", "50 %d?", "%(a)s", "100 % 50 %d? %s $question A. %(a)s"),
        ("{question} \\boxed{B} {choices}", "\\1 \\g<0>", "\\n", "\\1 \\g<0> \\boxed{B} A. \\n"),
    ],
)
async def test_only_the_two_placeholders_are_replaced_and_only_once(
    template: str, question: str, choice: str, prompt: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    of.change("q0", question=question, choice_A=choice)
    server = fault_server("B")
    await of.ask(server, config=of.config(prompt_template=template))
    before, _, after = prompt.partition("|")
    assert server.chats[0].prompt == f"{before}\nB. green\nC. blue\nD. yellow{after}"


@pytest.mark.parametrize(
    ("template", "named"),
    [("{question} {context}", r"\{context\}"), ("{choices}", r"\{question\}"), ("Look.", "question")],
)
async def test_a_template_that_can_not_be_filled_is_named_before_anything_is_asked(
    template: str, named: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 1)
    server = fault_server()
    with pytest.raises(UsageError, match=named):
        await of.ask(server, config=of.config(prompt_template=template))
    assert server.requests == []


async def test_two_hundred_replies_in_any_order_stay_with_their_questions(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 200)
    rough = at_random(
        (0.1, error(503)), (0.05, close_without_reply()), otherwise=(delay(0.01), answer(question_id)), seed=7
    )
    server = fault_server(first_n_of_each(2, rough, then=echo_question_id(0.1)), keep_bodies=False)
    records = await of.ask(server, max_workers=32)
    assert {name: record["output"] for name, record in records.items()} == {name: name for name in of.ids}
    results = of.report()["results"]
    assert [result["instance_id"] for result in results] == of.ids
    assert all(result["model_output"] == result["instance_id"] for result in results)


async def test_the_needles_of_a_document_stay_apart(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 30)
    server = fault_server((delay(0.005), answer(lambda received: f"It is code {question_id(received)}.")))
    (report,) = await vqa_client.arun(niah_settings(of, server.base_url, max_workers=16))
    assert (report.summary.overall.correct, report.summary.overall.total) == (60, 60)
    results = json.loads(report.path.read_bytes())["results"]
    asked = [f"[[{result['instance_id']}#{result['question_idx']}]]" for result in results]
    assert asked == [f"[[{name}#{index}]]" for name in of.ids for index in (0, 1)]
    assert all(mark[2:-2] in result["model_output"] for mark, result in zip(asked, results, strict=True))


async def test_the_order_of_the_report_is_that_of_the_data_for_any_number_of_workers(
    tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 40)
    of.write_rows(reversed(of.rows()))
    server = fault_server(echo_question_id(0.02))
    orders = []
    for workers in (1, 7, 64):
        await of.ask(server, max_workers=workers, fresh=True)
        orders.append([result["instance_id"] for result in of.report()["results"]])
    assert orders == [of.ids[::-1]] * 3


@pytest.mark.parametrize("place", ["reply", "question", "reasoning", "error"])
async def test_no_character_of_a_text_ever_ends_a_record(
    place: str, tmp_path: Path, fault_server: StartsServers
) -> None:
    of = Questions(tmp_path, 3)
    if place == "question":
        of.change("q1", question="[[q1]] " + BREAKERS)
    plays: Any = {
        "reply": answer(BREAKERS + " The answer is B."),
        "question": "B",
        "reasoning": answer("B", reasoning=BREAKERS),
        "error": error(400, BREAKERS + " maximum context length"),
    }
    server = fault_server(oracle({**of.replies(), "[[q1]]": plays[place]}))
    await of.ask(server)
    lines = of.lines()
    assert (len(lines), lines[-1]) == (4, b"")
    kept = next(record for record in map(json.loads, lines[:3]) if record["question_id"] == "q1")
    found = {
        "reply": kept["output"],
        "question": kept["prompt"],
        "reasoning": kept["reasoning"],
        "error": (kept["error"] or {}).get("message"),
    }
    assert BREAKERS in found[place]
    asked = len(server.chats)
    before = of.report_path().read_bytes()
    await of.ask(server, max_retries=0)
    assert (len(server.chats), of.report_path().read_bytes()) == (asked, before)


async def test_half_a_character_in_a_reply_is_no_reason_to_lose_it(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    server = fault_server(answer("B \ud83d"))
    records = await of.ask(server)
    assert {record["status"] for record in records.values()} == {"ok"}
    assert re.fullmatch(r"B .", records["q1"]["output"])


async def test_half_a_character_in_the_data_is_named_by_its_record(tmp_path: Path, fault_server: StartsServers) -> None:
    of = Questions(tmp_path, 2)
    of.data_json.write_text(of.data_json.read_text().replace("[[q1]] Which", "[[q1]] \\ud83d Which"))
    server = fault_server()
    with pytest.raises(DataError, match="record 2"):
        await of.ask(server)
    assert server.requests == []
