"""Replies for label sets other than A to D, with the label that each means (None: no label may be read)."""

import string
from typing import Final

Choices = dict[str, str]

Row = tuple[str, str | None]
VEHICLES: Final[Choices] = {"A": "red bus", "B": "blue car", "C": "tram", "D": "ferry"}
STATIONS: Final[Choices] = {letter: f"station {number}" for number, letter in enumerate("ABCDEFGHIJ", start=11)}
TWELVE: Final[Choices] = {letter: f"item {letter * 2}" for letter in "ABCDEFGHIJKL"}
NUMBERED: Final[Choices] = {"1": "red bus", "2": "blue car", "3": "tram", "4": "ferry"}
BEYOND_Z: Final[Choices] = {letter: f"x{letter}x" for letter in string.ascii_uppercase} | {
    str(number): f"y{number}y" for number in range(1, 11)
}
DOUBLED: Final[Choices] = {letter: f"x{letter}x" for letter in string.ascii_uppercase} | {
    "AA": "doubleaa",
    "AB": "doubleab",
}
LOWER_CASE: Final[Choices] = {"a": "red bus", "b": "blue car", "c": "tram", "d": "ferry"}
ROMAN: Final[Choices] = {"I": "red bus", "II": "blue car", "III": "tram", "IV": "ferry"}
CYRILLIC: Final[Choices] = {"А": "автобус", "Б": "машина", "В": "трамвай", "Г": "паром"}
STEMS: Final[Choices] = {"甲": "巴士", "乙": "汽车", "丙": "电车", "丁": "渡轮"}
GREEK: Final[Choices] = {"α": "x", "β": "y", "γ": "z"}
YES_NO: Final[Choices] = {"A": "Yes", "B": "No"}
POWERS: Final[Choices] = {"A": "2", "B": "20", "C": "200", "D": "none"}
NONE_OF_THEM: Final[Choices] = {"A": "3", "B": "5", "C": "8", "D": "None of the above"}

BY_CHOICES: Final[tuple[tuple[Choices, tuple[Row, ...]], ...]] = (
    (
        STATIONS,
        (
            ("J", "J"),
            ("Answer: I", "I"),
            ("I", "I"),
            ("(I)", "I"),
            ("I think the answer is G.", "G"),
            ("I am not sure.", None),
            ("I.", "I"),
            ("Answer: I do not know", None),
            ("The answer is I.", "I"),
            ("H. station 18", "H"),
            ("station 18", "H"),
            ("K", None),
            ("Answer: K", None),
            ("I'd say J.", "J"),
            ("i", "I"),
            ("I, as an AI, cannot see.", None),
            ("I would say E", "E"),
            ("I\n\nBecause of the station.", "I"),
            ("I believe it's I.", "I"),
        ),
    ),
    (
        {"A": "12", "B": "15", "C": "20", "D": "8"},
        (
            ("So the total is 15.0.", "B"),
            ("There are not many, so the total is 15.0.", "B"),
            ("I don't think the total is 15.0.", None),
            ("It is definitely not true that the total is 15.0", None),
            ("I can't tell whether it is 15.0", None),
            ("The wrong answer is 8.0", None),
            ("The wrong answer is 8", None),
        ),
    ),
    (
        TWELVE,
        (
            ("L", "L"),
            ("Answer: L", "L"),
            ("(K)", "K"),
            ("M", None),
        ),
    ),
    (
        NUMBERED,
        (
            ("2", "2"),
            ("(2)", "2"),
            ("Answer: 2", "2"),
            ("The answer is 2.", "2"),
            ("2. blue car", "2"),
            ("Option 2", "2"),
            ("12", None),
            ("2.5", None),
            ("Answer: 2.5", None),
            ("Answer: 20%", None),
            ("There are 3 cars.", None),
            ("blue car", "2"),
            ("\\boxed{3}", "3"),
            ("5", None),
            ("答案是2", "2"),
            ("1 or 2", None),
            ("1. red bus\n2. blue car\n3. tram\n4. ferry", None),
            ("1. red bus\n2. blue car\n3. tram\n4. ferry\n\nAnswer: 3", "3"),
        ),
    ),
    (
        BEYOND_Z,
        (
            ("10", "10"),
            ("Answer: 10", "10"),
            ("Answer: 1", "1"),
            ("Answer: 11", None),
            ("Answer: Z", "Z"),
            ("(10)", "10"),
            ("x", "X"),
            ("The answer is U.", "U"),
        ),
    ),
    (
        DOUBLED,
        (
            ("Answer: AB", "AB"),
            ("AB", "AB"),
            ("Answer: A", "A"),
            ("Answer: AC", None),
            ("ab", "AB"),
            ("(AA)", "AA"),
        ),
    ),
    (
        LOWER_CASE,
        (
            ("b", "b"),
            ("B", "b"),
            ("Answer: b", "b"),
            ("(b) blue car", "b"),
            ("b. blue car", "b"),
            ("a bus", None),
            ("the answer is a", "a"),
            ("The answer is a bus", None),
            ("option c", "c"),
            ("a) red bus", "a"),
        ),
    ),
    (
        ROMAN,
        (
            ("II", "II"),
            ("Answer: III", "III"),
            ("I", "I"),
            ("I think it is IV.", "IV"),
            ("V", None),
        ),
    ),
    (
        CYRILLIC,
        (
            ("Ответ: Б", "Б"),
            ("В", "В"),
            ("Ответ: В.", "В"),
            ("Ответ: Д", None),
        ),
    ),
    (
        STEMS,
        (
            ("答案是乙", "乙"),
            ("丙", "丙"),
            ("选丁。", "丁"),
            ("电车", "丙"),
        ),
    ),
    (
        GREEK,
        (
            ("β", "β"),
            ("Answer: γ", "γ"),
        ),
    ),
    (
        YES_NO,
        (
            ("Yes", "A"),
            ("No.", "B"),
            ("Yes, there is no car.", "A"),
            ("No, it is not.", "B"),
            ("There is no car.", None),
            ("The answer is yes.", "A"),
            ("Answer: No", "B"),
        ),
    ),
    (
        POWERS,
        (
            ("20", "B"),
            ("The answer is 20.", "B"),
            ("20%", None),
            ("-20", None),
            ("20.5", None),
            ("2,000", None),
            ("It is 2.", "A"),
            ("none", "D"),
            ("2000", None),
            ("2 or 20", None),
            ("The value is 200, i.e. C", "C"),
            ("Answer: 20", "B"),
            ("Answer: 21", None),
            ("\\boxed{200}", "C"),
        ),
    ),
    (
        NONE_OF_THEM,
        (
            ("None of the above", "D"),
            ("None of the above.", "D"),
            ("The answer is none of the above", "D"),
            ("Answer: None of the above", "D"),
        ),
    ),
)
