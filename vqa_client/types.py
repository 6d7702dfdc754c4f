"""The types that all packages share; this module imports no other module of vqa_client."""

from collections.abc import Callable, Collection, Mapping
from itertools import chain
from typing import Any, Literal, Protocol, TypeVar, get_args

from msgspec import UNSET, Struct, UnsetType

OURS = frozenset({"model", "messages", "stream", "n"})
"""Keys of a request that extra_body may not set: records would not show what was sent."""


def without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


Status = Literal[
    "ok",
    "unparsed",
    "ambiguous",
    "truncated",
    "refused",
    "empty",
    "bad_image",
    "too_long",
    "too_many_images",
    "bad_response",
    "rate_limited",
    "timeout",
    "connection",
    "server_error",
    "rejected",
]
"""The result of a question; it is decided before the score."""

STATUSES: tuple[Status, ...] = get_args(Status)
ANSWERED: frozenset[Status] = frozenset({"ok", "unparsed", "ambiguous", "truncated", "refused", "empty"})
"""The statuses with a reply: the denominator of the accuracy over answered questions."""
FAILED: frozenset[Status] = frozenset(STATUSES) - ANSWERED
"""The statuses without a reply."""
UNKNOWN = "unknown"
"""The group of a question whose data has none."""
PERMANENT: frozenset[Status] = frozenset({"bad_image", "too_long", "too_many_images"})
"""The question would fail again: a resumed run asks it again only on request, all other failures always."""


Note = Callable[[str], None]
"""Shows one line to the user."""
Row = TypeVar("Row", bound=Struct)
Group = str | tuple[str, ...]
"""A question's value of a breakdown field; a question with several values counts in each."""


def group_values(group: Group) -> tuple[str, ...]:
    """The values of a group."""
    return (group,) if isinstance(group, str) else group


def group_text(group: Group) -> str:
    """A group as text."""
    return group if isinstance(group, str) else ", ".join(group)


Content = tuple[str | int, ...]
"""A prompt's parts in the order in which they are sent: texts, and numbers of images from 1."""


class Turn(Struct, frozen=True, kw_only=True):
    """An earlier turn of a conversation: what the user said, with images by their number, and the reply in the data."""

    content: Content
    reply: str


