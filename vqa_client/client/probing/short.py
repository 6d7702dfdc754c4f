"""Two to four requests that tell whether a server sees images, and which server it is."""

from msgspec import Struct

from vqa_client.client.endpoint import Endpoint
from vqa_client.client.probing.asker import Asker
from vqa_client.client.probing.findings import Fingerprint
from vqa_client.client.probing.identity import Evidence, cards_of, kind_of
from vqa_client.client.probing.sight import bare_ask, code_ask, colour_asks, sight_of
from vqa_client.model_config import ModelSettings

TIMEOUT_S = 60.0


class ShortCheck(Struct, frozen=True, kw_only=True):
    """What two small pictures showed; `told` and `http_status` are of what came where there was no reply to them."""

    fingerprint: Fingerprint
    told: str = ""
    http_status: int = 0


async def short_check(endpoint: Endpoint, model: ModelSettings, *, timeout_s: float = TIMEOUT_S) -> ShortCheck:
    """Ask for the colours of two pictures; where they are not named, for a drawn code, and without a picture.

    Never raises for what the server does: `sight` is "unknown" where it didn't reply, "blind" or "same" where no image
    was seen. `timeout_s` is for each request.
    """
    asker = Asker(endpoint, model, timeout_s=timeout_s)
    colours = await asker.all(colour_asks())
    code = bare = None
    if sight_of(colours) not in ("colours", "unknown"):
        code, bare = await asker.ask(code_ask()), await asker.ask(bare_ask())
    sight = sight_of(colours, code, bare)
    kind, version = kind_of(colours[0], Evidence())
    if kind == "unknown":
        stated = await asker.get("/version", at_root=True)
        models = await asker.get("/models")
        kind, version = kind_of(colours[0], Evidence(cards=cards_of(models.body), version=stated.body))
    seen = Fingerprint(
        kind=kind, version=version, model=model.model_name, sight=sight, picture_tokens=colours[0].prompt_tokens
    )
    if sight != "unknown":
        return ShortCheck(fingerprint=seen)
    return ShortCheck(fingerprint=seen, told=endpoint.redacted(colours[0].told), http_status=colours[0].http_status)
