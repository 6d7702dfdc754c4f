"""Lines of batches: the ids of requests, and each kind of result as servers write it."""

import gc
import json
import sys
import warnings
from collections.abc import Awaitable, Callable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
from msgspec.structs import replace

from vqa_client.batch.asking import Results
from vqa_client.batch.parts import (
    BatchPart,
    PartFolder,
    PartSize,
    PartWriter,
    Sizes,
    Unasked,
    custom_id,
    key_in,
    key_of,
    line_bytes,
    progress_of,
    read_result,
    reply_of,
    run_digest,
)
from vqa_client.batch.service import GONE, Batch, RequestRefused, Service, Unreachable, open_service
from vqa_client.client.body import Body
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.failures import CODES
from vqa_client.client.wire import NotACompletion
from vqa_client.errors import OutputError, QuestionFailed, ServerUnusable, UsageError
from vqa_client.settings.run import RunSettings
from vqa_client.types import Image, Question, Request

WIRE = Path(__file__).parents[3] / "shared" / "data" / "wire" / "batch"
ANSWER = '{"status_code":200,"body":{"choices":[{"message":{"content":"Red."},"finish_reason":"stop"}]}}'
REFUSED = '{"error":{"message":"At most 4 image(s) may be provided","code":400}}'
KINDS = {
    "an answer": (ANSWER, "null", "Red."),
    "a refusal by its body": (f'{{"status_code":400,"body":{REFUSED}}}', "null", "too_many_images"),
    "a refusal by its error": ('{"status_code":400,"body":null}', REFUSED, "too_many_images"),
    "an error that is a text": ('{"status_code":400,"body":null}', '"URL /x was used"', "rejected"),
    "a rate limit": ('{"status_code":429,"body":{"error":{"message":"Slow"}}}', "null", "rate_limited"),
    "a fault": ('{"status_code":500,"body":null}', "null", "server_error"),
    "a success with an error": (ANSWER, REFUSED, "too_many_images"),
    "a success without choices": ('{"status_code":200,"body":{"id":"x"}}', "null", "bad_response"),
    "no response": ("null", '{"code":"request_timeout","message":"Late"}', "timeout"),
    "nothing at all": ("null", "null", "bad_response"),
    "too late": ("null", '{"code":"batch_expired","message":"Late"}', "batch_expired"),
    "cancelled": ("null", '{"code":"batch_cancelled","message":"No"}', "batch_cancelled"),
}


def said(line: bytes) -> str:
    """The text of a result's reply, or the status of its question."""
    try:
        return reply_of(read_result(line), 100).text
    except NotACompletion as refused:
        return refused.verdict.status
    except Unasked as late:
        return str(late)


@pytest.mark.parametrize(("response", "error", "expected"), KINDS.values(), ids=KINDS)
def test_a_result_is_read_from_its_status_and_its_error(response: str, error: str, expected: str) -> None:
    assert said(f'{{"custom_id":"v1","response":{response},"error":{error}}}'.encode()) == expected


@pytest.mark.parametrize(
    ("kind", "http_status", "retry"),
    [
        *(("a refusal by its body", 400, False), ("a refusal by its error", 400, False), ("a rate limit", 429, True)),
        *(("a success with an error", 200, False), ("nothing at all", 200, True), ("no response", 0, True)),
    ],
)
def test_a_result_without_an_answer_keeps_its_status_and_may_be_asked_again(
    kind: str, http_status: int, retry: bool
) -> None:
    response, error, _ = KINDS[kind]
    with pytest.raises(NotACompletion) as caught:
        reply_of(read_result(f'{{"custom_id":"v1","response":{response},"error":{error}}}'.encode()), 100)
    assert (caught.value.http_status, caught.value.verdict.retry) == (http_status, retry)


