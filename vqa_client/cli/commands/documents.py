"""The commands that make and judge page images."""

from typing import Annotated

from cyclopts import Parameter

from vqa_client.settings.pages import RenderSettings
from vqa_client.settings.perturb import LegibilitySettings, NeedlesSettings, PagesPreviewSettings, PerturbSettings


def render(settings: Annotated[RenderSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import render as drawing

    return drawing.render(settings)


def needles(settings: Annotated[NeedlesSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import needles as hiding

    return hiding.needles(settings)


def perturb(settings: Annotated[PerturbSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import perturb as damaging

    return damaging.perturb(settings)


def pages_preview(settings: Annotated[PagesPreviewSettings, Parameter(name="*")]) -> int:
    from vqa_client.cli import pages_preview as preview

    return preview.pages_preview(settings)


def legibility(settings: Annotated[LegibilitySettings, Parameter(name="*")]) -> int:
    from vqa_client.cli.legibility import show_legibility

    return show_legibility(settings)
