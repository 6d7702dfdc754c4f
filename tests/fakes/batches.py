"""A server's Files and Batches API: its batches answer each line as the script answers a chat."""

import json
import random
import re
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.fakes.actions import reset
from tests.fakes.bodies import read_chat
from tests.fakes.endpoints import CHAT
from tests.fakes.performing import actions
from tests.fakes.received import Received
from tests.fakes.replies import answer, error
from tests.fakes.request_rules import RequestRule
from tests.fakes.script import Action, Reply, Script, json_reply

_PART = re.compile(rb'name="([^"]+)"(?:; filename="([^"]+)")?\r\n(?:[^\r\n]+\r\n)*\r\n(.*?)\r\n--', re.DOTALL)
_ROUTE = re.compile(r"/v1/(files|batches)(?:/([\w-]+))?(/content|/cancel)?")
MISSING = {"error": {"message": "No such thing", "type": "invalid_request_error", "param": None, "code": None}}


@dataclass(slots=True)
class Batches:
    """The API's state; `rule(then)` serves it before the script `then`, which also answers the lines.

    Each new batch takes the next of `fates`, or is completed: "expired" and "cancelled" after `share` of its lines,
    "token_limit" or another code as a file that was refused. It ends after its status was read `looks` times.
    `scripts` answer requests whose method and path begin with their keys, once each; those of `lost` are done, but
    their replies are lost.
    """

    fates: list[str] = field(default_factory=list)
    looks: int = 1
    share: float = 0.6
    scripts: list[tuple[str, Script]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    most_bytes: int | None = None
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    uploads: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    _seen: dict[str, int] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _then: Script = ()

    def __post_init__(self) -> None:
        self.fates, self.scripts, self.lost = list(self.fates), list(self.scripts), list(self.lost)  # each is used up

    def rule(self, then: Script = ()) -> RequestRule:
        """A script for FaultServer."""
        self._then = then
        return RequestRule(refuses=self._refuses, then=then)

    @property
    def asked(self) -> list[str]:
        """The custom ids of the lines of all accepted batches, in order."""
        accepted = [each for each in self.batches.values() if each["status"] != "failed"]
        return [line["custom_id"] for each in accepted for line in each["lines"]]

    def _refuses(self, received: Received) -> Script | None:
        with self._lock:
            call = f"{received.method} {received.route}"
            for at, (begin, script) in enumerate(self.scripts):
                if call.startswith(begin):
                    del self.scripts[at]
                    return script
            found = _ROUTE.fullmatch(received.route)
            script = self._answer(received, *found.groups()) if found else None
            if lost := next((begin for begin in self.lost if call.startswith(begin)), None):
                self.lost.remove(lost)
                return reset()
            return script

    def _answer(self, received: Received, kind: str, name: str | None, more: str | None) -> Script:
        match received.method, kind, name, more:
            case "POST", "files", None, None:
                return self._upload(received)
            case "GET", "files", None, None:
                rows = [self._file(each) for each in self.files]
                return json_reply({"object": "list", "data": rows, "has_more": False})
            case "GET", "files", str(), "/content" if name in self.files:
                return Reply(body=self.files[name][1], headers=(("content-type", "application/jsonl"),))
            case "DELETE", "files", str(), None if name in self.files:
                self.deleted.append(self.files.pop(name)[0])
                return json_reply({"id": name, "object": "file", "deleted": True})
            case "POST", "batches", None, None:
                return self._create(received)
            case "GET", "batches", None, None:
                return self._page(parse_qs(urlsplit(received.path).query))
            case "GET", "batches", str(), None if name in self.batches:
                return json_reply(self._looked(self.batches[name]))
            case "POST", "batches", str(), "/cancel" if name in self.batches:
                if self.batches[name]["status"] != "in_progress":
                    return error(409, f"Cannot cancel a batch with status '{self.batches[name]['status']}'.")
                self.batches[name]["fate"] = "cancelled"
                return json_reply(_shown(self.batches[name] | {"status": "cancelling"}))
        return json_reply(MISSING, 404)

    def _upload(self, received: Received) -> Script:
        if self.most_bytes is not None and received.size_bytes > self.most_bytes:
            return error(413, "Request Entity Too Large", shape="html")
        form = {name.decode(): (file.decode(), content) for name, file, content in _PART.findall(received.body)}
        name, content = form["file"]
        self.faults += [f"form {form.keys()}"] if form.get("purpose") != ("", b"batch") else []
        self.faults += [] if name.endswith(".jsonl") else [f"a file named {name}"]
        self.uploads.append(name)
        self.files[file_id := f"file-{len(self.uploads)}"] = name, content
        return json_reply(self._file(file_id))

    def _file(self, file_id: str) -> dict[str, Any]:
        name, content = self.files[file_id]
        facts = {"object": "file", "created_at": 1, "purpose": "batch", "status": "processed"}
        return {"id": file_id, "bytes": len(content), "filename": name, **facts}

    def _create(self, received: Received) -> Script:
        given = received.json
        lines = [json.loads(line) for line in self.files[given["input_file_id"]][1].splitlines()]
        self._check(given, lines)
        fate = self.fates.pop(0) if self.fates else "completed"
        batch = {"id": f"batch_{len(self.batches) + 1}", "status": "in_progress", "fate": fate, "lines": lines, **given}
        self.batches[batch["id"]] = batch
        return json_reply(_shown(batch))

    def _check(self, given: dict[str, Any], lines: list[dict[str, Any]]) -> None:
        """The faults for which OpenAI and vLLM refuse a whole file."""
        ids = [line["custom_id"] for line in lines]
        rules = {
            "an id twice": len(set(ids)) == len(ids),
            "another url": all(line["url"] == given["endpoint"] == "/v1/chat/completions" for line in lines),
            "other fields": all(set(line) == {"custom_id", "method", "url", "body"} for line in lines),
            "stream": all("stream" not in line["body"] for line in lines),
            "several models": len({line["body"]["model"] for line in lines}) == 1,
            "metadata": all(len(value) <= 512 for value in given["metadata"].values()),
            "no line": bool(lines),
        }
        self.faults += [name for name, kept in rules.items() if not kept]
        for line in lines:
            self.faults += read_chat(json.dumps(line["body"]).encode()).faults

    def _page(self, query: dict[str, list[str]]) -> Reply:
        """Two per page, newest first."""
        rows = [_shown(each) for each in reversed(self.batches.values())]
        after = query.get("after", [""])[0]
        begin = next((at + 1 for at, row in enumerate(rows) if row["id"] == after), 0)
        page = rows[begin : begin + 2]
        return json_reply({"object": "list", "data": page, "has_more": begin + 2 < len(rows)})

    def _looked(self, batch: dict[str, Any]) -> dict[str, Any]:
        seen = self._seen[batch["id"]] = self._seen.get(batch["id"], 0) + 1
        if batch["status"] == "in_progress" and (seen > self.looks or batch["fate"] == "cancelled"):
            self._end(batch)
        return _shown(batch)

    def _end(self, batch: dict[str, Any]) -> None:
        fate, lines = batch["fate"], batch["lines"]
        if fate not in ("completed", "expired", "cancelled"):
            code = {"token_limit": "token_limit_exceeded"}.get(fate, fate)
            places = (None,) if fate == "token_limit" else (4, 5, None, 2)  # None: of the whole file
            faults = [{"code": code, "message": f"It is {code}.", "param": None, "line": line} for line in places]
            batch |= {"status": "failed", "errors": {"object": "list", "data": faults}}
            return
        tried = len(lines) if fate == "completed" else round(self.share * len(lines))
        results = [self._tried(line) for line in lines[:tried]]
        results += [_late(line, f"batch_{fate}") for line in lines[tried:]]
        random.Random(7).shuffle(results)
        answers = [each for each in results if each["response"] and each["response"]["status_code"] == 200]
        errors = [each for each in results if each not in answers]
        for name, kept in (("output", answers), ("error", errors)):
            if kept:
                self.files[batch["id"] + name] = name, b"".join(json.dumps(each).encode() + b"\n" for each in kept)
                batch[f"{name}_file_id"] = batch["id"] + name
        batch |= {"status": fate, "request_counts": {"total": len(lines), "completed": len(answers), "failed": 0}}

    def _tried(self, line: dict[str, Any]) -> dict[str, Any]:
        body = json.dumps(line["body"]).encode()
        chat = read_chat(body)
        asked = {"kind": "plain", "method": "POST", "path": f"/v1{CHAT}", "headers": {}, "started_s": monotonic()}
        received = Received(number=0, connection=0, turn=1, **asked)  # type: ignore[arg-type]
        received.body, received.json, received.prompt, received.images = body, chat.json, chat.prompt, chat.images
        actions_of_line: list[Action] = [*actions(self._then, received), *actions(answer(), received)]
        reply = next(action for action in actions_of_line if isinstance(action, Reply))
        response = {"status_code": reply.status, "request_id": "req", "body": json.loads(reply.body)}
        return {"id": "batch_req", "custom_id": line["custom_id"], "response": response, "error": None}


def _late(line: dict[str, Any], code: str) -> dict[str, Any]:
    return {"id": "x", "custom_id": line["custom_id"], "response": None, "error": {"code": code, "message": "Late."}}


def _shown(batch: dict[str, Any]) -> dict[str, Any]:
    facts = {"object": "batch", "created_at": 1, "errors": None, "output_file_id": None, "error_file_id": None}
    return facts | {name: value for name, value in batch.items() if name not in ("lines", "fate")}
