"""Tell a model that declines to look at the question from one that finds no answer in it."""

import re
from typing import Final

_HEAD: Final = 400
_CANNOT = (
    r"(?:can't|cannot|can not|couldn't|won't be able to|won't|will not be able to|will not|unable to|not able to"
    r"|not allowed to|not permitted to|must decline to|have to decline to|don't have the ability to"
    r"|do not have the ability to|not capable of)"
)
_PICTURES = r"(?:image|picture|photo|file|attachment|visual|sheet music)s?"
_DECLINED = (
    r"(?:assist|help|provide an answer|comply|fulfill?|provide (?:that|this|assistance|help|information about|support)"
    r"|support|discuss|engage|participate|do that|(?:answer|process|respond to) (?:that|this|your|the)"
    r"(?: question| request)?|process|continue with|identify (?:the )?(?:people|person|individual)"
    r"|(?:directly )?(?:view|viewing|see|seeing|access|accessing|open|opening|display|look at|interpret|analy[sz]e"
    rf"|analy[sz]ing)(?: (?:or|and) \w+)? (?:any |the |these |this |that |your |an? )?(?:\w+ ){{0,3}}{_PICTURES})"
)
_REFUSALS = (
    re.compile(
        rf"\b{_CANNOT} (?:\w+ )?{_DECLINED}\b(?! (?:from|based|without|with the|whether|because the (?:text|document)))"
    ),
    re.compile(
        r"\bi (?:don't|do not) have (?:direct )?access to (?:the|this|that|your|any)\b[^.\n]{0,40}\b"
        r"(?:image|picture|photo|file|attachment)"
    ),
    re.compile(r"\bi (?:must|have to|respectfully) (?:decline|refuse)\b|\bi(?: am|'m) (?:declining|refusing)\b"),
    re.compile(r"\b(?:against|violates?) (?:my|our|the) (?:\w+ )?(?:guidelines|policy|policies|principles)\b"),
    re.compile(
        r"es tut mir leid, aber ich kann (?:dabei|damit|ihnen|dir|das) nicht|dabei kann ich (?:leider )?nicht helfen"
    ),
    re.compile(r"désolé[e]?, (?:mais )?je ne peux pas (?:vous )?(?:aider|répondre à cette demande|assister)"),
    re.compile(r"lo siento, (?:pero )?no puedo (?:ayudar|asistir|cumplir|responder a esa)"),
    re.compile(
        r"(?:抱歉|对不起|對不起)[^.\n]{0,12}(?:无法|無法|不能)[^.\n]{0,6}(?:协助|協助|帮助|幫助|提供|满足|查看|处理)"
    ),
    re.compile(r"申し訳[^\n]{0,30}(?:お手伝い|お答え|対応)[^\n]{0,8}(?:できません|いたしかねます)"),
    re.compile(r"죄송[^\n]{0,30}(?:도와|도움|응답|답변)[^\n]{0,12}(?:수 없|어렵)"),
    re.compile(r"извините[^\n]{0,20}не могу (?:помочь|выполнить|с этим)"),
)


def refuses(text: str) -> bool:
    """Whether the plain `text` opens with a refusal; "I cannot determine this from the document" is none."""
    head = text[:_HEAD].lower()
    return any(refusal.search(head) for refusal in _REFUSALS)
