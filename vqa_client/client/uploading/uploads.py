"""How images are sent to one server: as bytes, as the address of a file that it reads, or by name once it has them.

`find_uploads` finds out before a run what the server takes; `Uploads` sends by it, and falls back to bytes.
"""

import asyncio
import hashlib
import re
import secrets
from collections.abc import Sequence
from typing import Self

import msgspec
from msgspec import Struct

from vqa_client.client.body import BodyPart, by_address, by_bytes, by_name
from vqa_client.client.endpoint import Endpoint
from vqa_client.client.failures import MEGABYTE
from vqa_client.client.probing.asks import Ask, Asker, ProbeImage, draw_square
from vqa_client.client.probing.findings import PROMPT
from vqa_client.client.probing.parameters import uuid_asks, uuid_finding
from vqa_client.client.uploading.file_proof import FileProof, file_address, forbids_files, unchanged_state
from vqa_client.data_url import encoded_size
from vqa_client.errors import ServerUnusable
from vqa_client.files import FileState
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import RunSettings
from vqa_client.types import Image, Note

MOST_IMAGES = 16_384
"""Far more than a server keeps: vLLM's cache of 4 GiB has room for a few hundred pages."""
WORTH_WAITING_BYTES = MEGABYTE
"""With missing images of this size, a question waits while another question sends them."""


class KnownImages:
    """The digests of the images that a server has, the least recently used first."""

    def __init__(self, limit: int = MOST_IMAGES) -> None:
        self._limit = limit
        self._known: dict[str, None] = {}
        self._claims: dict[str, asyncio.Event] = {}

    def __contains__(self, sha256: str) -> bool:
        return sha256 in self._known

    async def claim(self, images: Sequence[Image]) -> str:
        """Wait while another question sends these images; returns "", or a digest if the caller has to send them.

        With a digest, other questions wait until the caller passes it to `release`.
        """
        while True:
            missing = [image for image in images if image.sha256 not in self._known]
            if sum(image.size_bytes for image in missing) < WORTH_WAITING_BYTES:
                return ""
            first = missing[0].sha256
            claim = self._claims.get(first)
            if claim is None:
                self._claims[first] = asyncio.Event()
                return first
            await claim.wait()

    def release(self, sha256: str) -> None:
        """Wake the questions that wait for these images, whether or not the server has them now."""
        self._claims.pop(sha256).set()

    def keep(self, images: Sequence[Image]) -> None:
        """Remember images that the server has received or used again."""
        for image in images:
            self._known.pop(image.sha256, None)
            self._known[image.sha256] = None
        while len(self._known) > self._limit:
            del self._known[next(iter(self._known))]

    def forget_until(self, sha256: str) -> None:
        """Forget an image that the server has dropped, and all images that it used before that one."""
        if sha256 not in self._known:
            return
        for older in list(self._known):
            del self._known[older]
            if older == sha256:
                return

    def drop(self, images: Sequence[Image]) -> None:
        """Forget these images, so that their bytes are sent again."""
        for image in images:
            self._known.pop(image.sha256, None)

    def clear(self) -> None:
        self._known.clear()


MISS = re.compile(r"cache miss for image at index (\d+)", re.IGNORECASE)
"""vLLM's message that it doesn't have the image of that name."""


ENOUGH_MISSES = 32
"""Names aren't worth it after this many misses, and more misses than hits: the server keeps too few images."""


class Counted(Struct):
    """Images sent by name (`named`) and as a file's address (`pointed_at`).

    `misses` are the requests with an unknown name, `spared_bytes` is the base64 text that was not sent.
    """

    named: int = 0
    pointed_at: int = 0
    misses: int = 0
    spared_bytes: int = 0


class Uploads:
    """The ways to send images to one server: by name if it keeps them (`known`), as files if it reads them (`proof`).

    `suffix` goes behind each name and depends on how the server processes images; `hits` counts the requests with names
    that were answered.
    """

    def __init__(self, *, known: KnownImages | None, suffix: str, proof: FileProof | None, note: Note) -> None:
        self.known = known
        self.suffix = suffix
        self.proof = proof
        self.counted = Counted()
        self.hits = 0
        self._note = note

    async def sending(self, images: Sequence[Image], *, whole: bool) -> "Sending":
        """Begin an attempt with these images; with `whole`, the bytes of all of them are sent.

        Waits while another question sends the same images. Raises the errors of FileProof.
        """
        known = self.known
        files = self.proof is not None and (self.proof.given or await self.proof.prove_with(images))
        claimed = "" if known is None or files or whole else await known.claim(images)
        return Sending(uploads=self, images=images, known=known, claimed=claimed, is_by_file=files, whole=whole)

    def note_miss(self, message: str, images: Sequence[Image]) -> bool:
        """Whether a refusal says that the server lacks an image; if so, forget the question's images."""
        miss = MISS.search(message)
        if self.known is None or miss is None:
            return False
        self.counted.misses += 1
        if self.counted.misses >= ENOUGH_MISSES and self.counted.misses > self.hits:
            self._give_up_names()
            return True
        at = int(miss[1])
        if at < len(images):
            self.known.forget_until(images[at].sha256)
        self.known.drop(images)
        return True

    def _give_up_names(self) -> None:
        """Send all images as bytes from now on: that costs less than to wait for images that are dropped at once."""
        self.known = None
        self._note(
            f"--image_uuid: after {self.counted.misses} images that the server had let go of, all are sent whole "
            "(vLLM keeps more with a larger --mm-processor-cache-gb)"
        )

    def ending_error(self, message: str) -> ServerUnusable | None:
        """The error that ends the run, if a refusal says that the server can no longer read files."""
        return self.proof.refusal_error(message) if self.proof is not None and forbids_files(message) else None

    def forget(self) -> None:
        """Forget everything: the server was away and may have been replaced."""
        if self.known is not None:
            self.known.clear()
        if self.proof is not None:
            self.proof.given = False


