"""Take an answer out of its wrappers: tags, boxes, JSON, code fences, bold.

The value under the answer's key in a JSON object is the reply; other keys don't matter.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from vqa_client.scoring.plain import ANSWER_TAG, MARKED

_QUOTES: Final = "'\"“”‘’„«»「」『』"
_OPENINGS: Final = tuple(f"#>•-{_QUOTES}")
_SIGNS: Final = re.compile(r"[<\[\\{`*~$\x04]")
_REASON_TAG = re.compile(r"</?(?:explanation|rationale|reason|reasoning|justification)>", re.IGNORECASE)
_BRACE = re.compile(r"\\[{}]|(?P<box>\\(?:f|frame)?box(?:ed)?\s{0,9}\{)|[{}]")
_WORD = re.compile(r"[^\W_]")
_SENTENCES = re.compile(r".*[.!?。！？\n]", re.DOTALL)
_COMMAND: Final = r"\\(?:text|math|operatorname|emph|mbox)[a-z]{0,6}\s{0,9}\{"
_TEXT = re.compile(rf"{_COMMAND}([^{{}}]*)\}}|\\([%$#&_])|\{{(,)\}}|\\[,!;:]")
_ENCLOSING: Final = tuple(
    re.compile(pattern, re.DOTALL | re.IGNORECASE)
    for pattern in (
        r"(```|~~~)[\w-]*[ ]*\n?(?P<inside>(?:(?!\1).)*)\1",
        r"(\*{1,3})(?P<inside>(?:(?!\1).)+)\1\.?",
        r"`(?P<inside>[^`\n]+)`",
        r"<(b|strong|em|i|u|mark|p)>(?P<inside>(?:(?!</?\1>).)*)</\1>",
        r"(\$\$?|\\[(\[])\s{0,9}(?P<inside>\\(?:(?!\$|\\[)\]]).)*)(?:\$\$?|\\[)\]])",
        r"(\$\$?)(?P<inside>[^$\n]+)\1",
        rf"[{_QUOTES}](?P<inside>[^{_QUOTES}\n]+)[{_QUOTES}]\.?",
        r"(?:#{1,6}|[*•>]|-(?=[ ](?:\*|[^\W\d])))[ \t]{1,9}(?P<inside>[^\n]+)",
        rf"{_COMMAND}(?P<inside>[^{{}}]*)\}}",
    )
)
"""What may be around a whole answer."""
_LEADS_IN: Final = (
    r"(?:sure|certainly|of course|so|thus|therefore|hence|(?:based on|looking at|according to|given|from|in)\b"
    r"[^,.!?:;\n]{0,60})"
)
SAYS_NO_MORE: Final = (
    r"(?!\s*(?:(?:based|derived|obtained|found|shown|given|calculated|computed|rounded|determined|taken|provided|displayed)"
    r"\s(?:from|by|in|on|as|at|using|to|with)|correct|approximate)\b)"
)
"""After "the answer is": not a sentence about the answer, such as "... is derived from the table"."""
_LABELLED = re.compile(
    rf"^[ \t*_#>•-]{{0,9}}(?:\d{{1,2}}[.)] )?(?:{_LEADS_IN}[,.!] )?[*_]{{0,3}}"
    r"(?:(?:(?:here(?:'s| is) )?the|die|la) )?(?:(?:final|short|correct) )?"
    r"(?:answer|ans|a(?=:)|antwort|réponse|respuesta|resposta|risposta|ответ|答案|正解|回答|答え?|정답|답변|답)"
    r"(?: to (?:the|this|your) question)?[ *_]{0,4}"
    rf"(?:(?:[:：]|\b(?:is|would be|ist|est|es|é|è)\b{SAYS_NO_MORE}"
    r":?|[是为為は은])[*_]{0,3}\s{0,9}|\n\s{0,9})"
    r"(?P<inside>[^\n]*?\S)(?: ?(?:です|입니다)(?:[。.][^\n]*)?)?\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
_ASKS = re.compile(
    r"\n\W{0,9}(?:question|q|user|human)\s?\d{0,3}\W{0,3}:|\n[ \t]{0,9}(?:user|human)[ \t]{0,9}(?=\n)", re.IGNORECASE
)
_GIVES = re.compile(r"\d|[:=]|\b(?:is|are|was|were)\b|\A\W*\w+(?:\W+\w+){0,3}\W*\Z")
"""Text before another question that isn't only an introduction to it."""
_MOST_LAYERS: Final = 8
KEYS: Final = (
    *("answer", "finalanswer", "correctanswer", "choice", "option", "letter", "label", "selected", "selectedoption"),
)
KEYS_IF_ALONE: Final = ("activity", "prediction", "response", "output", "result", "solution")
EXPLANATIONS: Final = ("explanation", "rationale", "reason", "reasoning", "justification", "because", "why")
_BESIDE_A_LABEL: Final = frozenset({"label", "confidence", "score", "probability", *EXPLANATIONS})
"""An object with other keys describes a thing in the picture; its label isn't an answer."""
_ANSWERS: Final = frozenset({*KEYS, *KEYS_IF_ALONE}) - {"label"}
_OBJECT = re.compile(r"\s*(?:```\w*\s*)?(?=\{)")
_FENCED = re.compile(r"(?:```(?:json\w?)?|[:\n])\s{0,99}(?=\{)|\A\s{0,99}(?=\[\s{0,99}\{)", re.IGNORECASE)
_PAIR = re.compile(
    r"(?P<at>[\"'])(?P<key>[\w -]{1,40})(?P=at)\s{0,99}:\s{0,99}(?:(?P<bare>-?\d[\w.,]*|true|false)"
    r"|(?P<quote>[\"'])(?P<text>(?:(?!(?P=quote))[^\\]|\\.)*)(?P<end>(?P=quote)?))",
    re.DOTALL,
)
EXPLAINS: Final = re.compile(
    r"^[^\w\n]{0,9}(?:explanation|reason(?:ing)?|rationale|justification)[^\w\n]{0,4}:", re.IGNORECASE | re.MULTILINE
)
"""The heading of an explanation."""
_UNSAID = re.compile(r"\"(?P<key>[\w -]{1,40})\"\s{0,99}:\s{0,99}[\"{\[]{0,2}\s{0,99}\Z")
_KEY_READ: Final = 300
"""Characters at the end of a broken object to search for an answer's key without a value."""
_NOT_LETTERS = re.compile(r"[^a-z]")
_LONGEST: Final = 50_000
"""A longer object isn't an answer; it is read as prose."""


