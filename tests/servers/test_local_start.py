"""The tiny VLM as a child process, on a fake mlx-vlm; tests/servers/real starts the real one."""

import json
import os
import sys
import urllib.request
from functools import partial
from inspect import signature
from pathlib import Path

import anyio
import pytest

from tests.servers.processes import gone
from vqa_client.errors import UsageError
from vqa_client.servers import local, process, reader
from vqa_client.servers.process import Launch

FAKE = """
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

def main():
    options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    told = {"model": options["--model"], "weights": os.path.isfile(f"{options['--model']}/model.safetensors"),
            "offline": os.environ["HF_HUB_OFFLINE"], "top": options["--top-logprobs-k"]}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    HTTPServer((options["--host"], int(options["--port"])), Handler).serve_forever()
"""


@pytest.fixture
def fake_mlx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "mlx_vlm" / "server"
    place.mkdir(parents=True)
    for folder in (place.parent, place):
        (folder / "__init__.py").touch()
    (place / "cli.py").write_text(FAKE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))


def test_without_mlx_vlm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "missing", lambda: True)
    for starts in (
        partial(local.launch, host="127.0.0.1", port=8000, dry_run=False, note=print),
        partial(local.start, print),
    ):
        with pytest.raises(UsageError, match="the tiny VLM needs mlx-vlm") as caught:
            starts()
        assert caught.value.hint.endswith("pip install 'vqa-client[local]'")
    shown = local.launch(host="::1", port=8001, dry_run=True, note=print)
    assert shown.command == [sys.executable, "-m", "tiny_vlm", "--host", "::1", "--port", "8001"]


def test_each_server_has_its_own_limits_for_start_and_stop() -> None:
    assert (local.START_TIMEOUT_S, reader.START_TIMEOUT_S) == (120, 60)
    assert signature(process.finished).parameters["grace_s"].default == 5
    assert local.launch(host="127.0.0.1", port=8000, dry_run=True, note=print).grace_s == 5
    assert Launch(name="vLLM", command=[], ready=reader.ready).grace_s == 20


@pytest.mark.usefixtures("fake_mlx")
def test_the_tiny_vlm_starts_from_any_folder_and_leaves_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vqa_client.servers.serving.PROBE_S", 0.0)
    assert not local.missing()

    async def main() -> tuple[dict[str, object], int]:
        async with local.start(print) as server:
            assert server.base_url.endswith("/v1")
            with urllib.request.urlopen(f"{server.base_url}/models") as reply:
                return json.load(reply), server.pid

    told, pid = anyio.run(main)
    assert told == {"model": "tiny-vlm", "weights": True, "offline": os.environ.get("HF_HUB_OFFLINE", "1"), "top": "20"}
    assert gone([pid])
