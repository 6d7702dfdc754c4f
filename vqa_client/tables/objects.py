"""Objects of stores by their addresses: s3://bucket/key, gs:// and az://, and data files at http(s) addresses.

obstore reads the credentials from the store's own environment variables; addresses never have any. Data files are read
from local copies, and the least recently used folders of copies are removed for new ones.
"""

import errno
import fcntl
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from vqa_client.errors import DataError, UsageError
from vqa_client.files import alone_in, removed_unlocked, replacing
from vqa_client.shipped import importing
from vqa_client.tables.pictures import url_of
from vqa_client.version import cache_folder

PATIENCE = {"max_retries": 2, "retry_timeout": timedelta(seconds=30)}
WAY_OUT = (
    "credentials, region and endpoint are taken from the environment, such as AWS_ACCESS_KEY_ID, "
    "GOOGLE_SERVICE_ACCOUNT or AZURE_STORAGE_ACCOUNT_NAME"
)
_FAULTS: Final = (
    (
        r"169\.254\.169\.254",
        errno.EACCES,
        "there are no credentials for this store",
    ),  # the address of cloud machines' credentials
    (r"Account must be specified", errno.EACCES, "AZURE_STORAGE_ACCOUNT_NAME is not set"),
    (r"status code: 40[13]\b", errno.EACCES, "access is denied"),  # in a listing
    (r"status code: 404\b", errno.ENOENT, "there is no such object"),  # a bucket, in a listing
    (r"PROPFIND[^\n]*status code", errno.ENOTSUP, "the server doesn't list folders"),
    (r"kind: (Connect|Timeout)|error sending request", errno.EHOSTUNREACH, "can't be reached"),
    (r"", errno.EIO, ""),
)
"""Patterns in obstore's errors with the system's error number and our words; "": use the first line of its own."""
_WAYS_OUT: Final = {
    errno.EHOSTUNREACH: "is there a network, and is the address right? a copy on this disk needs none",
    errno.ENOENT: "look at the address again: bucket, folders and name, in upper and lower case",
    errno.EISDIR: "name one file of the folder, or copy the folder to this disk",
    errno.ENOTSUP: "name one file of the folder, or copy it to this disk",
}
_SECRET = "a query or user in an address may be a key, and the run file repeats the address"
_copies: dict[Path, str] = {}
"""The folders of local copies, and the addresses of the originals."""
VARIABLE, USUAL_GB, GIGABYTE = "VQA_CLIENT_CACHE_GB", "20", 1e9
_locks: dict[Path, int] = {}
"""Folders in use, with their descriptors, whose shared locks keep other processes from removing them."""


class ListedObject:
    """An object or a folder in a listing, with the interface of os.DirEntry."""

    def __init__(self, path: str, *, is_folder: bool) -> None:
        self.path, self.name, self._is_folder = path, path.rpartition("/")[2], is_folder

    def is_dir(self) -> bool:
        return self._is_folder

    def is_file(self) -> bool:
        return not self._is_folder


def read_object(address: str, most_bytes: int) -> bytes:
    """The bytes of an object; raises OSError, ValueError if it is too large."""
    store, key = place_of(address)
    with as_os_errors(address) as obstore:
        result = obstore.get(store, key)
        if result.meta["size"] > most_bytes:
            raise ValueError(f"has {result.meta['size']} bytes; at most {most_bytes} are read")
        return bytes(result.bytes())


def check_object(address: str) -> None:
    """Raise DataError if an object doesn't exist or can't be reached."""
    store, key = place_of(address)
    with _as_data_errors(address), as_os_errors(address) as obstore:
        obstore.head(store, key)


def objects_in(folder: str) -> Iterator[ListedObject]:
    """The entries of a folder in a store, none if it doesn't exist. Raises DataError."""
    store, key = place_of(folder)
    root = url_of(folder)[: -len(key)] if key else f"{url_of(folder)}/"
    with _as_data_errors(folder), as_os_errors(folder) as obstore:
        listing = obstore.list_with_delimiter(store, f"{key}/" if key else None)
    yield from (ListedObject(root + prefix.rstrip("/"), is_folder=True) for prefix in listing["common_prefixes"])
    yield from (ListedObject(root + stored["path"], is_folder=False) for stored in listing["objects"])


def local_copy(address: Path) -> Path:
    """Copy an object to this user's cache, if it has changed; raises DataError."""
    url = checked_address(address)
    store, key = place_of(url)
    with _as_data_errors(url), as_os_errors(url) as obstore:
        try:
            meta = obstore.head(store, key)
        except FileNotFoundError:
            with suppress(obstore.exceptions.BaseError):  # who may read objects may not always list them
                if not url.startswith("http") and any(obstore.list_with_delimiter(store, f"{key}/").values()):
                    raise IsADirectoryError(errno.EISDIR, "this is a folder, not a file", url) from None
            raise
        folder = _folder(url.rpartition("/")[0], [meta])
        return _copy_object(store, meta, folder / key.rpartition("/")[2])


