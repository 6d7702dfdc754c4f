"""Whole checks of good and bad servers of each kind, over a real socket."""

import asyncio
import json
import re
import time
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.client.check.playing import EVERYTHING, colour_of, endpoint_playing, examined, model, named, seeing
from tests.fakes.actions import Neighbour
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.server import FaultServer
from tests.fakes.words import (
    answer,
    at_path,
    delay,
    engine_dead,
    error,
    hang,
    ignores_images,
    image_limit,
    only_fields,
    only_path,
    unsupported_parameter,
)
from vqa_client.client.probing.asks import Ask, Asker
from vqa_client.client.probing.findings import fingerprint

KINDS = [("vllm", "vllm", "0.32.0"), ("mlx-vlm", "mlx-vlm", "0.7.10"), ("llamacpp", "llama.cpp", "b0-unknown")]


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is slow because the machine is busy is not a finding."""
    for limit in ("CONNECT_S", "SLOW_S"):
        monkeypatch.setattr(f"vqa_client.client.check.examine.{limit}", 60.0)


@pytest.mark.parametrize(("kind", "named_kind", "version"), KINDS)
async def test_a_good_server_of_each_kind_is_usable(
    kind: str, named_kind: str, version: str, fault_server: StartsServers
) -> None:
    server = fault_server(seeing(), kind=kind)
    checked = await examined(server.base_url)
    assert checked.worst == ()
    assert 0 < checked.took_s < time.monotonic()
    assert {received.json["model"] for received in server.chats} == {"tiny-vlm"}
    assert any(not image.url for received in server.chats for image in received.images), "the uuid alone"
    kept = fingerprint(checked)
    assert (kept.kind, kept.version, kept.sight, kept.uuid) == (named_kind, version, "colours", True)
    assert (kept.context_length, kept.answers_under_load, kept.picture_tokens) == (2048, "same", 84)
    assert kept.parameters["stop"] == kept.parameters["n"] == kept.parameters["top_logprobs"] == "honoured"
    assert kept.parameters["guided_choice"] == kept.parameters["an unknown field"] == "ignored"


SHOWN = {
    "everything": ("vllm", EVERYTHING),
    "nothing": ("plain", frozenset[str]()),
    "some": ("mlx-vlm", frozenset({"n", "stop"})),
}
FINDINGS = Path(__file__).with_name("findings.txt")
"""The expected lines of each check; `python -m tests.client.check.test_whole_checks` writes them again."""


async def lines_on(name: str) -> list[str]:
    kind, honoured = SHOWN[name]
    notes = list[str]()
    with FaultServer(seeing(honoured), kind=kind) as server:
        found = (await examined(server.base_url, note=notes.append)).findings
    lines = [f"{name}: {each.level} {each.name}: {each.text} | {each.hint}" for each in found]
    if name == "everything":
        lines += [f"{name}: notes {note}" for note in notes]
        lines += [f"{name}: {request}" for request in dict.fromkeys(map(request_line, server.requests))]
    return [re.sub(r"127.0.0.1:\d+|\d+ ms", "...", line) for line in lines]


def request_line(received: Received) -> str:
    """The path of a request or, for a question, its prompt, how many images it has, of which width, and its fields."""
    if not received.is_chat:
        return f"gets {received.path}"
    fields = {name: value for name, value in received.json.items() if name not in ("messages", "model")}
    widths = [int.from_bytes(image.data[16:20]) for image in received.images]  # as a PNG's header has it
    shown = ", ".join(f"{len([*same])} of {width} px" for width, same in groupby(widths))
    shown += " by uuid" * any(image.uuid for image in received.images)
    return f"asks {received.prompt!r} with {shown or 'no image'} and {json.dumps(fields)}"


@pytest.mark.parametrize("name", SHOWN)
async def test_the_lines_of_a_check_are_unchanged(name: str) -> None:
    kept = [line for line in FINDINGS.read_text(encoding="utf-8").splitlines() if line.startswith(f"{name}: ")]
    assert await lines_on(name) == kept


async def test_two_checks_of_one_server_have_one_fingerprint(fault_server: StartsServers) -> None:
    server = fault_server(seeing())
    assert fingerprint(await examined(server.base_url)) == fingerprint(await examined(server.base_url))


@pytest.mark.parametrize("parameter", ["stop", "n", "structured_outputs", "response_format", "logprobs"])
async def test_an_ignored_parameter_is_found(parameter: str, fault_server: StartsServers) -> None:
    server = fault_server(seeing(EVERYTHING - {parameter}))
    checked = await examined(server.base_url, extra_body={parameter: None})
    found = named(checked, f"parameter {parameter}")
    assert (found.level, found.value) == ("warning", "ignored")
    assert found.hint == "the config sends it"


@pytest.mark.parametrize("kind", ["vllm", "mlx-vlm", "llamacpp", "plain"])
async def test_a_blind_server_is_unusable(kind: str, fault_server: StartsServers) -> None:
    server = fault_server(ignores_images(), kind=kind)
    checked = await examined(server.base_url)
    (worst,) = checked.worst
    assert worst.name == "sight"
    assert "does not see images" in worst.text
    assert len(server.chats) == 4  # the server gets no other question


async def test_one_answer_to_all_images_is_a_warning_as_in_the_check_before_a_run(
    fault_server: StartsServers,
) -> None:
    server = fault_server(answer("B"))
    checked = await examined(server.base_url)
    sight = named(checked, "sight")
    assert not checked.worst
    assert sight.level == "warning"
    assert sight.text.startswith("gives the same answer for both images: ")


@pytest.mark.parametrize("kind", ["vllm", "mlx-vlm"])
async def test_answers_that_are_mixed_up_under_load_are_found(kind: str, fault_server: StartsServers) -> None:
    def mixing(received: Received) -> Any:
        alone = len(received.images) == 1 and received.images[0].url
        return Neighbour(colour_of, 0.02) if alone else answer("red")

    checked = await examined(fault_server(mixing, kind=kind).base_url)
    assert named(checked, "sight").value == "colours"
    (worst,) = checked.worst
    assert (worst.name, worst.value) == ("answers_under_load", "mixed")
    assert "--max_workers 1" in worst.hint


async def test_a_running_server_that_completes_nothing_is_unusable(fault_server: StartsServers) -> None:
    server = fault_server(engine_dead())
    (worst,) = (await examined(server.base_url)).worst
    assert "EngineCore encountered an issue" in worst.text
    assert "completes nothing" in worst.hint


async def test_a_server_that_hangs_is_unusable_after_the_timeout(fault_server: StartsServers) -> None:
    server = fault_server(hang())
    (worst,) = (await examined(server.base_url, timeout_s=0.2)).worst
    assert "no reply within 0.2 s" in worst.text


async def test_a_server_that_takes_one_image_is_reported(fault_server: StartsServers) -> None:
    server = fault_server(image_limit(1, seeing()))
    found = named(await examined(server.base_url), "image_limit")
    assert found.hint == "raise the server's --limit-mm-per-prompt, or use --max_pages"
    assert (found.level, found.value) == ("warning", 1)
    assert "--limit-mm-per-prompt" in found.hint


async def test_chats_at_the_other_form_of_the_address_are_found(fault_server: StartsServers) -> None:
    server = fault_server(only_path("/chat/completions", then=seeing()))
    checked = await examined(server.origin)
    assert checked.base_url == server.origin + "/"
    assert checked.worst == ()


async def test_both_forms_of_the_address_are_reported(fault_server: StartsServers) -> None:
    both = named(await examined(fault_server(seeing(), kind="mlx-vlm").origin), "address")
    assert both.text.endswith("without /v1 it answers too")
    one = named(await examined(fault_server(seeing(), kind="vllm").origin), "address")
    assert "without /v1 it doesn't (HTTP 404" in one.text


async def test_a_strict_server_gets_plain_requests_and_its_refusals_are_reported(fault_server: StartsServers) -> None:
    allowed = only_fields("model", "messages", "max_tokens", "temperature", "stop", then=seeing())
    checked = await examined(fault_server(allowed).base_url)
    assert checked.worst == ()
    parameters = fingerprint(checked).parameters
    assert parameters["an unknown field"] == parameters["n"] == "refused"
    assert parameters["stop"] == "honoured"


async def test_the_dialect_of_a_hosted_service_is_found(fault_server: StartsServers) -> None:
    gates = unsupported_parameter("max_tokens", then=unsupported_parameter("temperature", use="nothing", then=seeing()))
    checked = await examined(fault_server(gates).base_url)
    assert checked.worst == ()
    assert named(checked, "dialect").value == ["max_completion_tokens instead of max_tokens", "temperature not sent"]


async def test_only_the_loaded_model_is_requested(fault_server: StartsServers) -> None:
    server = fault_server(seeing(), kind="mlx-vlm", models=("loaded", "other"))
    checked = await examined(server.base_url, model_name="other")
    assert {received.json["model"] for received in server.chats} == {"loaded"}
    assert named(checked, "models").level == "warning"
    assert checked.model == "loaded"


async def test_the_configs_own_fields_are_sent_too(fault_server: StartsServers) -> None:
    server = fault_server(seeing())
    await examined(server.base_url, extra_body={"top_k": 2})
    assert all(received.json["top_k"] == 2 for received in server.chats)


async def test_sampling_settings_are_never_mixed_in_flight(fault_server: StartsServers) -> None:
    server = fault_server((delay(0.01), seeing()), kind="mlx-vlm")
    await examined(server.base_url)
    together = [received for received in server.chats if received.in_flight > 1]
    assert together
    assert {(r.json["temperature"], r.json["max_tokens"]) for r in together} == {(0, 256)}


async def test_a_key_is_removed_from_a_refusal() -> None:
    def play(body: dict[str, Any], request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(400, json={"error": {"message": f"no: {request.headers['authorization']}"}})

    asker = Asker(endpoint_playing(play), model())
    reply = await asker.ask(Ask(prompt="?"))
    assert reply.refusal == "no: Bearer <key>"


async def test_a_broken_connection_is_a_reply_without_a_status() -> None:
    def play(body: dict[str, Any], request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadError("cut off")

    asker = Asker(endpoint_playing(play), model())
    reply = await asker.ask(Ask(prompt="?"))
    assert (reply.http_status, reply.status, reply.error) == (0, "connection", "cut off")
    assert await asker.get("/models") == {}


async def test_a_server_without_probes_is_checked_too(fault_server: StartsServers) -> None:
    gates = at_path("/v1/models", error(404), at_path("/health", error(404), at_path("/version", error(404), seeing())))
    checked = await examined(fault_server(gates, kind="plain").base_url)
    assert checked.worst == ()
    assert fingerprint(checked).kind == "unknown"


if __name__ == "__main__":
    every = [line for name in SHOWN for line in asyncio.run(lines_on(name))]
    FINDINGS.write_text("".join(f"{line}\n" for line in every), encoding="utf-8")