NO_BATCHES = "`vqa-client batch write` writes files for `vllm run-batch`; without --batch the run asks online"
MEGABYTES = "--batch_mb sets the largest size of a file in megabytes"
RECORDED = {
    "vllm-run-batch/output.jsonl": "black circle black bad_image rejected rejected too_long rejected too_many_images "
    "yes black",
    "vllm-run-batch/output_unreachable_url.jsonl": "server_error",
    "vllm-run-batch/output_file_urls.jsonl": "green rejected",
    "openai/error.jsonl": "bad_image rate_limited server_error",
    "openai/error_expired.jsonl": "batch_expired batch_expired",
    "openai/error_cancelled.jsonl": "batch_cancelled timeout",
}


@pytest.mark.skipif(not WIRE.exists(), reason="../shared/data has the recorded lines")
@pytest.mark.parametrize("name", RECORDED)
def test_recorded_results_have_their_statuses(name: str) -> None:
    assert " ".join(map(said, (WIRE / name).read_bytes().splitlines())) == RECORDED[name]


CALLS = [
    *(
        (status, "slow", Unreachable, "a new batch: HTTP {status}: slow", "")
        for status in (408, 409, 425, 429, 500, 503)
    ),
    *((status, "no", RequestRefused, "a new batch: HTTP {status}: no", "") for status in (400, 410, 422)),
    *((status, "no", RequestRefused, "a new batch: HTTP {status}: no", CODES[status].hint) for status in (401, 403)),
    (400, "no " * 300, RequestRefused, f"a new batch: HTTP 400: {('no ' * 300)[:500]}", ""),
    *(
        (status, "no", RequestRefused, "http://gpu/v1 has no batches (a new batch: HTTP {status}: no)", NO_BATCHES)
        for status in (404, 405)
    ),
    (413, "no", RequestRefused, "a new batch: HTTP 413: no", MEGABYTES),
    (400, "file too large", RequestRefused, "a new batch: HTTP 400: file too large", MEGABYTES),
    (404, "no such batch", RequestRefused, "batch b1: HTTP 404: no such batch", GONE),
    (503, "slow", Unreachable, "batch b2: HTTP 503: slow", ""),
    (0, "lost", Unreachable, "a new batch: lost", ""),
    (400, "no", RequestRefused, "the upload of f.jsonl: HTTP 400: no", ""),
    (403, "no", RequestRefused, "the server's files: HTTP 403: no", CODES[403].hint),
    (503, "slow", Unreachable, "the server's batches: HTTP 503: slow", ""),
    (503, "slow", Unreachable, "file f1: HTTP 503: slow", ""),
]
"""The status of a call (0: the connection is lost), the server's message, and the error that is raised."""


