"""Figures of a robustness evaluation, for print and for colour-blind people, each as PNG and SVG."""

from vqa_client.plots.contact_sheet import CONTACT_SHEET, contact_sheet
from vqa_client.plots.style import needs_extra
from vqa_client.plots.table import FIGURES, draw

__all__ = ["CONTACT_SHEET", "FIGURES", "contact_sheet", "draw", "needs_extra"]
