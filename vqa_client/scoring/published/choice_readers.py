"""How published scorers read the chosen label from a reply, exactly: each reader takes the reply and label -> text.

A reader returns the label, which the question may not have, or None if the scorer finds none: it then asks a judge,
draws at random, or counts the reply as wrong. Each docstring names the scorer. The two readers at the end, of
LongBench-v2 as text and as page images, take no options, and also return the name of their rule.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from vqa_client.scoring.short_answers import NO_PUNCTUATION

ChoiceTexts = Mapping[str, str]
ReadLabel = Callable[[str, ChoiceTexts], str | None]

_ENDS: Final = ",.!?;:'"
_QUOTE: Final = '"'
_NO_REPLY: Final = "Failed to obtain answer via API"
_KIT_REFUSALS: Final = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
_KIT_MARKS: Final = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
_KIT_CUE: Final = re.compile(r"answer\s+is\s+\**([ABCD])", re.IGNORECASE)
_MCQ_CUES: Final = (
    *("the answer is", "answer is", "the correct answer is", "correct answer is", "the best answer is"),
    *("best answer is", "the correct option is", "correct option is", "the best option is", "best option is"),
    *("the choice is", "choice is", "the correct choice is", "correct choice is", "i choose", "i select", "i pick"),
    *("my answer is", "my choice is", "옵션", "정답은", "답은", "답:", "答案是", "答案为", "选", "答えは"),
)
_MCQ_FORMS: Final = ((6, "({})"), (5, "{}."), (4, "{}:"), (3, "{})"), (2, "{} "))
_MMBENCH_FORMS: Final = (
    *("{}.", "{},", "{}:", "{})", "{}).", "({})", "({})."),
    *(":{}", ":{},", ":{}.", ":{})", ":{})."),
)
_VSTAR_FORMS: Final = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"^([A-D])",
        r"(?:ANSWER|CHOICE|OPTION)(?:\s+IS)?[\s:]+([A-D])",
        r"\(([A-D])\)",
        r"([A-D])\s*[.)\]]",
        r"(?:^|\s)([A-D])(?:\s|$)",
    )
)
_BLINK_LETTER: Final = re.compile(r"[(\s]*([A-Z])", re.IGNORECASE)
_SCIENCEQA_SENTENCE: Final = re.compile(r"The answer is ([A-Z]).")
_AI2D_LETTER: Final = re.compile(r"\s*([A-Z])\.")
_CAPITAL: Final = re.compile(r"[A-Z]")


def kit_label(reply: str, options: ChoiceTexts) -> str | None:
    """VLMEvalKit's `can_infer_option` (e8e78f05): one label among the last four words; "Z" for a refusal."""
    if _NO_REPLY in reply:
        return None
    if any(refusal in reply for refusal in _KIT_REFUSALS):
        return "Z"
    words = reply.translate(_KIT_MARKS).split()
    labels = [label for label in options if label in words]
    if len(labels) == 1 and words.index(labels[0]) > len(words) - 5:
        return labels[0]
    if not labels and "Z" in words:
        return "Z"
    cue = _KIT_CUE.search(reply)
    return cue[1].upper() if cue and cue[1].upper() in options else None


def kit(reply: str, options: ChoiceTexts) -> str | None:
    """VLMEvalKit's `can_infer`: the label, else the one option whose text is in a reply of limited length."""
    longest = 2 * sum(len(text) for text in options.values())
    return kit_label(reply, options) or (_option_in(reply, options) if len(reply.lower()) <= longest else None)


def kit_step_by_step(reply: str, options: ChoiceTexts) -> str | None:
    """VLMEvalKit's reading of MMMU-Pro after a chain of thought: the last line that starts with "Answer:"."""
    lines = [line for line in reply.split("\n") if line.strip().startswith("Answer:")]
    tail = lines[-1].strip().removeprefix("Answer:").strip() if lines else reply
    capitals = set(_CAPITAL.findall(tail)) if lines else set()
    return capitals.pop() if len(capitals) == 1 else kit(tail, options)


