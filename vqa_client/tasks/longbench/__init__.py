"""What the LongBench-v2 tasks share: the fields that all their records have, and the groups these make."""

import os
from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct

from vqa_client.errors import UNDECODABLE
from vqa_client.settings.longbench import McSettings, NiahSettings
from vqa_client.types import UNKNOWN, Group, Question

PathLike = str | os.PathLike[str]
Pages = Callable[[str], tuple[str, ...]]
"""The page images of a document id, in the order the model sees them."""
GroupValue = str | int | float | None

_EMPTY_TEXT = b'""'


class Row(Struct, frozen=True, kw_only=True):
    """What every record has; the context stays undecoded bytes."""

    id: str | int = msgspec.field(name="_id")
    domain: GroupValue = None
    sub_domain: GroupValue = None
    difficulty: GroupValue = None
    length: GroupValue = None
    context: Raw = Raw(b"null")

    @property
    def name(self) -> str:
        """The document's id as text."""
        return str(self.id)

    def has_context(self) -> bool:
        """Say whether the record brings the document's text, be it an empty one."""
        return _first_byte(self.context) == b'"'

    def has_text(self) -> bool:
        """Say whether the document's text has anything to read."""
        return self.has_context() and len(self.context) > len(_EMPTY_TEXT)

    def fault(self) -> str:
        """Say what is wrong with the record, or ""."""
        if self.id == "":
            return "field `_id` is empty"
        return "" if _first_byte(self.context) in (b'"', b"n") else "field `context` is not text"

    def groups(self, context_length: str) -> dict[str, Group]:
        """Name this record's value of each breakdown field; an absent one is "unknown"."""
        return {
            "difficulty": group(self.difficulty),
            "length": group(self.length),
            "context_length": context_length,
            "domain": group(self.domain),
            "sub_domain": group(self.sub_domain),
        }

    def text(self) -> str:
        """Decode the document's text, one that `text_fault` has nothing against."""
        return msgspec.json.decode(self.context, type=str)

    def text_fault(self) -> str:
        """Say what is wrong with the document's text, or "": it is skipped unread in every other check."""
        try:
            msgspec.json.decode(self.context, type=str | None)
        except UNDECODABLE as error:
            return f"field `context` can't be read: {error}"
        return ""


def _first_byte(json: Raw) -> bytes:
    return bytes(memoryview(json)[:1])


def group(value: GroupValue) -> str:
    """Name a group: the value itself, known or not, or "unknown" where there is none."""
    return UNKNOWN if value is None or value == "" else str(value)


def frame(options: McSettings | NiahSettings) -> Callable[[str, Question], str] | None:
    """What puts the document's text before the prompt, in a run that shows no pages."""
    if not options.text_only:
        return None
    return lambda prompt, question: f"Context:\n{question.extra['context']}\n\n{prompt}"
