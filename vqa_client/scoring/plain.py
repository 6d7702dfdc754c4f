"""Fold a text to its plain form: one kind of bracket, quote, dash and space, and no markup.

Four marks replace the markup that matters: `EMPHASIS` around bold or italic text, and `MARKED` around an answer that is
set apart (\\boxed{B}, <answer>B</answer>). All brackets become "(" and ")", all double quotes '"', all dashes "-"; runs
of spaces become one space, runs of line ends one line end.
"""

import re
import unicodedata
from typing import Final

EMPHASIS: Final = ("\x02", "\x03")
MARKED: Final = ("\x04", "\x05")
NO_MARKS: Final = dict.fromkeys((2, 3, 4, 5))
"""For `str.translate`: removes the four marks."""

_BRACKETS = "[{【「『《〈〔〖❨⟨⟦", "]}】」』》〉〕〗❩⟩⟧"
_SINGLE_QUOTES = "‘’‚‛`ʼ"
_DOUBLE_QUOTES = "“”„‟«»‹›″〝〞"
_DASHES = "‐‑‒–—―−"
INVISIBLE: Final = (
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufe0e\ufe0f\u20dd\u20de\u20e3"
)
_LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"
_ENCLOSED = (0x1F130, 0x1F150, 0x1F170, 0x1F1E6)
"""First code points of alphabets that NFKC doesn't fold: squared, black circled and black squared letters, regional
indicators."""
_FOLDS: Final = {
    **dict.fromkeys(map(ord, _BRACKETS[0]), "("),
    **dict.fromkeys(map(ord, _BRACKETS[1]), ")"),
    **dict.fromkeys(map(ord, _SINGLE_QUOTES), "'"),
    **dict.fromkeys(map(ord, _DOUBLE_QUOTES), '"'),
    **dict.fromkeys(map(ord, _DASHES), "-"),
    **dict.fromkeys(map(ord, INVISIBLE), ""),
    **dict.fromkeys(map(ord, _LINE_ENDS), "\n"),
    **{first + offset: chr(ord("A") + offset) for first in _ENCLOSED for offset in range(26)},
    **str.maketrans({"。": ". ", "、": ",", "İ": "I", "$": "", "⁄": "/"}),
}


def plain(text: str) -> str:
    """Fold characters, LaTeX, tags and Markdown of a text to the plain form that this module describes."""
    text = _CONTROL.sub("", text)
    if "<" in text or "[" in text:
        text = _without_tags(text)
    if "_" in text:
        text = _AROUND_SUBSCRIPT.sub(r"\1\2", text) if "\\" in text else text
        text = _SUBSCRIPT.sub(r"\1\2", text)
    if "\\" in text:
        text = _without_latex(text)
    text = _without_marks(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _FRACTION_SIGN.sub(" ", _POWER.sub(r"^\1", text.replace("º", "°"))))
    text = _SPACES.sub(" ", text.translate(_FOLDS))
    return _trim(_BLANK_LINES.sub("\n", text).strip()) if "\n" in text else text.strip()


def _trim(text: str) -> str:
    """Drop first and last lines without a word, such as a rule or half of a pair of brackets."""
    word = _WORD.search(text)
    start, end = text.rfind("\n", 0, word.start() if word else len(text)) + 1, len(text)
    while (line := text.rfind("\n", start, end)) >= 0 and not _WORD.search(text, line, end):
        end = line
    return text[start:end]


_WORD = re.compile(r"[^\W_]")
_POWER = re.compile(r"(?<=[\w)])([²³⁴⁵⁶⁷⁸⁹]|[⁰¹²³⁴⁵⁶⁷⁸⁹]{2,3})")
"""NFKC makes the power of "x²" the digit of "x2"."""
_FRACTION_SIGN = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])")
"""Before the fraction of "3½"."""
_CONTROL = re.compile(r"[\x00-\x03\x06-\x08\x0e-\x1f]")
_SPACES = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
_BLANK_LINES = re.compile(r" \n[ \n]*|\n[ \n]+")

_STRUCK = re.compile(r"<(del|strike)>[^<]{0,400}</\1>|~~[^~\n]{1,400}~~", re.IGNORECASE)
ANSWER_TAG = re.compile(
    r"[<\[](/?)(?:final[ _-]?)?"
    r"(?:answer|choice|option|ans|result|solution|conclusion|output|response|final|letter)[>\]]",
    re.IGNORECASE,
)
_BREAK = re.compile(r"<(?:br|hr)\s*/?>|</(?:p|div|li|h[1-6]|tr|ul|ol|table)>", re.IGNORECASE)
_STRONG = re.compile(r"<(/?)(?:b|strong|em|i|u|mark)>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][\w-]*(?::\w+)?(?:\s[^<>=]{0,60}=[^<>]{0,200})?\s?/?>")