def lmms_mcq(reply: str, options: ChoiceTexts) -> str | None:
    """lmms-eval's `extract_mcq_answer` (75571cfe): the form of the highest rank wins, in its last place."""
    text = f" {_strip_ends(reply.strip()).strip(_QUOTE)} "
    lower, bare = text.lower(), text.strip()
    candidates = [
        (rank, text.rfind(form.format(label)), label)
        for rank, form in _MCQ_FORMS
        for label in options
        if form.format(label) in text
    ]
    for start in (place + len(cue) for cue in _MCQ_CUES if (place := lower.find(cue)) >= 0):
        candidates += [(7, place, label) for label in options if (place := text.find(label, start)) >= 0]
    for label in options:
        if bare.startswith(label) and not bare[1:2].isalpha():
            candidates.append((10, 0, label))
        if bare.endswith(label) and not bare[-2:-1].isalpha():
            candidates.append((9, len(text), label))
    candidates = candidates or [(0, text.rfind(label), label) for label in options if label in text]
    return max(candidates, key=lambda candidate: candidate[:2])[2] if candidates else None


def lmms_mcq_abcd(reply: str, options: ChoiceTexts) -> str | None:
    """`lmms_mcq` for A to D, ignoring the options."""
    del options
    return lmms_mcq(reply, dict.fromkeys("ABCD", ""))


def mmmu(reply: str, options: ChoiceTexts) -> str | None:
    """MMMU's own reader (bb0b95a): (X), else X between spaces, else an option's text in over 5 words."""
    text = f" {_strip_ends(reply)} "
    return _last_label(text, options, (("({})", "({})"), (" {} ", " {} ")))


def mmmu_pro(reply: str, options: ChoiceTexts) -> str | None:
    """MMMU-Pro's own reader (bb0b95a): the one label after the last "Answer:", else as lmms-eval reads MMMU."""
    _, cue, tail = reply.rpartition("Answer:")
    labels = [label for label in options if cue and label in tail]
    return labels[0] if len(labels) == 1 else lmms_mmmu(reply, options)