@pytest.mark.parametrize(("status", "text", "error", "message", "hint"), CALLS)
async def test_a_failed_call_is_transient_or_refused_with_a_hint(
    status: int, text: str, error: type[ServerUnusable], message: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai = pytest.importorskip("openai")
    monkeypatch.setattr("vqa_client.batch.service.RETRIES", 0)

    def reply(request: httpx2.Request) -> httpx2.Response:
        if not status:
            raise httpx2.ConnectError(text)
        return httpx2.Response(status, json={"error": {"message": text, **({} if status == 410 else {"code": "x"})}})

    wire = httpx2.MockTransport(reply)
    async with httpx2.AsyncClient(transport=wire) as http:
        client = openai.AsyncOpenAI(api_key="none", base_url="http://gpu/v1", max_retries=0, http_client=http)
        service = Service(client, Endpoint(httpx2.URL("http://gpu/v1"), wire, {}), "24h")
        calls: dict[str, Callable[[], Awaitable[object]]] = {
            "batch b1": lambda: service.look("b1"),
            "batch b2": lambda: service.cancel("b2"),
            "file": lambda: service.fetch("f1", Path("nowhere")),
            "the upload": lambda: service.upload(Path(__file__), "f.jsonl"),
            "the server's files": service.check,
            "the server's batches": lambda: service.find("f1"),
        }
        call = next((call for start, call in calls.items() if message.startswith(start)), None)
        with pytest.raises(error) as caught:
            await (call() if call else service.create("f1", {}))
    assert (type(caught.value), str(caught.value)) == (error, message.format(status=status))
    assert caught.value.hint == hint
    if isinstance(caught.value, RequestRefused) and hint not in (NO_BATCHES, MEGABYTES):
        assert caught.value.code == ("" if status == 410 else "x")


async def test_a_batch_server_with_tls_is_verified_by_the_settings_authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    settings = RunSettings(ca_bundle=Path("no.pem"))
    for scheme, raises in (("http", nullcontext()), ("https", pytest.raises(UsageError, match="--ca_bundle"))):
        base = httpx2.URL(f"{scheme}://gpu/v1")
        with raises:
            async with open_service(Endpoint(base, httpx2.MockTransport(httpx2.Response), {}), settings) as service:
                assert isinstance(service, Service)
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(UsageError, match=r"^--batch needs the openai package$") as caught:
        async with open_service(Endpoint(base, httpx2.MockTransport(httpx2.Response), {}), settings):
            pass
    assert caught.value.hint.endswith("pip install 'vqa-client[openai]'")


STATUSES = {"SUCCESS": "completed", "running": "in_progress", "progress": "in_progress", "expired": "expired"}


@pytest.mark.parametrize("status", STATUSES)
async def test_a_batch_is_read_with_its_counts_and_faults(status: str) -> None:
    openai = pytest.importorskip("openai")
    fault = {"code": "token_limit_exceeded", "message": "Full", "line": None}
    files = {"input_file_id": None, "output_file_id": "f2", "error_file_id": None}
    counts = {"total": 9, "completed": 3, "failed": 2}
    given = {"id": "b1", "status": status, **files, "request_counts": counts, "errors": {"data": [fault]}}
    given["expires_at"] = 1_700_000_000
    asked = list[str]()

    def reply(request: httpx2.Request) -> httpx2.Response:
        asked.append(f"{request.method} {request.url.path}")
        return httpx2.Response(404 if request.method == "DELETE" else 200, json=given)

    wire = httpx2.MockTransport(reply)
    async with httpx2.AsyncClient(transport=wire) as http:
        client = openai.AsyncOpenAI(api_key="none", base_url="http://gpu/v1", max_retries=0, http_client=http)
        service = Service(client, Endpoint(httpx2.URL("http://gpu/v1"), wire, {}), "24h")
        seen = await service.look("b1")
        assert await service.cancel("b1") == seen
        await service.delete("f2")  # which is gone already
    assert seen == Batch(
        id="b1",
        status=STATUSES[status],
        input_file_id="",
        results=("f2",),
        done=5,
        ends=datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC),
        errors=(("token_limit_exceeded", "Full", 0),),
    )
    assert seen.over_token_limit
    assert asked == ["GET /v1/batches/b1", "POST /v1/batches/b1/cancel", "DELETE /v1/files/f2"]


LISTED = {
    "/v1/files": [{"id": "f1", "filename": "full"}, {"id": "f2", "filename": "plain"}],
    "/v1/batches": [
        {"id": "b1", "status": "completed", "input_file_id": "f2"},
        {"id": "b2", "status": "failed", "input_file_id": "f1"},
        {"id": "b3", "status": "running", "input_file_id": "f1"},
    ],
}


