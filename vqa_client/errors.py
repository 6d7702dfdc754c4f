"""The error tree: what the user can mend, what the server did, and nothing else.

A failed question is no error but a record with a status; these are raised where a run can't start or go on.
"""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vqa_client.types import Status  # whose msgspec `list` and `--version` need not

UNDECODABLE = (ValueError, RecursionError)
"""What decoding of foreign bytes raises: msgspec's errors and UnicodeDecodeError are ValueErrors, and a text may be
nested deeper than any parser goes."""
_RIGHT = "this user needs the right to it and to its folders"


class VqaClientError(Exception):
    """The root: one line that names the thing and its value, and a `hint` that names the way out."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(VqaClientError):
    """A setting, a config file or a command line that can't be used."""


class Busy(UsageError):
    """A record log that another run is writing."""


class OutputError(VqaClientError):
    """A file of a run that can't be written or read again: a full disk, missing rights, a folder in its place."""


class NotOurs(OutputError):
    """A file that stays as it is, since this program has not made it."""


class DataError(VqaClientError):
    """A data file or image folder that is missing, unreadable or of another form than expected."""


def forbidden(error: OSError) -> DataError:
    """What this user may not read or write, with the right that is needed."""
    return DataError(f"{error.filename}: {error.strerror}", hint=_RIGHT)


def unreadable(path: "str | os.PathLike[str]", error: OSError, hint: str = "") -> DataError:
    """Say why a data file can't be read; a missing right has its own hint."""
    return DataError(read_fault(path, error), hint=_RIGHT if isinstance(error, PermissionError) else hint)


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
    """No server answered for as long as one is waited for."""


class QuestionFailed(VqaClientError):
    """One question could not be asked or got no usable reply; caught once, where the record is made.

    `transient` says that the question is not at fault, so that the same command asks it again; `image_stamp` is that of
    the file that is.
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
