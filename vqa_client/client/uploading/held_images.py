"""What one server holds of the images it was sent, as far as one can know, and what is on its way there."""

import asyncio
from collections.abc import Sequence

from vqa_client.client.failures import MEGABYTE
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

    def __len__(self) -> int:
        return len(self._held)

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
        coming = self._coming.pop(sha256, None)
        if coming is not None:
            coming.set()

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
