"""Words of many languages that deny: those before what they deny, those behind it, and those that call it wrong."""

import re
from typing import Final

_BETWEEN_WORDS = re.compile(r"\n|\|(?![^()]*\))")


def any_word(*sources: str) -> str:
    """Regex source for any of the words, grouped by their first letters, which makes the search cheap.

    Words stand in lines, "|" between them; all but the first letter of each is regex source.
    """
    groups: dict[str, list[str]] = {}
    for word in filter(None, map(str.strip, _BETWEEN_WORDS.split("|".join(sources)))):
        groups.setdefault(word[0], []).append(word[1:])
    grouped = (f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())
    return f"(?=[{''.join(groups)}])(?:{'|'.join(grouped)})"


NOT_WORDS: Final = r"""
    no|nicht|kein\w*|pas|jamais|ne|n'est|não|nao|non|ningun\w*|niet|geen|nie|není|inte|ikke|ei|nem|tidak|bukan|không|chẳng
    nu(?= (?:este|e|sunt|poate)\b|\s*$)|не|ни|нельзя|ні|δεν|μην?|όχι|ليس|ليست|لا|غير|לא|אינה|אינו|אין
    weder|ni|né|ani|sem|nici|varken|hverken|verken
"""
NOT_SIGNS: Final = r"[不没沒非]|ไม่"
NOT: Final = rf"(?:\b{any_word(NOT_WORDS)}\b|{NOT_SIGNS})"
"""Denies what follows it or, where nothing does, what stands before it: "nicht C", "C ist nicht richtig"."""
NOT_THAT: Final = (
    r"(?:değil\w*|olamaz|না(?=[\s।.]|$)|수 ?없|नहीं|নয়|নয়|(?:では|じゃ)(?:な[いく]|ありません)|ない"
    r"|[이가] ?아니\w*|[이가] ?아닙\w*|않)"
)
"""Denies what stands before it: "A değil, C"."""
_WRONG_WORDS = r"""
    falsch\w*|faux|fausse|incorrect[aeo]?s?|fals[ao]|errad[ao]|errat[ao]|equivocad[ao]|sbagliat[ao]|fout|onjuist|verkeerd
    błędn\w*|niepoprawn\w*|nieprawidłow\w*|špatn\w*|nesprávn\w*|chybn\w*|yanlış\w*|fel|felaktig\w*|forkert\w*|feil|galt?
    väär\w*|hibás|helytelen|rossz|greșit\w*|incorect\w*|salah|sai|неверн\w*|неправильн\w*|ошибочн\w*|невірн\w*|помилков\w*
    λάθος|λανθασμέν\w*|خطأ|خاطئ\w*|שגוי\w*
"""
WRONG: Final = rf"(?:\b{any_word(_WRONG_WORDS)}\b|गलत|ভুল|ผิด|错|錯|誤|間違|틀[리렸린]|오답)"
"""Calls a choice wrong: "A é errada", "the wrong one is A"."""
