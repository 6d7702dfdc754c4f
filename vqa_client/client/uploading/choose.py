"""Find out, before the run, in which ways a server takes images."""

import hashlib
import secrets
from collections.abc import Callable

import msgspec

from vqa_client.client.endpoint import Endpoint
from vqa_client.client.probing.asks import Ask, Asker, ProbeImage, draw_square
from vqa_client.client.probing.findings import PROMPT
from vqa_client.client.probing.parameters import uuid_asks, uuid_finding
from vqa_client.client.uploading.file_proof import FileProof
from vqa_client.client.uploading.uploads import MISS, KnownImages, Uploads
from vqa_client.model_config import ModelSettings
from vqa_client.settings.run import RunSettings

PROCESSING = ("mm_processor_kwargs", "media_io_kwargs")
"""Request fields that change how vLLM processes an image."""


async def find_uploads(
    endpoint: Endpoint, model: ModelSettings, settings: RunSettings, note: Callable[[str], None], *, is_away: bool
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


async def _knows_names(endpoint: Endpoint, model: ModelSettings, note: Callable[[str], None]) -> bool:
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
