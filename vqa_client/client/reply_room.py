"""A memory limit for the large replies of all workers together; small replies are not counted."""

import asyncio
import contextlib
from typing import TypeVar

REPLY_LIMIT_BYTES = 16_000_000
FREE_BYTES = 262_144
"""This part of a reply is not counted, nor is the last read of one system call."""
ROOM_BYTES = 64_000_000
_Error = TypeVar("_Error", bound=BaseException)


class ReplyRoom:
    """Lets large replies grow while they fit together; the oldest one always may, so that none waits forever.

    The replies of 128 workers take at most 145 MB: 64 MB here, the limit of one reply, and 512 KB each. For one event
    loop.
    """

    def __init__(self, limit_bytes: int = ROOM_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._total_bytes = 0
        self._sizes_bytes: dict[int, int] = {}
        self._waiting: dict[int, tuple[int, asyncio.Future[None]]] = {}
        self._shares = 0

    def share(self) -> "Share":
        """The empty share of a new reply."""
        self._shares += 1
        return Share(self, self._shares)

    def grow(self, share: int, size_bytes: int) -> asyncio.Future[None] | None:
        """Count `size_bytes` for a share; if they don't fit, returns a future that is done once they are counted."""
        if self._take(share, size_bytes):
            return None
        room = asyncio.get_running_loop().create_future()
        self._waiting[share] = size_bytes, room
        return room

    def let_go(self, share: int) -> None:
        """Remove a share, and give its bytes to the shares that wait."""
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
    """The bytes of one reply in the room, until this object is deleted; the reply refers to it."""

    def __init__(self, room: ReplyRoom, number: int) -> None:
        self._room = room
        self._number = number
        self._loop = asyncio.get_running_loop()

    def grow(self, size_bytes: int) -> asyncio.Future[None] | None:
        """Take `size_bytes` in total; returns a future if that has to wait."""
        return self._room.grow(self._number, size_bytes)

    def __del__(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed; this may run in any thread at any time
            self._loop.call_soon_threadsafe(self._room.let_go, self._number)


def without_frames(error: _Error) -> _Error:
    """The error without its frames, which would keep the reply in memory while its worker waits for a retry."""
    error.__traceback__ = error.__context__ = None
    if error.__cause__ is not None:
        without_frames(error.__cause__)
    return error
