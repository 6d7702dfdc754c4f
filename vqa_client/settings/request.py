"""Fields of every request, given on the command line instead of in a config file."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from vqa_client.errors import UsageError
from vqa_client.not_json import not_finite
from vqa_client.settings.validation import AtLeast, Several
from vqa_client.types import OURS, without_none

REQUEST = Parameter(group=Group("Request", sort_key=2))
_HEADER_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class RequestOptions:
    """Keys of a config that the command line may give; each replaces the config's and makes the same run."""

    temperature: Annotated[float | None, AtLeast(0), REQUEST] = None
    """Sampling temperature. Default: the config's, else 0."""
    max_tokens: Annotated[int | None, AtLeast(1), REQUEST] = None
    """Maximum number of tokens in a reply. Default: the config's, else the benchmark's usual."""
    top_p: Annotated[float | None, AtLeast(0, most=1), REQUEST] = None
    """Nucleus sampling. Default: not sent."""
    seed_model: Annotated[int | None, REQUEST] = None
    """Seed of the server's sampling. Default: not sent."""
    presence_penalty: Annotated[float | None, REQUEST] = None
    """Presence penalty. Default: the config's, else not sent."""
    prompt: Annotated[str, REQUEST] = ""
    """Prompt template with {question}, and {choices} where there are some. Default: the config's, else the benchmark's
    own."""
    system: Annotated[str | None, REQUEST] = None
    """A system message for every question; "" sends none. Default: the config's system_prompt, else the benchmark's
    own."""
    thinking: Annotated[Literal["on", "off", "auto"], REQUEST] = "auto"
    """Switch a model's thinking on or off, in the form that the server accepts; auto sends nothing."""
    extra_body: Annotated[Several[str], REQUEST] = ()
    """A further field of the request as name=value, such as top_k=20; repeat for more. Values are JSON where they can
    be; a.b=value sets b inside a."""
    header: Annotated[Several[str], REQUEST] = field(default=(), repr=False)
    """A header of every request as name=value, such as api-key=...; repeat for more. Never recorded."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers by name; raises UsageError for one that can't be sent."""
        headers = {name: value.strip() for name, value in _parse_pairs("header", self.header).items()}
        for name, value in headers.items():
            if not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
                raise UsageError(f"--header {_first_word(name)!r} can't be sent", hint="name=value in printable ASCII")
        return headers

    @property
    def prompt_template(self) -> str | None:
        """The template that replaces the config's, if one is given."""
        return self.prompt or None

    def sent(self, extra_body: Mapping[str, Any] | None) -> dict[str, Any]:
        """The keys of ModelSettings that these options change; `extra_body` is the config's. Raises UsageError."""
        own: dict[str, Any] = {"top_p": self.top_p, "seed": self.seed_model}
        body = dict(extra_body or {}) | without_none(own)
        try:
            for path, text in _parse_pairs("extra_body", self.extra_body).items():
                _set_field(body, path.split("."), _parse_value(text))
            number = not_finite(body)
        except RecursionError:
            raise UsageError("--extra_body is nested too deeply", hint="give fewer brackets or dots") from None
        if number:
            raise UsageError(f"--extra_body has {number}: numbers in JSON are finite", hint="a text has quotes")
        if taken := sorted(OURS & body.keys()):
            raise UsageError(f"--extra_body sets {', '.join(taken)}", hint="the run sets it: leave it out")
        changed = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "presence_penalty": self.presence_penalty,
            "prompt_template": self.prompt_template,
            "thinking": None if self.thinking == "auto" else self.thinking,
            "extra_body": body or None,
        }
        return without_none(changed)


def _first_word(text: str) -> str:
    """The name of a header in another form, such as `Authorization: Bearer KEY`, without the key."""
    return re.split(r"[:\s]", text.strip(), maxsplit=1)[0]


def _parse_pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    for text in texts:
        if "=" not in text:
            raise UsageError(f"--{option} {_first_word(text)!r} has no value", hint=f"--{option} name=value")
    return {name.strip(): value for name, _, value in (text.partition("=") for text in texts)}


def _parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _set_field(body: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        inner = body.get(name)
        body[name] = dict(inner) if isinstance(inner, dict) else {}
        body = body[name]
    body[path[-1]] = value
