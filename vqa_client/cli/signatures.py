"""What each command takes: its page of help, and a mistake in it, import nothing of what the command does."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from importlib import import_module
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, cast

from cyclopts import Parameter as CommandParameter

from vqa_client.cli.app import COMMANDS, ROBUSTNESS

_SETTINGS = {
    "declared": ("ask",),
    "judge": ("judge", "label"),
    "own_commands": ("explain", "mc", "niah", "vqa2"),
    "pages": ("legibility", "needles", "pages_preview", "perturb", "render"),
    "reports": ("compare", "ctl", "leaderboard", "merge", "parse", "report", "rescore", "view"),
    "robustness": ("evaluate", "generate", "plot"),
    "score": ("score_explanations",),
    "serve": ("check", "demo", "serve"),
    "suite": ("suite",),
}
"""By module of settings: the commands whose settings it has, each named after its command."""
_FIRST: dict[str, tuple[str, Any]] = {
    "ask": ("data", Annotated[Path, CommandParameter(help="A file, a folder, a quoted glob, or hf://owner/name.")]),
    "judge": (
        "results",
        Annotated[Path, CommandParameter(help="A finished run: its *.records.jsonl, its report, or a folder of runs.")],
    ),
    "label": (
        "results",
        Annotated[Path, CommandParameter(help="A finished run: its *.records.jsonl, its report or its folder.")],
    ),
    "suite": ("name", Annotated[str, CommandParameter(help="smoke, documents, general, or a FILE.toml.")]),
}
"""What comes before the options."""
_MODULES = {name: module for group in COMMANDS.values() for name, (module, _, _) in group.items()}
_MODULES |= dict.fromkeys(ROBUSTNESS.keys() - {"run"}, "robustness")


def __getattr__(name: str) -> Callable[..., int | None]:
    """A command, whose module is imported when it is called; one that reads its options by itself, as it is."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = next((place for place, names in _SETTINGS.items() if name in names), None)
    if place is None:
        return _imported(name)

    def command(*arguments: Any, **options: Any) -> int | None:
        called = signature.bind(*arguments, **options)
        called.apply_defaults()
        return _imported(name)(*called.args, **called.kwargs)

    settings = import_module(f"vqa_client.settings.{place}")
    kind = getattr(settings, f"{name.title().replace('_', '')}Settings")
    first = {"server": settings.ServerName} if name == "serve" else dict([_FIRST[name]] if name in _FIRST else [])
    parameters = [Parameter(of, Parameter.POSITIONAL_ONLY, annotation=taken) for of, taken in first.items()]
    last = Parameter("settings", Parameter.POSITIONAL_OR_KEYWORD, default=default_of(kind), annotation=kind)
    command.__signature__ = signature = Signature([*parameters, last])  # type: ignore[attr-defined]
    command.__name__ = name
    command.__annotations__ = {each.name: each.annotation for each in (*parameters, last)}
    return command


def _imported(name: str) -> Callable[..., int | None]:
    return cast(Callable[..., int | None], getattr(import_module(f"vqa_client.cli.{_MODULES[name]}"), name))


def default_of(kind: Any) -> Any:
    """The settings of a command line without options; `Parameter.empty` where some are required."""
    is_required = any(field.default is MISSING and field.default_factory is MISSING for field in fields(kind))
    return Parameter.empty if is_required else kind()
