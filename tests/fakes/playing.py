"""From a play to what happens on the wire."""

from collections.abc import Iterator

from tests.fakes.line import Action, Line, Play
from tests.fakes.received import Received
from tests.fakes.replies import answer


def actions(play: Play, received: Received) -> Iterator[Action]:
    """A play's actions in order; a function is asked only when its turn comes, so that it sees what went before."""
    if isinstance(play, Action):
        yield play
    elif isinstance(play, str):
        yield from actions(answer(play), received)
    elif callable(play):
        yield from actions(play(received), received)
    else:
        for part in play:
            yield from actions(part, received)


async def perform(play: Play, line: Line) -> None:
    """Play it all; a play that says nothing and ends nothing is followed by the default answer."""
    for action in actions(play, line.received):
        await action.perform(line)
    if not line.finished:
        for action in actions(answer(), line.received):
            await action.perform(line)