class Unwrapped(NamedTuple):
    """`answer` is the content of the wrappers, or the whole text without any.

    `explanation` is the rest of the reply, under a key of its own or around the wrapper; "" if there is none.
    """

    answer: str
    explanation: str = ""


def unwrapped(text: str) -> Unwrapped:
    """Remove every wrapper, the outermost first; of several answers that are set apart, the last counts."""
    answer, explanation = text, ""
    for _ in range(_MOST_LAYERS if _SIGNS.search(text) or text.startswith(_OPENINGS) else 0):
        parts = answer_and_explanation(answer) or _set_apart(answer) or _enclosed(answer)
        if parts is None:
            break
        answer, explanation = parts[0].strip(), explanation or parts[1].strip()
    return Unwrapped(answer, explanation)


def own_answer(text: str) -> str:
    """The text before a question that the reply invents; the whole text if only an introduction is before it."""
    asked = _ASKS.search(text)
    head = text[: asked.start()].rstrip() if asked else ""
    return head if _GIVES.search(head) and not head.endswith((":", "!")) else text


def above_explanation(text: str) -> str:
    """The only line above the heading of an explanation; the whole text without such a line."""
    heading = EXPLAINS.search(text)
    head = text[: heading.start()].strip() if heading else ""
    return text if not head or "\n" in head or head.endswith(":") else head


def labelled(text: str) -> Unwrapped | None:
    """What "Answer:" or "The answer is" introduces on the only or the last line.

    None if a question that the reply invents is above it.
    """
    match = _LABELLED.search(text)
    if match is None or _ASKS.search(text, 0, match.start()):
        return None
    return Unwrapped(unwrapped(match["inside"]).answer, _explanation(text[: match.start()], ""))


def _set_apart(text: str) -> tuple[str, str] | None:
    """The answer in tags or boxes, and the text around it; the text without the tags if they are empty."""
    for find_places in (_tag_places, _box_places, _mark_places):
        places = list(find_places(text))
        for start, opened, closed, end in reversed(places):
            if inside := text[opened:closed].strip():
                answer = _without_tex(inside) if find_places is _box_places else inside
                return answer, _explanation(text[:start], text[end:])
        if places:
            start, _, _, end = places[-1]
            return f"{text[:start]} {text[end:]}".translate(_NO_MARKS), ""
    return None


_Place = tuple[int, int, int, int]
"""Start and end of a wrapper's opening sign, and of its closing sign."""
_MARKED = re.compile(f"{MARKED[0]}([^{MARKED[1]}]*){MARKED[1]}?")
_NO_MARKS: Final = str.maketrans(dict.fromkeys(MARKED, " "))


