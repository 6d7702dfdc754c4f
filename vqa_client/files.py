"""Writing reports, the whole file or none of it, as strict JSON in UTF-8; and what no settings file may be."""

import contextlib
import fcntl
import hashlib
import json
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
"""Size in bytes, times of the last change of content and of anything in ns, inode."""
BUFFER_BYTES = 1 << 18  # a report has three files open at once
MOST_NESTED = 100
"""Levels of JSON in a file of settings: a walk through more would end in a RecursionError."""
ROOM = "make room or allow writing there, then run the same command again"


_HOST = f"{zlib.crc32(platform.node().encode('utf-8', 'replace')):08x}"
_UNFINISHED = re.compile(r"\.vqa-client-([0-9a-f]{8})-[0-9a-f]{16}\.tmp")
_LEFT_OVER_S = 86_400.0
_NEW_S = 60.0
"""A younger folder may not be locked yet."""
_OF_A_FOLDER = (FileNotFoundError, FileExistsError, NotADirectoryError, PermissionError)
_LOOKED_AT_BYTES = 4096
_swept: set[Path] = set()
"""Folders in which this process has looked for what killed ones left."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], ours: bytes | None = None) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of `path` when the block ends well and vanishes when it doesn't.

    `ours` is how each file begins, as a regular expression, that may be replaced: NotOurs for any other and for a link.
    Makes missing folders, and removes what killed processes left in them. Raises OutputError that names the path when
    the disk or the folder can't take it.
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
        with _begun(unfinished) as file:
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
    """The path with its folder's links followed; raises NotOurs where what lies there must stay, OSError."""
    problem = "is a link" if path.is_symlink() else ""
    if not problem and path.is_file():
        with path.open("rb") as file:
            begin = file.read(_LOOKED_AT_BYTES)
        problem = "is there already, and not from this program" if begin and not re.match(ours, begin) else ""
    if problem:
        raise NotOurs(f"{path} {problem}: it stays as it is", hint="move it away, or choose another --output")
    return Path(os.path.realpath(path.parent), path.name)


def _begun(path: Path) -> IO[bytes]:
    """Create a file whose lock says for as long as this process lives that it is being written."""
    file = _locked(path)
    if not path.exists():  # another process took it for a leftover before it was locked
        file.close()
        file = _locked(path)
    return file


def _locked(path: Path) -> IO[bytes]:
    file = open(path, "xb", buffering=BUFFER_BYTES)  # noqa: SIM115  the caller closes it
    with contextlib.suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def remove_leftovers(folder: Path) -> None:
    """Delete the unfinished files of killed processes; another host's after a day, since locks need not reach there."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if (unfinished := _UNFINISHED.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False):
                age_s = time.time() - entry.stat(follow_symlinks=False).st_mtime
                with contextlib.suppress(OSError):
                    if unfinished[1] == _HOST or age_s > _LEFT_OVER_S:
                        _remove_unlocked(entry.path)


def _remove_unlocked(path: str) -> None:
    """Delete a file that no process has locked; raises OSError where one has, or where there are no locks."""
    with _opened(path, os.O_RDWR | os.O_NOFOLLOW) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)


@contextlib.contextmanager
def _opened(path: str | Path, flags: int = os.O_RDONLY | os.O_DIRECTORY) -> Iterator[int]:
    """A descriptor of a folder, or of what else the flags say; a lock on it goes with it."""
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def removed_unlocked(folder: Path) -> bool:
    """Delete a folder with all that is in it, unless a process has it locked; whether that was so."""
    with _opened(folder) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
        except OSError:
            return False
    return True


@contextlib.contextmanager
def private_folder(prefix: str, root: str | None = None) -> Iterator[Path]:
    """A folder that goes with this process, locked while it is there; those that killed processes left are removed.

    The lock is seen by all that share the disk, and where there are no locks nothing is removed.
    """
    for left in Path(root or tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):  # another user's
            if time.time() - left.stat().st_mtime > _NEW_S:
                removed_unlocked(left)
    made = tempfile.TemporaryDirectory(prefix=prefix, dir=root, ignore_cleanup_errors=True)
    with made as name, _opened(name) as descriptor:
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
    """Wait until nobody else changes a file of the folder that several processes read, change and replace."""
    with _opened(folder) as descriptor:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def state_of(result: os.stat_result) -> FileState:
    """What tells a file from what it was: another size or inode is another file, whatever a clock said."""
    return result.st_size, result.st_mtime_ns, result.st_ctime_ns, result.st_ino


def stamp(state: FileState, place: str = "") -> str:
    """The state of a file, or of a place in it, in eight digits.

    The same ones mean that it has not changed, others nothing by themselves.
    """
    return f"{zlib.crc32(place.encode('utf-8', 'replace'), zlib.crc32(b'%d %d %d %d' % state)):08x}"


def unwritable(path: str | os.PathLike[str], error: OSError) -> OutputError:
    """Say that a report can't be written, and the way out."""
    placed = obstacle(Path(path).parent) if isinstance(error, _OF_A_FOLDER) else ""
    reason = placed or error.strerror or str(error)
    return OutputError(f"can't write {os.fspath(path)}: {reason}", hint="choose another --output" if placed else ROOM)


def check_output(folder: Path) -> None:
    """Raise OutputError where nothing can be written in an output folder, before anything is made for it."""
    if reason := obstacle(folder):
        raise OutputError(f"--output {folder} can't be written: {reason}", hint="choose another --output")


def obstacle(folder: Path) -> str:
    """Why no file can be made in a folder, or in the first one above it that there is; "" where one can."""
    there = next((path for path in (folder, *folder.absolute().parents) if os.path.exists(path)), Path())
    if not there.is_dir():
        return f"{there} is a file, not a folder"
    try:
        with tempfile.TemporaryFile(dir=there):
            return ""
    except OSError:  # the system's own words would be those of a file that is missing
        return f"{there} is not writable"


def write_json(path: str | os.PathLike[str], value: Any, ours: bytes | None = None) -> None:
    """Write one JSON value, indented; `ours` as in `replacing`."""
    with replacing(path, ours) as file:
        file.write(indented(value) + b"\n")


def encode(value: Any) -> bytes:
    """Encode as strict JSON: NaN and infinities become null, what is no character (in a file name) becomes "?"."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), allow_nan=False, ensure_ascii=False)
        return text.encode("utf-8", "replace")


def indented(value: Any) -> bytes:
    """Encode for people to read, without a line feed at the end."""
    return msgspec.json.format(encode(value), indent=2)


def sha256_of(path: str | os.PathLike[str]) -> str:
    """Give the digest of a file in hexadecimal; raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def natural_key(text: str) -> tuple[tuple[str | int, ...], str]:
    """Give a sort key under which page_2 comes before page_10, and 20-40% before 100%, whatever the case."""
    parts = _DIGITS.split(text.casefold())
    return tuple(int(part) if at % 2 else part for at, part in enumerate(parts)), text


def checked_nesting(value: Any) -> Any:
    """The same value of JSON; raises ValueError where it is nested deeper than any that is written on purpose."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MOST_NESTED:
            raise ValueError(f"it is nested more than {MOST_NESTED} levels deep")
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [each for values in inner for each in values]
    return value
