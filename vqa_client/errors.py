"""The error tree: mistakes that the user can fix, and failures of the server.

A failed question is not an error but a record with a status. These errors end a run, or keep it from starting.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vqa_client.types import Status  # imports msgspec, which `list` and `--version` don't need

UNDECODABLE = (ValueError, RecursionError)
"""What decoding foreign bytes raises: msgspec's errors and UnicodeDecodeError are ValueErrors, and deep nesting ends in
a RecursionError."""
_RIGHT = "this user needs the right to it and to its folders"


class VqaClientError(Exception):
    """The root: one line that names the thing and its value, and a `hint` at the way out."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def did_you_mean(word: str, known: Iterable[str], then: str = "", *, cutoff: float = 0.6) -> str:
    """A hint: the known word most similar to `word`, if one is, and `then`; `cutoff` is difflib's least ratio."""
    guess = "".join(f"did you mean {near}?" for near in get_close_matches(word, known, 1, cutoff))
    return f"{guess} {then}".strip()


class UsageError(VqaClientError):
    """A setting, a config file or a command line that can't be used."""


class Busy(UsageError):
    """A record log that another run is writing."""


class OutputError(VqaClientError):
    """A file of a run that can't be written or read again: a full disk, missing rights, a folder in its place."""


class NotOurs(OutputError):
    """A file that is not replaced because this program did not write it."""


class DataError(VqaClientError):
    """A data file or image folder that is missing, unreadable or in an unexpected form."""


def forbidden(error: OSError) -> DataError:
    """The error for a file that this user may not read or write."""
    return DataError(f"{error.filename}: {error.strerror}", hint=_RIGHT)


def unreadable(path: "str | os.PathLike[str]", error: OSError, hint: str = "") -> DataError:
    """Say why a data file can't be read; a missing right has its own hint."""
    return DataError(read_fault(path, error), hint=_RIGHT if isinstance(error, PermissionError) else hint)


@contextmanager
def reading(path: "str | os.PathLike[str]", hint: str = "") -> Iterator[None]:
    """Raise the error of `unreadable` if a data file can't be read in this block."""
    try:
        yield
    except OSError as error:
        raise unreadable(path, error, hint) from None


def read_fault(path: "str | os.PathLike[str]", error: OSError) -> str:
    """Say in one line why a file can't be read."""
    if isinstance(error, FileNotFoundError):
        return f"{os.fspath(path)} does not exist"
    return f"can't read {os.fspath(path)}: {error.strerror or error}"


class IdentityError(VqaClientError):
    """The records on disk belong to another run than the one asked for."""


class ServerUnusable(VqaClientError):
    """The server can't be reached, is not what it should be, or answers nothing."""


class ServerAway(ServerUnusable):
    """No server answered within the time of --wait_for_server."""


class QuestionFailed(VqaClientError):
    """One question could not be asked or got no usable reply; caught once, where the record is made.

    `transient` means that the question is not at fault and that the same command asks it again. `image_stamp` is the
    stamp of the image file at fault.
    """

    def __init__(
        self,
        status: "Status",
        message: str,
        *,
        http_status: int | None = None,
        body: str = "",
        hint: str = "",
        attempts: int = 0,
        request_bytes: int = 0,
        transient: bool = False,
        image_stamp: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.http_status = http_status
        self.body = body
        self.attempts = attempts
        self.request_bytes = request_bytes
        self.transient = transient
        self.image_stamp = image_stamp
