"""The demo's second part, with a fake mlx-vlm that knows every picture instead of the real one."""

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.servers.processes import gone
from vqa_client.cli import demo
from vqa_client.evaluation import Interrupted
from vqa_client.progress import Progress
from vqa_client.records import Record
from vqa_client.servers import local
from vqa_client.servers.process import Launch, Server
from vqa_client.settings.serve import DemoSettings
from vqa_client.shipped import shipped

SHAPES = shipped("data") / "shapes"
FAKE = """
import base64, hashlib, json, os, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

def reply(parts, known):
    (text,) = [part["text"] for part in parts if part["type"] == "text"]
    (url,) = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    digest = hashlib.sha256(base64.b64decode(url.partition(",")[2])).hexdigest()
    (said,) = [said for question, said in known[digest].items() if question in text]
    return said

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms for its head to be acknowledged

    def do_GET(self):
        self.say({"object": "list", "data": [{"id": "tiny-vlm"}]})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert asked["model"] == "tiny-vlm"
        with open(os.environ["FAKE_KNOWN"]) as file:
            said = reply(asked["messages"][-1]["content"], json.load(file))
        message = {"role": "assistant", "content": said}
        self.say({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    def say(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

def main():
    options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    ThreadingHTTPServer((options["--host"], int(options["--port"])), Handler).serve_forever()
"""


def known() -> dict[str, dict[str, str]]:
    """The right reply to each question about a picture, by the picture's digest."""
    found: dict[str, dict[str, str]] = {}
    for path, question, reply in rows():
        found.setdefault(hashlib.sha256((SHAPES / path).read_bytes()).hexdigest(), {})[question] = reply
    return found


def rows() -> Iterator[tuple[str, str, str]]:
    questions, annotations = (
        json.loads((SHAPES / f"vqa2/{name}.json").read_text())[name] for name in ("questions", "annotations")
    )
    for row, annotation in zip(questions, annotations, strict=True):
        yield f"vqa2/images/{row['image_id']}.png", row["question"], annotation["multiple_choice_answer"]
    for row in json.loads((SHAPES / "mc/data.json").read_text()):
        yield f"mc/clean/images/{row['_id']}_page_001.png", row["question"], row["answer"]
    for row in json.loads((SHAPES / "explain/nle_data/VQA-X/vqaX_val.json").read_text()).values():
        reply = f"{row['answers'][0]['answer']} because {row['explanation'][0]}"
        yield f"explain/images/val2014/{row['image_name']}", row["question"], reply


@pytest.fixture
def _fake_mlx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "fake" / "mlx_vlm" / "server"
    place.mkdir(parents=True)
    for folder in (place.parent, place):
        (folder / "__init__.py").touch()
    (place / "cli.py").write_text(FAKE)
    (tmp_path / "known.json").write_text(json.dumps(known()))
    monkeypatch.setenv("PYTHONPATH", os.fspath(tmp_path / "fake"))
    monkeypatch.setenv("FAKE_KNOWN", os.fspath(tmp_path / "known.json"))
    monkeypatch.syspath_prepend(tmp_path / "fake")
    monkeypatch.setattr("vqa_client.servers.serving.PROBE_S", 0.0)


class Watching(Progress):
    """Keeps notes and the titles of the runs, and sets `stop` once `after` questions are answered."""

    def __init__(self, stop: asyncio.Event, after: int = 10**6) -> None:
        self.titles: list[str] = []
        self.notes: list[str] = []
        self._stop, self._left = stop, after

    def note(self, text: str) -> None:
        self.notes.append(text)

    def begin(self, title: str, total: int) -> None:
        self.titles.append(f"{title} {total}")

    def finished(self, record: Record) -> None:
        self._left -= 1
        if not self._left:
            self._stop.set()


@pytest.mark.usefixtures("_fake_mlx")
def test_a_model_that_knows_the_shapes_answers_every_question_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def main() -> int:
        stop = asyncio.Event()
        watching = Watching(stop)
        reports = await demo._ask_shapes(DemoSettings(output=tmp_path), watching, stop)
        assert watching.notes[0].startswith("starting the tiny VLM on mlx-vlm's server: a real but tiny model")
        assert [(report.task, report.summary.overall.total) for report in reports] == [
            ("vqa2", 72),
            ("mc", 24),
            ("vqax", 24),
        ]
        assert {report.summary.overall.accuracy for report in reports} == {1.0}
        demo.show(reports)
        return 0

    assert not local.missing()
    anyio.run(main)
    out = capsys.readouterr().out
    assert out.index("vqa2") < out.index("mc") < out.index("vqax")


@pytest.mark.usefixtures("_fake_mlx")
def test_a_stop_between_two_runs_keeps_the_first_and_ends_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids: list[int] = []
    running = Launch.running

    @asynccontextmanager
    async def noted(launch: Launch, start_timeout_s: float) -> AsyncIterator[Server]:
        async with running(launch, start_timeout_s) as server:
            pids.append(server.pid)
            yield server

    monkeypatch.setattr(Launch, "running", noted)

    async def main() -> Interrupted:
        stop = asyncio.Event()
        with pytest.raises(Interrupted) as caught:
            await demo._ask_shapes(DemoSettings(output=tmp_path), Watching(stop, after=72), stop)
        return caught.value

    assert [report.task for report in anyio.run(main).reports][:1] == ["vqa2"]
    assert gone(pids)
    assert len(pids) == 1


def test_without_mlx_vlm_only_the_pages_are_asked_and_the_install_command_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    async def nothing(*_: object) -> list[object]:
        asked.append("pages")
        return []

    monkeypatch.setattr(local, "missing", lambda: True)
    monkeypatch.setattr(demo, "_ask_pages", nothing)
    assert demo.demo(DemoSettings(output=tmp_path)) == 0
    assert asked == ["pages"]
    assert "pip install 'vqa-client[local]'" in capsys.readouterr().err
