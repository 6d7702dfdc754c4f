"""The benchmark's own tools; no test depends on speed."""

import base64
import http.client
import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from subprocess import STDOUT
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests import forked
from tests.bench import measure as measuring
from tests.bench import processes
from tests.bench.cases import MODULES, OURS, TWO_PROCESSES, Case
from tests.bench.check import check_one
from tests.bench.clients.longbench import Item, letter, load, options, result, write
from tests.bench.measure import Seen, measure
from tests.bench.processes import Usage
from tests.bench.servers import compiled, control, running, verify_command
from tests.bench.verify_server import Inexact, check
from tests.bench.workloads import Workload, make

NEEDS = {client: module for client, module in MODULES.items() if "." not in module}
NEEDS |= {"openai_script": "openai", "openai_threads": "openai", "aiohttp_script": "aiohttp"}
TINY = Workload(name="tiny", questions=20, documents=8, pages=2, format="jpeg", page_bytes=2_000, size_px=(64, 48))
NEEDLES = replace(TINY, name="needles", documents=4, task="niah")
CHAT = "/v1/chat/completions"
REQUEST = f"POST {CHAT} HTTP/1.1\r\nContent-Length: 2\r\n\r\n{{}}".encode()


@pytest.fixture(scope="module")
def mock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running mock server."""
    if shutil.which("cc") is None or sys.platform != "linux":
        pytest.skip("the mock server needs cc and Linux")
    with running([str(compiled(tmp_path_factory.mktemp("build")))]) as address:
        yield address


@pytest.fixture
def connection(mock: str) -> Iterator[http.client.HTTPConnection]:
    """A client's connection to a mock server without earlier requests and without latency."""
    control(mock, "/reset?latency_ms=0")
    client = http.client.HTTPConnection(urlsplit(mock).netloc, timeout=10)
    yield client
    client.close()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A case of twenty questions on eight documents of two pages."""
    pytest.importorskip("PIL")
    root = tmp_path_factory.mktemp("work")
    make(TINY, root)
    return Case(workload=TINY, latency_ms=0, root=root)


@pytest.fixture(scope="module")
def needles(tiny: Case) -> Case:
    """A case of twenty questions, five on each of four documents of two pages."""
    make(NEEDLES, tiny.root)
    return replace(tiny, workload=NEEDLES)


@pytest.fixture(scope="module", params=["tiny", "needles"])
def case(request: pytest.FixtureRequest) -> Case:
    """Each of the two cases."""
    found: Case = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def item(case: Case) -> Item:
    """The first question and its pages."""
    return load(case.data_json, case.images_dir, 1)[0]


def ask(connection: http.client.HTTPConnection, body: Any, **options: Any) -> Any:
    """POST a chat request and return the decoded answer."""
    connection.request("POST", CHAT, body, **options)
    return json.load(connection.getresponse())


def chat_body(item: Item) -> dict[str, Any]:
    """The right body of a question."""
    urls = [f"data:image/jpeg;base64,{base64.b64encode(page.read_bytes()).decode()}" for page in item.pages]
    content: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {"messages": [{"role": "user", "content": [*content, {"type": "text", "text": item.prompt}]}]}


def test_the_mock_server_answers_sized_and_chunked_bodies_on_one_connection(
    mock: str, connection: http.client.HTTPConnection
) -> None:
    sized = ask(connection, b"x" * 300_000)
    chunked = ask(connection, iter([b"x" * 100_000, b"y", b"z" * 50]), encode_chunked=True)
    empty = ask(connection, b"")
    texts = [reply["choices"][0]["message"]["content"] for reply in (sized, chunked, empty)]
    assert texts == ["The correct answer is (B)."] * 3
    stats = control(mock, "/stats")
    assert (stats["requests"], stats["replies"], stats["connections"]) == (3, 3, 1)
    assert stats["body_bytes"] == 300_000 + 100_051


def test_the_mock_server_takes_a_request_in_pieces(connection: http.client.HTTPConnection) -> None:
    with socket.create_connection((connection.host, connection.port), timeout=10) as raw:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = (
            f"POST {CHAT} HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        )
        for byte in request.encode():
            raw.send(bytes([byte]))
        reply = b"".join(iter(lambda: raw.recv(4096), b""))
    assert reply.startswith(b"HTTP/1.1 200 OK\r\n")
    assert reply.endswith(b"}")


def test_the_mock_server_lists_its_model_and_knows_no_other_path(connection: http.client.HTTPConnection) -> None:
    connection.request("GET", "/v1/models")
    assert json.load(connection.getresponse())["data"][0]["id"] == "mock-vlm"
    connection.request("POST", "/v1/embeddings", b"{}")
    response = connection.getresponse()
    assert (response.status, response.read()[:9]) == (404, b'{"error":')


def test_requests_wait_the_latency_side_by_side(mock: str, connection: http.client.HTTPConnection) -> None:
    control(mock, "/config?latency_ms=500")
    with ExitStack() as stack:
        address = (connection.host, connection.port)
        sockets = [stack.enter_context(socket.create_connection(address, timeout=10)) for _ in range(3)]
        for raw in sockets:
            raw.sendall(REQUEST)
        assert all(raw.recv(4096).startswith(b"HTTP/1.1 200") for raw in sockets)
    stats = control(mock, "/stats")
    assert (stats["replies"], stats["in_flight"], stats["connections"]) == (3, 0, 3)
    assert stats["in_flight_peak"] == 3
    assert stats["span_s"] >= 0.5


def test_a_client_that_hangs_up_while_it_waits_does_no_harm(mock: str, connection: http.client.HTTPConnection) -> None:
    control(mock, "/config?latency_ms=50")
    with socket.create_connection((connection.host, connection.port), timeout=10) as raw:
        raw.sendall(REQUEST)
    assert ask(connection, b"{}")["object"] == "chat.completion"
    assert control(mock, "/stats")["in_flight"] == 0


def test_a_workload_is_what_it_says(tiny: Case) -> None:
    items = load(tiny.data_json, tiny.images_dir)
    assert len(items) == len({item.ident for item in items}) == len({item.prompt for item in items}) == 20
    assert {len(item.pages) for item in items} == {2}
    assert items[0].pages[1].name == f"{items[0].ident}_page_002.jpg"
    files = [page.stat() for item in items for page in item.pages]
    assert len({file.st_ino for file in files}) == 8 * 2
    assert sum(file.st_size for file in files) / len(files) == pytest.approx(2_000, rel=0.1)
    assert set(json.loads(tiny.data_json.read_bytes())[0]) == {
        *("_id", "domain", "sub_domain", "difficulty", "length", "question"),
        *("choice_A", "choice_B", "choice_C", "choice_D", "answer", "context"),
    }


def test_needles_are_five_questions_on_each_document_whose_pages_lie_there_once(needles: Case) -> None:
    rows = json.loads(needles.data_json.read_bytes())
    assert [len(row["questions"]) for row in rows] == [5, 5, 5, 5]
    assert [len(row["answers"]) for row in rows] == [5, 5, 5, 5]
    assert rows[0]["question_depths"] == ["0-20%", "20-40%", "40-60%", "60-80%", "80-100%"]
    assert set(rows[0]) == {
        *("_id", "domain", "sub_domain", "difficulty", "length", "context"),
        *("questions", "answers", "question_depths"),
    }
    files = list((needles.images_dir / "images").iterdir())
    assert len(files) == 4 * 2
    assert {file.stat().st_nlink for file in files} == {1}


def test_a_needle_is_asked_for_with_only_its_question(needles: Case) -> None:
    (row, *_) = json.loads(needles.data_json.read_bytes())
    items = load(needles.data_json, needles.images_dir, 1)
    assert [item.prompt for item in items] == row["questions"]
    assert [item.ident for item in items] == [f"{row['_id']}#{index}" for index in range(5)]
    assert items == load(needles.data_json, needles.images_dir / "images", 1), "both folders that the commands take"


def test_a_workload_is_made_once_and_the_same_everywhere(case: Case, tmp_path: Path) -> None:
    before = case.data_json.stat()
    make(case.workload, case.root)
    assert case.data_json.stat() == before
    again = make(case.workload, tmp_path)
    assert (again / "data.json").read_bytes() == case.data_json.read_bytes()
    pages = sorted(os.listdir(case.images_dir / "images"))
    assert pages == sorted(os.listdir(again / "pages" / "images"))
    first = case.images_dir / "images" / pages[0]
    assert first.read_bytes() == (again / "pages" / "images" / pages[0]).read_bytes()


def test_an_exact_body_is_recognised(item: Item) -> None:
    assert check(json.dumps(chat_body(item)).encode(), {item.prompt: item}) == item.ident


def _swap_pages(content: list[dict[str, Any]]) -> None:
    content[0], content[1] = content[1], content[0]


def _lose_a_page(content: list[dict[str, Any]]) -> None:
    del content[0]


def _name_another_type(content: list[dict[str, Any]]) -> None:
    content[0]["image_url"]["url"] = content[0]["image_url"]["url"].replace("jpeg", "png")


def _flip_a_bit(content: list[dict[str, Any]]) -> None:
    url = content[1]["image_url"]["url"]
    content[1]["image_url"]["url"] = url[:100] + ("A" if url[100] != "A" else "B") + url[101:]


def _change_the_prompt(content: list[dict[str, Any]]) -> None:
    content[2]["text"] += " "


def _put_the_prompt_first(content: list[dict[str, Any]]) -> None:
    content.insert(0, content.pop())


@pytest.mark.parametrize(
    "spoil",
    [_swap_pages, _lose_a_page, _name_another_type, _flip_a_bit, _change_the_prompt, _put_the_prompt_first],
)
def test_a_spoilt_body_is_found_out(item: Item, spoil: Any) -> None:
    body = chat_body(item)
    spoil(body["messages"][0]["content"])
    with pytest.raises(Inexact):
        check(json.dumps(body).encode(), {item.prompt: item})


def test_a_body_that_is_not_json_is_a_violation(item: Item) -> None:
    with pytest.raises(Inexact):
        check(json.dumps(chat_body(item)).encode()[:-1], {item.prompt: item})


@pytest.mark.parametrize(("reply", "read"), [("The correct answer is (B).", "B"), ("C", "C"), ("I don't know", "")])
def test_the_scripts_read_the_letter(reply: str, read: str) -> None:
    assert letter(reply) == read


def test_the_scripts_look_for_the_needle(needles: Case) -> None:
    (item, *_) = load(needles.data_json, needles.images_dir, 1)
    assert result(item, f"It says {item.answer}.")["correct"]
    assert not result(item, "The correct answer is (B).")["correct"]


def test_the_scripts_write_where_the_commands_do(tmp_path: Path) -> None:
    write([], tmp_path / "mc")
    write([], tmp_path / "niah" / "pages_niah_eval.json")
    assert [path.name for path in sorted(tmp_path.glob("*/*"))] == ["pages_mc_eval.json", "pages_niah_eval.json"]


def test_the_scripts_take_the_flags_of_both_commands() -> None:
    common = ["--output", "o", "--base_url", "http://x/v1", "--max_workers", "8", "--limit", "3"]
    choices = options(["--data-json", "d", "--images-dir", "i", *common])
    assert choices == options(["--data", "d", "--images", "i", *common])
    assert (choices.data_json, choices.images_dir, choices.limit) == (Path("d"), Path("i"), 3)


@pytest.fixture(scope="module")
def verifier(case: Case) -> Iterator[str]:
    """The address of the checking server for a case."""
    with running(verify_command(case.data_json, case.images_dir)) as address:
        yield address


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run our command in a fork, which is faster; these tests check its requests, not its speed."""
    start = processes.run

    def run(words: list[str], *, environment: dict[str, str], log: Path, limit_s: float, folder: Path) -> Usage:
        if words[2] != MODULES[OURS]:
            return start(words, environment=environment, log=log, limit_s=limit_s, folder=folder)
        with log.open("wb") as output:
            done = forked.run(words[3:], env=environment, cwd=folder, stdout=output, stderr=STDOUT)
        return Usage(exit_code=done.returncode, wall_s=0.0, cpu_s=0.0, peak_rss_bytes=0)

    monkeypatch.setattr(processes, "run", run)


