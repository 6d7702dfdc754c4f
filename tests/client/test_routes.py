"""The server that a question is sent to."""

import asyncio
import math
from collections import defaultdict
from itertools import pairwise

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.client import routes as module
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.limits import Deadlines, Outage, Patience, Pause
from vqa_client.client.routes import FAULTS_IN_A_ROW, MOVE_S, Route, Routes
from vqa_client.errors import ServerUnusable
from vqa_client.types import Image, Request


async def never_back(patience_s: float) -> None:
    raise ServerUnusable("gone")


def some(count: int) -> Routes:
    base = httpx2.URL("http://server/v1")
    wire = httpx2.MockTransport(lambda request: httpx2.Response(404))
    each = [Route(Endpoint(base.copy_with(host=f"server{at}"), wire, {})) for at in range(count)]
    return Routes(each, outage=Outage(never_back, Patience(1.0)))


def on(document: str) -> Request:
    return Request(content=("?",), document=document)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(0, 12)),
        st.tuples(st.just("answer"), st.integers(0, 200)),
        st.tuples(st.just("lose"), st.integers(0, 3)),
        st.tuples(st.just("return"), st.integers(0, 3)),
    ),
    max_size=120,
)


@given(st.integers(2, 4), steps)
def test_a_document_stays_with_a_living_server_and_a_new_one_goes_to_the_least_busy(
    count: int, happens: list[tuple[str, int]]
) -> None:
    routes = some(count)
    homes: dict[str, Route] = {}
    in_flight: list[Route] = []
    for what, number in happens:
        if what == "ask":
            living = [route for route in routes.all if not route.lost]
            before = {route: route.outstanding for route in living}
            document = f"d{number}"
            route = routes.take_free(on(document))
            assert (route is None) == (not living)
            if route is None:
                continue
            assert not route.lost
            home = homes.get(document)
            if home is not None and not home.lost:
                assert route is home
            else:
                assert before[route] == min(before.values())
            homes[document] = route
            in_flight.append(route)
        elif what == "answer" and in_flight:
            in_flight.pop(number % len(in_flight)).window.leave()
        elif what == "lose":
            routes.drain(routes.all[number % count], "gone")
        elif what == "return":
            routes.restore(routes.all[number % count])
            homes.clear()  # documents that moved to others get new servers


def test_documents_are_spread_evenly_even_when_one_question_is_asked_at_a_time() -> None:
    routes = some(3)
    taken: dict[str, int] = defaultdict(int)
    for number in range(30):
        route = routes.take_free(on(f"d{number}"))
        assert route is not None
        taken[route.address] += 1
    assert sorted(taken.values()) == [10, 10, 10]


def test_without_a_document_the_first_image_decides() -> None:
    routes = some(2)
    picture = Image(name="a.png", mime="image/png", sha256="ab" * 32, size_bytes=3)
    other = Image(name="b.png", mime="image/png", sha256="cd" * 32, size_bytes=3)
    first = routes.take_free(Request(content=(picture, "?")))
    assert first is not None
    first.window.inside = 9
    assert routes.take_free(Request(content=(picture, other, "!"))) is first
    assert routes.take_free(Request(content=(other, "?"))) is not first
    assert routes.take_free(Request(content=("?",))) is not first


def test_a_document_stays_during_a_short_pause_and_moves_during_a_long_one() -> None:
    routes = some(2)
    home = routes.take_free(on("d"))
    assert home is not None
    home.pause.extend(MOVE_S / 2)
    assert routes.take_free(on("d")) is None
    assert routes.take_free(on("new")) not in (None, home)
    home.pause.extend(10 * MOVE_S)
    assert routes.take_free(on("d")) not in (None, home)


async def test_a_question_waits_for_a_short_pause_of_its_documents_server(monkeypatch: pytest.MonkeyPatch) -> None:
    routes, looks = some(2), 0
    home = routes.take_free(on("d"))
    assert home is not None
    home.pause.extend(0.1)
    choose = routes.choose

    def counted(request: Request, failed_at: Route | None = None) -> Route | None:
        nonlocal looks
        looks += 1
        return choose(request, failed_at)

    monkeypatch.setattr(routes, "choose", counted)
    assert await routes.take(on("d")) is home
    assert 0 < looks <= 3


async def test_a_question_keeps_its_turn_though_the_pause_grows() -> None:
    routes, order = some(1), list[str]()
    (home,) = routes.all
    home.window.size = 1
    home.pause.extend(0.05)

    async def take(name: str) -> None:
        route = await routes.take(on(name))
        order.append(name)
        route.window.leave()

    tasks = [asyncio.create_task(take(name)) for name in "abc"]
    await asyncio.sleep(0.01)
    home.pause.extend(0.2)
    await asyncio.gather(*tasks)
    assert order == ["a", "b", "c"]


async def test_if_all_servers_pause_a_question_waits_for_the_first_to_end() -> None:
    routes = some(2)
    for route, seconds in zip(routes.all, (600.0, 0.05), strict=True):
        route.pause.extend(seconds)
    async with asyncio.timeout(60):
        assert await routes.take(on("d")) is routes.all[1]


async def test_if_all_servers_are_lost_a_question_waits_for_the_outage() -> None:
    routes = some(2)
    for route in routes.all:
        routes.drain(route, "gone")
    with pytest.raises(ServerUnusable):
        await routes.take(on("d"))


