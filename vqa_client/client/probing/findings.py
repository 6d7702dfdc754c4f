"""What a check finds, the verdict over all of it, and what of it a run keeps as the server's fingerprint."""

from typing import Any, Literal

from msgspec import Struct

Level = Literal["ok", "note", "warning", "unusable"]
"""How much a finding matters: "note" is a limit or a habit to know, "unusable" would spoil every number."""
Sight = Literal["colours", "text", "differs", "same", "blind", "unknown"]
"""Whether the server sees images, from what it says of drawn pictures.

It names their colours, or reads their text; or it is wrong, and yet says different things of different pictures; or it
says the same of all of them, though it counts tokens for them; or it doesn't even count any; "unknown": no replies.
"""


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing found: `name` for machines, `value` in plain JSON types, `text` and `hint` for people."""

    name: str
    text: str
    level: Level = "ok"
    value: Any = None
    hint: str = ""


class Checked(Struct, frozen=True, kw_only=True):
    """All findings in the order in which they are told; `took_s` is the time that the check took."""

    base_url: str
    model: str
    findings: tuple[Finding, ...]
    took_s: float = 0.0

    @property
    def worst(self) -> tuple[Finding, ...]:
        """The findings that make the server unusable."""
        return self.at("unusable")

    def at(self, level: Level) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.level == level)


class Fingerprint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of a server decides its answers and doesn't change from one check to the next.

    `picture_tokens` are the prompt tokens of one fixed picture and question: they change with the model's processor
    and its limits on pixels. `parameters` says of request fields whether they are honoured, ignored or refused.
    """

    kind: str = "unknown"
    version: str | None = None
    model: str = ""
    sight: Sight = "unknown"
    picture_tokens: int | None = None
    context_length: int | None = None
    image_limit: int | None = None
    reasoning: str | None = None
    uuid: bool | None = None
    answers_under_load: str | None = None
    parameters: dict[str, str] = {}


PARAMETER = "parameter "
"""How the name of a finding about a request's field begins."""
_KEPT = ("kind", "version", "sight", "picture_tokens", "context_length", "image_limit", "reasoning", "uuid")


def fingerprint(checked: Checked) -> Fingerprint:
    """The part of a whole check that a run keeps."""
    values = {finding.name: finding.value for finding in checked.findings}
    kept = {name: values[name] for name in _KEPT if values.get(name) is not None}
    parameters = {name.removeprefix(PARAMETER): values[name] for name in values if name.startswith(PARAMETER)}
    return Fingerprint(
        model=checked.model, answers_under_load=values.get("answers_under_load"), parameters=parameters, **kept
    )