EXACT = {
    **{OURS: ("tiny", "needles"), TWO_PROCESSES: ("needles",)},
    **{"openai_script": ("tiny",), "openai_threads": ("needles",), "aiohttp_script": ("tiny",)},
}
"""The scripts use the same code for the records of both tasks."""


@pytest.mark.usefixtures("forks")
@pytest.mark.parametrize(
    ("client", "case"), [(client, case) for client, cases in EXACT.items() for case in cases], indirect=["case"]
)
def test_a_client_asks_every_question_exactly(client: str, case: Case, verifier: str) -> None:
    pytest.importorskip(NEEDS[client])
    exactness = check_one(client, case, verifier)
    assert (exactness.requests, exactness.questions, exactness.problems) == (20, 20, [])
    assert exactness.share == 1


def test_every_client_is_checked() -> None:
    assert EXACT.keys() == MODULES.keys()


@pytest.mark.parametrize(
    ("client", "case"), [(OURS, "needles"), (TWO_PROCESSES, "tiny"), ("aiohttp_script", "needles")], indirect=["case"]
)
def test_a_measurement_counts_the_answered_questions_of_both_tasks_and_those_that_the_figures_take_off(
    client: str, case: Case, mock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(NEEDS[client])
    seen: list[Seen] = []
    ask = measuring.ask
    monkeypatch.setattr(measuring, "ask", lambda *given: seen.append(ask(*given)) or seen[-1])
    run = measure(client, case, 0, mock)
    assert (run.asked, run.answered, run.server["requests"]) == (20, 20, 20)
    assert run.loop_stall_max_s is not None
    start, full = seen
    assert start.server["requests"] == case.asked_at_start == {"mc": 1, "niah": 5}[case.workload.task]
    assert (run.start, run.full) == (start.usage, full.usage)
