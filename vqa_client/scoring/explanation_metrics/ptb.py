"""Penn Treebank tokens of English text, without Java, as coco-caption's wrapper of Stanford's tokeniser gives them.

Tokens are in lower case, without those in the wrapper's list of punctuation. Its quirks are kept: brackets stay as
"-lrb-" and "-rrb-" (the list has them in capitals only); characters that Stanford's 2014 program doesn't know, such as
emoji, are removed; so are the marks of some scripts, which also split the word. The tokens are equal on some 50,000
human explanations, hypotheses and questions of VQA-X and e-SNLI-VE, on each character of the basic plane in eight
places, and on all but 4 of 12,000 sentences of model replies, school mathematics and lists of files.

Three things differ on purpose. Every line break is a space (for the wrapper most of them start the next caption). A
text doesn't depend on the next one: "the answer is a." always keeps "a." (in the wrapper not if the next caption starts
with a capital). A token with a space ("1 1/2") is two tokens, as BLEU and CIDEr then read it.

The rules come from observing Stanford's program (CoreNLP 3.4.1). The longest match wins, of equally long ones the first
rule. If a rule has a group, the group is the token; the rest of the match is context that counts towards its length,
as in "do" before "n't".
"""

import re
from functools import lru_cache
from typing import Final, NamedTuple

_UNKNOWN = (
    "\u00b2-\u00b3\u00b9\u00bc-\u00be\u037f\u0528-\u052f\u0560\u0588\u05ef\u0860-\u088e\u08a1\u08ad-\u08c9\u0978"
    "\u0980\u09f4-\u09fc\u0af9\u0b72-\u0b77\u0bf0-\u0bf2\u0c34\u0c5a-\u0c5d\u0c78-\u0c80\u0cdd\u0d04\u0d54-\u0d5f"
    "\u0d70-\u0d78\u0e86\u0e89\u0e8c\u0e8e-\u0e93\u0e98\u0ea0\u0ea8-\u0ea9\u0eac\u0f2a-\u0f33\u1369-\u137c"
    "\u13f5-\u13fd\u16ee-\u16f8\u170d\u171f\u17f0-\u17f9\u1878\u191d-\u191e\u19b0-\u19c0\u19c8-\u19c9\u19da\u1b4c"
    "\u1c80-\u1cbf\u1cf2-\u1cf3\u1cfa\u2070\u2072-\u207e\u2080-\u208e\u2150-\u2182\u2185-\u2793\u2c2f\u2c5f\u2cfd"
    "\u3007-\u3029\u3038-\u303a\u312e-\u312f\u3192-\u3195\u31bb-\u31bf\u3200-\u33ff\u4db6-\u4dbf\u9fcd-\u9fff"
    "\ua698-\ua69d\ua6e6-\ua6ef\ua78f\ua794-\ua79f\ua7ab-\ua7f7\ua830-\ua835\ua8fd-\ua8fe\ua9e0-\ua9ef"
    "\ua9fa-\ua9fe\uaa7e-\uaa7f\uab30-\uabbf"
)
"""Letters in Python that are unknown to the older program, or signs for it."""
_MARKS = (
    "\u02c2-\u02c5\u02d2-\u02df\u02e5-\u02eb\u02ed\u02ef-\u036f\u0375\u0378-\u0379\u0384-\u0385\u03f6"
    "\u0483-\u0487\u055a-\u055f\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0615-\u061a\u064b-\u065e"
    "\u0670\u06d6-\u06e4\u06e7-\u06ed\u06fd-\u06fe\u070f\u0711\u0730-\u074c\u07a6-\u07b0\u07eb-\u07f3"
    "\u0900-\u0903\u093c\u093e-\u094e\u0951-\u0955\u0962-\u0963\u0981-\u0983\u09bc\u09be-\u09cd\u09d7"
    "\u09e2-\u09e3\u0a01-\u0a03\u0a3c-\u0a4f\u0a81-\u0a83\u0abc\u0abe-\u0acf\u0b82\u0bbe-\u0bcd\u0c01-\u0c03"
    "\u0c3e-\u0c56\u0d3e-\u0d48\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd"
)
"""Marks of many scripts that are letters for the program, in a word without a hyphen."""
_LETTER = rf"(?-i:[^\W\d_{_UNKNOWN}\U00010000-\U0010ffff])"
_MARKED = rf"(?:{_LETTER}|(?-i:[\u00ad{_MARKS}]))"
_PLAIN = rf"(?:{_LETTER}|[\d\u00ad])"
_SIGN = rf"(?:{_MARKED}|\d)"
_APOSTROPHE = "['’\u0092]"
_QUOTE = "[`‘-‟\u0091-\u0094‹›«»]"
_HYPHEN = "[-_‐‑\u058a]"
_PART = rf"(?:[dol]{_APOSTROPHE}(?={_LETTER}{{2}}))?{_PLAIN}++"
_THING = rf"{_PART}(?:{_HYPHEN}{_PART})*"
_WORD = rf"{_MARKED}{_SIGN}*+(?:[.!?]{_MARKED}{_SIGN}*+)*+"
_ENDING = rf"{_APOSTROPHE}(?:[msd]|re|ve|ll)"

