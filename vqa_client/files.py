"""Files written whole or not at all, strict JSON in UTF-8, locks, and folders for one process."""

import contextlib
import fcntl
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from vqa_client.errors import Busy, NotOurs, OutputError, UsageError

_DIGITS = re.compile(r"([0-9]{1,18})")
FileState = tuple[int, int, int, int]
"""Size in bytes, times of the last change of content and of metadata in ns, inode."""
BUFFER_BYTES = 1 << 18  # a report has three files open at once
MOST_NESTED = 100
"""Maximum depth of JSON in a settings file: walking a deeper value would end in a RecursionError."""
ROOM = "make room or allow writing there, then run the same command again"

_HOST = f"{zlib.crc32(platform.node().encode('utf-8', 'replace')):08x}"
_UNFINISHED = re.compile(r"\.vqa-client-([0-9a-f]{8})-[0-9a-f]{16}\.tmp")
_LEFT_OVER_S = 86_400.0
_NEW_S = 60.0
"""A folder younger than this may not be locked yet."""
_FOLDER_ERRORS = (FileNotFoundError, FileExistsError, NotADirectoryError, PermissionError)
_BEGIN_BYTES = 4096
_swept: set[Path] = set()
"""Folders where this process has already removed the files of killed processes."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], ours: bytes | None = None) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` when the block ends without an error, and is deleted otherwise.

    `ours` is a regular expression for the beginning of files that may be replaced; NotOurs is raised for any other file
    and for a link. Makes missing folders and removes files of killed processes from them. Raises OutputError if the
    file can't be written.
    """
    unfinished: Path | None = None
    try:
        target = Path(os.path.realpath(path)) if ours is None else _replaceable(Path(path), ours)
        if target.exists() and not target.is_file():
            raise OutputError(f"can't write {os.fspath(path)}: it is not a file", hint="name a replaceable file")
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.parent not in _swept:
            _swept.add(target.parent)
            remove_leftovers(target.parent)
        unfinished = target.parent / f".vqa-client-{_HOST}-{secrets.token_hex(8)}.tmp"
        with _create_locked(unfinished) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(unfinished, target)  # while the lock holds
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        if unfinished is not None:
            with contextlib.suppress(OSError):
                unfinished.unlink()


def _replaceable(path: Path, ours: bytes) -> Path:
    """Resolve the links of the path's folder; raises NotOurs for a file that may not be replaced, OSError."""
    problem = "is a link" if path.is_symlink() else ""
    if not problem and path.is_file():
        with path.open("rb") as file:
            begin = file.read(_BEGIN_BYTES)
        problem = "is there already, and not from this program" if begin and not re.match(ours, begin) else ""
    if problem:
        raise NotOurs(f"{path} {problem}: it stays as it is", hint="move it away, or choose another --output")
    return Path(os.path.realpath(path.parent), path.name)


def _create_locked(path: Path) -> IO[bytes]:
    """Create a file with a lock: other processes don't remove it as a leftover while this one lives."""
    file = _open_locked(path)
    if not path.exists():  # another process removed it before it was locked
        file.close()
        file = _open_locked(path)
    return file


def _open_locked(path: Path) -> IO[bytes]:
    file = open(path, "xb", buffering=BUFFER_BYTES)  # noqa: SIM115  the caller closes it
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def remove_leftovers(folder: Path) -> None:
    """Delete the unfinished files of killed processes; those of other hosts, whose locks may be unseen, after a day."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if (unfinished := _UNFINISHED.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False):
                age_s = time.time() - entry.stat(follow_symlinks=False).st_mtime
                if unfinished[1] != _HOST and age_s <= _LEFT_OVER_S:
                    continue
                with (
                    contextlib.suppress(OSError),  # locked, or a file system without locks
                    _open_descriptor(entry.path, os.O_RDWR | os.O_NOFOLLOW) as descriptor,
                ):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)


@contextlib.contextmanager
def _open_descriptor(path: str | Path, flags: int = os.O_RDONLY | os.O_DIRECTORY) -> Iterator[int]:
    """Open a folder, or with other flags a file, as a descriptor; closing it releases its lock."""
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def removed_unlocked(folder: Path) -> bool:
    """Delete a folder with its content unless a process has it locked; True if it was deleted."""
    with _open_descriptor(folder) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
        except OSError:
            return False
    return True


@contextlib.contextmanager
def private_folder(prefix: str, root: str | None = None) -> Iterator[Path]:
    """A temporary folder, locked during the block; also removes folders that killed processes left.

    Every process that shares the disk sees the lock. On a file system without locks nothing is removed.
    """
    for leftover in Path(root or tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # another user's
            if time.time() - leftover.stat().st_mtime > _NEW_S:
                removed_unlocked(leftover)
    folder = tempfile.TemporaryDirectory(prefix=prefix, dir=root, ignore_cleanup_errors=True)
    with folder as name, _open_descriptor(name) as descriptor:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield Path(name)


def lock(descriptor: int, path: Path, *, shared: bool = False) -> None:
    """Lock a run's file until the process ends; raises Busy where another run has it, unless both are `shared`."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Busy(
            f"{path} is being written by another run", hint="wait for it to end, or give another --output"
        ) from None
    except OSError as error:
        raise UsageError(
            f"{path} can't be locked: {error.strerror}", hint="its file system has no locks: give a local --output"
        ) from None


