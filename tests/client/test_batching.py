"""Requests at a server that answers in batches: one kind at a time, in order."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.client.limits import BatchGate


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(0, 3)), max_size=24))
def test_two_kinds_are_never_in_flight_together_and_every_request_is_sent(plans: list[tuple[str, bool, int]]) -> None:
    async def main() -> None:
        gate, flying, flown = BatchGate(), [], []

        async def fly(kind: str, alone: bool, turns: int) -> None:
            async with gate.slot(kind, alone=alone):
                flying.append((kind, alone))
                for _ in range(turns + 1):
                    assert len({each for each, _ in flying}) == 1
                    assert len(flying) == 1 or not any(by_itself for _, by_itself in flying)
                    await asyncio.sleep(0)
                flying.remove((kind, alone))
                flown.append(kind)

        await asyncio.gather(*(fly(*plan) for plan in plans))
        assert sorted(flown) == sorted(kind for kind, _, _ in plans)
        assert not gate.in_flight

    asyncio.run(main())


async def test_a_waiting_request_is_not_overtaken_by_later_ones_of_the_current_kind() -> None:
    gate, order = BatchGate(), []

    async def fly(kind: str) -> None:
        async with gate.slot(kind):
            order.append(kind)
            await asyncio.sleep(0)

    async with gate.slot("a"):
        waiting = [asyncio.create_task(fly(kind)) for kind in ("b", "a", "b")]
        await asyncio.sleep(0.01)
        assert order == []
    await asyncio.gather(*waiting)
    assert order == ["b", "a", "b"]


async def test_a_slot_knows_whether_it_was_alone() -> None:
    gate = BatchGate()
    async with gate.slot("a") as first:
        assert first.alone
        async with gate.slot("a") as second:
            assert not second.alone
        assert not first.alone
    async with gate.slot("a") as third:
        assert third.alone


@pytest.mark.parametrize("gone", [0, 1, 2])
async def test_a_request_cancelled_while_it_waits_blocks_no_other(gone: int) -> None:
    gate = BatchGate()
    flown: list[int] = []

    async def fly(number: int) -> None:
        async with gate.slot(number):
            flown.append(number)

    async with gate.slot("first"):
        waiting: list[asyncio.Task[Any]] = [asyncio.create_task(fly(number)) for number in range(3)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting[gone].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert flown == [number for number in range(3) if number != gone]
