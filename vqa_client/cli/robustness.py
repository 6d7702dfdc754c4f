"""`vqa-client robustness`: how a model bears corrupted images."""

from typing import Annotated

from cyclopts import App, Parameter

from vqa_client.settings import GenerateSettings

robustness = App(name="robustness", help="Corrupt images on purpose, and say what that does to a model's answers.")


@robustness.command
def generate(settings: Annotated[GenerateSettings, Parameter(name="*")]) -> int:
    """Make corrupted copies of a folder of images: fourteen corruptions at five levels, a folder for each."""
    from vqa_client.cli import robustness_generate as making

    return making.generate(settings)
