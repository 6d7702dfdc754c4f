"""A small S3 server for requests with the right key: a folder's objects, lists in pages of two, conditional writes.

Unsigned it also answers as Google's store does, whose conditions compare generations (`google` is the environment for
that). Without `conditions` it accepts every write, as some stores do. `before` is called with each request before it is
served.
"""

import hashlib
import http.server
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

import pytest

from vqa_client.tables import objects

KEY, SECRET = "AKIATEST", "secret-of-the-store"
BUCKET = "bucket"
_PAGE = 2
_CONDITION = "x-goog-if-generation-match"


class _Handler(http.server.BaseHTTPRequestHandler):
    """The folder is the server's; a bucket's name is the first part of the path."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms for its head to be acknowledged
    server: "_Server"

    def do_HEAD(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        parts, body = urlsplit(self.path), self.rfile.read(int(self.headers.get("Content-Length") or 0))
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        self.server.before(f"{self.command} {key}")
        with self.server.alone:
            self.server.asked.append(f"{self.command} {key or parts.query}")
            if self.server.signed and f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
                return self._answer(403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
            if self.command == "POST":  # ?delete
                for name in re.findall("<Key>(.*?)</Key>", body.decode()):
                    (self.server.folder / unescape(name)).unlink(missing_ok=True)
                return self._answer(200, b"<DeleteResult></DeleteResult>")
            if not key and parts.query:
                given = {name: each[0] for name, each in parse_qs(parts.query).items()}
                return self._answer(200, self._listing(**given))
            path = self.server.folder / key
            if self.command == "PUT":
                return self._put(path, body)
            if self.command == "DELETE":
                path.unlink(missing_ok=True)
                return self._answer(204, b"")
            if bucket != BUCKET or not path.is_file():
                return self._answer(404, b"<Error><Code>NoSuchKey</Code><Message>none</Message></Error>")
            return self._answer(200, path.read_bytes(), path=path)

    def _put(self, path: Path, body: bytes) -> None:
        """Write if If-None-Match and If-Match allow it, or Google's condition on the generation."""
        tag, generation = _tag(path.read_bytes()) if path.is_file() else None, self._generation(path)
        wanted, unwanted = self.headers.get("If-Match"), self.headers.get("If-None-Match")
        refused = (wanted and wanted != tag) or (unwanted and tag)
        if self.server.conditions and (refused or self.headers.get(_CONDITION, generation) != generation):
            return self._answer(412, b"<Error><Code>PreconditionFailed</Code><Message>no</Message></Error>")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        self.server.generations[path] += 1
        return self._answer(200, b"", _tag(body), path)

    def _generation(self, path: Path) -> str:
        return str(1 + self.server.generations[path] if path.is_file() else 0)

    def _answer(self, status: int, body: bytes, tag: str | None = None, path: Path | None = None) -> None:
        self.send_response(status)
        if path and not self.server.signed:
            self.send_header("x-goog-generation", self._generation(path))
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", tag or _tag(body))
        self.send_header("Last-Modified", formatdate(1_700_000_000, usegmt=True))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _listing(self, **given: str) -> bytes:
        prefix, after = given.get("prefix", ""), given.get("continuation-token", "")
        found: set[str] = set()
        for path in self.server.folder.rglob("*"):
            name = path.relative_to(self.server.folder).as_posix()
            if path.is_file() and name.startswith(prefix):
                below, slash, _ = name[len(prefix) :].partition("/")
                found.add(prefix + below + "/" if slash and "delimiter" in given else name)
        names = sorted(name for name in found if name > after)
        more = names[_PAGE - 1] if len(names) > _PAGE else ""
        rows = "".join(map(self._row, names[:_PAGE]))
        token = f"<NextContinuationToken>{escape(more)}</NextContinuationToken>" if more else ""
        cut = str(bool(more)).lower()
        return f"<ListBucketResult><IsTruncated>{cut}</IsTruncated>{token}{rows}</ListBucketResult>".encode()

    def _row(self, name: str) -> str:
        if name.endswith("/"):
            return f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
        content = (self.server.folder / name).read_bytes()
        return (
            f"<Contents><Key>{escape(name)}</Key><LastModified>2023-11-14T22:13:20.000Z</LastModified>"
            f"<ETag>{_tag(content)}</ETag><Size>{len(content)}</Size></Contents>"
        )

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture
def store_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The key of the store, and a cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, value in {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    objects._store.cache_clear()
    yield
    objects._store.cache_clear()


def google(address: str) -> dict[str, str]:
    """The environment for gs:// addresses of an unsigned server."""
    key = {"gcs_base_url": address, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    return {"GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(key)}


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path, *, signed: bool) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.signed = folder, signed
        self.asked: list[str] = []
        self.generations = Counter[Path]()
        self.alone, self.conditions = threading.Lock(), True
        self.before: Callable[[str], object] = lambda asked: None

    def handle_error(self, *args: Any) -> None:
        """Print nothing about clients that were killed."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def store_of(folder: Path, *, signed: bool = True) -> Iterator[_Server]:
    """Serve a folder's files as a bucket's objects; without `signed`, unsigned requests are served too."""
    with _Server(folder, signed=signed) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield server
        finally:
            server.shutdown()