class Question(Struct, frozen=True, kw_only=True):
    """One question.

    `folder` is the page folder of its images, or "text_only". `variant` is what was changed in the question, such as a
    corruption and its level ("gaussian_noise/3") or an order of choices. `images` are paths in the order in which they
    are sent, `choices` maps a label to its text, `groups` maps a breakdown field to this question's value, `cluster`
    names the document or image that several questions share. `turns` come before the question; their images are among
    `images`. `evidence` has the positions in `images`, from 1, of those with the answer; `row` is the data row for
    scorers that need more of it.
    """

    id: str
    folder: str = ""
    variant: str = ""
    text: str
    images: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    rationales: tuple[str, ...] = ()
    choices: dict[str, str] = {}
    groups: dict[str, Group] = {}
    cluster: str = ""
    evidence: tuple[int, ...] = ()
    row: Any = None
    extra: dict[str, Any] = {}
    turns: tuple[Turn, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The key of its record in a log, as `Record.key`."""
        return self.id, self.variant or self.folder

    def row_as(self, kind: type[Row]) -> Row:
        """The row as this type, which it must have."""
        assert isinstance(self.row, kind), f"the row of question {self.id} is a {type(self.row).__name__}"
        return self.row


class SentImage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An image in a record: what identifies the sent image, without its bytes.

    `sha256`, `size_bytes`, `width` and `height` (in pixels, 0 if unknown) describe what was sent; `file_sha256` and
    `file_size_bytes` describe the file, if `transforms` changed it.
    """

    name: str
    sha256: str
    size_bytes: int
    width: int = 0
    height: int = 0
    transforms: tuple[str, ...] = ()
    file_sha256: str = ""
    file_size_bytes: int = 0


class Image(SentImage, frozen=True, kw_only=True, weakref=True):
    """An image ready to be sent: the unchanged file at `path`, the bytes in `data`, or an `address` for the server.

    `stamp` identifies the state of the file when it was read.
    """

    mime: str
    path: str = ""
    data: bytes | None = None
    stamp: str = ""
    address: str = ""


Parts = tuple[str | Image, ...]
"""A prompt's parts with the images themselves, ready to be sent."""


class Example(Struct, frozen=True, kw_only=True):
    """A worked example, or an earlier turn: what the user says, and the reply to it."""

    content: Parts
    reply: str


class Request(Struct, frozen=True, kw_only=True):
    """The request for one question: the system message, worked examples and earlier turns, and the user's turn.

    `parameters` are fields of the request for this question only; `document` names what several questions share, so
    that they can be sent to the server that has it in its cache.
    """

    content: Parts
    system: str = ""
    examples: tuple[Example, ...] = ()
    parameters: dict[str, Any] = {}
    document: str = ""

    def parts(self) -> Parts:
        """Every text and image, in the order in which they are sent."""
        if not (self.system or self.examples):
            return self.content
        examples = chain.from_iterable((*example.content, example.reply) for example in self.examples)
        return (*([self.system] if self.system else ()), *examples, *self.content)

    @property
    def images(self) -> tuple[Image, ...]:
        """All images, those of worked examples included, in the order in which they are sent."""
        return tuple(part for part in self.parts() if isinstance(part, Image))


ChoiceMode = Literal["text", "structured", "logprob"]
"""How a choice is read: from free text, from a reply that can only be a label, or from the first token."""


class Choosing(Struct, frozen=True, kw_only=True):
    """Answers without free text: the server chooses a label, or gives the probability of each."""

    mode: ChoiceMode
    labels: tuple[str, ...]


class Completion(Struct, frozen=True, kw_only=True):
    """A server's reply to one question; token counts are None if the server doesn't report them.

    `first_token` maps candidates for the first token to their logprobs, if these were requested; `ttft_s` is the time
    to the first token of a stream; `model` is the model's name in the reply, "" if it has none.
    """

    text: str
    reasoning: str | None = None
    finish_reason: str | None = None
    first_token: dict[str, float] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str = ""
    latency_s: float = 0.0
    ttft_s: float | None = None
    attempts: int = 1
    request_bytes: int = 0


class Asks(Protocol):
    """A client of a server, or a replacement for it."""

    async def complete(self, request: Request) -> Completion:
        """The completion of a request; raises QuestionFailed."""


class Answer(Struct, frozen=True, kw_only=True):
    """The answer that was read from a reply; `rule` names the parsing rule that decided.

    `text` is None unless `status` is "ok", or "empty" for a blank that is an answer. `rivals` are other possible
    answers in the reply; `source` is the field that was read; `probabilities` are those of the labels, if known.
    """

    text: str | None = None
    status: Status = "ok"
    rule: str = ""
    rivals: tuple[str, ...] = ()
    rationale: str | None = None
    source: Literal["content", "reasoning"] = "content"
    probabilities: dict[str, float] = {}


class Score(Struct, frozen=True, kw_only=True):
    """A value in [0, 1] and the same answer under other metrics, by name."""

    value: float
    parts: dict[str, float] = {}


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a question has no reply, in the server's own words, which are cut if they are long.

    A `transient` failure is not the question's fault: it is asked again, even if its status is permanent.
    """

    message: str
    http_status: int | None = None
    body: str = ""
    hint: str = ""
    transient: bool = False


def has_verdict(metrics: Collection[str]) -> bool:
    """Whether these metrics include a score: a judge's record without a verdict has only the two bounds."""
    return "judged" in metrics or not {"at_least", "at_most"} <= set(metrics)


class Record(Struct, frozen=True, kw_only=True):
    """One line of the record log: everything about one question in one variant.

    `folder` exists if the question has one. `rationale` is the explanation in the reply; `score` is 0.0 for a failed
    question. `first_token` (logprobs) and `probabilities` (of the labels) exist if a choice was read from them.
    `prompt` has `<image k>` for an image, unless all images come before the text or all after it; `system` and `shots`,
    the ids of the worked examples, exist if they were sent. `image_stamps` are those of the image files, or of a file
    that is not an image. `replaced_characters` counts U+FFFD in the reply, which stands for an invalid character.
    `model` is the model's name in the reply, if the task keeps it; `ttft_s` is the time to the first token of a stream.
    """

    question_id: str
    variant: str = ""
    folder: str | UnsetType = UNSET
    status: Status
    prompt: str = ""
    system: str | UnsetType = UNSET
    shots: tuple[str, ...] | UnsetType = UNSET
    output: str | None = None
    reasoning: str | None = None
    replaced_characters: int | UnsetType = UNSET
    finish_reason: str | None = None
    answer: str | None = None
    rationale: str | None = None
    rule: str = ""
    rivals: tuple[str, ...] = ()
    source: str = "content"
    first_token: dict[str, float] | UnsetType = UNSET
    probabilities: dict[str, float] | UnsetType = UNSET
    references: tuple[str, ...] = ()
    score: float = 0.0
    parts: dict[str, float] = {}
    groups: dict[str, Group] = {}
    cluster: str = ""
    images: tuple[SentImage, ...] = ()
    image_stamps: str | UnsetType = UNSET
    truncated_pages: int = 0
    error: Failure | None = None
    model: str | UnsetType = UNSET
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float = 0.0
    ttft_s: float | UnsetType = UNSET
    attempts: int = 0
    request_bytes: int = 0

    @property
    def form(self) -> str:
        """What distinguishes the question's records: the variant, or the folder if there is no variant.

        Older logs have the folder as the variant, which gives the same form.
        """
        return self.variant or self.folder or ""

    @property
    def is_scored(self) -> bool:
        """Whether it has a score: the answer is known and, in a judge's log, the judge gave a verdict."""
        return bool(self.parts) and has_verdict(self.parts)

    @property
    def key(self) -> tuple[str, str]:
        """The key of the record in a log, and of its verdicts, labels and notes elsewhere."""
        return self.question_id, self.form