_ABBREVIATIONS = (
    "adj|adm|adv|al|ala|alex|apr|ariz|assn|assoc|asst|attys?|aug|ave|bhd|bldg|blvd|brig|bros|calif|capt|cf|cie|"
    "cmdr|co|col|colo|comdr|conn|corp|cos|cpl|ct|dak|dec|dept|det|dr|drs|elec|ens|esq|est|etc|ext|feb|fla|fri|ft|"
    "ga|gen|govs?|hon|inc|ind|insp|intl|invt|jan|jos|jr|jul|jun|kans?|ky|lieut|lt|ltd|maj|mar|md|messrs|mfg|mich|"
    "minn|mlle|mme|mo|mon|mont|mr|mrs|ms|msgr|mt|mtg|natl|neb|nev|nov|oct|okla|penn|pfc|ph|plc|p?ptes?|p?ptys?|"
    "pres|profs?|pvt|rd|reps?|rev|rt|sen|sens|sep|sept|seq|sfc|sgt|spc|sq|sr|st|ste|supts?|sys|tel|tenn|thu|"
    "thurs|treas|tue|tues|univ|va|vs|vt|wed|wis|wisc|wm|wyo"
)
"""Abbreviations that keep their full stop: all of up to five letters, and "messrs"."""
_ABBREVIATED_NAMES = "az|la|pa|ark|del|ill|ore|tex|mass|miss|wash"
"""Abbreviations that keep it only with a capital: "la." and "miss." end a sentence."""
_BEFORE_NUMBERS = "ca|nos?|op|pp|art|figs?|prop"
"""Abbreviations that keep it only before a number: "no. 5"."""

_WHOLE_APOSTROPHES = [
    rf"{_APOSTROPHE}n(?:{_APOSTROPHE}|(?!{_SIGN}))",
    rf"[ldj]{_APOSTROPHE}",
    rf"(?:ol|somethin|dunkin){_APOSTROPHE}",
    rf"{_APOSTROPHE}(?:em|till?|cause|[2-9]0s|\d\d(?=\s|$))",
    rf"(?:c{_APOSTROPHE}(?:mon|est)|o{_APOSTROPHE}clock|[eo]{_APOSTROPHE}er|(?:nat|li){_APOSTROPHE}l)",
    rf"(?-i:[A-HJ-XZn]){_APOSTROPHE}{_LETTER}{{2,}}",
    rf"{_LETTER}+[aeiouy]{_APOSTROPHE}[aeiou]{_LETTER}*",
]
_NAME = r"[a-z][a-z0-9_:.\-]*"
_TAG = rf"<(?:[!?][a-z\-][^<>]*|{_NAME}(?: +{_NAME}(?: *= *(?:\"[^\"<>]*\"|'[^'<>]*'))?){{0,20}} */?|/{_NAME} *)>"
_NUMBER = r"\d+(?:[.,:\u066b\u066c]\d+)*"
_FRACTION = r"(?:\d{1,4}[- ])?\d{1,4}(?:\\?/|⁄)\d{1,4}"
_SLASHED = r"[a-z0-9]+(?:-[a-z]+){0,2}(?:\\?/[a-z0-9]+(?:-[a-z]+){0,2}){1,2}"
_ABBREVIATED = rf"(?:{_ABBREVIATIONS}|(?-i:(?=[A-Z]))(?:{_ABBREVIATED_NAMES}))\."
_INITIALS = r"(?:[a-z](?:\.[a-z])*\.|[a-z](?:\.[a-z])+|ph\.d\.)"
_HOST_PART = r"[^\s\"'`<>|.!?(){},\-$_:;/@#&*=+\[\]]++"
_WEB_PART = r"[^\s\"<>|.!?(){},]++"
_AROUND_AT = r"[a-z0-9][^\s\"<>|(){}]*"
_AFTER_AT = r"[^\s\"<>|()@{}.]++"
_STARTED = rf"{_PLAIN}(?:{_PLAIN}|[.,])*+"
_PATH = r"/[^\s\"<>|(){}]+[^\s\"<>|.!?(){},\-]"

