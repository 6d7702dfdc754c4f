"""How images go to one server: as bytes, as the address of a file that it reads itself, or by name once it has them."""

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Self

from msgspec import Struct

from vqa_client.client.body import Part, by_address, by_bytes, by_name
from vqa_client.client.failures import MEGABYTE
from vqa_client.client.uploading.file_proof import FileProof, file_address, not_allowed, unchanged_state
from vqa_client.errors import ServerUnusable
from vqa_client.files import FileState
from vqa_client.types import Image

MOST_IMAGES = 16_384
"""Far more than a server keeps: vLLM's 4 GiB hold some hundreds of pages."""
WORTH_WAITING_BYTES = MEGABYTE
"""From here on a question waits for the answer to another one that is bringing its images to the server."""


class HeldImages:
    """The digests of images that a server has answered about, the least recently used first."""

    def __init__(self, limit: int = MOST_IMAGES) -> None:
        self._limit = limit
        self._held: dict[str, None] = {}
        self._coming: dict[str, asyncio.Event] = {}

    def __contains__(self, sha256: str) -> bool:
        return sha256 in self._held

    async def lead(self, images: Sequence[Image]) -> str:
        """Wait while another question brings these images; "" then, or the digest to give to `brought`.

        Whoever gets a digest is to bring the images itself, and others wait for it until it calls `brought`.
        """
        while True:
            missing = [image for image in images if image.sha256 not in self._held]
            if sum(image.size_bytes for image in missing) < WORTH_WAITING_BYTES:
                return ""
            first = missing[0].sha256
            coming = self._coming.get(first)
            if coming is None:
                self._coming[first] = asyncio.Event()
                return first
            await coming.wait()

    def brought(self, sha256: str) -> None:
        """Let those go on that wait for these images, whether they are there now or not."""
        self._coming.pop(sha256).set()

    def keep(self, images: Sequence[Image]) -> None:
        """Remember what the server has now, or has used again."""
        for image in images:
            self._held.pop(image.sha256, None)
            self._held[image.sha256] = None
        while len(self._held) > self._limit:
            del self._held[next(iter(self._held))]

    def missed(self, sha256: str) -> None:
        """The server has let go of this image, and so of all that it used before."""
        if sha256 not in self._held:
            return
        for older in list(self._held):
            del self._held[older]
            if older == sha256:
                return

    def drop(self, images: Sequence[Image]) -> None:
        """Send these with their bytes again."""
        for image in images:
            self._held.pop(image.sha256, None)

    def clear(self) -> None:
        self._held.clear()


MISS = re.compile(r"cache miss for image at index (\d+)", re.IGNORECASE)
"""How vLLM says that it has no image of that name, or none any more."""


ENOUGH_MISSES = 32
"""After so many, and more of them than hits, the server keeps too little for names to be worth anything."""


class Counted(Struct):
    """How images went: `named` without their bytes, `pointed_at` as files; requests with `misses`: a name not known.

    `spared_bytes` were not sent, counted as they would be in a request: base64 has four for each three.
    """

    named: int = 0
    pointed_at: int = 0
    misses: int = 0
    spared_bytes: int = 0


class Uploads:
    """The ways of one server: names where it has a memory (`held`), addresses where it gives a `proof`.

    `suffix` keeps the names apart of images that it is told to process in different ways; `hits` counts the requests
    with names that were answered.
    """

    def __init__(
        self,
        *,
        held: HeldImages | None,
        suffix: str,
        proof: FileProof | None,
        note: Callable[[str], None],
    ) -> None:
        self.held = held
        self.suffix = suffix
        self.proof = proof
        self.counted = Counted()
        self.hits = 0
        self._note = note

    async def sending(self, images: Sequence[Image], *, whole: bool) -> "Sending":
        """Begin an attempt with these images; `whole` names none of them without its bytes.

        Waits while another question brings the same ones. Raises what FileProof does.
        """
        held = self.held
        files = self.proof is not None and (self.proof.given or await self.proof.by(images))
        leads = "" if held is None or files or whole else await held.lead(images)
        return Sending(uploads=self, images=images, held=held, leads=leads, is_by_file=files, whole=whole)

    def missed(self, message: str, images: Sequence[Image]) -> bool:
        """Whether a refusal says that an image is not there any more: the question's are forgotten then."""
        miss = MISS.search(message)
        if self.held is None or miss is None:
            return False
        self.counted.misses += 1
        if self.counted.misses >= ENOUGH_MISSES and self.counted.misses > self.hits:
            self._give_up_names()
            return True
        at = int(miss[1])
        if at < len(images):
            self.held.missed(images[at].sha256)
        self.held.drop(images)
        return True

    def _give_up_names(self) -> None:
        """Waiting for an image that the server lets go of at once would cost more than to send it."""
        self.held = None
        self._note(
            f"--image_uuid: after {self.counted.misses} images that the server had let go of, all are sent whole "
            "(vLLM keeps more with a larger --mm-processor-cache-gb)"
        )

    def ends(self, message: str) -> ServerUnusable | None:
        """The end of a run whose server reads no files any more."""
        return self.proof.refused(message) if self.proof is not None and not_allowed(message) else None

    def forget(self) -> None:
        """The server was away, and may be another one."""
        if self.held is not None:
            self.held.clear()
        if self.proof is not None:
            self.proof.given = False


class Sending(Struct, kw_only=True):
    """The images of one attempt, from the request's making to the reply's end; to be left by `with`.

    `leads` is the digest of an image that others wait for, or ""; `files` are those that the server reads itself, as
    they were.
    """

    uploads: Uploads
    images: Sequence[Image]
    held: HeldImages | None
    leads: str
    is_by_file: bool
    whole: bool
    files: list[tuple[Image, FileState]] = []
    spared_bytes: list[int] = []
    named: int = 0

    def parts(self) -> list[Part]:
        """Choose each image's way; raises QuestionFailed for a file that is not what it was."""
        return [self._part(image) for image in self.images]

    def arrived(self) -> None:
        """The server has answered about them; raises QuestionFailed for a file that changed under its eyes."""
        for image, before in self.files:
            unchanged_state(image, before)
        counted = self.uploads.counted
        counted.named += self.named
        counted.pointed_at += len(self.spared_bytes) - self.named
        counted.spared_bytes += sum(self.spared_bytes)
        if self.held is not None:
            self.held.keep(self.images)
        if self.named:
            self.uploads.hits += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.leads and self.held is not None:
            self.held.brought(self.leads)

    def _part(self, image: Image) -> Part:
        held = self.held
        name = image.sha256 + self.uploads.suffix if held is not None else ""
        if held is not None and image.sha256 in held and not self.whole:
            self.named += 1
            self._spare(image)
            return by_name(name)
        if self.is_by_file and (address := file_address(image)):
            self.files.append((image, unchanged_state(image)))
            self._spare(image)
            return by_address(address, name)
        return by_bytes(image, name)

    def _spare(self, image: Image) -> None:
        self.spared_bytes.append((image.size_bytes + 2) // 3 * 4)
