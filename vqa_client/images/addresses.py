"""Images at addresses: given to the server as addresses, or fetched under a limit, and by http(s) a timeout."""

import ssl
import time
from functools import lru_cache
from hashlib import sha256

from vqa_client.errors import QuestionFailed
from vqa_client.tables.inside import short_name
from vqa_client.tables.objects import read_object
from vqa_client.tables.pictures import is_object
from vqa_client.types import Image

FETCH_S = 60.0
"""From the first byte asked for to the last; a silence of half as long ends it too."""
MOST_FETCHED_BYTES = 64 << 20
_MOST_REDIRECTS = 5
_GONE = (400, 401, 403, 404, 405, 410, 451)
"""Of an address that answers so, another try would get the same."""


def handed_over(address: str) -> Image:
    """The image as its address alone: digest and size are the address's, since nobody here sees the image."""
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
    """The bytes at an address; raises QuestionFailed "bad_image", transient where another try may do better."""
    if is_object(address):
        return _from_store(address)
    import httpx2

    begun_s, name = time.monotonic(), short_name(address)
    try:
        client = httpx2.Client(
            follow_redirects=True, max_redirects=_MOST_REDIRECTS, timeout=FETCH_S / 2, verify=_certificates()
        )
        with client, client.stream("GET", address) as reply:
            if not reply.is_success:
                raise _failed(f"{name}: answers with HTTP {reply.status_code}", permanent=reply.status_code in _GONE)
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
        raise _failed(f"{name}: can't be fetched ({type(error).__name__})", permanent=False) from None


def _from_store(address: str) -> bytes:
    try:
        return read_object(address, MOST_FETCHED_BYTES)
    except (OSError, ValueError) as error:
        permanent = isinstance(error, FileNotFoundError | ValueError)
        raise _failed(f"{address}: {getattr(error, 'strerror', None) or error}", permanent=permanent) from None


def _failed(message: str, *, permanent: bool) -> QuestionFailed:
    hint = "" if permanent else "the same command asks this question again"
    return QuestionFailed("bad_image", message, hint=hint, transient=not permanent)


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()