class Sending(Struct, kw_only=True):
    """The images of one attempt, from the request to its reply; a context manager.

    `claimed` is the digest of an image for which other questions wait, or ""; `files` are the images that the server
    reads from their files, with the state of each file.
    """

    uploads: Uploads
    images: Sequence[Image]
    known: KnownImages | None
    claimed: str
    is_by_file: bool
    whole: bool
    files: list[tuple[Image, FileState]] = []
    named: int = 0
    pointed_at: int = 0
    spared_bytes: int = 0

    def parts(self) -> list[BodyPart]:
        """Choose how to send each image; raises QuestionFailed for a file that has changed."""
        return [self._part(image) for image in self.images]

    def arrived(self) -> None:
        """Count the images after the reply; raises QuestionFailed for a file that changed while the server read it."""
        for image, before in self.files:
            unchanged_state(image, before)
        counted = self.uploads.counted
        counted.named += self.named
        counted.pointed_at += self.pointed_at
        counted.spared_bytes += self.spared_bytes
        if self.known is not None:
            self.known.keep(self.images)
        if self.named:
            self.uploads.hits += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.claimed and self.known is not None:
            self.known.release(self.claimed)

    def _part(self, image: Image) -> BodyPart:
        known = self.known
        name = image.sha256 + self.uploads.suffix if known is not None else ""
        if known is not None and image.sha256 in known and not self.whole:
            self.named += 1
            self.spared_bytes += encoded_size(image.size_bytes)
            return by_name(name)
        if self.is_by_file and (address := file_address(image)):
            self.files.append((image, unchanged_state(image)))
            self.pointed_at += 1
            self.spared_bytes += encoded_size(image.size_bytes)
            return by_address(address, name)
        return by_bytes(image, name)


PROCESSING = ("mm_processor_kwargs", "media_io_kwargs")
"""Request fields that change how vLLM processes an image."""


async def find_uploads(
    endpoint: Endpoint, model: ModelSettings, settings: RunSettings, note: Note, *, is_away: bool
) -> Uploads | None:
    """The ways other than bytes that the settings ask for and this server has; None if there are none."""
    named = settings.image_uuid == "auto" and not is_away and await _knows_names(endpoint, model, note)
    if not named and not settings.file_urls:
        return None
    return Uploads(
        known=KnownImages() if named else None,
        suffix=name_suffix(model),
        proof=FileProof(endpoint, model) if settings.file_urls else None,
        note=note,
    )


def name_suffix(model: ModelSettings) -> str:
    """A suffix for an image's name that depends on its processing; "" for the server's default."""
    processing = {key: (model.extra_body or {})[key] for key in PROCESSING if key in (model.extra_body or {})}
    if not processing:
        return ""
    return "-" + hashlib.sha256(msgspec.json.encode(processing, order="sorted")).hexdigest()[:16]


async def _knows_names(endpoint: Endpoint, model: ModelSettings, note: Note) -> bool:
    """Whether it refuses an unknown name and sees the image of a known one; else images would be lost."""
    asker = Asker(endpoint, model)
    picture = ProbeImage(png=draw_square("green"), uuid=f"never-sent-{secrets.token_hex(16)}", sent=False)
    unknown = await asker.ask(Ask(prompt=PROMPT, pictures=(picture,)))
    if unknown.completion is not None or not MISS.search(unknown.refusal):
        reason = "answers without the image" if unknown.completion else unknown.error
        note(f"--image_uuid: {endpoint.address} knows no names of images ({reason}): all are sent whole")
        return False
    first, again = [await asker.ask(ask) for ask in uuid_asks()]
    finding = uuid_finding(first, again)
    if not finding.value:
        note(f"--image_uuid: {endpoint.address}: {finding.text}: all images are sent whole")
    return bool(finding.value)
