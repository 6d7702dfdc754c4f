"""Prompt templates in which two placeholders are replaced, once, and every other brace means itself."""

import re
from collections.abc import Collection, Mapping

from vqa_client.errors import UsageError

PLACEHOLDERS = ("question", "choices")

_PLACEHOLDER = re.compile(r"\{(question|choices)\}")
_BARE_NAME = re.compile(r"\\[A-Za-z]+(?:\[[^\]{}]*\])?(?:\{[^{}]*\})+|\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""LaTeX commands with their arguments, which are passed over, or a name alone in braces."""


def fill(template: str, *, question: str, choices: str = "") -> str:
    """Put the question and the choices in, in one pass: braces inside them are never looked at again."""
    values = {"question": question, "choices": choices}
    return _PLACEHOLDER.sub(lambda found: values[found[1]], template)


def placeholders(template: str) -> frozenset[str]:
    """Name the placeholders that `fill` would replace."""
    return frozenset(_PLACEHOLDER.findall(template))


def template_for(template: str | None, default: str, benchmark: str) -> tuple[str, str]:
    """The template that a benchmark asks with, and a note for people, "" where it is the config's.

    Without choices to show, a template with {choices} or without {question} is another benchmark's: `default`
    is used. Raises UsageError for an unknown placeholder.
    """
    if not template:
        return default, ""
    found, known = placeholders(template), placeholders(default)
    if "choices" not in known and found != {"question"}:
        lacks = "it has {choices}" if "choices" in found else "it has no {question}"
        return default, f"{benchmark} asks with its own template, {default!r}, not the config's: {lacks}"
    check(template, known=[name for name in PLACEHOLDERS if name in known])
    return template, ""


def check(template: str, *, known: Collection[str] = PLACEHOLDERS) -> None:
    """Refuse a template that leaves the question out or names a placeholder that isn't one; raises UsageError."""
    names = [name for name in _BARE_NAME.findall(template) if name]
    unknown = sorted(set(names) - set(known))
    listed = " and ".join(f"{{{name}}}" for name in known)
    if unknown:
        raise UsageError(
            f"unknown placeholder {{{unknown[0]}}} in prompt_template; known are {listed}",
            hint=f"to send the braces themselves, write them with a space: {{ {unknown[0]} }}",
        )
    if "question" not in placeholders(template):
        raise UsageError(
            f"prompt_template has no {{question}}: {template[:60]!r}",
            hint=f"write {listed} where the texts belong; '{{question}}' is the shortest template",
        )


def choices_text(choices: Mapping[str, str]) -> str:
    """Write the choices as the model sees them, one per line in the order of their letters."""
    return "\n".join(f"{label}. {text}" for label, text in sorted(choices.items()))
