"""The server of `view`: addresses, changes, and what it doesn't send."""

import contextlib
import http.client
import os
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.faults.commands import wait_until
from tests.html.samples import facts, failed, record, write_run
from tests.html.test_shown_images import put
from vqa_client.compare.write import comparison_page
from vqa_client.errors import DataError, UsageError
from vqa_client.html.serving import MOST_WAITING, ReportServer
from vqa_client.html.viewer import ReviewNote, Viewer, notes_path, read_notes
from vqa_client.types import Record


def run_with_image(tmp_path: Path) -> Path:
    image = put(tmp_path / "pages/a.png")
    run = {"described": {"images_dir": str(tmp_path / "pages")}}
    return write_run(tmp_path / "results", [record(1, images=(image,))], run=run)


def test_one_run_is_shown_at_once_and_several_by_a_list(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [record()], name="a")
    assert Viewer(tmp_path, comparison_page).answer("").location == "0/"
    write_run(tmp_path / "b", [record()], name="b")
    listed = Viewer(tmp_path, comparison_page).answer("").body.decode()
    assert listed.count('<td data-sort="1">1</td>') == 2
    assert listed.count("20.7&#8202;–&#8202;100.0") == 2
    assert '<a href="1/">' in listed


def test_ticked_runs_are_compared_or_the_reason_why_not_is_shown(tmp_path: Path) -> None:
    for number, folder in enumerate("abc"):
        run = facts()
        run["identity"]["task"] = "mc" if number < 2 else "niah"
        images = (put(tmp_path / f"pages/{folder}.png"),)
        run["described"]["images_dir"] = str(tmp_path / "pages")
        write_run(tmp_path / folder, [record(1, score=float(number == 1), images=images)], run=run)
    viewer = Viewer(tmp_path, comparison_page)
    assert viewer.answer("").body.count(b'type="checkbox"') == 3
    compared = viewer.answer("compare/0-1")
    assert (compared.status, compared.kind, compared.location) == (200, "text/html; charset=utf-8", "")
    assert b"against" in compared.body
    assert b'"../0/image/0"' in compared.body
    refused = viewer.answer("compare/0-2")
    assert refused.status == 500
    assert b"can't be compared" in refused.body
    assert viewer.answer("compare/0-9").status == viewer.answer("compare/").status == 404


def test_a_run_that_begins_later_is_added_to_the_list(tmp_path: Path) -> None:
    write_run(tmp_path / "b", [record()], name="b")
    viewer = Viewer(tmp_path, comparison_page)
    write_run(tmp_path / "a", [record(), record(2)], name="a")
    assert viewer.answer("").status == 200
    assert b"b.records.jsonl" in viewer.answer("0/").body
    assert b"a.records.jsonl" in viewer.answer("1/").body


def test_the_state_and_the_page_change_with_the_log(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record(1)])
    viewer = Viewer(log, comparison_page)
    state, page = viewer.answer("0/state"), viewer.answer("0/")
    assert viewer.answer("0/") == page
    with log.open("ab") as file:
        file.write(msgspec.json.encode(record(2)) + b"\n")
    assert viewer.answer("0/state") != state
    assert b"2 questions" in viewer.answer("0/").body


def test_images_are_sent_only_by_number(tmp_path: Path) -> None:
    viewer = Viewer(run_with_image(tmp_path), comparison_page)
    assert viewer.answer("0/image/0").status == 404  # no page has named it yet
    assert viewer.answer("0/").status == 200
    assert viewer.answer("0/image/0").body == (tmp_path / "pages/a.png").read_bytes()
    assert viewer.answer("0/image/0").kind == "image/png"
    assert viewer.answer("0/thumbnail/0").body[:4] == b"RIFF"


def test_a_page_that_has_changed_since_it_was_sent_is_not_shown_for_it(tmp_path: Path) -> None:
    viewer = Viewer(run_with_image(tmp_path), comparison_page)
    viewer.answer("0/")
    path = tmp_path / "pages/a.png"
    data, times = path.read_bytes(), path.stat()
    path.write_bytes(data[:-1] + b"x")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    for place in ("0/image/0", "0/thumbnail/0"):
        assert (viewer.answer(place).status, viewer.answer(place).body) == (
            404,
            b"the file has changed since it was sent\n",
        )
    path.write_bytes(data)
    assert viewer.answer("0/image/0").status == 200


def test_the_page_follows_a_log_that_changed_within_one_tick_of_a_clock(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record(1)])
    viewer = Viewer(log, comparison_page)
    viewer.answer("0/")
    state, times = viewer.answer("0/state").body, log.stat()
    data = log.read_bytes().replace(b'"score":1.0', b'"score":0.0')
    log.with_suffix(".new").write_bytes(data)
    log.with_suffix(".new").replace(log)
    os.utime(log, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert viewer.answer("0/state").body != state


@pytest.mark.parametrize(
    "path", ["1/", "-1/", "0", "0/x", "0/image/1", "0/image/-1", "0/image/..", "../", "0/image/0/1", "٣/", "9" * 30]
)
def test_other_addresses_lead_nowhere(tmp_path: Path, path: str) -> None:
    viewer = Viewer(run_with_image(tmp_path), comparison_page)
    viewer.answer("0/")
    assert (viewer.answer(path).status, viewer.answer(path).body) == (404, b"not found\n")


def test_a_deleted_log_is_an_error_and_does_not_stop_the_server(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record()])
    viewer = Viewer(log, comparison_page)
    log.unlink()
    assert viewer.answer("0/").status in (404, 500)