def _tag_places(text: str) -> Iterator[_Place]:
    """Each outermost pair of answer tags; a closing tag without an opening one wraps all text before it.

    An opening tag without a closing one wraps all text after it, unless no words follow, or it is a word in brackets in
    a sentence.
    """
    depth = 0
    first: re.Match[str] | None = None
    for tag in ANSWER_TAG.finditer(text):
        if not tag[1]:
            first, depth = (first, depth + 1) if first else (tag, 1)
        elif first is None:
            yield 0, 0, tag.start(), tag.end()
        elif (depth := depth - 1) == 0:
            yield first.start(), first.end(), tag.start(), tag.end()
            first = None
    if first and _WORD.search(text, first.end()) and (first[0][0] == "<" or not text[: first.start()].strip(" *")):
        yield first.start(), first.end(), len(text), len(text)


def _box_places(text: str) -> Iterator[_Place]:
    """Each outermost box, with braces nested to any depth."""
    if "box" not in text:
        return
    depth = 0
    first: re.Match[str] | None = None
    for brace in _BRACE.finditer(text):
        if first is None:
            first, depth = (brace, 1) if brace["box"] else (None, 0)
        elif brace[0].endswith("{") and (brace["box"] or brace[0] == "{"):
            depth += 1
        elif brace[0] == "}" and (depth := depth - 1) == 0:
            yield first.start(), first.end(), brace.start(), brace.end()
            first = None
    if first:
        yield first.start(), first.end(), len(text), len(text)


def _mark_places(text: str) -> Iterator[_Place]:
    return ((mark.start(), *mark.span(1), mark.end()) for mark in _MARKED.finditer(text))


def _enclosed(text: str) -> tuple[str, str] | None:
    match = next(filter(None, (form.fullmatch(text) for form in _ENCLOSING)), None)
    return (_without_tex(match["inside"]), "") if match and match["inside"].strip() else None


def _without_tex(text: str) -> str:
    """Remove LaTeX commands around words and signs; formulas stay."""
    return (
        _TEXT.sub(lambda match: next(filter(None, match.groups()), ""), text) if "\\" in text or "{" in text else text
    )


def _explanation(before: str, after: str) -> str:
    """The text after the answer, or the whole sentences before it."""
    if _WORD.search(after := _REASON_TAG.sub("", after)):
        return after.lstrip("$.,;:)]*\\ \t\n")
    sentences = _SENTENCES.match(_REASON_TAG.sub(lambda tag: "\n" if tag[0][1] == "/" else "", before))
    return sentences[0] if sentences else ""


def answer_in_json(text: str) -> str | None:
    """The answer in a JSON object, as text; None if the JSON has none or is broken."""
    value = _decode(text, 0)
    return None if value is None else _answer_text(value)


def answer_and_explanation(text: str) -> tuple[str, str] | None:
    """The answer and the explanation ("" if missing) of the JSON object in a reply; None without an answer.

    The object may be in a code fence after other words, be truncated after the answer, or break JSON's rules for
    escapes. If it ends right after the answer's key, both are "".
    """
    if "{" not in text or len(text) > _LONGEST:
        return None
    start = _OBJECT.match(text) or _FENCED.search(text)
    if not start:
        return None
    value = _decode(text, start.end())
    if value is None:
        unsaid = _UNSAID.search(text, max(start.end(), len(text) - _KEY_READ))
        if unsaid and _fold_key(unsaid["key"]) in _ANSWERS:
            return "", ""
        value = _pairs_of_broken(text[start.end() :])
    while isinstance(value, list | dict) and len(value) == 1:
        (member,) = value if isinstance(value, list) else value.values()
        if not _nests(member) or (isinstance(member, list) and not any(map(_nests, member))):
            break
        value = member
    answer = _answer_text(value) if isinstance(value, dict) else None
    if answer is None:
        return None
    by_key = {_fold_key(key): inner for key, inner in value.items()}
    if not by_key.keys() & _ANSWERS and by_key.keys() - _BESIDE_A_LABEL:
        return None
    explanation = next((by_key[key] for key in EXPLANATIONS if isinstance(by_key.get(key), str)), "")
    return answer, explanation


def _decode(text: str, start: int) -> Any:
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _pairs_of_broken(text: str) -> dict[str, str]:
    """The members of a broken object; a value that the end of the text truncates counts only as an explanation."""
    return {
        pair["key"]: pair["bare"] or _unescape(pair["text"])
        for pair in _PAIR.finditer(text)
        if pair["bare"] or pair["end"] or _fold_key(pair["key"]) in EXPLANATIONS
    }


def _nests(value: Any) -> bool:
    return isinstance(value, list | dict)


def _unescape(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _fold_key(key: object) -> str:
    return _NOT_LETTERS.sub("", str(key).lower())


def _answer_text(value: Any) -> str | None:
    if isinstance(value, dict):
        folded = {_fold_key(key): inner for key, inner in value.items()}
        keys = [key for key in (*KEYS, *KEYS_IF_ALONE) if key in folded]
        return _answer_text(folded[keys[0]]) if keys else None
    if isinstance(value, list):
        return ", ".join(filter(None, map(_answer_text, value)))
    return "" if value is None else str(value)
