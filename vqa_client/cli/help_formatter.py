"""Help pages as cyclopts prints them, but for the text of an option: it is one line, however the source breaks it."""

from typing import Any


class HelpFormatter:
    """Cyclopts' own formatter, which is imported where a page is printed and nowhere else."""

    def __call__(self, console: Any, options: Any, panel: Any) -> None:
        for entry in panel.entries:
            if text := getattr(entry.description, "primary_renderable", None):
                text.plain = " ".join(text.plain.split())
        _default()(console, options, panel)

    def __getattr__(self, name: str) -> Any:
        return getattr(_default(), name)


def _default() -> Any:
    from cyclopts.help import DefaultFormatter

    return DefaultFormatter()
