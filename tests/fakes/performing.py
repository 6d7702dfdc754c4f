"""Runs a script on the wire."""

from collections.abc import Iterator

from tests.fakes.received import Received
from tests.fakes.replies import answer
from tests.fakes.script import Action, Exchange, Script


def actions(script: Script, received: Received) -> Iterator[Action]:
    """A script's actions in order; a function is called only at its turn, so that it sees what happened before."""
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
    """Run the script; if it neither replies nor ends the connection, the default answer follows."""
    for action in actions(script, exchange.received):
        await action.perform(exchange)
    if not exchange.finished:
        for action in actions(answer(), exchange.received):
            await action.perform(exchange)
