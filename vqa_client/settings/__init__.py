"""Every knob once, with its help text: the command line, the Python API and the run's identity are made from these."""

from vqa_client.settings.demo import DemoSettings
from vqa_client.settings.longbench import McSettings, NiahSettings
from vqa_client.settings.run import RunSettings

__all__ = ["DemoSettings", "McSettings", "NiahSettings", "RunSettings"]
