"""Tell a reply about an image that is missing, unseen or unreadable from one about what the image shows."""

import unicodedata
from typing import Final

from vqa_client.scoring.patterns import lazily

_READ: Final = 400
_IMAGE: Final = (
    r"(?:images?|pictures?|photos?|photographs?|screenshots?|attachments?|figures?|diagrams?|charts?|graphs?|files?"
    r"|visuals?|documents?)\b"
)
_OF: Final = (
    r"(?:(?:the|an?|any|this|that|these|your|such|actual|attached|accompanying|uploaded|provided|valid|visible|clear"
    r"|access|to|seeing|viewing|having|being|able|see|view|looking|at|input|first) ){0,6}"
)
_SPEAKER: Final = r"(?:\b(?:i|we|you)(?:'\w+| \w+){0,3}?|(?:^|[\n.,;:!–—-]) ?)"
_CANNOT: Final = r"(?:n't|\bnot|\bcannot|\bunable to|\bnever|\bfail(?:ed)? to)(?: \w+ly)?(?: able to)?"
_GIVEN: Final = (
    r"(?:provided|attached|included|uploaded|supplied|shared|sent|load|loaded|loading|displayed|displaying|available"
    r"|accessible|received|retrieved|readable|legible|opened|viewed|seen|read|processed|decoded|found|there|come|arrive)"
)
_TO_MODEL: Final = r"(?:the|your|this|our) (?:message|prompt|conversation|chat|input|request|question)"
_ABSENT: Final = (
    r"(?: (?:is|was|are|were|has|have|had|could|can|seems?|appears?))?(?: been| be| to be| \w+ly)*?"
    rf" (?:{_GIVEN}|visible(?! (?:on|in|at|behind|above)))\b"
)
"""What a reply says of "no image" where that is the question's own, and not one that hangs on a wall."""
_ENGLISH = lazily(
    rf"\b(?:no|without|missing) {_OF}{_IMAGE}(?: (?:files?|links?|data|input))?(?: ?(?:$|[^\w ])|{_ABSENT}"
    rf"| (?:to|here|so|and|but|i|you|with|from|in {_TO_MODEL})\b)"
    rf"|{_SPEAKER}\s?{_CANNOT} (?:see|view|open|access|receive|find|load|display|look at|read|process|analy[sz]e"
    rf"|interpret|have|get|download|render|decode|provide|attach|include|upload|share|send)(?:d|ed|t)? {_OF}{_IMAGE}"
    rf"|\b{_IMAGE}(?: (?:itself|file|link|that|you|uploaded|attached|sent|shared|for|to|in|{_TO_MODEL})){{0,4}}"
    r" (?:(?:is|was|are|were|has|have|had|did|does|do|could|can)(?: not|n't)|cannot|can't)"
    rf"(?: been| be| \w+ly)?? {_GIVEN}\b"
    rf"|\b{_IMAGE} (?:(?:is|was|are|were|seems?|appears?)(?: to be)?(?: \w+)?? (?:missing|unavailable|blank|empty"
    r"|broken|corrupt(?:ed)?|unreadable|illegible|inaccessible)"
    r"|fail(?:s|ed) to (?:load|open|display|upload|render|come))\b"
    r"|(?:\bplease|\b(?:could|can|if|once) you(?: can| could)?|\bneed you to|(?:^|[\n.,;:!]) ?)\s?(?:re-?)?"
    rf"(?:upload|share|attach|send|provide|paste|supply) (?:me |us )?{_OF}{_IMAGE}"
    rf"|\bneed {_OF}{_IMAGE}|\b(?:which|what) {_IMAGE}[^.!?\n]*\?"
    r"|\bnothing (?:is |was |has been )?(?:attached|uploaded|provided|shared|sent)\b"
    r"|\bonly (?:see|read|process|receive) text\b"
    r"|\b(?:as|i'm|i am) an? (?:[\w-]+ ){0,3}?(?:ai|(?:language|text-only|text-based) (?:ai )?(?:model|assistant))\b"
    r"|\bi(?:'d| would|'m| am|'ll| will) (?:be )?(?:happy|glad) to (?:help|assist)\b"
)
_OTHERS: Final = (
    ("kein|keine[nrs]?|ohne|fehlt|nicht", r"bild\w*|fotos?|abbildung\w*"),
    ("geen|zonder|ontbreekt|niet", r"afbeelding\w*|foto'?s?|plaatje"),
    ("ingen|inget|intet|utan|uten|uden|saknas|mangler", r"bild\w*|bilde\w*|billed\w*|foto\w*"),
    ("pas|aucune?|sans|manque|manquante", r"(?:d'|l')?(?:images?|photos?)"),
    (
        r"no (?:hay|veo|tengo|se ve|se proporcion\w+|recib\w+|puedo)|sin|ning[uú]n\w*|falta|no",
        r"im[aá]gen(?:es)?|fotos?",
    ),
    (r"não|sem|nenhuma|falta", r"image(?:m|ns)|fotos?"),
    (r"non (?:c'è|vedo|posso|ho)|senza|nessuna|manca", r"(?:l'|un')?immagin[ei]|foto"),
    ("ei ole|en näe|ilman|puuttuu", r"kuva\w*"),
    ("nincs|nem|hiányzik", r"k[eé]p\w*"),
    ("hakuna|siwezi|bila", "picha"),
    ("brak|brakuje|nie|bez", r"obraz\w*|zdjęci\w*"),
    ("chybí|není|nevidím|bez", r"obráz\w+|obraz\w*|fot\w+"),
    ("nicio|fără|lipsește|nu", r"imagin\w+"),
    (r"yok|olmadan|görünm\w+|görem\w+", r"görsel\w*|görüntü\w*|res[iı]m\w*|fotoğraf\w*"),
    ("tidak|tanpa|tak", r"gambar\w*|foto\w*"),
    ("không|thiếu", "hình|ảnh"),
    ("нет|без|не|немає|відсутн\\w+|отсутств\\w+", r"изображени\w*|картин\w*|фото\w*|зображен\w*"),
    ("δεν|χωρίς|λείπει", r"εικόν\w*|φωτογραφ\w*"),
    ("لا|لم|بدون|ليس\\w*|غير", r"(?:ال)?صور\w*"),
    (r"بدون|نیست|نمی\w*|ندار\w*", r"تصویر\w*|عکس\w*"),
    ("אין|לא|ללא|בלי", r"ה?תמונ\w*"),
)
_UNSPACED: Final = (
    ("नहीं|बिना", "छवि|चित्र|तस्वीर|फोटो|इमेज"),
    ("নেই|না|ছাড়া", "ছবি"),
    ("ไม่", "รูป|ภาพ"),
    ("无法|没有?|沒有?|不到|未|無", "图片|图像|圖片|圖像|照片|影像"),
    ("ません|ない|なし", "画像|写真"),
    ("없", "이미지|사진|그림"),
)
_OTHER = lazily(
    unicodedata.normalize(
        "NFKC",
        "|".join(
            (
                *(
                    rf"\b(?:{absent})(?: [\w']+){{0,2}}? (?:{image})\b|\b(?:{image})(?: [\w']+){{0,2}}? (?:{absent})\b"
                    for absent, image in _OTHERS
                ),
                *(rf"(?:{a})[^.!?\n]{{0,12}}(?:{i})|(?:{i})[^.!?\n]{{0,12}}(?:{a})" for a, i in _UNSPACED),
            )
        ),
    )
)


def misses_image(text: str) -> bool:
    """Whether folded plain text says at one of its ends that there is no image to look at, or asks for one."""
    text = text if len(text) <= 2 * _READ else f"{text[:_READ]}\n{text[-_READ:]}"
    return bool(_ENGLISH.search(text) or _OTHER.search(text))
