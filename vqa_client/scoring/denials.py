"""Words of many languages that deny: those before what they deny, those behind it, and those that call it wrong."""

from typing import Final

NOT: Final = (
    r"(?:\b(?:no|nicht|kein\w*|pas|jamais|ne|n'est|não|nao|non|ningun\w*|niet|geen|nie|není|není to|inte|ikke|ei|nem|tidak|bukan"
    r"|không|chẳng|не|ни|нельзя|ні|δεν|μην?|όχι|nu(?= (?:este|e|sunt|poate)\b|\s*$)|ليس|ليست|لا|غير|לא|אינה|אינו|אין)\b"
    r"|不|没|沒|非|ไม่)"
)
"""Denies what follows it or, where nothing does, what stands before it: "nicht C", "C ist nicht richtig"."""
NOT_THAT: Final = (
    r"(?:\bdeğil\w*|नहीं|নয়|নয়|(?:では|じゃ)(?:な[いく]|ありません)|ない|(?:이|가) ?아니\w*|(?:이|가) ?아닙\w*|않)"
)
"""Denies what stands before it: "A değil, C"."""
WRONG: Final = (
    r"(?:\b(?:falsch\w*|faux|fausse|incorrect[aeo]?s?|fals[ao]|errad[ao]|errat[ao]|equivocad[ao]|sbagliat[ao]|fout|onjuist|verkeerd"
    r"|błędn\w*|niepoprawn\w*|nieprawidłow\w*|špatn\w*|nesprávn\w*|chybn\w*|yanlış\w*|fel|felaktig\w*|forkert\w*|feil|galt?"
    r"|väär\w*|hibás|helytelen|rossz|greșit\w*|incorect\w*|salah|sai|неверн\w*|неправильн\w*|ошибочн\w*|невірн\w*|помилков\w*"
    r"|λάθος|λανθασμέν\w*|خطأ|خاطئ\w*|שגוי\w*)\b"
    r"|गलत|ভুল|ผิด|错|錯|誤|間違|틀[리렸린]|오답)"
)
"""Calls a choice wrong: "A é errada", "the wrong one is A"."""
