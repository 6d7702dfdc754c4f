"""Ask vision-language models questions about images, and measure how good the answers are."""

from typing import TYPE_CHECKING, Any

from vqa_client.version import __version__

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
    from vqa_client.cli.progress import display
    from vqa_client.evaluation import arun, run
    from vqa_client.progress import Progress
    from vqa_client.reports.report import Report
    from vqa_client.scoring.vqa_accuracy import vqa_accuracy
    from vqa_client.settings.ask import AskSettings
    from vqa_client.settings.declared import BenchmarkSettings
    from vqa_client.settings.explain import ExplainSettings
    from vqa_client.settings.longbench import McSettings, NiahSettings
    from vqa_client.settings.robustness import RobustnessRun
    from vqa_client.settings.vqa2 import Vqa2Settings

_PLACES = {
    "AskSettings": "settings.ask",
    "BenchmarkSettings": "settings.declared",
    "ExplainSettings": "settings.explain",
    "McSettings": "settings.longbench",
    "NiahSettings": "settings.longbench",
    "RobustnessRun": "settings.robustness",
    "Vqa2Settings": "settings.vqa2",
    "Progress": "progress",
    "Report": "reports.report",
    "arun": "evaluation",
    "display": "cli.progress",
    "run": "evaluation",
    "vqa_accuracy": "scoring.vqa_accuracy",
}


def __getattr__(name: str) -> Any:
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
    """What is public; the rooms are found by their own names."""
    return sorted(__all__)
