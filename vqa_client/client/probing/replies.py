"""What came back for one request of a check: a completion, a refusal, or nothing."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from vqa_client.client.wire import NotACompletion, read_reply
from vqa_client.errors import UNDECODABLE
from vqa_client.types import Completion, Status


class Reply(Struct, frozen=True, kw_only=True):
    """A reply taken apart; `http_status` is 0 where none came, `headers` have lower-case names.

    `completion` is None for a refusal, whose words are `refusal` and whose kind is `status`.
    """

    http_status: int = 0
    headers: dict[str, str] = {}
    body: dict[str, Any] = {}
    completion: Completion | None = None
    refusal: str = ""
    status: Status = "ok"

    @property
    def text(self) -> str:
        """What the model said, or thought where it said nothing."""
        if self.completion is None:
            return ""
        return self.completion.text.strip() or (self.completion.reasoning or "").strip()

    @property
    def prompt_tokens(self) -> int | None:
        """As the server counted them."""
        return self.completion.prompt_tokens if self.completion else None

    @property
    def choices(self) -> list[dict[str, Any]]:
        found = self.body.get("choices")
        return [choice for choice in found if isinstance(choice, dict)] if isinstance(found, list) else []

    @property
    def message(self) -> dict[str, Any]:
        """The first choice's message as it came."""
        message = self.choices[0].get("message") if self.choices else None
        return message if isinstance(message, dict) else {}

    @property
    def told(self) -> str:
        """A refusal in one line."""
        words = " ".join(self.refusal.split())[:_WORDS]
        return f"HTTP {self.http_status}: {words}" if self.http_status else words


_WORDS = 200


def heard(http_status: int, headers: Mapping[str, str], content: bytes) -> Reply:
    """Take a reply to a chat request apart."""
    named = {name.lower(): value for name, value in headers.items()}
    body = json_object(content)
    try:
        completion = read_reply(http_status, named.get("content-type", ""), content)
    except NotACompletion as reply:
        status = reply.verdict.status
        return Reply(http_status=http_status, headers=named, body=body, refusal=reply.message, status=status)
    return Reply(http_status=http_status, headers=named, body=body, completion=completion)


def json_object(content: bytes) -> dict[str, Any]:
    """The JSON object in a body; an empty one for anything else."""
    try:
        found = msgspec.json.decode(content)
    except UNDECODABLE:
        return {}
    return found if isinstance(found, dict) else {}
