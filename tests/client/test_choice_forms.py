"""The form of a constrained choice that a server honours; a server that honours none is refused."""

from typing import Any

import pytest

from tests.fakes.first_tokens import HONOURED
from tests.fakes.fixtures import StartsServers
from tests.fakes.received import Received
from tests.fakes.server import FaultServer
from tests.fakes.words import (
    answer,
    at_path,
    error,
    first_n_of_each,
    json_reply,
    likeliest_token,
    reset,
    unsupported_parameter,
)
from vqa_client.client.constrained import ChoiceForm, choice_form, common_form
from vqa_client.client.direct import DirectTransport
from vqa_client.client.endpoint import Endpoint, headers_for
from vqa_client.client.url import candidates
from vqa_client.errors import ServerUnusable
from vqa_client.model_config import ModelSettings
from vqa_client.types import ChoiceMode, Choosing

LABELS = ("A", "B", "C", "D")
SHARES = {"B": 0.6, " B": 0.1, "A": 0.2, "The": 0.05, "C": 0.03, "D": 0.02}
ALL = HONOURED["vllm"]


async def found(server: FaultServer, mode: ChoiceMode, *others: FaultServer, **fields: Any) -> ChoiceForm:
    model = ModelSettings(**{"model_name": "tiny-vlm", "max_tokens": 300, "timeout": 5.0, **fields})
    choosing = Choosing(mode=mode, labels=LABELS)
    async with DirectTransport(None) as transport:
        bases = [candidates(one.base_url)[0] for one in (server, *others)]
        endpoints = [Endpoint(base, transport, headers_for(base, None)) for base in bases]
        if others:
            return await common_form(endpoints, model, choosing)
        return await choice_form(endpoints[0], model, choosing)


NO_FORM = (
    "vLLM from 0.12 on takes structured_outputs, older ones guided_choice, others a JSON schema in response_format; "
    "--choice_mode logprob needs logprobs alone, and text nothing"
)
NO_LOGPROBS = "start mlx-vlm with --top-logprobs-k 20; a service may report none: then leave --choice_mode out"
THINKS = (
    'it has to answer at once: switch its thinking off ("extra_body": {"chat_template_kwargs": {"enable_thinking": '
    "false}} in the config), start the server without its --reasoning-parser, or leave --choice_mode out"
)


def whole(server: FaultServer, mode: ChoiceMode, reason: str, hint: str) -> tuple[str, str]:
    """The message and the hint of a refusal."""
    return f"{server.base_url} can't be asked with --choice_mode {mode}: {reason}", hint


async def refused(server: FaultServer, mode: ChoiceMode, **fields: Any) -> ServerUnusable:
    with pytest.raises(ServerUnusable) as caught:
        await found(server, mode, **fields)
    return caught.value


def fields_of(server: FaultServer) -> list[dict[str, Any]]:
    """The fields of each request, without those that are always the same."""
    asked = [received.json for received in server.requests if received.json]
    return [{name: each[name] for name in each if name not in ("messages", "model", "temperature")} for each in asked]


async def test_vllm_is_constrained_by_its_own_field(fault_server: StartsServers) -> None:
    server = fault_server(likeliest_token(SHARES))
    form = await found(server, "structured")
    unlikely = {"structured_outputs": {"choice": ["zebra", "quartz"]}}
    assert fields_of(server) == [{"max_tokens": 256}, {"max_tokens": 300, **unlikely}]
    assert len({chat.images[0].sha256 for chat in server.chats}) == 1
    assert form == ChoiceForm(name="structured_outputs", fields={"structured_outputs": {"choice": [*LABELS]}})


async def test_an_older_vllm_is_constrained_by_the_older_field(fault_server: StartsServers) -> None:
    form = await found(fault_server(likeliest_token(SHARES, honours=frozenset({"guided_choice"}))), "structured")
    assert form == ChoiceForm(name="guided_choice", fields={"guided_choice": [*LABELS]})


@pytest.mark.parametrize("kind", ["mlx-vlm", "llamacpp", "plain"])
async def test_other_servers_are_constrained_by_a_schema(kind: str, fault_server: StartsServers) -> None:
    form = await found(fault_server(likeliest_token(SHARES), kind=kind), "structured")
    assert form.name == "response_format"
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "enum": [*LABELS]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    form_of_reply = {"type": "json_schema", "json_schema": {"name": "choice", "schema": schema, "strict": True}}
    assert form.fields == {"response_format": form_of_reply}


