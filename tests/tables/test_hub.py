"""Datasets of the hub, against a local server with its API; no other network is used."""

import hashlib
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

hub = pytest.importorskip("huggingface_hub")

from tests.contract.forms import draw  # noqa: E402
from tests.contract.samples import write_sample  # noqa: E402
from vqa_client.benchmark import Form, Home, tables  # noqa: E402
from vqa_client.cli.main import run_command  # noqa: E402
from vqa_client.errors import DataError, UsageError  # noqa: E402
from vqa_client.settings.declared import BenchmarkSettings  # noqa: E402
from vqa_client.tables.hub import Address, address_of, fetch  # noqa: E402
from vqa_client.task import Source  # noqa: E402

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ROWS = [{"question": "What?", "answer": "x"}]


class Hub:
    """The content and the behaviour of the server.

    `broken` cuts each file's first download, `status` refuses all, and `sizes` are listed for the true ones.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.status = 200
        self.broken: set[str] = set()
        self.sizes: dict[str, int] = {}
        self.gated = False
        self.fetched: list[str] = []
        self.revision = ""

    def handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None:
                pass

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if server.status != 200:
                    self._send(server.status, b"{}", {"X-Error-Code": "GatedRepo" if server.status == 403 else ""})
                elif path.startswith("/api/datasets/own/set/tree/"):
                    tree = [
                        {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                        for name, data in server.files.items()
                    ]
                    self._send(200, json.dumps(tree).encode(), {"Content-Type": "application/json"})
                elif path.startswith("/api/datasets/own/set"):
                    server.revision = path.removeprefix("/api/datasets/own/set").removeprefix("/revision/")
                    self._send(200, json.dumps(server.info()).encode(), {"Content-Type": "application/json"})
                elif f"/resolve/{COMMIT}/" in path:
                    self._file(path.partition(f"/resolve/{COMMIT}/")[2])
                else:
                    self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

            def _file(self, name: str) -> None:
                data = server.files[name]
                head = {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X-Repo-Commit": COMMIT}
                if self.command == "GET":
                    server.fetched.append(name)
                    if name in server.broken:
                        server.broken.remove(name)
                        self._send(503, b"", {})
                        return
                self._send(200, data, head)

            def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(data)

        return Handler

    def info(self) -> dict[str, Any]:
        return {
            "id": "own/set",
            "sha": COMMIT,
            "private": False,
            "gated": self.gated,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "cardData": {"license": "cc0-1.0"},
            "siblings": [
                {"rfilename": name, "size": self.sizes.get(name, len(data))} for name, data in self.files.items()
            ],
        }


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    made = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), made.handler())
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    cache = str(tmp_path / "cache")
    for module in ("huggingface_hub.constants", "huggingface_hub.file_download", "huggingface_hub._snapshot_download"):
        monkeypatch.setattr(f"{module}.HF_HUB_CACHE", cache, raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", cache)
    for module in ("huggingface_hub.constants", "huggingface_hub.hf_api", "huggingface_hub.file_download"):
        monkeypatch.setattr(f"{module}.ENDPOINT", address, raising=False)
        template = address + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(f"{module}.HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hf://own/set", Address("own/set", "", "")),
        ("hf:/own/set", Address("own/set", "", "")),
        ("hf://own/set@v1.2:default/test", Address("own/set", "v1.2", "default/test")),
        ("hf://own/set:test", Address("own/set", "", "test")),
        ("own/set", None),
    ],
)
def test_addresses(text: str, expected: Address | None) -> None:
    assert address_of(Path(text)) == expected


def test_a_wrong_address_is_named() -> None:
    with pytest.raises(UsageError, match="hf://set is not a dataset") as caught:
        address_of(Path("hf://set"))
    assert caught.value.hint == "hf://owner/name@revision:config/split, the last two if needed"


def test_data_is_fetched_only_with_consent_and_once(served: Hub) -> None:
    served.files = {"data/test-00000-of-00001.jsonl": json.dumps(ROWS[0]).encode(), "README.md": b"about"}
    notes: list[str] = []
    with pytest.raises(UsageError) as caught:
        fetch(Address("own/set", "", ""), [], yes=False, note=notes.append)
    assert notes == ["own/set: 1 file of 0 MB to fetch; licence: cc0-1.0"]
    assert str(caught.value) == f"fetching needs your consent: {notes[0]}"
    assert caught.value.hint == "--yes fetches it"
    assert not served.fetched
    found = fetch(Address("own/set", "", "test"), [], yes=True, note=notes.append)
    assert (found.folder / found.glob).read_bytes() == served.files["data/test-00000-of-00001.jsonl"]
    assert found.commit == COMMIT
    again = fetch(Address("own/set", "", ""), [], yes=False, note=notes.append)
    assert again == found
    assert served.fetched == ["data/test-00000-of-00001.jsonl"]


@pytest.mark.parametrize(("typed", "agrees"), [("y", True), (" Yes", True), ("n", False), ("", False)])
def test_a_person_is_asked_before_anything_is_fetched(
    served: Hub, typed: str, agrees: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    served.files, served.gated = {"a.jsonl": b"{}"}, True
    terminal = StringIO(f"{typed}\n")
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    notes: list[str] = []
    if agrees:
        assert fetch(Address("own/set", "", ""), [], yes=False, note=notes.append).files == ("a.jsonl",)
    else:
        with pytest.raises(UsageError, match=r"^nothing was fetched$") as caught:
            fetch(Address("own/set", "", ""), [], yes=False, note=notes.append)
        assert caught.value.hint == "--yes fetches it"
    assert "fetch it? [y/N] " in capsys.readouterr().err
    assert notes[0].endswith("; licence: cc0-1.0; access has to be granted on its page")


def test_the_user_has_to_choose_one_of_several_splits(served: Hub) -> None:
    served.files = {"data/test-0.parquet": b"PAR1", "data/train-0.parquet": b"PAR1"}
    with pytest.raises(UsageError, match="own/set has 2 splits: test-0, train-0") as caught:
        fetch(Address("own/set", "", ""), [], yes=True, note=lambda line: None)
    assert caught.value.hint == "name one: hf://own/set:test-0"
    with pytest.raises(DataError, match="own/set has no data of this benchmark") as missing:
        fetch(Address("own/set", "", ""), [("*.tsv", "data/*.parquet"), ("*.csv",)], yes=True, note=lambda line: None)
    assert missing.value.hint == "known forms are *.tsv; *.csv"
    served.files = {f"{ending}.{ending}": b"" for ending in ("csv", "json", "jsonl", "md", "parquet", "tar", "tsv")}
    with pytest.raises(UsageError, match="own/set has 6 splits: csv, json, jsonl, parquet, tar, tsv"):
        fetch(Address("own/set", "", ""), [], yes=True, note=lambda line: None)


@pytest.mark.parametrize(
    ("homes", "words"),
    [
        ([Home("github.com/a/b", "MIT")], "; it is at github.com/a/b (MIT)"),
        ([Home("github.com/a/b", "MIT", megabytes=1_200)], "; it is at github.com/a/b (1,200 MB, MIT)"),
        ([Home("github.com/a/b", "MIT"), Home("hf://a/b", "CC0", 2)], "; or --data hf://a/b (2 MB, CC0)"),
        ([], ""),
    ],
)
def test_without_data_the_error_names_its_home(homes: list[Home], words: str) -> None:
    forms = [Form(f"{number}.json", home=home) for number, home in enumerate(homes)] or [Form("0.json")]
    source = Source(settings=BenchmarkSettings(benchmark="capitals"))
    with pytest.raises(UsageError, match="there is no data to ask") as caught:
        tables(Struct, *forms, question=lambda row, place: ())(source)
    known = "; ".join(f"{number}.json" for number in range(len(forms)))
    assert caught.value.hint == f"--data FOLDER with {known}{words}"


GATED = "ask for access on its page, then set HF_TOKEN"


@pytest.mark.parametrize(
    ("status", "words", "hint"),
    [
        (404, "the hub has no dataset own/set, or not this revision", "hf://owner/name@revision"),
        (403, "own/set is gated, or doesn't exist for this user (HTTP 403)", GATED),
        (401, "own/set is gated, or doesn't exist for this user (HTTP 401)", GATED),
        (500, "own/set can't be fetched: ", "without a network, only what was fetched before is read"),
    ],
)
def test_refusals_are_named(served: Hub, status: int, words: str, hint: str) -> None:
    served.status = status
    with pytest.raises(DataError) as caught:
        fetch(Address("own/set", "", ""), [], yes=True, note=lambda line: None)
    assert str(caught.value).startswith(words)
    assert caught.value.hint == hint


@pytest.mark.parametrize("revision", [COMMIT, ""])
def test_without_the_hub_fetched_data_is_read(served: Hub, revision: str) -> None:
    served.files = {f"data/{split}-00000-of-00001.jsonl": json.dumps(ROWS[0]).encode() for split in ("test", "train")}
    asked = Address("own/set", revision, "test")
    first = fetch(asked, [], yes=True, note=lambda line: None)
    assert served.revision == (revision or "main")
    served.status = 500
    assert fetch(asked, [], yes=False, note=lambda line: None) == first
    with pytest.raises(DataError, match=r"1 file\(s\) are missing"):
        fetch(asked._replace(inside="train"), [], yes=True, note=lambda line: None)


ROOM = "make room there, or name another folder by HF_HUB_CACHE; the same command fetches what is missing"


@pytest.mark.filterwarnings("ignore:Not enough free disk space")
@pytest.mark.parametrize(("listed", "words"), [(None, "own/set needs 1.9 MB in "), (1_000, "is full")])
def test_a_full_disk_is_one_error_and_a_partial_download_is_never_used_as_a_whole(
    served: Hub,
    small_disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    listed: int | None,
    words: str,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(small_disk))
    names = [f"data/test-0000{number}-of-00002.jsonl" for number in (0, 1)]
    row = json.dumps({**ROWS[0], "long": "x" * 9_960}).encode() + b"\n"
    served.files = {names[0]: row * 9, names[1]: row * 181}
    served.sizes = {names[1]: listed} if listed else {}
    command = ["ask", "hf://own/set:test", "--yes", "--to", str(tmp_path / "mine.py")]
    for served.status in (200, 500):
        assert run_command(command) == 2
        said = capsys.readouterr().err.splitlines()
        assert served.status == 500 or said[-1] == f"hint: {ROOM}"
        assert said[-1].startswith("hint: ")
        assert served.status == 500 or words in said[-2]
    served.status = 200
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    assert run_command(command) == 0
    assert "'test-0000*.jsonl'" in (tmp_path / "mine.py").read_text()
    assert served.fetched.count(names[0]) == 1


@pytest.mark.parametrize("name", ["chartqa", "scienceqa"])  # the second has options of its own
def test_a_benchmark_fetches_the_files_of_its_form(
    served: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    write_sample(name, tmp_path / "data")
    folder = tmp_path / "data"
    served.files = {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    } | {"other.bin": draw(1)}
    assert run_command(["selftest", name, "--data", "hf://own/set", "--yes"]) == 0
    assert "every score is 1" in capsys.readouterr().out
    assert "other.bin" not in served.fetched
