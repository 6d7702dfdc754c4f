import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.fakes.asking import PNG, WHILES_S, ask, data_url, get
from tests.fakes.fixtures import StartsServers
from tests.fakes.words import (
    answer,
    at_path,
    at_random,
    barrier,
    beyond_in_flight,
    by_question,
    delay,
    drain,
    echo_question_id,
    error,
    every_nth,
    every_request,
    first_n,
    first_n_of_each,
    hold,
    in_turn,
    latency_drift,
    loading_for,
    max_body,
    neighbour_text_under_concurrency,
    only_fields,
    only_path,
    oracle,
    oracle_file,
    poisoned_by,
    require_key,
    retry_after,
    unsupported_parameter,
    when,
)
from tests.faults.commands import wait_until


def test_the_first_requests_the_nth_and_those_in_turn_are_distinguished(fault_server: StartsServers) -> None:
    server = fault_server(first_n(2, error(500), then="B"))
    assert [ask(server).status for _ in range(4)] == [500, 500, 200, 200]
    server.script = every_nth(3, error(503))
    assert [ask(server).status for _ in range(6)] == [200, 200, 503, 200, 200, 503]
    server.script = in_turn("A", retry_after(429, "1"), "C")
    assert [ask(server).status for _ in range(4)] == [200, 429, 200, 200]
    server.script = when(lambda received: bool(received.images), "seen", "text")
    assert (ask(server).text, ask(server, images=[data_url(PNG)]).text) == ("text", "seen")


def test_words_nest(fault_server: StartsServers) -> None:
    server = fault_server(first_n(1, error(500), then=every_nth(2, (delay(0), "even"), otherwise="odd")))
    assert [ask(server).status] + [ask(server).text for _ in range(3)] == [500, "odd", "even", "odd"]


def test_each_question_can_fail_first(fault_server: StartsServers) -> None:
    server = fault_server(first_n_of_each(1, error(500)))
    assert [ask(server, prompt).status for prompt in ("a", "b", "a", "b")] == [500, 500, 200, 200]
    assert ask(server, "a", [data_url(PNG)]).status == 500


def test_chance_is_the_same_in_every_run(fault_server: StartsServers) -> None:
    server = fault_server()
    runs = []
    for _ in range(2):
        server.script = at_random((0.3, error(500)), (0.3, error(429)), otherwise="B", seed=4)
        runs.append([ask(server).status for _ in range(40)])
    assert runs[0] == runs[1]
    assert min(Counter(runs[0])[status] for status in (200, 429, 500)) >= 6


def test_a_reply_belongs_to_its_question(fault_server: StartsServers) -> None:
    server = fault_server(by_question({"q1": "A", "q12": error(400), "q3": "C"}, otherwise="?"))
    assert ask(server, "about q1:").text == "A"
    assert ask(server, "about q12:").status == 400
    assert ask(server, "nothing").text == "?"
    server.script = by_question({"7": "seven"}, pattern=r"id=(\d+)")
    assert [ask(server, prompt).text for prompt in ("id=7", "id=77", "none")] == ["seven", "B", "B"]


def test_an_oracle_knows_every_question_or_says_so(tmp_path: Path, fault_server: StartsServers) -> None:
    replies = tmp_path / "replies.json"
    replies.write_text(json.dumps({"q1": "A"}), "utf-8")
    server = fault_server(oracle_file(replies), tolerates_violations=True)
    assert (ask(server, "q1").text, server.violations) == ("A", [])
    server.script = oracle({"[[1]]": answer("1")})
    assert (ask(server, "[[1]]").text, ask(server, "[[2]]").status) == ("1", 500)
    assert server.violations == ["a question without a scripted reply"]


def test_ids_are_echoed_each_after_its_own_wait(fault_server: StartsServers) -> None:
    server = fault_server(echo_question_id(0.05))
    prompts = [f"What is [[q{number}]]?" for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        heard = list(pool.map(lambda prompt: ask(server, prompt).text, prompts))
    assert heard == [f"q{number}" for number in range(16)]
    waits = [
        received.answered_s - received.received_s
        for received in server.requests
        if received.answered_s and received.received_s
    ]
    assert max(waits) - min(waits) > 0.01


def test_neighbours_get_each_others_text_but_only_together(fault_server: StartsServers) -> None:
    server = fault_server(neighbour_text_under_concurrency(0.1))
    assert [ask(server, f"[[{name}]]").text for name in "ab"] == ["a", "b"]
    with ThreadPoolExecutor(2) as pool:
        heard = list(pool.map(lambda name: ask(server, f"[[{name}]]").text, "ab"))
    assert heard == ["b", "a"]


def test_a_poisoned_batch_fails_the_innocent_too(fault_server: StartsServers) -> None:
    server = fault_server((barrier(3), poisoned_by("bad", error(500), hold_s=0.1)))
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda prompt: ask(server, prompt).status, ("good", "bad", "well"))) == [500] * 3
    server.script = poisoned_by("bad", error(500), hold_s=0.01)
    assert [ask(server, prompt).status for prompt in ("good", "bad", "well")] == [200, 500, 200]


