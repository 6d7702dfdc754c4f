"""From a script to what happens on the wire."""

from collections.abc import Iterator

from tests.fakes.received import Received
from tests.fakes.replies import answer
from tests.fakes.script import Action, Exchange, Script


def actions(script: Script, received: Received) -> Iterator[Action]:
    """A script's actions in order; a function is asked only when its turn comes, so that it sees what went before."""
    if isinstance(script, Action):
        yield script
    elif isinstance(script, str):
        yield from actions(answer(script), received)
    elif callable(script):
        yield from actions(script(received), received)
    else:
        for part in script:
            yield from actions(part, received)


async def perform(script: Script, exchange: Exchange) -> None:
    """Do it all; a script that says nothing and ends nothing is followed by the default answer."""
    for action in actions(script, exchange.received):
        await action.perform(exchange)
    if not exchange.finished:
        for action in actions(answer(), exchange.received):
            await action.perform(exchange)