async def test_a_file_expires_after_a_week_where_the_server_takes_a_time(tmp_path: Path) -> None:
    (tmp_path / "part.jsonl").touch()
    openai = pytest.importorskip("openai")
    asked, paths = list[bytes](), list[str]()

    def reply(request: httpx2.Request) -> httpx2.Response:
        if request.method != "POST":
            paths.append(f"{request.method} {request.url.raw_path.decode()}")
            return httpx2.Response(200, json={"data": LISTED.get(request.url.path, []), "has_more": False})
        asked.append(request.content)
        if b"expires_after" in asked[-1] and b"plain" in asked[-1]:
            return httpx2.Response(400, json={"error": {"message": "unknown field: expires_after"}})
        return httpx2.Response(200, json={"id": "f1"})

    wire = httpx2.MockTransport(reply)
    async with httpx2.AsyncClient(transport=wire) as http:
        client = openai.AsyncOpenAI(api_key="none", base_url="http://gpu/v1", max_retries=0, http_client=http)
        service = Service(client, Endpoint(httpx2.URL("http://gpu/v1"), wire, {}), "24h")
        for name in ("full", "plain", "plain"):
            assert await service.upload(tmp_path / "part.jsonl", name) == "f1"
        await service.check()
        await service.delete_named("full")
        found = [await service.find(file) for file in ("f1", "f3")]
    assert [batch and (batch.id, batch.status) for batch in found] == [("b3", "in_progress"), None]
    listed = ["GET /v1/files?limit=1", "GET /v1/files?limit=100&purpose=batch", "DELETE /v1/files/f1"]
    assert paths == [*listed, *["GET /v1/batches?limit=100"] * 2]
    fields = [b"created_at" in each and b"expires_after[seconds]" in each and b"604800" in each for each in asked]
    assert fields == [True, True, False, False], "a server that takes none is told it once"
    assert all(b'name="purpose"' in each and b"batch" in each for each in asked)


def test_ids_depend_on_the_question_its_request_and_the_run() -> None:
    question = Question(id="q1", text="What?")
    image = Image(name="a.png", sha256="0" * 64, size_bytes=3, mime="image/png")
    request = Request(content=(image, "What \ud800?"), parameters={"top_k": 2})
    run, other = (run_digest({"model": {"temperature": 0.0, "max_tokens": most}}) for most in (3, 4))
    first = custom_id(question, request, run)
    assert (key_in(first), len(first), first.isalnum()) == (key_of(question), 33, True)
    assert custom_id(question, replace(request, document="d"), run) == first
    orders = ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1})
    assert len({custom_id(question, replace(request, parameters=each), run) for each in orders}) == 1
    others = [
        custom_id(replace(question, variant="blind"), request, run),
        custom_id(question, replace(request, content=(replace(image, sha256="1" * 64), "What \ud800?")), run),
        custom_id(question, replace(request, parameters={"top_k": 3}), run),
        custom_id(question, request, other),
    ]
    assert len({first, *others}) == 5
    assert [key_in(each) == key_in(first) for each in others] == [False, True, True, True]


def test_a_file_of_a_batch_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    parts, body = PartFolder(tmp_path / "a.records.jsonl"), Body([b"{}"])
    for name in ("a.unmatched.jsonl", "a.damaged.jsonl", "a.batches/part-0001.unfinished", "a.batches/part-0002.jsonl"):
        (tmp_path / name).mkdir(parents=True)
    for damaged, name in ((False, "a.unmatched.jsonl"), (True, "a.damaged.jsonl")):
        with pytest.raises(OutputError, match=rf"^can't write {tmp_path}/{name}: Is a directory$"):
            parts.set_aside([b"x"], print, damaged=damaged)
    for number in (1, 2):
        unfinished = rf"^can't write {parts.folder}/part-000{number}\.unfinished: Is a directory$"
        with PartWriter(parts, PartSize(99, 9), number) as writer, pytest.raises(OutputError, match=unfinished):
            _ = [*writer.add("v1", body), *writer.end()]
    assert not (parts.folder / "part-0002.unfinished").exists()


def test_the_progress_of_a_run_counts_answers_open_batches_and_the_rest() -> None:
    one, other, written = (
        BatchPart(number=1, name="n", ids=[*ids], size_bytes=1, state=state, batch_id=f"b{len(ids)}")
        for ids, state in (("a", "open"), ("bc", "open"), ("def", "written"))
    )
    assert progress_of([], 10, 10) == "10 of 10 answered"
    assert progress_of([one, written], 9, 10) == "9 of 10 answered, 1 in 1 batch (b1)"
    shown = "1,000 of 2,000 answered, 3 in 2 batches (b1, b2), 997 not sent yet"
    assert progress_of([one, other, written], 1_000, 2_000) == shown


