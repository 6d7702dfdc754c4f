"""Separate a model's thoughts from its answer by delimiters, special tokens and set phrases."""

import re
from typing import Final

_THOUGHT = r"(?:think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad|cot|seed:think|longcat_think)"
_TELLING = r"[\w:.▁-]{0,30}(?:think|thought|reason|reflect|monologue)[\w:.▁-]{0,30}"
"""A name for a thought: of a special token anywhere, of a tag only at the very start of a reply."""
_DELIMITER = re.compile(
    rf"(?P<open><{_THOUGHT}(?:\s[^<>]{{0,60}})?>|◁think▷|\[THINK\]|<\|channel\|>(?:analysis|commentary)\b"
    r"|<\|channel>thought|<\|im_start\|>think\b|(?-i:\Aanalysis(?=[A-Z]))|<unused94>|\[unused16\]|<\|inner_prefix\|>)"
    rf"|(?P<close></{_THOUGHT}\s*>|◁/think▷|\[/THINK\]|<\|channel\|>final(?:<\|message\|>)?|assistantfinal"
    r"|<channel\|>|<\|im_start\|>answer\b|<unused95>|\[unused17\]|<\|inner_suffix\|>)"
    r"|(?P<answer><[|｜](?:begin_of_|start_)?(?:solution|response|(?:final_)?answer)[|｜]>)"
    rf"|<[|｜](?P<token>/?{_TELLING})[|｜]>"
    rf"|[<\[](?P<ends>/?)(?P<tag>{_TELLING})(?:\s[^<>\]]{{0,60}})?(?P<angle>>)?(?(angle)|\])",
    re.IGNORECASE,
)
_ENDS = re.compile(r"/|(?:^|[_▁])(?:end|stop|close)(?:[_▁]|$)", re.IGNORECASE)
_START = re.compile(r"(?:\s|<[|｜][^<>|\n]{0,40}[|｜]>|</?s>|<(?:bos|start_of_turn)>|(?:assistant|model)\b:?)*")
_DETAILS = re.compile(r'<details type="reasoning"[^<>]{0,99}>(.*?)(</details>|\Z)', re.DOTALL)
_HERE = r"(?:(?:here(?:['’]s| is| are)|this is|these are)\s{1,4})?my (?:internal |own |step[- ]by[- ]step )?"
_IN_WORDS = re.compile(
    rf"\W{{0,6}}(?:(?P<sure>(?:{_HERE})?(?:(?:thought|thinking) process|internal monologue|chain of thought))"
    rf"|{_HERE}(?:thoughts?|thinking|reasoning(?: process)?|reflections?))\W{{0,4}}:",
    re.IGNORECASE,
)
_RESPONSE = re.compile(
    r"(?:\bhere(?:['’]s| is)\s|\bthis is\s|^[^\w\n]{0,6})my (?:final |actual )?(?:response|answer|reply)"
    r"\W{0,4}:[*_]{0,3}",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE_END = re.compile(r"[.!?][\"'”’)*]{0,4}\s|[。！？\n]")
_OPEN_END = re.compile(r"(?:\.\.\.|…|[,;:(\-–—])\Z")
_WHOLE_END = re.compile(r"[.!?。！？।؟)\]}>\"'”’*`|$]\Z")
_HESITATES = re.compile(
    r"\b(?:wait|hm+|hold on|let me|let's|let us|check(?:ing)? (?:it |that |this )?again|double[- ]check"
    r"|re-?(?:check|read|think|consider|examine|visit)|look(?:ing)? (?:at (?:it|this|that) )?again|not sure"
    r"|i (?:should|need to|have to|must|will) (?:check|look|verify|see|read|count|consider))\b"
    r"|等等|等一下|等下|不对|不對|[让讓]我再|再(?:看|想|检查|檢查|确认|確認)|重新(?:看|检查|檢查|考虑|考慮)|待って|もう一度|잠깐|다시",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"(?:\b(?:is|are|was|be|says|reads|choose|pick|select|answer)\b|[:=：是为])\W{0,4}(?:(?:option|choice|the) )?"
    r"[\w.,'-]{1,40}\W{0,3}\Z",
    re.IGNORECASE,
)
_WONDERS = re.compile(r"\b(?:if|whether|maybe|perhaps|could|might|may)\b|\?", re.IGNORECASE)
_SIGNS: Final = ("<", "[", "◁", "analysis", "assistantfinal")
"""Every text with a delimiter contains one of these; the last two are left of gpt-oss's special tokens."""
_FEW_WORDS: Final = 4
_TAIL: Final = 1000


def without_thoughts(text: str, *, cut: bool) -> tuple[str, bool]:
    """The text without thoughts, and whether the reply ends inside a thought.

    All text before a closing delimiter without an opening one is a thought. Thoughts announced in words end where a
    response is announced; without such a response they are prose, unless the reply is truncated.
    """
    rest, unclosed = _undelimited(text) if any(map(text.__contains__, _SIGNS)) else (text, False)
    announced = _IN_WORDS.match(rest)
    if announced is None:
        return rest, unclosed
    if response := _RESPONSE.search(rest, announced.end()):
        return rest[response.end() :], unclosed
    return ("", True) if cut and announced["sure"] else (rest, unclosed)


def _undelimited(text: str) -> tuple[str, bool]:
    """The text outside delimited thoughts, and whether the last thought is unfinished."""
    text = _DETAILS.sub(lambda details: f"<think>{details[1]}" + ("</think>" if details[2] else ""), text)
    kept: list[str] = []
    start, thinking, spoke = 0, False, False
    own = ""  # the tag that opened the thought, if its name isn't in `_THOUGHT`
    plain: set[str] = set()  # tags opened later in the text; closing them doesn't end a thought
    for mark in _DELIMITER.finditer(text):
        tag = (mark["tag"] or "").lower()
        if tag and not mark["ends"]:
            spoke = spoke or not _START.fullmatch(text, start, mark.start())
            if thinking or spoke or not (mark["angle"] or f"[/{tag}]" in text.lower()):
                plain.add(tag)
                continue
            closes = False
        elif tag:
            if tag in plain or (thinking and tag != own):
                continue
            closes = True
        elif mark["answer"] and not thinking:
            continue
        else:
            closes = bool(mark["close"] or mark["answer"] or (mark["token"] and _ENDS.search(mark["token"])))
        if closes and not thinking:
            kept.clear()
            spoke = False
        elif not thinking:
            spoke = spoke or not _START.fullmatch(text, start, mark.start())
            kept.append(text[start : mark.start()])
            own = tag
        thinking = not closes
        start = mark.end()
    if not thinking:
        kept.append(text[start:])
    return "".join(kept), thinking


def ends_well(thought: str) -> bool:
    """Whether the reasoning field comes to a conclusion, as an answer in the wrong field does.

    A thought that ends in mid-sentence, or that checks again after its conclusion, doesn't.
    """
    text = thought[-_TAIL:].strip()
    if _OPEN_END.search(text):
        return False
    *before, last = _SENTENCE_END.split(text.rstrip(".!?。！？"))
    if before and not (_WHOLE_END.search(text) or len(last.split()) <= _FEW_WORDS or _CONCLUDES.search(last)):
        return False
    for sentence in (last, *reversed(before)):
        if _CONCLUDES.search(sentence) and not _WONDERS.search(sentence):
            return True
        if _HESITATES.search(sentence):
            return False
    return True
