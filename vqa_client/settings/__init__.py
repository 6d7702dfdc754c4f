"""Every knob once, with its help text: the command line, the Python API and the run's identity are made from these."""

from vqa_client.settings.check import CheckSettings
from vqa_client.settings.demo import DemoSettings
from vqa_client.settings.explain import ExplainSettings
from vqa_client.settings.longbench import McSettings, NiahSettings
from vqa_client.settings.pages import RenderSettings
from vqa_client.settings.perturb import LegibilitySettings, NeedlesSettings, PagesPreviewSettings, PerturbSettings
from vqa_client.settings.reports import ReportSettings, ViewSettings
from vqa_client.settings.robustness import GenerateSettings
from vqa_client.settings.run import RunSettings
from vqa_client.settings.score import ScoreSettings
from vqa_client.settings.score_explanations import ScoreExplanationsSettings
from vqa_client.settings.serve import ServerName, ServeSettings
from vqa_client.settings.vqa2 import Vqa2Settings

__all__ = [
    "CheckSettings",
    "DemoSettings",
    "ExplainSettings",
    "GenerateSettings",
    "LegibilitySettings",
    "McSettings",
    "NeedlesSettings",
    "NiahSettings",
    "PagesPreviewSettings",
    "PerturbSettings",
    "RenderSettings",
    "ReportSettings",
    "RunSettings",
    "ScoreExplanationsSettings",
    "ScoreSettings",
    "ServeSettings",
    "ServerName",
    "ViewSettings",
    "Vqa2Settings",
]