def lmms_mmmu(reply: str, options: ChoiceTexts) -> str | None:
    """lmms-eval's reader for MMMU (75571cfe): (X), else X before a space, else X before a stop, else an option's text.

    Of several labels before a space or stop, the last one between spaces wins, or the first if none is.
    """
    text = f" {_strip_ends(reply)} "
    return _last_label(text, options, (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")))


def lmms_mmbench(reply: str, options: ChoiceTexts) -> str | None:
    """lmms-eval's reader for MMBench (75571cfe): A to E as a word, even if not an option, else an option's text."""
    words = [] if _NO_REPLY in reply else reply.split()
    for form in ("{}", *_MMBENCH_FORMS):
        labels = [label for label in "ABCDE" if form.format(label) in words]
        if len(labels) == 1 and not (form == "{}" and "A" in words and len(words) > 3):
            return labels[0]
    return _option_in(reply, options)


def lmms_mmbench_static(reply: str, options: ChoiceTexts) -> str | None:
    """`lmms_mmbench` without a judge: lmms-eval's general reader reads the other replies."""
    return lmms_mmbench(reply, options) or lmms_mcq_abcd(reply, options)


def lmms_vstar(reply: str, options: ChoiceTexts) -> str | None:
    """lmms-eval's reader for V*Bench (75571cfe), a leading A to D, else four forms, else the only letter."""
    del options
    text = reply.strip().upper()
    for form in _VSTAR_FORMS:
        if match := form.search(text):
            return match[1].upper()
    letters = [character for character in text if character in "ABCD"]
    return letters[0] if len(letters) == 1 else None


def blink(reply: str, options: ChoiceTexts) -> str | None:
    """BLINK's own rule (2d6a779): the label, else the one "(X)" as a word of the last paragraph or of the reply."""
    for label in "ABCDE":
        if reply in (label, f"({label})"):
            return label
    whole, last = (
        {label for label in options if f"({label})" in words}
        for words in (set(reply.split()), set(reply.rpartition("\n\n")[2].split()))
    )
    if not whole or 1 not in (len(whole), len(last)):
        return None
    return (last if len(last) == 1 else whole).pop()


def lmms_blink(reply: str, options: ChoiceTexts) -> str | None:
    """lmms-eval's reader for BLINK (75571cfe): the first letter of the reply, of any word."""
    del options
    match = _BLINK_LETTER.match(reply)
    return match[1].upper() if match else None


def scienceqa(reply: str, options: ChoiceTexts) -> str | None:
    """ScienceQA's own reader (2cbf831): the only "The answer is X" with a character behind it."""
    labels = _SCIENCEQA_SENTENCE.findall(reply)
    return labels[0] if len(labels) == 1 and labels[0] in options else None


def lmms_scienceqa(reply: str, options: ChoiceTexts) -> str | None:
    """lmms-eval's reader for ScienceQA (75571cfe): the label alone, in either case, or one with a stop that leads."""
    text = reply.strip()
    return _label_equal_to(text, options) or next((label for label in options if text.startswith(f"{label}.")), None)


def lmms_ai2d(reply: str, options: ChoiceTexts) -> str | None:
    """lmms-eval's reader for AI2D (75571cfe): a leading "X.", else the label alone without case and punctuation."""
    match = _AI2D_LETTER.match(reply)
    return _label_equal_to((match[1] if match else reply.strip()).translate(NO_PUNCTUATION), options)


def lmms_seedbench(reply: str, options: ChoiceTexts) -> str | None:
    """lmms-eval's reader for SEED-Bench (75571cfe): the first character, in either case."""
    return _label_equal_to(reply.strip()[:1], options)


def mmstar(reply: str, options: ChoiceTexts) -> str | None:
    """MMStar's own reader (88f243a): the first character, or the one behind "(", "option " or "the answer is "."""
    text = reply.strip().lower().replace("\n", " ")
    starts = ("", "(", "option ", "the answer is ")
    read = (_label_equal_to(text[len(start) : len(start) + 1], options) for start in starts if text.startswith(start))
    return next(filter(None, read), None)


def _strip_ends(reply: str) -> str:
    """The reply without these characters at its ends, removed one after the other: "A.," keeps its stop."""
    for character in _ENDS:
        reply = reply.strip(character)
    return reply


def _label_equal_to(text: str, options: ChoiceTexts) -> str | None:
    return next((label for label in options if text.lower() == label.lower()), None)


def _option_in(reply: str, options: ChoiceTexts) -> str | None:
    """The one option whose text is in the reply."""
    lower = reply.lower()
    labels = [label for label, text in options.items() if text.lower() in lower]
    return labels[0] if len(labels) == 1 else None


def _last_label(text: str, options: ChoiceTexts, forms: Iterable[tuple[str, str]]) -> str | None:
    """The last label in the first form that the text contains; else, in over 5 words, the last option's text.

    `forms` are pairs: the form to look for, and the form whose last place counts.
    """
    for form, ranked_by in forms:
        if labels := [label for label in options if form.format(label) in text]:
            return max(labels, key=lambda label: text.rfind(ranked_by.format(label)))
    if len(text.split()) <= 5:
        return None
    lower = text.lower()
    labels = [label for label, option in options.items() if option.lower() in lower]
    return max(labels, key=lambda label: lower.rfind(options[label].lower()), default=None)


Reading = tuple[str | None, str]
"""The letter and the name of the rule that found it; None and "" without a letter."""

PUBLISHED_RULES: Mapping[str, re.Pattern[str]] = {
    "letter": re.compile(r"\b([A-D])\b"),
    "brackets": re.compile(r"[(（]([A-D])[)）]"),
    "cue": re.compile(r"(?:ANSWER|CHOICE|OPTION)[:\s]*([A-D])"),
    "first character": re.compile(r"\A([A-D])"),
}
"""For the reply in upper case, in this order; the first single letter wins, even the article "a"."""
LONGBENCH_RULES: Mapping[str, re.Pattern[str]] = {
    "sentence with brackets": re.compile(r"The correct answer is \(([A-D])\)"),
    "sentence": re.compile(r"The correct answer is ([A-D])"),
}


def first_letter(text: str) -> Reading:
    """The reading of the published script for page images, which cuts off the text up to the first "</think>"."""
    reply = text.partition("</think>")[2] if "</think>" in text else text
    return _first_rule(PUBLISHED_RULES, reply.strip().upper())


def longbench(text: str) -> Reading:
    """The reading of LongBench-v2's own script: only its closing sentence counts, in the same case."""
    return _first_rule(LONGBENCH_RULES, text.replace("*", ""))


def _first_rule(rules: Mapping[str, re.Pattern[str]], text: str) -> Reading:
    for name, rule in rules.items():
        if match := rule.search(text):
            return match.group(1), name
    return None, ""


READINGS: Mapping[str, Callable[[str], Reading]] = {"published": first_letter, "longbench": longbench}