@pytest.mark.parametrize("kind", ["vllm", "mlx-vlm", "llamacpp", "plain"])
async def test_a_server_that_ignores_every_form_is_refused_with_its_replies(
    kind: str, fault_server: StartsServers
) -> None:
    server = fault_server(likeliest_token(SHARES, honours=frozenset()), kind=kind)
    error = await refused(server, "structured")
    forms = ("structured_outputs", "guided_choice", "response_format")
    reason = "; ".join(f"{form} is ignored (it says 'B')" for form in forms)
    assert (str(error), error.hint) == whole(server, "structured", reason, NO_FORM)


async def test_a_server_that_refuses_the_fields_is_reported_differently(fault_server: StartsServers) -> None:
    def play(received: Received) -> Any:
        if "structured_outputs" in received.json:
            return error(400, "unknown field")
        return answer("", finish_reason="length") if "guided_choice" in received.json else answer("B")

    assert str(await refused(fault_server(play), "structured")).endswith(
        ": structured_outputs is refused (HTTP 400: unknown field); guided_choice is not reported (the reply ends "
        "inside its thoughts); response_format is ignored (it says 'B')"
    )


async def test_json_that_ignores_the_schema_does_not_pass(fault_server: StartsServers) -> None:
    server = fault_server(answer('{"answer": "red"}'))
    assert "response_format is ignored" in str(await refused(server, "structured"))


TOKENISED = [f"{before}{label}" for label in LABELS for before in ("", " ", "\n", "(")]


async def test_the_labels_own_tokens_are_requested_if_the_server_tokenises(fault_server: StartsServers) -> None:
    server = fault_server(likeliest_token(SHARES))
    form = await found(server, "logprob")
    assert (form.name, form.fields["max_tokens"], form.fields["logprobs"]) == ("logprob_token_ids", 1, True)
    assert len(form.fields["logprob_token_ids"]) == 4 * len(("A", " A", "\nA", "(A"))
    assert "top_logprobs" not in form.fields
    tokenised = [{"prompt": text, "add_special_tokens": False} for text in ("ABCD", *TOKENISED)]
    assert fields_of(server) == [{"max_tokens": 256}, {"max_tokens": 1, "logprobs": True}, *tokenised, form.fields]


@pytest.mark.parametrize("kind", ["vllm", "mlx-vlm", "llamacpp", "plain"])
async def test_else_the_likeliest_tokens_are_requested(kind: str, fault_server: StartsServers) -> None:
    many = {**SHARES, **{f"x{number}": 1e-5 for number in range(30)}}
    server = fault_server(likeliest_token(many, honours=ALL - {"logprob_token_ids"}), kind=kind)
    form = await found(server, "logprob")
    assert form == ChoiceForm(name="top_logprobs", fields={"max_tokens": 1, "logprobs": True, "top_logprobs": 20})


async def test_fewer_alternatives_are_requested_if_twenty_are_refused(fault_server: StartsServers) -> None:
    weighing = likeliest_token(SHARES, honours=ALL - {"logprob_token_ids"})

    def play(received: Received) -> Any:
        return error(400, "top_logprobs must be at most 5") if received.json.get("top_logprobs") == 20 else weighing

    assert (await found(fault_server(play, kind="plain"), "logprob")).fields["top_logprobs"] == 5


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (likeliest_token(SHARES, honours=frozenset()), "it reports no logprobs"),
        (
            likeliest_token(SHARES, honours=frozenset({"logprobs"})),
            "of a first token it reports 0 alternatives, and 5 at least are needed",
        ),
        (
            likeliest_token(SHARES, honours=frozenset({"logprobs", "top_logprobs"}), most=3),
            "of a first token it reports 3 alternatives, and 5 at least are needed",
        ),
        (
            lambda received: error(400, "no") if "top_logprobs" in received.json else likeliest_token(SHARES),
            "logprobs are refused (HTTP 400: no)",
        ),
    ],
)
async def test_a_server_that_reports_too_little_is_refused(script: Any, told: str, fault_server: StartsServers) -> None:
    server = fault_server(script, kind="mlx-vlm")
    failed = await refused(server, "logprob")
    assert (str(failed), failed.hint) == whole(server, "logprob", told, NO_LOGPROBS)


