"""The findings of a check, the part of them that a run keeps, and the test whether a server sees images."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct

from vqa_client.client.probing.asks import COLOURS, PAGE_PX, Ask, ProbeImage, ProbeReply, draw_sentence, draw_square

Level = Literal["ok", "note", "warning", "unusable"]
"""How serious a finding is: "note" is a limit or a habit, "unusable" makes every score wrong."""
Sight = Literal["colours", "text", "differs", "same", "blind", "unknown"]
"""Whether the server sees images, from its replies to drawn pictures.

"colours": it names their colours. "text": it reads their text. "differs": it is wrong, but its replies differ. "same":
its replies are the same, but it counts tokens for pictures. "blind": it counts none. "unknown": it doesn't reply.
"""


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finding: `name` for machines, `value` in plain JSON types, `text` and `hint` for people."""

    name: str
    text: str
    level: Level = "ok"
    value: Any = None
    hint: str = ""


class Checked(Struct, frozen=True, kw_only=True):
    """All findings, in the order of the report; `took_s` is the duration of the check."""

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
    """The properties of a server that decide its answers and don't change between checks.

    `picture_tokens` are the prompt tokens of one fixed picture and question: they change with the model's processor
    and its limits on pixels. `parameters` has "honoured", "ignored" or "refused" for each request field.
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
"""The start of the name of a finding about a request field."""


def fingerprint(checked: Checked) -> Fingerprint:
    """The part of a whole check that a run keeps."""
    values = {finding.name: finding.value for finding in checked.findings}
    kept = {name: values[name] for name in Fingerprint.__struct_fields__ if values.get(name) is not None}
    parameters = {name.removeprefix(PARAMETER): values[name] for name in values if name.startswith(PARAMETER)}
    return Fingerprint(model=checked.model, parameters=parameters, **kept)


PROMPT = "What color is the square? Answer with one word."
SHOWN = ("red", "blue")
CODE = "4821"
CODE_PROMPT = "What is the secret code in the above context? Answer with the code only."
TEMPLATE_TOKENS, CHARACTERS_PER_TOKEN = 40, 3
"""Generous limits: tokens that a chat template adds, and characters of a text per token."""


def colour_asks() -> tuple[Ask, Ask]:
    """The question on a red and on a blue square."""
    return colour_ask(SHOWN[0]), colour_ask(SHOWN[1])


def colour_ask(name: str) -> Ask:
    """The question on a square of this colour."""
    return Ask(prompt=PROMPT, pictures=(ProbeImage(png=draw_square(name)),))


def bare_ask() -> Ask:
    """The same question without a picture."""
    return Ask(prompt=PROMPT)


def code_ask(code: str = CODE) -> Ask:
    """A question that needs the text in the picture; pure OCR can answer it too."""
    return Ask(prompt=CODE_PROMPT, pictures=(ProbeImage(png=draw_sentence(f"The secret code is {code}.", PAGE_PX)),))


def colour_in(text: str) -> str | None:
    """The colour of COLOURS that a text names; None if it names none or several."""
    words = set(re.findall(r"[a-z]+", text.lower().replace("grey", "gray")))
    named = [colour for colour in COLOURS if colour in words]
    return named[0] if len(named) == 1 else None


def sight_of(colours: Sequence[ProbeReply], code: ProbeReply | None = None, bare: ProbeReply | None = None) -> Sight:
    """Judge the replies to `colour_asks`, and to `code_ask` and `bare_ask` if they were asked."""
    if all(colour_in(reply.text) == colour for reply, colour in zip(colours, SHOWN, strict=True)):
        return "colours"
    if code is not None and CODE in code.text:
        return "text"
    if any(reply.completion is None for reply in colours):
        return "unknown"
    if not _counts_pictures(colours[0], bare):
        return "blind"
    first, second = (reply.text for reply in colours)
    return "differs" if first != second else "same"


def _counts_pictures(pictured: ProbeReply, bare: ProbeReply | None) -> bool:
    if pictured.prompt_tokens is None:
        return True
    if bare is not None and bare.prompt_tokens is not None:
        return pictured.prompt_tokens > bare.prompt_tokens
    return pictured.prompt_tokens > TEMPLATE_TOKENS + len(PROMPT) / CHARACTERS_PER_TOKEN


LEVELS: dict[Sight, Level] = {
    "colours": "ok",
    "text": "note",
    "differs": "warning",
    "same": "warning",
    "blind": "unusable",
    "unknown": "unusable",
}
HINTS: dict[Sight, str] = {
    "differs": "a weak model, or pictures that reach it damaged: look at a few answers before a long run",
    "same": "is it a vision-language model? its answers would be guesses from the text",
    "blind": "is it a vision-language model, was it started with its projector, does the path take images?",
}
_VERDICTS: dict[Sight, str] = {"same": "gives the same answer for both images: ", "blind": "does not see images: "}
_ALIVE = "the server answers probes and completes nothing: look at its log, and start it again"


def sight_finding(colours: Sequence[ProbeReply], code: ProbeReply | None, bare: ProbeReply | None) -> Finding:
    """The finding about `sight_of`."""
    sight = sight_of(colours, code, bare)
    if sight == "unknown":
        refused = next(reply for reply in colours if reply.completion is None)
        text, hint = f"no reply to a question about a picture: {refused.error}", _way_out(refused)
    else:
        text, hint = _sight_text(sight, colours, bare), HINTS.get(sight, "")
    return Finding(name="sight", level=LEVELS[sight], value=sight, text=text, hint=hint)


def _sight_text(sight: Sight, colours: Sequence[ProbeReply], bare: ProbeReply | None) -> str:
    answers = " and ".join(repr(reply.text[:40]) for reply in colours) + " of a red and of a blue square"
    if sight == "colours":
        return f"sees images: {answers}"
    if sight == "text":
        return f"reads a drawn code, and says {answers}"
    tokens = f"{_tokens(colours[0])} prompt tokens with the picture, {_tokens(bare)} without"
    return f"{_VERDICTS.get(sight, '')}{answers}; {tokens}"


def _way_out(reply: ProbeReply) -> str:
    if reply.status in ("timeout", "server_error", "connection"):
        return _ALIVE
    if reply.http_status == 404 or "model" in reply.refusal.lower():
        return "--model names a model that it serves; is --base_url right?"
    return "see what the server's log says of this request"


def _tokens(reply: ProbeReply | None) -> str:
    tokens = reply.prompt_tokens if reply else None
    return "an unknown number of" if tokens is None else str(tokens)