_RULES = (
    rf"([a-z\u00ad]*[a-mo-z])n{_APOSTROPHE}t",
    rf"({_WORD}|{_SIGN}+){_ENDING}(?!{_SIGN})",
    r"(can)not(?![^\W_])",
    rf"({_APOSTROPHE}t)(?:is|was)",
    r"(gim|lem)me(?![^\W_])",
    r"(gon|wan)na(?![^\W_])",
    r"(got)ta(?![^\W_])",
    _TAG,
    rf"n{_APOSTROPHE}t",
    rf"{_ENDING}(?!{_SIGN})",
    rf"(y{_APOSTROPHE})(?={_LETTER})",
    *_WHOLE_APOSTROPHES,
    _THING,
    _WORD,
    rf"{_SIGN}+\.(?:jpe?g|png|gif|bmp|pdf|txt|html?|zip|exe|docx?|mp3|xml|php)(?!{_SIGN})",
    _INITIALS,
    rf"(?:{_INITIALS}|{_ABBREVIATED})-{_THING}",
    _ABBREVIATED,
    rf"((?:{_BEFORE_NUMBERS})\.)[\s,:]{{0,3}}\d",
    rf"[-+]?{_NUMBER}",
    r"[-+]?(?:[.,:\u066b\u066c]\d+)+",
    _FRACTION,
    r"\d{1,2}[-/]\d{1,2}[-/]\d{2,4}",
    _SLASHED,
    r"(?-i:[A-Z]+(?:(?:[+&]|&amp;)[A-Z]+)+)",
    r"c\+\+|[cf]#",
    rf"#{_LETTER}+|@[a-z_]\w*",
    r"(?-i:[A-Z]+)\$",
    r"https?://[^\s\"<>|()]+[^\s\"<>|.!?(){},\-]",
    r"\(\d{3}\)[ ]?\d{3}[- ]?\d{4}",
    r"[<>]?[:;=][\-o*']?[()dp@|](?!\w)",
    r"&(?:amp|lt|gt|quot|apos|nbsp);",
    rf"{_QUOTE}{{1,2}}",
    r"-[lr][rsc]b-",
    r"''|\.\.\.|\.(?: \.){2,4}|-{2,}|#{2,}|@+|[?!]+|\*+|(?:\\\*)+|_+|>>|<<|\^_\^",
    "[⁺⁻₊₋]?(?:[⁰¹²³⁴-⁹]+|[₀-₉]+)",
    r"[!-/:-@\[-`{-~]",
    "[¡-©¬®-´¶-»¿×÷‒-‣…‰-※‾-⁂⁄⁰⁴-⁾₀-₎₠₤€℀-℔№-℘℞-™℥℧℩℮⅀-⅄⅊-⅍⅓⅔⅕-⅞←-⯿、。〒・！-／：-＠［-｀｛-･￠￡￥￦¼-¾"
    "\u037e\u0387\u0589\u05be\u05c0\u05c3\u05c6\u05f3-\u0603\u0606-\u060c\u0614\u061b\u061e\u061f\u066a\u066d\u06d4\u0700-\u070d"
    "\u07f6-\u07f8\u0964\u0965\u0e3f\u0e4f\u1fbd\u2123\u213a\u213b\u214f\u0080]",
)
_RULES_OF_RUNS = (
    (rf"{_STARTED}(?:-{_PLAIN}++)++", _STARTED),
    (rf"(?:{_HOST_PART}\.)+(?:com|net|org|edu)(?:{_PATH})?", rf"{_HOST_PART}(?:\.{_HOST_PART})*+"),
    (rf"www\.(?:{_WEB_PART}\.)+[a-z]{{2,4}}(?:{_PATH})?", rf"www(?:\.{_WEB_PART})++"),
    (rf"{_AROUND_AT}@(?:{_AFTER_AT}\.)*{_AFTER_AT}", _AROUND_AT),
)
"""Rules that look far ahead, each with a run of text: if the rule fails at its start, it fails in the whole run."""


