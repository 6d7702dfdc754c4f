"""The check before a run makes few requests, raises nothing and gives a fingerprint."""

from typing import Any

import httpx2
import pytest

from tests.client.check.playing import endpoint_playing, model, seeing
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import answer, error, ignores_images
from vqa_client.client.check.preflight import identity_of
from vqa_client.client.direct import DirectTransport
from vqa_client.client.endpoint import Endpoint, headers_for
from vqa_client.client.probe import Served
from vqa_client.client.probing.findings import Fingerprint
from vqa_client.client.probing.identity import ShortCheck, short_check
from vqa_client.client.url import candidates

ASKED = (
    "color is the square? Answer with one word.",
    "is the secret code in the above context? Answer with the code only.",
)


async def shortly(base_url: str) -> ShortCheck:
    base = candidates(base_url)[0]
    async with DirectTransport(None) as transport:
        return await short_check(Endpoint(base, transport, headers_for(base, None)), Served(base=base), model())


@pytest.mark.parametrize(("kind", "named"), [("vllm", "vllm"), ("mlx-vlm", "mlx-vlm"), ("llamacpp", "llama.cpp")])
async def test_a_seeing_server_takes_two_requests_and_nothing_else(
    kind: str, named: str, fault_server: StartsServers
) -> None:
    server = fault_server(seeing(), kind=kind)
    found = (await shortly(server.base_url)).fingerprint
    assert (found.kind, found.sight, found.picture_tokens) == (named, "colours", 84)
    assert found.version
    assert len(server.requests) == len(server.chats) == 2


@pytest.mark.parametrize(
    ("play", "sight"), [(ignores_images(), "blind"), (answer("B"), "same"), (error(503), "unknown")]
)
async def test_the_faults_of_a_bad_server_are_reported_and_not_raised(
    play: Any, sight: str, fault_server: StartsServers
) -> None:
    server = fault_server(play)
    assert (await shortly(server.base_url)).fingerprint.sight == sight
    colour, code = (f"What {words}" for words in ASKED)
    assert [each.prompt for each in server.chats] == [colour, colour, *([code, colour] if sight != "unknown" else [])]


def test_the_part_of_a_fingerprint_that_belongs_to_a_runs_identity() -> None:
    kept = {"kind": "vllm", "version": "1", "picture_tokens": 84}
    assert identity_of({"fingerprint": {**kept, "sight": "colours", "model": "m"}}) == kept
    assert identity_of({"fingerprint": {"kind": "vllm", "version": None}}) == {"kind": "vllm"}
    assert identity_of({"base_url": "http://h/v1"}) == {}


async def test_a_server_that_is_gone_is_unknown() -> None:
    def play(body: dict[str, Any], request: Any) -> Any:
        raise httpx2.ConnectError("gone")

    endpoint = endpoint_playing(play)
    served = Served(base=endpoint.base)
    found = await short_check(endpoint, served, model())
    assert found == ShortCheck(served=served, fingerprint=Fingerprint(model="tiny-vlm"), error="gone")


@pytest.mark.parametrize("fails", [False, True])
async def test_the_first_picture_shows_what_the_server_is(fails: bool) -> None:
    chats = list[str]()

    def play(body: dict[str, Any], request: httpx2.Request) -> httpx2.Response:
        if body:
            chats.append(body["messages"][0]["content"][0]["image_url"]["url"])
        is_first = len(set(chats)) == 1 and bool(body)
        if fails:
            return httpx2.Response(404 if is_first else 500, json={"message": "no"})
        usage = {"prompt_tokens": 84 if is_first else 99}
        reply = {"choices": [{"message": {"content": "red" if is_first else "blue"}}], "usage": usage}
        return httpx2.Response(200, json=reply, headers={"Server": "mlx_vlm/1.0"} if is_first else {})

    endpoint = endpoint_playing(play)
    found = await short_check(endpoint, Served(base=endpoint.base), model())
    if fails:
        assert (found.fingerprint.sight, found.http_status, found.error) == ("unknown", 404, "HTTP 404: no")
    else:
        assert (found.fingerprint.sight, found.version, found.fingerprint.picture_tokens) == (
            "colours",
            "mlx-vlm 1.0",
            84,
        )


async def test_the_model_cards_that_are_known_are_not_read_again() -> None:
    paths = list[str]()

    def play(body: dict[str, Any], request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        return httpx2.Response(200, json={"choices": [{"message": {"content": "B"}}]})

    endpoint = endpoint_playing(play)
    served = Served(base=endpoint.base, cards=({"id": "tiny-vlm", "owned_by": "sglang"},))
    assert (await short_check(endpoint, served, model())).fingerprint.kind == "sglang"
    assert set(paths) == {"/v1/chat/completions", "/version"}