async def test_a_question_that_waits_for_a_place_goes_elsewhere_once_the_server_is_lost() -> None:
    routes = some(2)
    home = routes.take_free(on("d"))
    assert home is not None
    home.window.size = 1
    waiting = asyncio.create_task(routes.take(on("d")))
    await asyncio.sleep(0)
    routes.drain(home, "gone")
    other = await waiting
    assert (other is home, other.outstanding, home.outstanding) == (False, 1, 1)


@pytest.mark.parametrize(("servers", "most_s"), [(1, math.inf), (2, 5.0)])
async def test_a_long_pause_is_waited_for_only_if_no_other_server_may_be_free_before(
    servers: int, most_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = list[float]()

    async def wait(pause: Pause, most_s: float) -> None:
        waits.append(most_s)
        if len(waits) > 1:
            await asyncio.sleep(600)
        pause._until_s = 0.0

    monkeypatch.setattr(Pause, "wait_until_over", wait)
    routes = some(servers)
    for _ in range(2):
        for route in routes.all:
            route.pause.extend(600)
        taking = asyncio.create_task(routes.take(on("d")))
        await asyncio.sleep(0)
        if len(waits) > 1:  # a question that is cancelled meanwhile gives its place back
            taking.cancel()
        await asyncio.wait([taking])
    assert (waits, sum(route.outstanding for route in routes.all)) == ([most_s, most_s], 1)


async def test_after_a_cut_connection_one_look_shows_whether_a_server_is_gone() -> None:
    asked = list[str]()

    def reply(request: httpx2.Request) -> httpx2.Response:
        asked.append(str(request.url))
        if request.url.host == "gone":
            raise httpx2.ConnectError("refused")
        return httpx2.Response(404)

    wire, outage = httpx2.MockTransport(reply), Outage(never_back, Patience(1.0))
    gone, there = (Route(Endpoint(httpx2.URL(f"http://{host}/v1"), wire, {})) for host in ("gone", "there"))
    routes = Routes([gone, there], outage=outage)
    assert await routes.is_gone(there, "cut") is False
    assert await asyncio.gather(*(routes.is_gone(gone, "cut") for _ in range(3))) == [True] * 3
    assert asked == ["http://there/v1/models", "http://gone/v1/models"]
    assert await Routes([gone], outage=outage).is_gone(gone, "cut") is False


def test_a_question_that_failed_goes_to_another_server_unless_that_one_pauses_for_long() -> None:
    routes = some(3)
    home = routes.take_free(on("d"))
    assert home is not None
    busy, free = (route for route in routes.all if route is not home)
    assert busy.window.try_enter()
    assert routes.choose(on("d"), home) is free
    assert routes.choose(on("d"), None) is free
    for route in (busy, free):
        route.pause.extend(MOVE_S + 1)
    assert routes.choose(on("d"), home) is home
    routes.drain(busy, "gone")
    routes.drain(free, "gone")
    assert routes.choose(on("d"), home) is home


def test_failures_in_a_row_drain_a_server_unless_it_is_the_last_one() -> None:
    routes = some(2)
    one, other = routes.all
    for _ in range(FAULTS_IN_A_ROW - 1):
        routes.count_fault(one, "busy")
    one.note_answer(0.0)
    for _ in range(FAULTS_IN_A_ROW - 1):
        routes.count_fault(one, "busy")
    assert not one.lost
    routes.count_fault(one, "busy")
    assert one.lost
    routes.restore(one)
    for _ in range(FAULTS_IN_A_ROW - 1):
        routes.count_fault(one, "busy")
    assert not one.lost
    routes.count_fault(one, "busy")
    assert one.lost
    for _ in range(3 * FAULTS_IN_A_ROW):
        routes.count_fault(other, "busy")
    assert not other.lost


async def test_each_request_ends_at_its_deadline_or_all_end_at_once() -> None:
    deadlines, ended = Deadlines(), list[float]()

    async def waiting(seconds: float) -> None:
        try:
            async with asyncio.timeout(None) as deadline:
                deadlines.set(deadline, seconds)
                await asyncio.sleep(300)
        except TimeoutError:
            ended.append(seconds)
        finally:
            deadlines.discard(deadline)

    later = [asyncio.create_task(waiting(seconds)) for seconds in (200, math.inf)]
    soon = [asyncio.create_task(waiting(seconds)) for seconds in (0.02, 0.01)]
    await asyncio.wait(soon, timeout=60)
    assert sorted(ended) == [0.01, 0.02]
    deadlines.end()
    await asyncio.wait(later, timeout=60)
    assert ended[2:] == [200, math.inf]


async def test_the_requests_of_a_drained_server_end_at_once() -> None:
    routes = some(2)
    one = routes.all[0]

    async def waiting() -> None:
        async with asyncio.timeout(None) as deadline:
            one.deadlines.set(deadline, math.inf)
            await asyncio.sleep(300)

    task = asyncio.create_task(waiting())
    await asyncio.sleep(0)
    routes.drain(one, "gone")
    with pytest.raises(TimeoutError):
        await task


def test_old_documents_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HOMES", 3)
    routes = some(2)
    first = [routes.take_free(on(f"d{number}")) for number in range(4)]
    assert all(a is not b for a, b in pairwise(first))
    assert len(routes._homes) == 3


def test_a_single_server_gets_all_questions_without_a_table_of_documents() -> None:
    routes = some(1)
    assert {routes.take_free(on(f"d{number}")) for number in range(5)} == {routes.all[0]}
    assert routes._homes == {}


def test_an_answer_counts_once_and_ends_a_row_of_faults() -> None:
    [route] = some(1).all
    route.faults = 3
    route.note_answer(7.0)
    assert (route.answered, route.faults, route.answered_s) == (1, 0, 7.0)
