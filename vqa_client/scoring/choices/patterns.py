"""The grammar of declared answers, compiled once for a set of labels."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from vqa_client.scoring.choices import cues
from vqa_client.scoring.choices.labels import Labels, labels_of

_TITLE: Final = (
    r"(?:(?:probably|most likely|likely|i think|i believe|i guess|i'd say|definitely|clearly|certainly)[ ,]{1,2})?"
    r"(?:(?:the |my )?(?:option|choice|letter|opción|вариант|选项|選項|選択肢)[ :#.\x02\x03]{0,4}[\"'(\x02]{0,4})?"
)
_ANSWER: Final = r"(?:(?:the )?(?:answer|antwort|réponse|respuesta|ответ)[ .\x02\x03]{1,4}[\"'(\x02]{0,4})?"
"""Only for a reply that is nothing else; elsewhere "Answer B" is a cue with its label."""
_AROUND: Final = r"(?:[^\w\n+~¬!≠✗✘❌×#]|_|#+ ){0,16}"
"""Signs before a label that opens a line, without those that deny it or make a word of it."""
_ENDING: Final = r"(?![+#°%]|-(?!-))(?:番?です|번?입니다|번|番|项|項)?(?:[^\w\n]|_){0,16}$"
_ADVERBS: Final = (
    "the|clearly|likely|most|only|probably|therefore|also|thus|an?|one|single|my|our|definitely|indeed|obviously|choice"
    "|option|best|correct|final|der|die|das|la|le|el|richtige|korrekte|bonne|right"
)
_COUNTED: Final = (
    r"\b(?:none|neither|no|not one|all|any|each|every|one|two|three|some|both|ningun\w*|aucun\w*|kein\w*|alle|tod\w+)\b"
)
_IS: Final = (
    r"[ \"')\x03\x05]*\b(?:is|are|must be|should be|would be|seems|appears|looks|to be|remains|ist|wäre|sind|est|sont"
    rf"|es|son|является)\b[ \x02]+(?:(?:{_ADVERBS})\b[ \x02]*){{0,5}}"
)
_UNSPACED_IS: Final = (
    r"[ \"')\x03\x05]*(?:选项|選項|項|项|번)?(?:是|为|為|が|は|を|이|가|은|는|도|을|를)?(?:最|唯一)?[ ]?"
)
_FITS: Final = (
    "satisf(?:y|ies)|fits?|meets?|match(?:es)?|represents?|shows?|describes?|fulfil+s?|works?"
    "|illustrates?|depicts?|explains?|accounts for|it is"
)
_MAKES: Final = r"\b(?:mak(?:es|ing)|leav(?:es|ing)) (?:option |choice |answer |statement )?"
RIGHT_SIGNS: Final = r"[☑✅✔✓]|\((?<![\w)]\()\s?[xX✓✔]\s?\)"
SAYS_RIGHT: Final = "correct|true|right"
_WRONG: Final = rf"[☐❌✗✘✖]|\(\s?\)|\b(?i:incorrect|wrong|false|not (?:{SAYS_RIGHT}))\b"
_TICK: Final = f"(?:{RIGHT_SIGNS})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patterns:
    """All patterns of one set of labels; the group `label` is the label as the reply writes it.

    `linked`: a cue's link up to the label, by the name of the cue; `bare`: a label that follows at once; `further`: one
    more label after a label; `joined`: a label that leads on to another; `counted`: the same in "none of A, B"; `line`
    and `whole_reply`: a label alone; `leading`: a label that opens a line; `ticked`: a label with a tick; `verdicts`:
    one that is judged; `fitting`: one that fits what was asked for; the subjects: "B is", "makes B the", "B是".
    """

    labels: Labels
    linked: dict[str, re.Pattern[str]]
    bare: re.Pattern[str]
    further: re.Pattern[str]
    joined: re.Pattern[str]
    counted: re.Pattern[str]
    line: re.Pattern[str]
    whole_reply: re.Pattern[str]
    leading: re.Pattern[str]
    ticked: re.Pattern[str]
    verdicts: tuple[re.Pattern[str], ...]
    fitting: re.Pattern[str]
    subjects: tuple[re.Pattern[str], re.Pattern[str]]
    unspaced_subject: re.Pattern[str]


@lru_cache(maxsize=256)
def patterns_of(names: tuple[str, ...]) -> Patterns:
    """Compile every pattern for these labels; takes some 50 ms, so it is kept for the questions that share them."""
    labels = labels_of(names)
    written, label = labels.exact.pattern, f"(?P<label>{labels.source})"
    exact = f"(?P<label>{written})"
    lead_in = f"{cues.OPENERS}(?i:{cues.FILLERS})"
    numbered = "" if any(name[:1].isdecimal() for name in labels.written) else r"(?:\d{1,2}[.)] )?"
    opening = f"{_AROUND}{numbered}(?i:{_TITLE})"
    spoken = f"(?P<label>{labels.spoken})"
    option = r"[\"'( \x02]*(?i:(?:option|choice) )?[\"'( \x02]*"
    return Patterns(
        labels=labels,
        linked={cue.name: re.compile(f"(?i:{cue.link}){lead_in}{label}") for cue in cues.CUES},
        bare=re.compile(f"{lead_in}{label}"),
        further=re.compile(
            rf"(?i:{cues.SEPARATORS}){lead_in}{exact}|[ ](?P<spaced>{written})(?=[^\w\n]*(?:\n|$))",
        ),
        joined=re.compile(rf"{exact}[ )\"'\x03]{{0,6}}(?i:,? ?{cues.CONJUNCTIONS}){option}\Z"),
        counted=re.compile(rf"(?i:{_COUNTED}[^.;:\n]{{0,60}}?){exact}[ )\"'\x03]{{0,6}}(?:,|(?i:,? ?nor\b)){option}\Z"),
        line=re.compile(f"^{opening}{exact}{_ENDING}", re.MULTILINE),
        whole_reply=re.compile(rf"\A{_AROUND}{numbered}(?i:{_ANSWER}{_TITLE}){label}{_ENDING}"),
        leading=re.compile(f"^{opening}{exact}", re.MULTILINE),
        ticked=re.compile(
            rf"^\W{{0,6}}{_TICK}\W{{0,6}}{exact}(?=[).:\x03]| -|\W*$)"
            rf"|^\W{{0,6}}(?P<before>{written})[^\n=\\]{{0,300}}{_TICK}\W{{0,4}}$",
            re.MULTILINE,
        ),
        verdicts=_verdicts(written),
        fitting=re.compile(
            rf"\b(?:(?P<only>[Oo]nly )(?:option |choice )?|(?:[Oo]ption|[Cc]hoice) )[\x02(\"']{{0,2}}{exact}"
            rf"[\x03)\"']*(?i: (?:best|most|\w+ly))*(?i: (?:{_FITS}))\b"
        ),
        subjects=(
            re.compile(rf"(?P<head>.*){spoken}(?P<tail>.{{0,70}}?)(?i:{_IS})\Z", re.DOTALL),
            re.compile(
                rf"(?P<head>.*)(?i:{_MAKES})[\"'(\x02]*{exact}(?P<tail>)[\"')\x03]*"
                rf"(?i: (?:as )?the (?:(?:{_ADVERBS})[ \x02]*){{0,3}})\Z",
                re.DOTALL,
            ),
        ),
        unspaced_subject=re.compile(rf"(?P<head>.*){exact}(?P<tail>){_UNSPACED_IS}\Z", re.DOTALL),
    )


def _verdicts(written: str) -> tuple[re.Pattern[str], ...]:
    """The judgement of a label: at the end of its line, right behind it, or in a box before it."""
    judgement = rf"(?<!n't )(?:(?P<right>{RIGHT_SIGNS}|\b(?i:{SAYS_RIGHT})\b)|(?P<wrong>{_WRONG}))"
    label = f"(?i:(?:option|choice) )?(?P<label>{written})"
    line, clause = r"^[^\w\n]{0,8}", r"(?:^[^\w\n]{0,8}|[.;|] )"
    sources = (
        rf"{line}{label}[^\w\n](?:[^\n]{{0,300}}?[^\w\n])??(?:is )?{judgement}[^\w\n]*$",
        rf"{clause}{label}[ :|).\x03-]{{1,4}}(?:is )?{judgement}(?=[^\w\n]*$|[\x03)]*[.:;,|])",
        rf"{judgement}[ \x02]{{0,3}}{label}(?=[ ).:\x03]|[^\w\n]*$)",
    )
    return tuple(re.compile(source, re.MULTILINE) for source in sources)
