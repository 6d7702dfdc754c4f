"""Sets of labels and texts that several tests use."""

from typing import Final

Choices = dict[str, str]

VEHICLES: Final[Choices] = {"A": "red bus", "B": "blue car", "C": "tram", "D": "ferry"}
STATIONS: Final[Choices] = {letter: f"station {number}" for number, letter in enumerate("ABCDEFGHIJ", start=11)}
POWERS: Final[Choices] = {"A": "2", "B": "20", "C": "200", "D": "none"}
