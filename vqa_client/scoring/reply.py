"""Peel a reply down to the words that were meant: no reasoning, no special tokens, no markup.

`peel` leaves plain text in which four marks stand for what the markup said: `EMPHASIS` around bold or italic text and
`MARKED` around an answer that was set apart (\\boxed{B}, <answer>B</answer>, <|begin_of_box|>B<|end_of_box|>).
All brackets are "(" and ")", all quotation marks '"', all dashes "-", runs of spaces one space, of line ends one.
"""

import html
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from vqa_client.scoring.structured import answer_in_json

EMPHASIS: Final = ("\x02", "\x03")
MARKED: Final = ("\x04", "\x05")

_THOUGHT = r"(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad|cot|seed:think|longcat_think)"
_REASONING = re.compile(
    rf"(?P<open><{_THOUGHT}(?:\s[^<>]{{0,60}})?>|◁think▷|\[THINK\]|<\|channel\|>(?:analysis|commentary)\b"
    r"|<\|channel>thought|<unused94>|<\|begin_of_thought\|>|<\|START_THINKING\|>)"
    rf"|(?P<close></{_THOUGHT}\s*>|◁/think▷|\[/THINK\]|<\|channel\|>final(?:<\|message\|>)?"
    r"|<channel\|>|<unused95>|<\|end_of_thought\|>|<\|END_THINKING\|>)",
    re.IGNORECASE,
)
_TURN_END = re.compile(
    r"<\|(?:im_end|endoftext|end_of_text|eot_id|eom_id|return|user|observation)\|>|<end_of_turn>|</s>|<eos>|<｜end▁of▁sentence｜>"
)
_BOX_TOKEN = re.compile(r"<\|(begin|end)_of_box\|>")
_TOKEN = re.compile(
    r"<\|[^<>|\n]{0,40}\|>|<｜[^<>\n]{0,40}｜>|</?s>|<(?:bos|eos|pad|unk|start_of_turn|end_of_turn)>|\[/?INST\]"
)
_OPENING = re.compile(rf"(?:\s|{_TOKEN.pattern}|{_TURN_END.pattern})*")
_ROLE = re.compile(r"\s*(?:assistant|model|ai|bot)\s*(?::|\n)\s*", re.IGNORECASE)
_NEXT_QUESTION = re.compile(
    r"\A(\s*\W{0,6}(?:(?:the )?(?:final |correct |right )?answer\W{0,6}(?:is\W{0,6})?)?\w{1,3}\W{0,6}?)"
    r"\n\s*(?:question|q|user|human)\s{0,2}\d{0,3}\s?:",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peeled:
    """`text` is what was said; `unclosed` tells that it broke off inside the reasoning."""

    text: str
    unclosed: bool = False


def peel(text: str) -> Peeled:
    """Remove reasoning, special tokens, role names and markup, in time linear in the length of `text`."""
    text = _MARKS.sub("", html.unescape(text) if "&" in text else text)
    said, unclosed = _without_reasoning(text)
    said = _first_turn(said)
    answer = answer_in_json(said)
    marked = said if answer is None else f"{MARKED[0]}{answer}{MARKED[1]}"
    return Peeled(text=plain(marked), unclosed=unclosed)


def spoken(text: str) -> str:
    """What was said, letter by letter: without reasoning, special tokens, the role's name and invented turns."""
    said = _first_turn(_without_reasoning(_MARKS.sub("", text))[0])
    return _MARKS.sub(" ", said).strip()


def _without_reasoning(text: str) -> tuple[str, bool]:
    """Cut every thinking block; a closing tag without an opening one makes all before it reasoning."""
    kept: list[str] = []
    start, thinking = 0, False
    for tag in _REASONING.finditer(text):
        if tag["close"] and not thinking:
            kept.clear()
        elif not thinking:
            kept.append(text[start : tag.start()])
        thinking = bool(tag["open"])
        start = tag.end()
    if not thinking:
        kept.append(text[start:])
    return "".join(kept), thinking


def _first_turn(text: str) -> str:
    """Drop what follows the end of the model's own turn: invented users and further few-shot questions."""
    opening = _OPENING.match(text)
    end = _TURN_END.search(text, opening.end() if opening else 0)
    text = text[: end.start()] if end else text
    text = _BOX_TOKEN.sub(lambda token: MARKED[0] if token[1] == "begin" else MARKED[1], text)
    text = _TOKEN.sub(" ", text)
    role = _ROLE.match(text)
    text = text[role.end() :] if role else text
    further = _NEXT_QUESTION.match(text)
    return further[1] if further else text


_BRACKETS = "[{【「『《〈〔〖❨⟨⟦", "]}】」』》〉〕〗❩⟩⟧"
_SINGLE_QUOTES = "‘’‚‛`ʼ"
_DOUBLE_QUOTES = "“”„‟«»‹›″〝〞"
_DASHES = "‐‑‒–—―−"
_INVISIBLE = (
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u200e\u200f\u202a\u202b\u202c\u202d\u202e\ufe0e\ufe0f\u20dd\u20de\u20e3"
)
_LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"
_ENCLOSED = (0x1F130, 0x1F150, 0x1F170, 0x1F1E6)
"""Squared, black circled and black squared letters, regional indicators: alphabets that NFKC leaves alone."""
_FOLDS: Final = {
    **dict.fromkeys(map(ord, _BRACKETS[0]), "("),
    **dict.fromkeys(map(ord, _BRACKETS[1]), ")"),
    **dict.fromkeys(map(ord, _SINGLE_QUOTES), "'"),
    **dict.fromkeys(map(ord, _DOUBLE_QUOTES), '"'),
    **dict.fromkeys(map(ord, _DASHES), "-"),
    **dict.fromkeys(map(ord, _INVISIBLE), ""),
    **dict.fromkeys(map(ord, _LINE_ENDS), "\n"),
    **{first + offset: chr(ord("A") + offset) for first in _ENCLOSED for offset in range(26)},
    **str.maketrans({"。": ". ", "、": ",", "İ": "I", "$": ""}),
}


def plain(text: str) -> str:
    """Fold characters, LaTeX, tags and markdown of one text to the plain form that this module describes."""
    text = _CONTROL.sub("", text)
    if "<" in text or "[" in text:
        text = _untagged(text)
    if "\\" in text:
        text = _unlatexed(text)
    text = _unmarked(text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _trimmed(_BLANK_LINES.sub("\n", _SPACES.sub(" ", text.translate(_FOLDS))).strip())


def _trimmed(text: str) -> str:
    """Drop first and last lines that hold no word, such as a rule or the two halves of a bracket."""
    word = _WORD.search(text)
    start, end = text.rfind("\n", 0, word.start() if word else len(text)) + 1, len(text)
    while (line := text.rfind("\n", start, end)) >= 0 and not _WORD.search(text, line, end):
        end = line
    return text[start:end]


_WORD = re.compile(r"[^\W_]")
_MARKS = re.compile(r"[\x04\x05]")
_CONTROL = re.compile(r"[\x00-\x03\x06-\x08\x0e-\x1f]")
_SPACES = re.compile(r"[^\S\n]{2,}|[^\S\n ]")
_BLANK_LINES = re.compile(r" \n[ \n]*|\n[ \n]+")

_STRUCK = re.compile(r"<(del|strike)>[^<]{0,400}</\1>|~~[^~\n]{1,400}~~", re.IGNORECASE)
_ANSWER_TAG = re.compile(
    r"[<\[](/?)(?:final[ _-]?)?(?:answer|choice|option|ans|result|solution|output|response|final|letter)[>\]]",
    re.IGNORECASE,
)
_BREAK = re.compile(r"<(?:br|hr)\s*/?>|</(?:p|div|li|h[1-6]|tr|ul|ol|table)>", re.IGNORECASE)
_STRONG = re.compile(r"<(/?)(?:b|strong|em|i|u|mark)>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][\w-]*(?::\w+)?(?:\s[^<>=]{0,60}=[^<>]{0,200})?\s?/?>")


def _untagged(text: str) -> str:
    text = _ANSWER_TAG.sub(lambda tag: f"{MARKED[1]} " if tag[1] else f" {MARKED[0]}", text)
    if "<" not in text:
        return text
    text = _STRUCK.sub(" ", text)
    text = _BREAK.sub("\n", text)
    text = _STRONG.sub(lambda tag: EMPHASIS[1] if tag[1] else EMPHASIS[0], _labels_in_angles(text))
    return _TAG.sub(" ", text)


def _labels_in_angles(text: str) -> str:
    """Write "<B>" as "(B)" where it is no tag: nothing closes it, and a small letter has nothing to mark up."""
    closed = {name[1] for name in _CLOSING.finditer(text)}
    return _SINGLE.sub(lambda tag: tag[0] if (tag[1] or tag[2]) in closed else f"({tag[1] or tag[2]})", text)


_CLOSING = re.compile(r"</([A-Za-z])>")
_SINGLE = re.compile(r"<([A-Z])>|<([a-z])>(?=[^\w<]*(?:\n|\Z))")
_BOX = re.compile(r"\\(?:f|frame)?box(?:ed)?\s*(?:\{|(?=[A-Za-z0-9(]))|\{|\}")
_COLOUR = re.compile(r"\\(?:text)?color(?:box)?\s*\{[^{}]{0,30}\}")
_COMMAND = re.compile(
    r"\\(?:text|math|operatorname|emph|underline|ensuremath|rm|bf|it|sf|tt|left|right|mbox|large|Large|huge)[a-z]{0,6}\b\s*"
)
_SPACING = re.compile(r"\\(?:[,;:! ()\[\]]|q?quad\b|displaystyle\b)")
_ESCAPED = re.compile(r"\\([^\w\s\\])")


def _unlatexed(text: str) -> str:
    text = text.replace("\\\\", "\n")
    text = _COLOUR.sub(" ", text)
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


def _unmarked(text: str) -> str:
    if "~~" in text:
        text = _STRUCK.sub(" ", text)
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("", text)
    for sign, emphasis in _MARKDOWN:
        if sign in text:
            text = emphasis.sub(rf"{EMPHASIS[0]}\2{EMPHASIS[1]}", text)
    return _HEADING.sub("", text) if "#" in text or ">" in text else text
