"""The evaluators' adapters: their input, their commands, and the check of their bodies."""

import base64
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.cases import CLIENTS, Case, environment, own_case, why_not
from tests.bench.clients.longbench import Item, load
from tests.bench.peers.bodies import NUMBER, checked
from tests.bench.peers.peer import WATCH, Asked, Peer
from tests.bench.peers.registry import PEERS
from tests.bench.verify_server import Inexact
from tests.bench.workloads import WORKLOADS, Workload, make

TINY = Workload(name="tiny", questions=4, documents=2, pages=2, format="jpeg", page_bytes=2_000, size_px=(64, 48))


@pytest.fixture(scope="module", params=["mc", "niah"])
def items(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Item]:
    """Four questions on two pages each, in either form."""
    pytest.importorskip("PIL")
    root = tmp_path_factory.mktemp("work")
    workload = replace(TINY, task=request.param)
    make(workload, root)
    case = Case(workload=workload, latency_ms=0, root=root)
    return load(case.data_json, case.images_dir)


def body(item: Item, *, prompt: str = "", pictures: list[bytes] | None = None) -> bytes:
    pages = [page.read_bytes() for page in item.pages] if pictures is None else pictures
    urls = [f"data:image/x;base64,{base64.b64encode(page).decode()}" for page in pages]
    parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    text = {"type": "text", "text": prompt or f"Look.\n{item.prompt}\nAnswer briefly."}
    return json.dumps(
        {"messages": [{"role": "system", "content": "Hi"}, {"role": "user", "content": [*parts, text]}]}
    ).encode()


def encoded_anew(page: Path, shrink: int = 1) -> bytes:
    from PIL import Image

    picture, out = Image.open(page), io.BytesIO()
    picture.resize((picture.width // shrink, picture.height // shrink)).save(out, "PNG")
    return out.getvalue()


def by_number(items: list[Item]) -> dict[str, Item]:
    return {NUMBER.search(item.prompt)[1]: item for item in items}


def test_a_body_may_word_its_prompt_and_encode_its_images_anew(items: list[Item]) -> None:
    first = items[0]
    assert checked(body(first), by_number(items)) == (first, True)
    anew = [encoded_anew(page) for page in first.pages]
    assert checked(body(first, pictures=anew), by_number(items)) == (first, False)


def test_a_body_with_a_lost_or_smaller_image_or_another_question_is_found_out(items: list[Item]) -> None:
    first = items[0]
    pages = [page.read_bytes() for page in first.pages]
    smaller = [pages[0], encoded_anew(first.pages[1], shrink=2)]
    for wrong in (
        body(first, pictures=pages[:1]),
        body(first, pictures=smaller),
        body(first, prompt="Question 99999: what?"),
        body(first, prompt="Question 0: another text"),
        body(first, prompt="What?"),
    ):
        with pytest.raises(Inexact):
            checked(wrong, by_number(items))


@pytest.mark.parametrize("peer", PEERS.values(), ids=list(PEERS))
def test_an_evaluator_is_given_every_question_and_writes_in_its_folder_alone(
    peer: Peer, items: list[Item], tmp_path: Path
) -> None:
    if peer.most_images:
        items = [replace(item, pages=item.pages[: peer.most_images]) for item in items]
    words = peer.prepare(Asked(items=items, folder=tmp_path, base_url="http://127.0.0.1:1/v1", workers=77))
    assert words[0].startswith(str(peer.folder))
    assert "77" in " ".join([*words, *(path.read_text() for path in tmp_path.rglob("*.yaml"))])
    assert "http://127.0.0.1:1/v1" in " ".join([*words, *(path.read_text() for path in tmp_path.rglob("*.yaml"))])
    (data,) = tmp_path.rglob("*.jsonl")
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    assert len(rows) == len(items)
    for row, item in zip(rows, items, strict=True):
        said = json.dumps(row)
        assert json.dumps(item.prompt.partition("\n")[0])[1:-1] in said
        assert all(str(page) in said for page in item.pages)


@pytest.mark.parametrize("peer", PEERS.values(), ids=list(PEERS))
def test_everything_in_an_environment_is_pinned_exactly(peer: Peer) -> None:
    pins = peer.requirements.read_text().splitlines()
    assert [pin for pin in pins if "==" not in pin or "+" in pin] == []
    assert peer.version in peer.requirements.read_text()


def test_an_environment_of_other_pins_counts_as_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VQA_CLIENT_PEERS", str(tmp_path))
    peer, case = PEERS["vlmeter"], Case(workload=WORKLOADS["small"], latency_ms=0)
    assert not peer.installed
    assert why_not("vlmeter", case) == "not installed"
    assert own_case("vlmeter", case) is None
    peer.folder.mkdir()
    (peer.folder / "made_from.txt").write_text("vlmeter==0.0\n")
    assert not peer.installed
    (peer.folder / "made_from.txt").write_bytes(peer.requirements.read_bytes())
    assert peer.installed
    assert own_case("vlmeter", case) == replace(case, questions=peer.questions["small"])
    assert (
        why_not("vlmeter", Case(workload=WORKLOADS["document"], latency_ms=0)) == "its questions have 1 image at most"
    )


def test_every_other_client_is_asked_everything() -> None:
    case = Case(workload=WORKLOADS["document"], latency_ms=0)
    assert {own_case(client, case) for client in CLIENTS if client not in PEERS} == {case}
    assert environment("ours") == {}
    assert environment("lm-eval")["PYTHONPATH"] == str(WATCH)


def test_the_watch_tells_how_long_a_foreign_loop_was_held_up(tmp_path: Path) -> None:
    told = tmp_path / "stall.json"
    program = (
        "import asyncio, time\nasync def main():\n await asyncio.sleep(0.03)\n time.sleep(0.2)\nasyncio.run(main())"
    )
    own = {"PYTHONPATH": str(WATCH), "VQA_CLIENT_LOOP_STALL_FILE": str(told)}
    subprocess.run([sys.executable, "-c", program], env={**os.environ, **own}, check=True)
    assert 0.15 < json.loads(told.read_text())["loop_stall_max_s"] < 5