def _without_tags(text: str) -> str:
    text = ANSWER_TAG.sub(lambda tag: f"{MARKED[1]} " if tag[1] else f" {MARKED[0]}", text)
    if "<" not in text:
        return text
    text = _STRUCK.sub(" ", text)
    text = _BREAK.sub("\n", text)
    text = _STRONG.sub(lambda tag: EMPHASIS[1] if tag[1] else EMPHASIS[0], _labels_in_angles(text))
    return _TAG.sub(" ", text)


def _labels_in_angles(text: str) -> str:
    """Write "<B>" as "(B)" if it isn't a tag: nothing closes it, and no text follows a lower-case letter."""
    closed = {name[1] for name in _CLOSING.finditer(text)}
    return _SINGLE.sub(lambda tag: tag[0] if (tag[1] or tag[2]) in closed else f"({tag[1] or tag[2]})", text)


_CLOSING = re.compile(r"</([A-Za-z])>")
_SINGLE = re.compile(r"<([A-Z])>|<([a-z])>(?=[^\w<]*(?:\n|\Z))")
_BOX = re.compile(r"\\(?:f|frame)?box(?:ed)?\s*(?:\{|(?=[A-Za-z0-9(]))|\{|\}")
_COLOUR = re.compile(r"\\(?:text)?color(?:box)?\s*\{[^{}]{0,30}\}")
_COMMAND = re.compile(
    r"\\(?:text|math|operatorname|emph|underline|ensuremath|rm|bf|it|sf|tt|left|right|mbox|large|Large|huge)[a-z]{0,6}\b\s*"
)
_DEGREE = re.compile(r"\s?\^\s?(?:\\circ\b|\{\s?\\circ\s?\})|\s?\\degrees?\b")
_FRACTION = re.compile(r"\\[cdt]frac(?![a-z])")
_TWO_DIGITS = re.compile(r"(?<=\\frac) ?(\d) ?(\d)")
_UNIT = re.compile(r"(?<=\d)(?:\\[,;: ]|[~ ])*\\(?:text|mathrm)\s?\{\s?([^{}]*)\}")
_AROUND_SUBSCRIPT = re.compile(
    r"\\(?:text|mathrm|ce)\{([A-Za-z]{1,12})\}(?=_)|(?<=_\d|\d\})\\(?:text|mathrm|ce)\{([A-Z][A-Za-z]?)\}"
)
"""Names of elements in "\\text{H}_2\\text{O}"."""
_SUBSCRIPT = re.compile(r"(?<=[A-Za-z])_(?:\{(\d{1,3})\}|(\d{1,3}))")
_SPACING = re.compile(r"\\(?:[,;:! ()\[\]]|q?quad\b|displaystyle\b)")
_ESCAPED = re.compile(r"\\([^\w\s\\])")


def _without_latex(text: str) -> str:
    text = _UNIT.sub(r" \1", _TWO_DIGITS.sub(r"{\1}{\2}", _FRACTION.sub(r"\\frac", text.replace("\\\\", "\n"))))
    text = _DEGREE.sub("°", _COLOUR.sub(" ", text))
    text = _boxes(text) if "box" in text else text
    return _ESCAPED.sub(r"\1", _SPACING.sub(" ", _COMMAND.sub(" ", text)))


def _boxes(text: str) -> str:
    """Mark the contents of every \\boxed{...}, with braces nested to any depth."""
    open_braces: list[bool] = []

    def mark(brace: re.Match[str]) -> str:
        if brace[0] == "}":
            return (MARKED[1] if open_braces.pop() else "}") if open_braces else "}"
        if brace[0] == "{" or brace[0].endswith("{"):
            open_braces.append(brace[0] != "{")
        return "{" if brace[0] == "{" else MARKED[0]

    return _BOX.sub(mark, text)


_FENCE = re.compile(r"^\s*(?:```|~~~)[\w-]*[ ]*$", re.MULTILINE)
_MARKDOWN = (
    ("**", re.compile(r"(\*{2,3})([^*\n]{1,400})\1")),
    ("_", re.compile(r"(?<![^\W_])(_{1,3})(?=\S)([^_\n]{1,400})(?<=\S)\1(?![^\W_])")),
    ("*", re.compile(r"(\*)(?=\S)([^*\n]{1,400})(?<=\S)\1(?!\d)")),
    ("`", re.compile(r"(`{1,3})([^`\n]{1,400})\1")),
    ("**", re.compile(r"(\*{2,3})([^*\n]{1,400})\1")),
)
_HEADING = re.compile(r"^[ \t]*(?:#{1,6}|>+)[ \t]+", re.MULTILINE)


def _without_marks(text: str) -> str:
    if "~~" in text:
        text = _STRUCK.sub(" ", text)
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("", text)
    for sign, emphasis in _MARKDOWN:
        if sign in text:
            text = emphasis.sub(rf"{EMPHASIS[0]}\2{EMPHASIS[1]}", text)
    return _HEADING.sub("", text) if "#" in text or ">" in text else text
