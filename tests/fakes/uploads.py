"""Servers that accept images by a name that they know, or as files that they read themselves."""

import hashlib
from base64 import b64encode
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from threading import Lock
from urllib.parse import unquote, urlsplit

from tests.fakes.bodies import sniff
from tests.fakes.received import Received, ReceivedImage
from tests.fakes.replies import error
from tests.fakes.request_rules import RequestRule
from tests.fakes.script import Script

INTERNAL = "InternalServerError"


def caches_images(capacity: int = 1_000, then: Script = ()) -> RequestRule:
    """Cache the last `capacity` images by uuid, and accept a uuid alone for these; 400 for others.

    vLLM's processor cache does this. `then` sees the image itself.
    """
    kept: OrderedDict[str, ReceivedImage] = OrderedDict()
    lock = Lock()

    def refuses(received: Received) -> Script | None:
        with lock:
            for at, image in enumerate(received.images):
                if image.uuid and not image.sha256 and image.uuid not in kept:
                    return error(400, f"Cache miss for image at index {at} but data is not provided.")
            received.images = tuple(_seen(image, kept) for image in received.images)
            while len(kept) > capacity:
                kept.popitem(last=False)
        return None

    return RequestRule(refuses=refuses, then=then)


def _seen(image: ReceivedImage, kept: OrderedDict[str, ReceivedImage]) -> ReceivedImage:
    if not image.uuid:
        return image
    if image.sha256:
        kept[image.uuid] = image
    kept.move_to_end(image.uuid)
    return kept[image.uuid]


def reads_files(folder: str | Path | None = None, then: Script = ()) -> RequestRule:
    """Read files at file:// addresses below `folder`; refuse others, and all without a folder, as vLLM does."""

    def refuses(received: Received) -> Script | None:
        seen = []
        for image in received.images:
            if not image.url.startswith("file://"):
                seen.append(image)
                continue
            if folder is None:
                return error(500, "Cannot load local files without `--allowed-local-media-path`.", type=INTERNAL)
            path = Path(unquote(urlsplit(image.url).path))
            if Path(folder).resolve() not in path.resolve().parents:
                message = f"The file path {path} must be a subpath of `--allowed-local-media-path {folder}`."
                return error(400, message)
            seen.append(_read(path, image))
        received.images = tuple(seen)
        return None

    return RequestRule(refuses=refuses, then=then)


def _read(path: Path, image: ReceivedImage) -> ReceivedImage:
    data = path.read_bytes()
    url = f"data:{sniff(data)};base64,{b64encode(data).decode()}"
    return replace(image, url=url, sha256=hashlib.sha256(data).hexdigest(), size_bytes=len(data), mime=sniff(data))
