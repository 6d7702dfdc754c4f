"""The harnesses' rules for CountBenchQA (lmms-eval at 75571cfe, VLMEvalKit at e8e78f05), of a reply and the number.

lmms-eval's second task, countbenchqa, wants the digits alone.
"""

from typing import Final

_WORDS: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
_DIGITS: Final = {"none": "0", **{word: str(value) for value, word in enumerate(_WORDS)}}


def lmms_eval(reply: str, reference: str) -> float:
    """lmms-eval's countbench: the number alone, in digits or as a word."""
    said = reply.strip().lower()
    return float(_DIGITS.get(said, said) == reference)


def vlmevalkit(reply: str, reference: str) -> float:
    """VLMEvalKit: the digits are in the reply."""
    return float(reference in reply)
