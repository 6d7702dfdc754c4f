"""A request that the server received, and how it was answered."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedImage:
    """One image part: `size_bytes` and `sha256` are of the decoded bytes, 0 and "" for a URL without data.

    `url` is the data URL itself, "" in a log kept without bodies.
    """

    mime: str = ""
    sha256: str = ""
    size_bytes: int = 0
    url: str = field(default="", repr=False)
    uuid: str = ""

    @property
    def data(self) -> bytes:
        """Decode the image file."""
        return base64.b64decode(self.url.partition(",")[2])


@dataclass(slots=True, kw_only=True)
class Received:
    """One request; the fields from `status` on are filled in as it is served. All times are `time.monotonic()`.

    `connection` and `number` count from 1 over the server's life, `turn` from 1 within the connection. `headers` have
    lower-case names. `in_flight` is how many requests the server held when this one was complete, itself included.
    """

    number: int
    connection: int
    turn: int
    kind: str
    method: str
    path: str
    headers: Mapping[str, str]
    started_s: float
    received_s: float | None = None
    declared_bytes: int | None = None
    size_bytes: int = 0
    body: bytes = field(default=b"", repr=False)
    json: Any = field(default=None, repr=False)
    prompt: str = ""
    images: tuple[ReceivedImage, ...] = ()
    in_flight: int = 0
    status: int | None = None
    answered_s: float | None = None
    hung_up: bool = False

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def is_chat(self) -> bool:
        """Whether this asks for a completion."""
        return self.method == "POST" and self.route.endswith("/chat/completions")

    @property
    def question(self) -> tuple[str, ...]:
        """The identity of a question: the prompt and the digests of its images."""
        return (self.prompt, *(image.sha256 for image in self.images))

    def drop_body(self) -> None:
        """Keep the prompt and the digests, and drop the bytes."""
        self.body, self.json = b"", None
        self.images = tuple(replace(image, url="") for image in self.images)