def test_lines_fill_parts_up_to_both_limits() -> None:
    sizes, seen = Sizes(PartSize(10, 3)), list[tuple[int, int, int]]()
    for size_bytes in (4, 6, 1, 1, 1, 1, 12):
        sizes.add(size_bytes)
        seen.append((sizes.parts, sizes.lines, sizes.size_bytes))
    assert seen == [(1, 1, 4), (1, 2, 10), (2, 1, 1), (2, 2, 2), (2, 3, 3), (3, 1, 1), (4, 1, 12)]


def test_a_part_has_the_size_of_its_file(tmp_path: Path) -> None:
    parts, body = PartFolder(tmp_path / "a.records.jsonl"), Body([b'{"a":1}'])
    with PartWriter(parts, PartSize(line_bytes("v1", body) * 2, 9), 1) as writer:
        made = [each for name in ("v1", "v2", "v3") for each in writer.add(name, body)] + [*writer.end()]
    assert [(each.number, each.ids, each.round, each.state) for each in made] == [
        (1, ["v1", "v2"], 1, "written"),
        (2, ["v3"], 1, "written"),
    ]
    assert not any(each.file_id or each.batch_id or each.results for each in made)
    with PartWriter(parts, PartSize(line_bytes("v1", body), 9), 3) as writer:
        assert [each.ids for each in (*writer.add("v1", body), *writer.end())] == [["v1"]]
    with PartWriter(parts, PartSize(line_bytes("v1", body) - 1, 9), 4) as writer, pytest.raises(UsageError):
        _ = [*writer.add("v1", body)]
    assert [each.size_bytes for each in made] == [parts.input(number).stat().st_size for number in (1, 2)]


def test_the_line_of_an_image_that_has_changed_is_removed_and_its_neighbours_stay_whole(tmp_path: Path) -> None:
    parts, body = PartFolder(tmp_path / "a.records.jsonl"), Body([b'{"a":1}'])
    (tmp_path / "a.png").write_bytes(b"another size")
    changed = Body(
        [b'{"b":"', Image(name="a.png", path=str(tmp_path / "a.png"), sha256="", size_bytes=9, mime="image/png"), b'"}']
    )
    with PartWriter(parts, PartSize(9_999, 9), 1) as writer:
        _ = [*writer.add("v1", body)]
        with pytest.raises(QuestionFailed):
            _ = [*writer.add("v2", changed)]
        [made] = [*writer.add("v3", body), *writer.end()]
    lines = [json.loads(line) for line in parts.input(1).read_bytes().splitlines()]
    assert [(line["custom_id"], line["body"]) for line in lines] == [("v1", {"a": 1}), ("v3", {"a": 1})]
    assert (made.ids, made.size_bytes) == (["v1", "v3"], parts.input(1).stat().st_size)


def test_results_leave_no_file_open_if_another_is_missing(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    with warnings.catch_warnings(record=True) as unclosed:
        warnings.simplefilter("always")
        with suppress(FileNotFoundError):
            Results([tmp_path / "there", tmp_path / "missing"])
        gc.collect()
    assert not unclosed


@pytest.mark.parametrize(("last", "is_kept"), [(b"{}", True), (b'{"a', False), (b"[" * 5000, False)])
def test_an_incomplete_last_result_of_a_command_is_cut_off(tmp_path: Path, last: bytes, is_kept: bool) -> None:
    parts = PartFolder(tmp_path / "a rün.records.jsonl")
    assert parts.new_name(3).startswith("a_r_n-part-0003-")
    parts.folder.mkdir()
    parts.result(1).write_bytes(b"{}\n" + last)
    assert parts.commanded() == [parts.result(1)]
    assert parts.result(1).read_bytes() == b"{}\n" + (last if is_kept else b"")
