"""Reads one image and decides: send it unchanged, encode it again, or refuse it. Runs in the event loop or a thread."""

import os
import ssl
import stat
import time
from functools import lru_cache
from hashlib import sha256

from msgspec import Struct

from vqa_client.data_url import keep_encoded
from vqa_client.errors import DataError, QuestionFailed
from vqa_client.files import stamp, state_of
from vqa_client.images.facts import ImageFacts, facts
from vqa_client.images.recode import is_plain, recode
from vqa_client.images.steps import Recipe, check_pixels
from vqa_client.tables.inside import image_at_once, image_inside, short_name, split_name
from vqa_client.tables.objects import read_object
from vqa_client.tables.pictures import is_address, is_object
from vqa_client.types import Image

FETCH_S = 60.0
"""The most seconds for a whole download; half as long without a byte ends it too."""
MOST_FETCHED_BYTES = 64 << 20
AGAIN_AFTER_S = (0.5, 2.0)
"""The seconds after which a server that is there but failed is asked again."""
_MOST_REDIRECTS = 5
_GONE = (400, 401, 403, 404, 405, 410, 451)
"""With these HTTP statuses, another try would get the same answer."""


def handed_over(address: str) -> Image:
    """The image as its address; digest and size are those of the address, because the image is not downloaded."""
    written = address.encode("utf-8", "replace")
    return Image(
        name=short_name(address),
        mime="",
        sha256=sha256(written).hexdigest(),
        size_bytes=len(written),
        transforms=("sent as its address",),
        address=address,
    )


def fetched(address: str) -> bytes:
    """Download the bytes at an address; raises QuestionFailed "bad_image", transient if another try may succeed."""
    if is_object(address):
        return _from_store(address)
    for wait_s in AGAIN_AFTER_S:
        try:
            return _downloaded(address)
        except _Disturbed:
            time.sleep(wait_s)
    return _downloaded(address)


class _Disturbed(QuestionFailed):
    """The server is there, and its error may pass."""


def _downloaded(address: str) -> bytes:
    import httpx2

    begun_s, name = time.monotonic(), short_name(address)
    try:
        client = httpx2.Client(
            follow_redirects=True, max_redirects=_MOST_REDIRECTS, timeout=FETCH_S / 2, verify=_certificates()
        )
        with client, client.stream("GET", address) as reply:
            if not reply.is_success:
                message, permanent = f"{name}: answers with HTTP {reply.status_code}", reply.status_code in _GONE
                raise _failed(message, permanent=permanent, kind=QuestionFailed if permanent else _Disturbed)
            data = bytearray()
            for piece in reply.iter_bytes():
                data += piece
                if len(data) > MOST_FETCHED_BYTES:
                    raise _failed(f"{name}: has more than {MOST_FETCHED_BYTES} bytes", permanent=True)
                if time.monotonic() - begun_s > FETCH_S:
                    raise _failed(f"{name}: took more than {FETCH_S:.0f} s", permanent=False)
            return bytes(data)
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
        raise _failed(f"{name}: is not an address", permanent=True) from None
    except httpx2.HTTPError as error:
        cut = isinstance(error, httpx2.ReadError | httpx2.RemoteProtocolError)
        message = f"{name}: can't be fetched ({type(error).__name__})"
        raise _failed(message, permanent=False, kind=_Disturbed if cut else QuestionFailed) from None


def _from_store(address: str) -> bytes:
    try:
        return read_object(address, MOST_FETCHED_BYTES)
    except (OSError, ValueError) as error:
        permanent = isinstance(error, FileNotFoundError | ValueError)
        raise _failed(f"{address}: {getattr(error, 'strerror', None) or error}", permanent=permanent) from None


def _failed(message: str, *, permanent: bool, kind: type[QuestionFailed] = QuestionFailed) -> QuestionFailed:
    return kind("bad_image", message, hint="" if permanent else _AGAIN_HINT, transient=not permanent)


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()


MAX_FILE_BYTES = 512 << 20

FileKey = tuple[str, int, int, int, int]
"""Name, and the file's size, mtime and ctime in ns, and inode: another file, or other bytes in it, has another key."""
Read = tuple[FileKey, bytes]


class RefusedImage(Struct, frozen=True, kw_only=True):
    """A refusal that can be cached and raised again; a cached exception would collect tracebacks.

    `transient` says that the cause was the disk or the memory at that moment, not the image.
    """

    message: str
    hint: str = ""
    transient: bool = False
    stamp: str = ""

    def error(self) -> QuestionFailed:
        return QuestionFailed(
            "bad_image", self.message, hint=self.hint, transient=self.transient, image_stamp=self.stamp
        )

    @classmethod
    def by(cls, failed: QuestionFailed, key: FileKey) -> "RefusedImage":
        """The refusal that an error describes, without its traceback."""
        return cls(message=str(failed), hint=failed.hint, transient=failed.transient, stamp=stamp_of(key))


ImageVerdict = Image | RefusedImage
Decision = tuple[FileKey | None, ImageVerdict | None]
"""The key under which the verdict may be cached, None if it may not; no verdict if the image must be decoded first."""

_MISSING_HINT = "check the image folder and the path in the data file"
_OS_REASONS: tuple[tuple[type[Exception], str, str], ...] = (
    (FileNotFoundError, "there is no such file", _MISSING_HINT),
    (NotADirectoryError, "there is no such file", _MISSING_HINT),
    (IsADirectoryError, "is a directory, not an image", _MISSING_HINT),
    (PermissionError, "can't be read: permission denied", "give this user the right to read it"),
    (ValueError, "is not a valid path", _MISSING_HINT),
)
_DATA_HINT = "mend the image in the data file"
_AGAIN_HINT = "the same command asks this question again"