def open_locked(path: Path, *, shared: bool = False) -> int:
    """Open a file to read and append to, made where it is missing, and lock it as `lock` does; gives its descriptor.

    If another process replaces or removes the file between opening and locking, it is opened again. Raises UsageError
    for what is not a file, OSError.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # a pipe would be waited for without end
                raise UsageError(f"{path} is not a file", hint="move it away, or give another --output")
            lock(descriptor, path, shared=shared)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Lock a folder whose files several processes change, and wait for the lock."""
    with _open_descriptor(folder) as descriptor:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def state_of(result: os.stat_result) -> FileState:
    """The state of a file, which differs once the file has changed, even if a clock was set back."""
    return result.st_size, result.st_mtime_ns, result.st_ctime_ns, result.st_ino


def stamp(state: FileState, place: str = "") -> str:
    """The state of a file, or of a place in it, as eight hexadecimal digits.

    Equal stamps mean that the file has not changed; different stamps don't prove that its content has.
    """
    return f"{zlib.crc32(place.encode('utf-8', 'replace'), zlib.crc32(b'%d %d %d %d' % state)):08x}"


def unwritable(path: str | os.PathLike[str], error: OSError) -> OutputError:
    """The error for a file that can't be written, with its way out."""
    fault = obstacle(Path(path).parent) if isinstance(error, _FOLDER_ERRORS) else ""
    reason = fault or error.strerror or str(error)
    return OutputError(f"can't write {os.fspath(path)}: {reason}", hint="choose another --output" if fault else ROOM)


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Raise the error of `unwritable` if a file can't be written in this block."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from error


def check_output(folder: Path) -> None:
    """Raise OutputError where nothing can be written in an output folder, before anything is made for it."""
    if reason := obstacle(folder):
        raise OutputError(f"--output {folder} can't be written: {reason}", hint="choose another --output")


def obstacle(folder: Path) -> str:
    """Why no file can be made in a folder, or in its nearest existing parent; "" if one can be made."""
    existing = next((path for path in (folder, *folder.absolute().parents) if os.path.exists(path)), Path())
    if not existing.is_dir():
        return f"{existing} is a file, not a folder"
    try:
        with tempfile.TemporaryFile(dir=existing):
            return ""
    except OSError:  # the system's message would be about a missing file
        return f"{existing} is not writable"


def write_json(path: str | os.PathLike[str], value: Any, ours: bytes | None = None) -> None:
    """Write one JSON value, indented; `ours` as in `replacing`."""
    with replacing(path, ours) as file:
        file.write(indented(value) + b"\n")


def encode(value: Any) -> bytes:
    """Encode as strict JSON: NaN and infinities become null, undecodable bytes of a file name become "?"."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_without_surrogates(msgspec.to_builtins(value)))


def _without_surrogates(value: Any) -> Any:
    """Built-in values with "?" for each byte of a file name that can't be decoded."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    return [*map(_without_surrogates, value)] if isinstance(value, list | tuple) else value


def indented(value: Any) -> bytes:
    """Encode for people to read, without a line feed at the end."""
    return msgspec.json.format(encode(value), indent=2)


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Give the digest of a file in hexadecimal; raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def natural_key(text: str) -> tuple[tuple[str | int, ...], str]:
    """Give a sort key under which page_2 comes before page_10, and 20-40% before 100%, ignoring case."""
    parts = _DIGITS.split(text.casefold())
    return tuple(int(part) if at % 2 else part for at, part in enumerate(parts)), text


def checked_nesting(value: Any) -> Any:
    """Return a JSON value; raises ValueError if it is nested more than MOST_NESTED levels deep."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MOST_NESTED:
            raise ValueError(f"it is nested more than {MOST_NESTED} levels deep")
        inner = (part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list))
        level = [part for parts in inner for part in parts]
    return value