def local_folder(address: Path, globs: Sequence[Sequence[str]]) -> Path:
    """Copy the objects below an address that fit the first form in `globs` with any; raises DataError."""
    url = checked_address(address)
    store, key = place_of(url)
    with _as_data_errors(url), as_os_errors(url) as obstore:
        listing = [meta for batch in obstore.list(store, prefix=key or None) for meta in batch]
        names = {meta["path"][len(key) :].lstrip("/"): meta for meta in listing}
        for form in globs:
            metas = {name: meta for name, meta in names.items() if any(fnmatch(name, glob) for glob in form)}
            if metas:
                folder = _folder(url, list(metas.values()))
                for name, meta in metas.items():
                    _copy_object(store, meta, folder / name)
                return folder
    known = "; ".join(" or ".join(form) for form in globs)
    raise DataError(f"{url} has no data of this benchmark", hint=f"known forms are {known}; or name one file")


def home_of(path: Path) -> Path:
    """The address of a local copy's original; another path is unchanged."""
    for folder, address in _copies.items():
        if path.is_relative_to(folder):
            return Path(address, path.relative_to(folder))
    return path


def checked_address(address: Path) -> str:
    """The address of data; raises UsageError if it has a part that may be secret."""
    url = url_of(address)
    parts = urlsplit(url)
    if parts.query or "@" in parts.netloc:
        raise UsageError(f"{parts.scheme}://{parts.hostname}{parts.path}: {_SECRET}", hint=WAY_OUT)
    return url


def _folder(url: str, metas: Sequence[Any]) -> Path:
    """The folder for copies of objects in this state."""
    state = "\n".join(f"{meta['path']} {meta['size']} {meta['e_tag'] or meta['last_modified']}" for meta in metas)
    folder = _hold(hashlib.sha256(f"{url}\n{state}".encode()).hexdigest()[:16])
    if not any(folder.iterdir()):
        _make_room(sum(meta["size"] for meta in metas))
    _copies[folder] = url
    return folder


def _copy_object(store: Any, meta: Any, path: Path) -> Path:
    import obstore

    if not path.exists():
        with replacing(path) as file:
            for piece in obstore.get(store, meta["path"]):
                file.write(piece)
    return path


def _hold(name: str) -> Path:
    """The folder of this name, locked until this process ends, so that no process removes it; raises OSError."""
    folder = cache_folder() / "objects" / name
    while folder not in _locks:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        with suppress(OSError):  # without locks in the file system nothing is removed either
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        if folder.exists() and os.path.samestat(os.fstat(descriptor), folder.stat()):
            _locks[folder] = descriptor
        else:  # another process removed it before it was locked
            os.close(descriptor)
    os.utime(folder)
    return folder


def _make_room(size_bytes: float) -> None:
    """Remove unused folders, the least recently used first, until `size_bytes` more fit into the limit."""
    root, over = cache_folder() / "objects", size_bytes - _most_bytes()
    with alone_in(root):
        sizes = {folder: _size(folder) for folder in root.iterdir()}
        over += sum(sizes.values())
        for folder in sorted(sizes, key=lambda path: path.stat().st_mtime):
            if over > 0 and removed_unlocked(folder):
                over -= sizes[folder]


def _size(folder: Path) -> int:
    size_bytes = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # a copy that was just renamed
            size_bytes += path.stat().st_size
    return size_bytes


def _most_bytes() -> float:
    text = os.environ.get(VARIABLE) or USUAL_GB
    try:
        if (most := float(text) * GIGABYTE) >= 0:
            return most
    except ValueError:
        pass
    raise UsageError(f"{VARIABLE} is {text!r}; it must be a number of at least 0", hint="gigabytes of local copies")


def place_of(address: str) -> tuple[Any, str]:
    """The store of an address, and the object's key in it; raises UsageError without obstore."""
    parts = urlsplit(url_of(address))
    key = unquote(parts.path) if parts.scheme.startswith("http") else parts.path
    return _store(f"{parts.scheme}://{parts.netloc}"), key.strip("/")


@lru_cache(maxsize=16)
def _store(root: str) -> Any:
    with importing("cloud", f"{root} needs obstore"):
        from obstore.store import from_url
    options: dict[str, Any] = {"client_options": {"allow_http": True}} if root.startswith("http:") else {}
    with _as_data_errors(root), as_os_errors(root):
        return from_url(root, **{"retry_config": PATIENCE, **options})


@contextmanager
def as_os_errors(address: str) -> Iterator[Any]:
    """Yield the module obstore, whose errors become those that the system raises for a file, with their first line."""
    import obstore
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

    try:
        yield obstore
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "there is no such object", url_of(address)) from None
    except (PermissionDeniedError, UnauthenticatedError, PermissionError):
        raise PermissionError(errno.EACCES, "access is denied", url_of(address)) from None
    except BaseError as error:
        number, words = next(fault for pattern, *fault in _FAULTS if re.search(pattern, str(error)))
        raise OSError(number, words or str(error).splitlines()[0], url_of(address)) from None


@contextmanager
def _as_data_errors(address: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = _WAYS_OUT.get(error.errno or 0, WAY_OUT)
        if url_of(address).startswith("http") and hint == WAY_OUT:
            hint = "give the address of one file that anyone may read, or a copy on this disk"
        raise DataError(f"{url_of(address)}: {error.strerror}", hint=hint) from None