def test_a_place_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        Viewer(tmp_path, comparison_page)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ReportServer]:
    write_run(tmp_path, [Record(question_id="q", status="ok")])
    with ReportServer(Viewer(tmp_path, comparison_page), 0) as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


GUARDS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def fetched(address: str, host: str | None = None) -> tuple[int, dict[str, str]]:
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            reply.read()
            return reply.status, dict(reply.headers)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code, dict(error.headers)


def test_the_address_leads_to_the_page(server: ReportServer) -> None:
    status, headers = fetched(server.address)
    assert status == 200
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    _, others = fetched(f"{server.address}0/state")
    assert others["Content-Type"] == "text/plain; charset=utf-8"
    assert others["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    assert GUARDS.items() <= headers.items()
    assert server.server_address[0] == "127.0.0.1"


def test_without_the_path_nothing_can_be_read(server: ReportServer) -> None:
    assert fetched(f"http://127.0.0.1:{server.server_address[1]}/")[0] == 404
    assert fetched(f"http://127.0.0.1:{server.server_address[1]}/0/")[0] == 404


def test_under_another_host_name_nothing_can_be_read(server: ReportServer) -> None:
    assert fetched(server.address, host="evil.example:80")[0] == 404


NOTE = b'{"question_id":"q","note":"<b>odd</b>","tags":["look"]}'


@pytest.mark.parametrize(
    ("headers", "path", "body"),
    [
        ({"Origin": None}, "0/notes", NOTE),  # a page of before 2020, or no page
        ({"Origin": "null"}, "0/notes", NOTE),
        ({"Origin": "http://evil.example"}, "0/notes", NOTE),
        ({"Origin": "http://127.0.0.1:1"}, "0/notes", NOTE),
        ({"Host": "evil.example:80", "Origin": "http://evil.example:80"}, "0/notes", NOTE),
        ({"Content-Type": "text/plain"}, "0/notes", NOTE),  # what a form of another site may send
        ({"Content-Length": None}, "0/notes", NOTE),
        ({"Content-Length": "-1"}, "0/notes", NOTE),
        ({"Content-Length": str(1 << 30)}, "0/notes", NOTE),
        ({}, "1/notes", NOTE),
        ({}, "0/", NOTE),
        ({}, "../0/notes", NOTE),
        ({}, "0/notes", b"{}"),
        ({}, "0/notes", b"[" * 100_000),
        ({}, "0/notes", b'{"question_id":"q","note":"' + b"x" * 20_001 + b'"}'),
        ({}, "0/notes", b'{"question_id":"q","tags":["' + b"x" * 61 + b'"]}'),
        ({}, "0/notes", b'{"question_id":"q","tags":[""' + b',""' * 20 + b"]}"),
    ],
)
def test_a_note_is_taken_only_from_our_own_page(
    server: ReportServer, tmp_path: Path, headers: dict[str, str | None], path: str, body: bytes
) -> None:
    assert posted(server, path, body, headers) == 404
    assert list(tmp_path.glob("*.notes.json")) == []
    assert posted(server, "0/notes", NOTE, {}) == 200
    assert read_notes(tmp_path / "clean_mc_eval.records.jsonl") == [
        ReviewNote(question_id="q", note="<b>odd</b>", tags=("look",))
    ]


def posted(server: ReportServer | str, path: str, body: bytes, changes: dict[str, str | None]) -> int:
    """The status of the reply to what a page sends to a server, or to an address."""
    host, root = (server if isinstance(server, str) else server.address).removeprefix("http://").split("/", 1)
    usual = {"Host": host, "Origin": f"http://{host}", "Content-Type": "application/json"}
    asking = http.client.HTTPConnection(host, timeout=60)
    asking.putrequest("POST", f"/{root}{path}", skip_host=True)
    for name, value in (usual | {"Content-Length": str(len(body))} | changes).items():
        if value is not None:
            asking.putheader(name, value)
    asking.endheaders()
    with contextlib.suppress(OSError):  # it is refused before its body is read
        asking.send(body)
    status = asking.getresponse().status
    asking.close()
    return status


def test_notes_that_can_not_be_read_are_left_as_they_are(tmp_path: Path) -> None:
    log = write_run(tmp_path, [record()])
    notes_path(log).write_text("by hand")
    viewer = Viewer(tmp_path, comparison_page)
    refused = viewer.answer("0/notes")
    assert refused.status == 500
    assert refused.body.startswith(f"{notes_path(log)} can't be read: ".encode())
    assert refused.body.endswith(b"\nhint: mend it, or move it away\n")
    assert viewer.take("0/notes", NOTE).status == 500
    assert notes_path(log).read_text() == "by hand"


def test_a_head_request_gets_a_page_without_its_body(server: ReportServer) -> None:
    address = server.server_address[1]
    with socket.create_connection(("127.0.0.1", address), timeout=60) as asking:
        wanted = f"{{}} {server.root}{{}} HTTP/1.1\r\nHost: localhost:{address}\r\n\r\n"
        for path, status in (("0/", b"200"), ("0/image/9", b"404")):
            asking.sendall(wanted.format("HEAD", path).encode())
            head = asking.recv(65536)
            assert head.split(b" ")[1] == status
            assert head.endswith(b"\r\n\r\n")
            assert b"Content-Length: 0" not in head
        of_connections = [thread.daemon for thread in threading.enumerate() if "process_request" in thread.name]
        assert set(of_connections) == {True}  # an open connection keeps no command from ending
        asking.sendall(wanted.format("GET", "0/state").encode())  # nothing of the bodies is left in between
        head, _, body = asking.recv(65536).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        body = body or asking.recv(65536)
        assert b"Content-Length: %d\r\n" % len(body) in head + b"\r\n"


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nX: "])
def test_idle_and_slow_connections_do_not_block_others(
    said: bytes, server: ReportServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.html.serving._LONGEST_S", 600.0)
    monkeypatch.setattr("vqa_client.html.serving._Answers.timeout", 600.0)
    with contextlib.ExitStack() as stack:
        for _ in range(400):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=60))
            idle.sendall(said)
        assert fetched(server.address)[0] == 200
        ours = [thread for thread in threading.enumerate() if "process_request" in thread.name]
        assert wait_until(lambda: sum(thread.is_alive() for thread in ours) <= MOST_WAITING + 1)


