"""Images at addresses: refused, sent as addresses, or fetched; the record says which, without secrets."""

import hashlib
import http.server
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.contract.forms import draw
from tests.contract.test_ask import ask, report
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import oracle
from vqa_client.errors import QuestionFailed
from vqa_client.images import decide
from vqa_client.images.decide import fetched
from vqa_client.settings.declared import AskSettings
from vqa_client.tasks import registry


class Pictures(http.server.BaseHTTPRequestHandler):
    """`/N.png` is a picture, `/page` is markup, `/moved` redirects to `/1.png`, and `/away` fails for now.

    `/again/N` leads there by N steps, and `/status/N` answers with that status. `/shaky/1.png` fails twice: with a 503,
    and with half a picture.
    """

    asked: list[str] = []  # noqa: RUF012  emptied by the fixture

    def do_GET(self) -> None:
        self.asked.append(self.path)
        name = self.path.split("?")[0]
        shaky = self.asked.count(name) if name.startswith("/shaky/") else 0
        statuses = {"/away": 503, "/none": 404, "/moved": 302} | ({name: 503} if shaky == 1 else {})
        again = int(name.rpartition("/")[2]) if name.startswith("/again/") else 0
        status = int(name.rpartition("/")[2]) if name.startswith("/status/") else statuses.get(name, 200)
        self.send_response(302 if again else status)
        if name == "/moved" or again:
            self.send_header("Location", f"/again/{again - 1}" if again > 1 else "/1.png?k=hidden")
        if shaky == 2:
            self.send_header("Content-Length", str(len(draw(1)) + 1))
        self.end_headers()
        if shaky and status == 200:
            self.wfile.write(draw(1))
        elif name.endswith(".png") and not shaky:
            self.wfile.write(draw(int(name[1])))
        elif name == "/page":
            self.wfile.write(b"<html>no picture</html>")

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    Pictures.asked = []
    monkeypatch.setattr(decide, "AGAIN_AFTER_S", (0.01, 0.02))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pictures) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def rows(folder: Path, *addresses: str) -> Path:
    path = folder / "rows.jsonl"
    asked = ({"image": each, "question": f"[[q{at}]] What?", "answer": "x"} for at, each in enumerate(addresses))
    path.write_text("".join(json.dumps(row) + "\n" for row in asked))
    return path


def records(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "out/ask.records.jsonl").read_text().splitlines()
    return sorted(map(json.loads, lines), key=lambda row: str(row["question_id"]))


def test_an_address_is_sent_as_it_is_and_kept_without_its_secrets(tmp_path: Path, fault_server: StartsServers) -> None:
    server, addresses = fault_server("x"), ("https://me:pw@x.example/a.png?sig=secret", "https://x.example/b.png")
    for _ in range(2):
        assert ask(rows(tmp_path, *addresses), server.base_url, "--image_urls", "send") == 0
    assert sorted(chat.images[0].url for chat in server.chats) == sorted(addresses)
    (first,), (second,) = (record["images"] for record in records(tmp_path))
    assert first["name"].startswith("https://x.example/a.png?")
    assert second == {
        "name": "https://x.example/b.png",
        "sha256": hashlib.sha256(addresses[1].encode()).hexdigest(),
        "size_bytes": len(addresses[1]),
        "transforms": ["sent as its address"],
    }
    assert not any("secret" in path.read_text() or "pw@" in path.read_text() for path in (tmp_path / "out").iterdir())
    assert report(tmp_path)["accuracy"] == 1
    assert ask(rows(tmp_path, *addresses), server.base_url, "--image_urls", "fetch") == 2, "it is another run"


def test_an_address_is_fetched_once_and_sent_as_bytes(
    tmp_path: Path, fault_server: StartsServers, pictures: str
) -> None:
    names = ("1.png", "1.png", "moved", "page", "none", "away")
    path = rows(tmp_path, *(f"{pictures}/{name}" for name in names))
    server = fault_server(oracle({f"[[q{number}]]": "x" for number in range(6)}))
    assert ask(path, server.base_url, "--image_urls", "fetch", "--max_workers", "1") == 1
    found = records(tmp_path)
    assert [record["status"] for record in found] == ["ok"] * 3 + ["bad_image"] * 3
    sha256 = hashlib.sha256(draw(1)).hexdigest()
    assert [record["images"][0]["sha256"] for record in found[:3]] == [sha256] * 3
    assert {chat.images[0].sha256 for chat in server.chats} == {sha256}
    assert [record["error"]["message"].removeprefix(pictures) for record in found[3:]] == [
        "/page: is an HTML page",
        "/none: answers with HTTP 404",
        "/away: answers with HTTP 503",
    ]
    assert Pictures.asked.count("/1.png") == 1
    assert ask(path, server.base_url, "--image_urls", "fetch") == 1
    assert Pictures.asked.count("/away") == 6
    assert set(Pictures.asked[8:]) == {"/away"}, "what failed for a while alone is asked again"
    assert len(server.chats) == 3


