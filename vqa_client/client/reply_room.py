"""Room in memory for the large replies of all workers together; small ones, as nearly all are, are not counted."""

import asyncio
import contextlib
from typing import TypeVar

REPLY_LIMIT_BYTES = 16_000_000
FREE_BYTES = 262_144
"""So much of a reply is not counted, nor what one system call reads after it."""
ROOM_BYTES = 64_000_000
_Error = TypeVar("_Error", bound=BaseException)


class ReplyRoom:
    """Lets large replies grow while they fit together; the one that came first always may, so none waits for ever.

    All replies of 128 workers take at most 145 MB: 64 MB here, once the limit, and 512 KB each. For one event loop.
    """

    def __init__(self, limit_bytes: int = ROOM_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._total_bytes = 0
        self._sizes_bytes: dict[int, int] = {}
        self._waiting: dict[int, tuple[int, asyncio.Future[None]]] = {}
        self._shares = 0

    def share(self) -> "Share":
        """A new reply's part, of nothing yet."""
        self._shares += 1
        return Share(self, self._shares)

    def grow(self, share: int, size_bytes: int) -> asyncio.Future[None] | None:
        """Count so many bytes for a share; where they don't fit, nothing is counted until the future is done."""
        if self._take(share, size_bytes):
            return None
        room = asyncio.get_running_loop().create_future()
        self._waiting[share] = size_bytes, room
        return room

    def let_go(self, share: int) -> None:
        """Count a share no longer, and let those that wait have what is free."""
        self._total_bytes -= self._sizes_bytes.pop(share, 0)
        self._waiting.pop(share, None)
        for waiting, (size_bytes, room) in list(self._waiting.items()):
            if self._take(waiting, size_bytes):
                del self._waiting[waiting]
                if not room.done():
                    room.set_result(None)

    def _take(self, share: int, size_bytes: int) -> bool:
        others_bytes = self._total_bytes - self._sizes_bytes.get(share, 0)
        if others_bytes + size_bytes > self._limit_bytes and next(iter(self._sizes_bytes), share) != share:
            return False
        self._sizes_bytes[share] = size_bytes
        self._total_bytes = others_bytes + size_bytes
        return True


class Share:
    """What one reply takes of the room, until nothing refers to this object; the reply holds it."""

    def __init__(self, room: ReplyRoom, number: int) -> None:
        self._room = room
        self._number = number
        self._loop = asyncio.get_running_loop()

    def grow(self, size_bytes: int) -> asyncio.Future[None] | None:
        """Take so many bytes altogether; a future where that has to be waited for."""
        return self._room.grow(self._number, size_bytes)

    def __del__(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed; this may be any thread, amid anything
            self._loop.call_soon_threadsafe(self._room.let_go, self._number)


def without_frames(error: _Error) -> _Error:
    """The same error without the frames it went through: they hold the reply while its worker waits to ask again."""
    error.__traceback__ = error.__context__ = None
    if error.__cause__ is not None:
        without_frames(error.__cause__)
    return error
