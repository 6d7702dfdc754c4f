"""Ask vision-language models questions about images, and measure how good the answers are."""

from vqa_client.version import __version__

TYPE_CHECKING = False  # typing's own takes 16 ms to import, in which Ctrl-C would be a traceback

__all__ = [
    "AskSettings",
    "BenchmarkSettings",
    "ExplainSettings",
    "McSettings",
    "NiahSettings",
    "Progress",
    "Report",
    "RobustnessRun",
    "Vqa2Settings",
    "__version__",
    "arun",
    "display",
    "run",
    "vqa_accuracy",
]

if TYPE_CHECKING:
    from typing import Any

    from vqa_client.cli.progress import display
    from vqa_client.evaluation import arun, run
    from vqa_client.progress import Progress
    from vqa_client.reports.report import Report
    from vqa_client.scoring.vqa_accuracy import vqa_accuracy
    from vqa_client.settings.declared import AskSettings, BenchmarkSettings
    from vqa_client.settings.own_commands import ExplainSettings, McSettings, NiahSettings, Vqa2Settings
    from vqa_client.settings.robustness import RobustnessRun

_PLACES = {
    "AskSettings": "settings.declared",
    "BenchmarkSettings": "settings.declared",
    "ExplainSettings": "settings.own_commands",
    "McSettings": "settings.own_commands",
    "NiahSettings": "settings.own_commands",
    "RobustnessRun": "settings.robustness",
    "Vqa2Settings": "settings.own_commands",
    "Progress": "progress",
    "Report": "reports.report",
    "arun": "evaluation",
    "display": "cli.progress",
    "run": "evaluation",
    "vqa_accuracy": "scoring.vqa_accuracy",
}


def __getattr__(name: str) -> "Any":
    """Import the public names when they are used, so that `vqa-client --help` stays fast."""
    import importlib

    if name == "scoring":  # vqa_client.scoring.robustness.vre, without an import of its own
        importlib.import_module(f"{__name__}.scoring.robustness")
        return importlib.import_module(f"{__name__}.scoring")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    if not _PLACES[name].startswith("settings."):
        return value
    return importlib.import_module(f"{__name__}.settings.validation").readable(value)


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