def file_key(name: str) -> FileKey | RefusedImage:
    """Return the key of the image of this name in its present state, without reading it."""
    if is_address(name):
        return name, 0, 0, 0, 0
    path, place = split_name(name)
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        return _unreadable(name, error)
    if not stat.S_ISREG(status.st_mode):
        if stat.S_ISDIR(status.st_mode):
            return _unreadable(name, IsADirectoryError())
        return RefusedImage(message=f"{name}: is not a regular file", hint=_MISSING_HINT)
    if status.st_size > MAX_FILE_BYTES and not place:
        message = f"{name}: has {status.st_size} bytes; at most {MAX_FILE_BYTES} are read"
        return RefusedImage(message=message, stamp=stamp(state_of(status)))
    return name, *state_of(status)


def stamp_of(key: FileKey) -> str:
    """The stamp of an image that is a file or inside a file; "" for an image at an address."""
    if is_address(key[0]):
        return ""
    return stamp(key[1:], split_name(key[0])[1])


def read_and_decide(name: str, recipe: Recipe, *, decode: bool) -> Decision:
    """Read an image and decide on it; the key is that of the bytes that were read, None if nothing could be read.

    Without `decode` this is the thread that sends, so the bytes of a file that is sent unchanged are cached there.
    """
    file = read(name)
    return (None, file) if isinstance(file, RefusedImage) else decide(file, recipe, decode=decode)


def read(name: str) -> Read | RefusedImage:
    """The key of an image's file and its bytes, or why it can't be read."""
    path, place = split_name(name)
    try:
        if is_address(name):
            return (name, 0, 0, 0, 0), fetched(name)
        if not place:
            return _read(path)
        data, state = image_inside(path, place)
        return (name, *state), data
    except (QuestionFailed, OSError, MemoryError, ValueError, DataError) as error:
        return _refusal(name, error)


def read_at_once(name: str) -> Read | RefusedImage | None:
    """Read an image that is inside a file; None if that takes longer than reading a file of its size."""
    try:
        image = image_at_once(*split_name(name))
    except (OSError, MemoryError, ValueError, DataError) as error:
        return _refusal(name, error)
    return None if image is None else ((name, *image[1]), image[0])


def _refusal(name: str, error: Exception) -> RefusedImage:
    if isinstance(error, QuestionFailed):
        return RefusedImage(message=str(error), hint=error.hint, transient=error.transient)
    if isinstance(error, OSError | MemoryError) or not split_name(name)[1]:
        return _unreadable(name, error)
    return RefusedImage(message=f"{name}: {error}", hint=_DATA_HINT)


def decide(read: Read, recipe: Recipe, *, decode: bool) -> Decision:
    """Decide on an image that has been read, as `read_and_decide` does."""
    key, data = read
    name = key[0]
    try:
        image_facts = facts(data, name)
        check_pixels(image_facts.width, image_facts.height, recipe, name)
        if is_plain(image_facts, recipe):
            image = _plain_image(key, image_facts, data)
            if image.path and not decode:
                keep_encoded(image, data)
            return key, image
        return key, _recoded_image(key, image_facts, data, recipe) if decode else None
    except QuestionFailed as failed:
        return None if failed.transient else key, RefusedImage.by(failed, key)


def _unreadable(name: str, error: Exception) -> RefusedImage:
    """Errors of the system are transient: a file may be back next time, for example when its disk is mounted again."""
    unknown = f"can't be read: {getattr(error, 'strerror', None) or str(error) or 'memory ran out'}", _AGAIN_HINT
    reason, hint = next(((known, hint) for kind, known, hint in _OS_REASONS if isinstance(error, kind)), unknown)
    return RefusedImage(message=f"{name}: {reason}", hint=hint, transient=not isinstance(error, ValueError))


def _read(path: str) -> Read:
    descriptor = os.open(path, os.O_RDONLY)  # FileIO would make three more system calls per file
    try:
        key = path, *state_of(os.fstat(descriptor))
        data = _read_all(descriptor, key[1])
    finally:
        os.close(descriptor)
    if len(data) != key[1]:
        raise OSError(f"it changed from {key[1]} to {len(data)} bytes meanwhile")
    return key, data


def _read_all(descriptor: int, size_bytes: int) -> bytes:
    """Read to the end; asking for one byte more than the size shows at once whether the file has grown."""
    data = os.read(descriptor, size_bytes + 1)
    while len(data) != size_bytes and (more := os.read(descriptor, size_bytes + 1)):
        data += more
    return data


def _plain_image(key: FileKey, image_facts: ImageFacts, data: bytes) -> Image:
    """The unchanged image; if it isn't a file of its own, its bytes stay in memory until it has been sent."""
    has_file = not (split_name(key[0])[1] or is_address(key[0]))
    return Image(
        name=short_name(key[0]),
        mime=image_facts.mime,
        sha256=sha256(data).hexdigest(),
        size_bytes=len(data),
        width=image_facts.width,
        height=image_facts.height,
        path=key[0] if has_file else "",
        data=None if has_file else data,
        stamp=stamp_of(key),
    )


def _recoded_image(key: FileKey, image_facts: ImageFacts, data: bytes, recipe: Recipe) -> Image:
    made = recode(data, image_facts, recipe, key[0])
    if made is None:
        return _plain_image(key, image_facts, data)
    return Image(
        name=short_name(key[0]),
        mime=made.mime,
        sha256=sha256(made.data).hexdigest(),
        size_bytes=len(made.data),
        width=made.width,
        height=made.height,
        transforms=made.transforms,
        file_sha256=sha256(data).hexdigest(),
        file_size_bytes=len(data),
        data=made.data,
        stamp=stamp_of(key),
    )
