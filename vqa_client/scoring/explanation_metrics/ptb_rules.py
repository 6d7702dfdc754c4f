"""What the Penn Treebank tokeniser takes for one token, found by watching Stanford's program (CoreNLP 3.4.1) work.

The longest rule wins, of equally long ones the first. Where a rule has a group, the group is the token and the rest
is the context that counts towards the length, as in "do" before "n't".
"""

import re
from typing import Final

_DIGITS_THAT_ARE_SIGNS = "²³¹¼-¾⁰-₎⅐-↋①-⓿❶-➓㈀-㏿"
_LETTER = rf"[^\W\d_{_DIGITS_THAT_ARE_SIGNS}\U00010000-\U0010ffff]"
_MARKED = rf"(?:{_LETTER}|[\u0300-\u036f\u00ad])"
_SIGN = rf"(?:{_MARKED}|\d)"
_APOSTROPHE = "['’\u0092]"
_HYPHEN = "[-_‐‑]"
_PART = rf"(?:[dol]{_APOSTROPHE}(?={_LETTER}{{2}}))?{_SIGN}+"
_THING = rf"{_PART}(?:{_HYPHEN}{_PART})*"
_ENDING = rf"{_APOSTROPHE}(?:[msd]|re|ve|ll)"

_ABBREVIATIONS = (
    "adj|adm|adv|al|ala|alex|apr|ariz|assn|assoc|asst|attys?|aug|ave|bhd|bldg|blvd|brig|bros|calif|capt|cf|cie|"
    "cmdr|co|col|colo|comdr|conn|corp|cos|cpl|ct|dak|dec|dept|det|dr|drs|elec|ens|esq|est|etc|ext|feb|fla|fri|ft|"
    "ga|gen|govs?|hon|inc|ind|insp|intl|invt|jan|jos|jr|jul|jun|kans?|ky|lieut|lt|ltd|maj|mar|md|messrs|mfg|mich|"
    "minn|mlle|mme|mo|mon|mont|mr|mrs|ms|msgr|mt|mtg|natl|neb|nev|nov|oct|okla|penn|pfc|ph|plc|p?ptes?|p?ptys?|"
    "pres|profs?|pvt|rd|reps?|rev|rt|sen|sens|sep|sept|seq|sfc|sgt|spc|sq|sr|st|ste|supts?|sys|tel|tenn|thu|"
    "thurs|treas|tue|tues|univ|va|vs|vt|wed|wis|wisc|wm|wyo"
)
"""Words that keep their full stop: all of up to five letters, and "messrs"."""
_ABBREVIATED_NAMES = "az|la|pa|ark|del|ill|ore|tex|mass|miss|wash"
"""The same, but only with a capital: "la." and "miss." end a sentence."""
_BEFORE_NUMBERS = "ca|nos?|op|pp|art|figs?|prop"
"""The same, but only before a number: "no. 5"."""

_WHOLE_APOSTROPHES = [
    rf"{_APOSTROPHE}n(?:{_APOSTROPHE}|(?!{_SIGN}))",
    rf"[ldj]{_APOSTROPHE}",
    rf"(?:ol|somethin|dunkin){_APOSTROPHE}",
    rf"{_APOSTROPHE}(?:em|till?|cause|[2-9]0s|\d\d(?=\s))",
    rf"(?:c{_APOSTROPHE}(?:mon|est)|o{_APOSTROPHE}clock|[eo]{_APOSTROPHE}er|(?:nat|li){_APOSTROPHE}l)",
    rf"(?-i:S{_APOSTROPHE}mores?)",
    rf"(?-i:[A-HJ-XZn]|N){_APOSTROPHE}{_LETTER}{{2,}}",
    rf"{_LETTER}+[aeiouy]{_APOSTROPHE}[aeiou]{_LETTER}*",
]
_NAME = r"[a-z][a-z0-9_:.\-]*"
_TAG = rf"<(?:[!?][a-z\-][^<>]*|{_NAME}(?: +{_NAME}(?: *= *(?:\"[^\"<>]*\"|'[^'<>]*'))?){{0,20}} */?|/{_NAME} *)>"
_NUMBER = r"\d+(?:[.,:]\d+)*"
_FRACTION = r"(?:\d{1,4}[- ])?\d{1,4}/\d{1,4}"
_SLASHED = r"[a-z0-9]+(?:-[a-z]+){0,2}(?:/[a-z0-9]+(?:-[a-z]+){0,2}){1,2}"
_ABBREVIATED = rf"(?:{_ABBREVIATIONS}|(?-i:(?=[A-Z]))(?:{_ABBREVIATED_NAMES}))\."
_INITIALS = r"(?:[a-z](?:\.[a-z])*\.|[a-z](?:\.[a-z])+|ph\.d\.)"
_HOST = r"(?:[^\s\"'`<>|.!?(){},\-$_:;/@#&*=+\[\]]+\.){1,8}(?:com|net|org|edu)"
_PATH = r"/[^\s\"<>|(){}]*[^\s\"<>|.!?(){},\-]"

