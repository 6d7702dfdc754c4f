"""Texts that do harm in a program that obeys them."""

import os
from pathlib import Path

FORMULAS = ("=1+1", "=cmd|' /C calc'!A0", "+1+cmd", "-2+3+cmd", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＠SUM(1)")
"""Beginnings of cells that a spreadsheet runs."""
ELSEWHERE = (
    "../secret",
    "../../secret",
    "/etc/passwd",
    "a/../../secret",
    "..",
    ".",
    "~",
    "~root",
    "$HOME",
    "%2e%2e%2f",
    "..\\secret",
    "C:\\secret",
    "secret\x00.png",
    "CON",
    "nul.txt",
    "a" * 300,
    "",
    " ",
    "-rf",
    "\u2025/secret",
)
"""Names that lead elsewhere, are reserved on some systems, or are impossible."""


def files_below(root: Path) -> set[str]:
    """Every file and link below a folder, relative to it."""
    return {os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names}