def test_replies_can_become_slower_and_slower(fault_server: StartsServers) -> None:
    server = fault_server(latency_drift(0.01, ratio=3))
    for wanted_s in (0.01, 0.03, 0.09):
        ask(server)
        received = server.requests[-1]
        assert received.answered_s
        assert received.answered_s - received.started_s >= wanted_s


def test_a_loading_server_refuses_everything_at_first(fault_server: StartsServers) -> None:
    for seconds in WHILES_S:
        server = fault_server(loading_for(seconds, "B"), kind="llamacpp")
        assert ask(server).status == 503
        looks = [get(server, path) for path in ("/health", "/v1/models")]
        if looks[1].status == 503:
            break
    assert (looks[0].status, looks[1].json["error"]["message"]) == (503, "Loading model")
    assert wait_until(lambda: ask(server).status == 200)
    assert (ask(server).text, get(server, "/health").status) == ("B", 200)


def test_one_path_or_every_request_can_go_another_way(fault_server: StartsServers) -> None:
    server = fault_server(at_path("/v1/models", error(500), at_path("/health", error(503), "B")))
    assert (get(server, "/v1/models").status, get(server, "/health").status, ask(server).text) == (500, 503, "B")
    server.script = every_request(error(502, shape="html"), times=2)
    assert (get(server, "/v1/models").status, ask(server).status, ask(server).status) == (502, 502, 200)


def test_gates_stand_one_before_the_other(fault_server: StartsServers) -> None:
    server = fault_server(only_path("/api/v1/chat/completions", then=require_key("K", first_n(1, error(500)))))
    assert get(server, "/api/v1/models").status == 401
    assert get(server, "/v1/models", {"authorization": "Bearer K"}).status == 404


def test_a_parameter_can_be_unsupported(fault_server: StartsServers) -> None:
    server = fault_server(unsupported_parameter("max_tokens", use="max_completion_tokens"))
    fault = ask(server, max_tokens=5).json["error"]
    assert (fault["code"], fault["param"]) == ("unsupported_parameter", "max_tokens")
    assert "'max_completion_tokens'" in fault["message"]
    assert ask(server, max_completion_tokens=5).status == 200
    server.script = only_fields("model", "messages")
    assert ask(server, temperature=0).json["detail"][0]["loc"] == ["body", "temperature"]
    assert ask(server).status == 200


def test_a_body_can_be_too_large(fault_server: StartsServers) -> None:
    server = fault_server(max_body(1000))
    assert (ask(server).status, ask(server, "x" * 1000).status) == (200, 413)
    server.script = max_body(1000, error(404, "no such page"))
    assert ask(server, "x" * 1000).status == 404


def test_more_than_so_many_at_once_can_be_refused(fault_server: StartsServers) -> None:
    server = fault_server(beyond_in_flight(1, error(429), hold()))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, server)
        server.wait_for_requests(1)
        assert ask(server).status == 429
        server.release()
        assert first.result().status == 200


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("vllm", {"/v1/models": 200, "/health": 200, "/version": 200, "/metrics": 200, "/ping": 200, "/nope": 404}),
        ("mlx-vlm", {"/v1/models": 200, "/models": 200, "/health": 200, "/version": 404, "/metrics": 200}),
        ("llamacpp", {"/v1/models": 200, "/health": 200, "/version": 404, "/metrics": 501}),
        ("plain", {"/v1/models": 404, "/health": 404, "/version": 404, "/metrics": 404}),
    ],
)
def test_each_kind_has_its_own_endpoints(kind: str, found: dict[str, int], fault_server: StartsServers) -> None:
    server = fault_server(kind=kind, models=("loaded", "other"), max_model_len=4096)
    assert {path: get(server, path).status for path in found} == found
    assert get(server, "/v1/chat/completions").status == (404 if kind == "llamacpp" else 405)


def test_models_say_which_one_is_served_and_how_long_it_may_be(fault_server: StartsServers) -> None:
    served = {
        kind: get(fault_server(kind=kind, models=("a", "b"), max_model_len=4096), "/v1/models").json["data"]
        for kind in ("vllm", "mlx-vlm", "llamacpp")
    }
    assert [(card["id"], card["max_model_len"]) for card in served["vllm"]] == [("a", 4096), ("b", 4096)]
    assert [(card["id"], card["loaded"]) for card in served["mlx-vlm"]] == [("b", False), ("a", True)]
    assert served["llamacpp"][0]["meta"]["n_ctx"] == 4096


def test_metrics_tell_how_many_are_running(fault_server: StartsServers) -> None:
    server = fault_server(hold())
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ask, server)
        server.wait_for_requests(1)
        text = get(server, "/metrics").body.decode()
        server.release()
    assert 'vllm:num_requests_running{engine="0",model_name="tiny-vlm"} 2' in text


def test_drain_reads_on_after_the_reply(fault_server: StartsServers) -> None:
    assert ask(fault_server((answer("B"), drain(0.01)))).text == "B"