class TokenRule(NamedTuple):
    """The pattern of a token, and the run in which it needn't be tried again after failing at the run's start."""

    token: re.Pattern[str]
    run: re.Pattern[str] | None


RULES: Final = (
    *(TokenRule(re.compile(rule, re.IGNORECASE), None) for rule in _RULES),
    *(TokenRule(re.compile(rule, re.IGNORECASE), re.compile(run, re.IGNORECASE)) for rule, run in _RULES_OF_RUNS),
)

SPELLINGS: Final = {
    **{"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"},
    **dict.fromkeys("’\u0092›", "'"),
    **dict.fromkeys("‘‛‹\u0091", "`"),
    **{"¢": "cents", "£": "#", "€": "$", "¤": "$", "₠": "$", "\u0080": "$"},
    **{"¼": "1/4", "½": "1/2", "¾": "3/4", "⅓": "1/3", "⅔": "2/3"},
    **dict.fromkeys('"”»\u0094', "''"),
    **dict.fromkeys("“«\u0093", "``"),
    **{"…": "...", "–": "--", "—": "--", "―": "--", "\u00ad": "", "‒": ""},
}
ENTITIES: Final = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "''", "&apos;": "'", "&nbsp;": ""}
PUNCTUATION: Final = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "---", "----", "...", ";"])
"""Removed tokens: coco-caption's list without its capitals; the program writes "---" as "--"."""
_SPELLED: Final = str.maketrans(SPELLINGS)
_LETTERS: Final = re.compile(r"[a-z]+")
_SPLIT: Final = frozenset(["cannot", "gonna", "gotta", "lemme", "gimme", "wanna"])
_ACROSS_SPACES: Final = re.compile(r"<|['’]\d\d\s|\.[,:]?\s+\d|\d\s+\d+/|\(\d{3}\)\s")
"""Text in which a token may contain a space."""


def ptb_tokens(text: str) -> list[str]:
    """Split a text into tokens, in time linear in its length."""
    if _ACROSS_SPACES.search(text):
        return _scan(" ".join(text.split()))
    tokens: list[str] = []
    for word in text.split():
        if _LETTERS.fullmatch(word) and word not in _SPLIT:
            tokens.append(word)
        else:
            tokens += _word(word)
    return tokens


@lru_cache(maxsize=1 << 16)
def _word(word: str) -> tuple[str, ...]:
    return tuple(_scan(word))


def _scan(text: str) -> list[str]:
    tokens: list[str] = []
    fails_until = [0] * len(RULES)
    at = 0
    while at < len(text):
        end = _token_end(text, at, fails_until)
        tokens += _respell(text[at:end])
        at = max(end, at + 1)
    return tokens


def _token_end(text: str, at: int, fails_until: list[int]) -> int:
    """The end of the token that starts at `at`; `at` itself for a space or a character without a rule.

    `fails_until` has for each rule the end of the run in which it is known to fail.
    """
    longest, end = 0, at
    for number, (token, run) in enumerate(RULES):
        if at < fails_until[number]:
            continue
        if match := token.match(text, at):
            if match.end() - at > longest:
                longest, end = match.end() - at, match.end(token.groups)
        elif run and (failed := run.match(text, at)):
            fails_until[number] = failed.end()
    return end


def _respell(token: str) -> list[str]:
    """Spell a token as the treebank does; a space and punctuation have no token."""
    lower = token.lower()
    spelled = ENTITIES[lower] if lower in ENTITIES else lower.translate(_SPELLED)
    return [part for part in spelled.split() if part not in PUNCTUATION]