RULES: Final = tuple(
    re.compile(rule, re.IGNORECASE)
    for rule in (
        rf"({_LETTER}*(?![n]){_LETTER})n{_APOSTROPHE}t",
        rf"({_SIGN}+){_ENDING}(?!{_SIGN})",
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
        rf"{_LETTER}+(?:[.!?]{_LETTER}+)+",
        rf"{_SIGN}+\.(?:jpe?g|png|gif|bmp|pdf|txt|html?|zip|exe|docx?|mp3|xml|php)(?!{_SIGN})",
        _INITIALS,
        rf"(?:{_INITIALS}|{_ABBREVIATED})-{_THING}",
        _ABBREVIATED,
        rf"((?:{_BEFORE_NUMBERS})\.)[\s,:]{{0,3}}\d",
        rf"[-+]?{_NUMBER}",
        r"[-+]?[.,:]\d+(?:[.,:]\d+)*",
        rf"{_SIGN}+(?:[.,]{{1,3}}{_SIGN}+){{1,8}}(?:-{_SIGN}+)+",
        _FRACTION,
        r"\d{1,2}[-/]\d{1,2}[-/]\d{2,4}",
        _SLASHED,
        r"(?-i:[A-Z]+(?:(?:[+&]|&amp;)[A-Z]+)+)",
        r"c\+\+|[cf]#",
        rf"#{_LETTER}+|@[a-z_]\w*",
        r"(?-i:[A-Z]+)\$",
        rf"https?://[^\s\"<>|()]+[^\s\"<>|.!?(){{}},\-]|{_HOST}(?:{_PATH})?",
        r"www\.(?:[^\s\"<>|.!?(){},]+\.)+[a-z]{2,4}" + rf"(?:{_PATH})?",
        r"[a-z0-9][^\s\"<>|()@\[\]{}]{0,64}@(?:[^\s\"<>|()@.,\[\]{}]+\.){0,8}[a-z0-9]+",
        r"\(\d{3}\)[ ]?\d{3}[- ]?\d{4}",
        r"[<>]?[:;=][\-o*']?[()dp@|](?!\w)",
        r"&(?:amp|lt|gt|quot|apos|nbsp);",
        r"''|``|\.\.\.|\.(?: \.){2,4}|-{2,}|#{2,}|[?!]+|\*+|_+|>>|<<|\^_\^",
        r"[!-/:-@\[-`{-~]",
        "[¡-©¬®-´¶-»¿×÷‒-⁂⁄⁰⁴-⁾₀-₎₠₤€℀-℔№-℘℞-™℥℧℩℮⅀-⅄⅊-⅍⅓⅔⅕-⅞←-⯿、。〒・！-／：-＠［-｀｛-･￠￡￥￦¼-¾]",
    )
)

SPELLINGS: Final = {
    **{"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"},
    **dict.fromkeys("’\u0092‘‛‹›", "'"),
    **{
        "¢": "cents",
        "£": "#",
        "€": "$",
        "¤": "$",
        "₠": "$",
        "¼": "1/4",
        "½": "1/2",
        "¾": "3/4",
        "⅓": "1/3",
        "⅔": "2/3",
    },
    **dict.fromkeys('"“”«»', "''"),
    **{"…": "...", "–": "--", "—": "--", "―": "--", "\u00ad": "", "‒": ""},
}
ENTITIES: Final = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "''", "&apos;": "'", "&nbsp;": ""}