@pytest.mark.parametrize(
    "script",
    [
        likeliest_token({"<think>": 0.9, "B": 0.1}),
        likeliest_token(SHARES, reasoning="The shape looks red."),
        answer("<think>It is red.</think>B"),
        answer("It is red, I think.</think>B"),
    ],
)
async def test_a_model_that_thinks_first_is_refused(script: Any, fault_server: StartsServers) -> None:
    server = fault_server(script)
    failed = await refused(server, "logprob")
    assert (str(failed), failed.hint) == whole(server, "logprob", "the model thinks before it answers", THINKS)


async def test_reasoning_longer_than_the_first_reply_is_found(fault_server: StartsServers) -> None:
    def play(received: Received) -> Any:
        long = received.json.get("max_tokens") == 900
        return answer("Hm.</think>B") if long else answer("Hm", finish_reason="length")

    assert "thinks" in str(await refused(fault_server(play), "logprob", max_tokens=900))


async def test_a_constrained_model_may_think_first(fault_server: StartsServers) -> None:
    assert (
        await found(fault_server(likeliest_token(SHARES, reasoning="Hm.")), "structured")
    ).name == "structured_outputs"


async def test_the_limit_has_the_name_that_the_server_accepts(fault_server: StartsServers) -> None:
    weighing = likeliest_token(SHARES, honours=ALL - {"logprob_token_ids"})
    server = fault_server(unsupported_parameter("max_tokens", use="max_completion_tokens", then=weighing), kind="plain")
    form = await found(server, "logprob")
    assert form.fields == {"max_completion_tokens": 1, "logprobs": True, "top_logprobs": 20}


@pytest.mark.parametrize("mode", ["structured", "logprob"])
async def test_a_server_that_completes_nothing_is_refused_with_its_words(
    mode: ChoiceMode, fault_server: StartsServers
) -> None:
    server = fault_server(error(400, "no such thing"))
    failed, reason = await refused(server, mode), "it completes nothing (HTTP 400: no such thing)"
    assert (str(failed), failed.hint) == whole(server, mode, reason, "see what the server's log says")


async def test_servers_of_one_run_must_honour_the_same_form(fault_server: StartsServers) -> None:
    new, old = (
        fault_server(likeliest_token(SHARES)),
        fault_server(likeliest_token(SHARES, honours=frozenset({"guided_choice"}))),
    )
    assert (await found(new, "structured", fault_server(likeliest_token(SHARES)))).name == "structured_outputs"
    with pytest.raises(ServerUnusable) as caught:
        await found(new, "structured", old)
    reason = f"it takes guided_choice, and {new.base_url} structured_outputs"
    way_out = "serve the same model by the same server everywhere"
    assert (str(caught.value), caught.value.hint) == whole(old, "structured", reason, way_out)


@pytest.mark.parametrize(
    "tokenize",
    [
        error(404, "Not Found"),
        answer("B"),
        json_reply({"tokens": []}),
        json_reply({"tokens": ["A"]}),
        json_reply([65]),
        reset(),
    ],
)
async def test_without_the_labels_tokens_the_likeliest_are_requested(
    tokenize: Any, fault_server: StartsServers
) -> None:
    server = fault_server(at_path("/tokenize", tokenize, then=likeliest_token({**SHARES, "x": 1e-4})))
    assert (await found(server, "logprob")).name == "top_logprobs"


async def test_labels_that_share_a_token_are_not_requested_by_token(fault_server: StartsServers) -> None:
    server = fault_server(at_path("/tokenize", json_reply({"tokens": [1]}), then=likeliest_token(SHARES)))
    assert (await found(server, "logprob")).name == "top_logprobs"


@pytest.mark.parametrize("put_off", [error(503, "busy"), error(429, "Too many requests")])
async def test_a_busy_server_is_asked_again(
    put_off: Any, fault_server: StartsServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqa_client.client.constrained.PUT_OFF_S", (0.01, 0.01))
    server = fault_server(first_n_of_each(2, put_off, then=likeliest_token(SHARES)))
    assert (await found(server, "structured")).name == "structured_outputs"
    assert "busy" in str(await refused(fault_server(error(503, "busy")), "structured"))