def test_the_connection_of_a_request_that_never_ends_is_closed(
    server: ReportServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.html.serving._LONGEST_S", 0.2)
    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=60) as slow:
        for _ in range(6_000):
            try:
                slow.sendall(b"x")
            except OSError:
                break
            time.sleep(0.01)
        else:
            pytest.fail("still read after a minute")


def test_a_port_that_is_taken_is_named(server: ReportServer, tmp_path: Path) -> None:
    port = server.server_address[1]
    for number, reason in ((port, "Address already in use"), (1 << 16, "bind(): port must be 0-65535.")):
        with pytest.raises(UsageError) as caught:
            ReportServer(Viewer(tmp_path, comparison_page), number)
        assert str(caught.value) == f"--port {number} can't be used: {reason}"
        assert caught.value.hint == "choose another --port; 0: any that is free"


def test_the_index_shows_the_options_in_which_runs_differ(tmp_path: Path) -> None:
    usual = {"blind": False, "thinking": "auto", "pages": "all", "split": "", "choice_mode": "text", "corruptions": []}
    run = facts(expected=4, settings={"limit": 2, "repeat": 2, **usual}, prices={"input": 100, "output": 0})
    given = {
        "sample": 3,
        "pages": "evidence",
        "corruptions": "snow",
        "levels": "1-2",
        "thinking": "on",
        "split": "dev",
    }
    given |= {"prompt_form": "official", "config": "a.json", "blind": True, "circular": True, "shuffle_choices": True}
    given |= {"text_only": True, "choice_mode": "logprob", "max_workers": 3}
    repeats = [record(n, variant=f"repeat/{at}", right=at == 1) for n in (1, 2) for at in (1, 2)]
    write_run(tmp_path / "x/repeated", repeats, run=run)
    write_run(tmp_path / "x/other", [failed(1)], run=facts(expected=3, settings=given))
    listed = re.sub(
        r"<[^>]+>|\s+", " ", Viewer(tmp_path, comparison_page).answer("").body.decode().partition("<tbody>")[2]
    )
    said = " ".join(listed.split()).replace(" ,", ",")
    assert "1 1 of 3, 1 failed" in said
    assert (
        "1 failed --sample 3, --pages evidence, --corruptions snow, --levels 1-2, --thinking on, "
        "--prompt_form official, --split dev, --config a.json, --blind, --circular, --shuffle_choices, --text_only, "
        "--choice_mode logprob 2026-11-28 03:45"
    ) in said
    assert "mc clean pass@1: mean of 2 repeats org/model-7b 50.0" in said
    assert "4 complete --limit 2, --repeat 2 2026-11-28 03:45" in said
    assert "$0.36 in all x/repeated" in said


def test_a_run_that_can_not_be_read_is_named_below_the_others(tmp_path: Path) -> None:
    for name in "abc":
        log = write_run(tmp_path / name, [record()])
    log.with_name("clean_mc_eval.run.json").write_text("{")
    viewer = Viewer(tmp_path, comparison_page)
    listed = viewer.answer("")
    assert (listed.status, listed.body.count(b'type="checkbox"')) == (200, 2)
    assert b"c/clean_mc_eval.run.json is not a run file" in listed.body.partition(b"Runs that are left out")[2]
    assert viewer.answer("2/").status == 500


def test_the_index_of_a_folder_whose_name_is_not_utf_8_is_shown(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    for name in "ab":
        write_run(folder / name, [record()])
    assert Viewer(folder, comparison_page).answer("").body.count(b'type="checkbox"') == 2