TRANSIENT = "the same command asks this question again"


def refusal(address: str) -> tuple[str, str, bool]:
    """The error of an address without the server's own: message, hint, and whether another try may succeed."""
    with pytest.raises(QuestionFailed) as caught:
        fetched(address)
    assert caught.value.status == "bad_image"
    return str(caught.value).rpartition("/")[2], caught.value.hint, caught.value.transient


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 451])
def test_an_address_that_stays_away_is_not_asked_for_again(status: int, pictures: str) -> None:
    assert refusal(f"{pictures}/status/{status}") == (f"{status}: answers with HTTP {status}", "", False)
    assert len(Pictures.asked) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_an_address_with_a_temporary_failure_is_fetched_again(status: int, pictures: str) -> None:
    assert refusal(f"{pictures}/status/{status}") == (f"{status}: answers with HTTP {status}", TRANSIENT, True)
    assert len(Pictures.asked) == 3


def test_an_address_that_fails_twice_gives_its_picture(pictures: str) -> None:
    assert fetched(f"{pictures}/shaky/1.png") == draw(1)
    assert len(Pictures.asked) == 3


def test_an_address_may_lead_to_another_five_times(pictures: str) -> None:
    assert fetched(f"{pictures}/again/5") == draw(1)
    assert refusal(f"{pictures}/again/6") == ("6: can't be fetched (TooManyRedirects)", TRANSIENT, True)


def test_an_image_that_is_too_large_or_too_slow_is_skipped(pictures: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "time", SimpleNamespace(monotonic=iter([0.0, 60.0, 100.0, 160.5]).__next__))
    assert fetched(f"{pictures}/1.png") == draw(1)
    assert refusal(f"{pictures}/1.png") == ("1.png: took more than 60 s", TRANSIENT, True)
    monkeypatch.undo()
    monkeypatch.setattr(decide, "MOST_FETCHED_BYTES", len(draw(1)))
    assert fetched(f"{pictures}/1.png") == draw(1)
    monkeypatch.setattr(decide, "MOST_FETCHED_BYTES", len(draw(1)) - 1)
    assert refusal(f"{pictures}/1.png") == (f"1.png: has more than {len(draw(1)) - 1} bytes", "", False)


def test_a_missing_server_and_a_missing_address_have_different_errors() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/a.png"
    assert refusal(address) == ("a.png: can't be fetched (ConnectError)", TRANSIENT, True)
    assert refusal("http://[::1/a.png") == ("a.png: is not an address", "", False)


def test_a_dry_run_fetches_nothing(tmp_path: Path, pictures: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = rows(tmp_path, f"{pictures}/1.png")
    assert ask(path, "http://127.0.0.1:1", "--image_urls", "fetch", "--dry_run") == 0
    assert f"[image 1: {pictures}/1.png]" in capsys.readouterr().out
    assert not Pictures.asked


def test_what_changes_questions_or_scores_identifies_a_run(tmp_path: Path) -> None:
    data = tmp_path / "rows.csv"
    data.write_text("question,A,B,answer,doc_id\nWhat?,red,blue,A,d\nWho?,red,blue,B,d\n")
    given: dict[str, Any] = {"benchmark": "ask", "data": data}
    columns = {"question": "question", "choices": ["A", "B"], "answer": "answer", "document": "doc_id"}
    plain = registry.find("ask").make(AskSettings(**given))
    assert (plain.identity, plain.scoring) == ({"columns": columns}, {"score": "choice", "answers": "letter"})
    changed = registry.find("ask").make(AskSettings(**given, prompt="{question}", image_urls="send", score="exact"))
    assert changed.identity == {"columns": columns, "prompt": "{question}", "image_urls": "send"}
    assert changed.scoring == {"score": "exact", "answers": "letter"}
    assert (plain.unit, plain.version) == ("document", "4")
    data = tmp_path / "rows.jsonl"
    data.write_text(
        '{"question": "Who?", "answer": "x"}\n{"question": "What?", "answer": "A", "choices": ["a", "b"]}\n'
    )
    mixed = registry.find("ask").make(AskSettings(benchmark="ask", data=data, score="exact"))
    assert "choice, or exact without choices" in [metric.says for metric in mixed.metrics]
