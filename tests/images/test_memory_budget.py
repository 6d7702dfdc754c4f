"""Images of questions in flight stay under a limit of memory, and no question waits for ever."""

import asyncio
import gc

from vqa_client.images.prepare import FIRST_GUESS_BYTES, MemoryBudget
from vqa_client.types import Image

KB = 1 << 10


def image(size_bytes: int = KB) -> Image:
    return Image(name="a.png", mime="image/png", sha256="", size_bytes=size_bytes, width=1, height=1, data=b"")


async def asked(budget: MemoryBudget, sizes: list[int], until: asyncio.Event, held: list[int]) -> None:
    """A question: its images are made, and let go when the reply comes."""
    async with budget.reserved(len(sizes)):
        await asyncio.sleep(0)
        images = [image(size) for size in sizes]
        budget.count(images)
    held.append(sum(sizes))
    await until.wait()
    held.append(-sum(sizes))
    del images
    gc.collect()


async def test_questions_wait_until_earlier_ones_have_their_replies() -> None:
    budget = MemoryBudget(10 * KB, kept_bytes=2 * KB)
    replies = [asyncio.Event() for _ in range(8)]
    held: list[int] = []
    questions = [asyncio.create_task(asked(budget, [KB] * 4, reply, held)) for reply in replies]
    most = 0
    for reply in replies:
        for _ in range(20):
            await asyncio.sleep(0)
        most = max(most, sum(held))
        reply.set()
    await asyncio.gather(*questions)
    assert 4 * KB <= most <= 10 * KB
    assert len(held) == 16


async def test_a_question_that_is_larger_than_the_limit_is_asked_alone() -> None:
    budget = MemoryBudget(10 * KB, kept_bytes=2 * KB)
    reply = asyncio.Event()
    reply.set()
    held: list[int] = []
    await asyncio.wait_for(asyncio.gather(*(asked(budget, [KB] * 50, reply, held) for _ in range(3))), 60)
    assert max(sum(held[:end]) for end in range(7)) == 50 * KB


async def test_an_image_in_a_cache_counts_once_and_lets_others_in() -> None:
    budget = MemoryBudget(4 * KB, kept_bytes=2 * KB)
    kept = image(2 * KB)
    for _ in range(10):
        async with asyncio.timeout(60), budget.reserved(1):
            budget.count([kept])
    async with asyncio.timeout(60), budget.reserved(3):
        pass


async def test_until_the_first_image_is_there_few_questions_are_let_in() -> None:
    budget = MemoryBudget(2 * FIRST_GUESS_BYTES, kept_bytes=0)
    entered: list[int] = []

    async def ask(number: int) -> None:
        async with budget.reserved(1):
            entered.append(number)
            await asyncio.sleep(0.01)
            budget.count([image()])

    first = [asyncio.create_task(ask(number)) for number in range(6)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert entered == [0, 1]
    await asyncio.gather(*first)
    assert entered == list(range(6))
