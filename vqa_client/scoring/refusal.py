"""Recognise a refusal, and a reply that misses the image; both differ from a reply that finds no answer."""

import re
import unicodedata
from typing import Final

from vqa_client.scoring.patterns import lazily

_HEAD: Final = 400
_CANNOT = (
    r"(?:can't|cannot|can not|couldn't|won't be able to|won't|will not be able to|will not|unable to|not able to"
    r"|not allowed to|not permitted to|must decline to|have to decline to|don't have the ability to"
    r"|do not have the ability to|not capable of)"
)
_PICTURES = r"(?:image|picture|photo|file|attachment|visual|sheet music)s?"
_DECLINED = (
    r"(?:assist|help(?! but\b| \w+ing\b)|provide an answer"
    r"|comply|fulfill?|provide (?:that|this|assistance|help|information about|support)"
    r"|support|discuss|engage|participate|do that|(?:answer|process|respond to) (?:that|this|your|the)"
    r"(?: question| request)?|process|continue with|identify (?:the )?(?:people|person|individual)"
    r"|(?:directly )?(?:view|viewing|see|seeing|access|accessing|open|opening|display|look at|interpret|analy[sz]e"
    r"|analy[sz]ing)(?: (?:or|and) \w+)? (?:any |the |these |this |that |your |an? )?"
    r"(?:details? (?:in|on) )?"
    rf"(?:(?!in\b|on\b|within\b)\w+ ){{0,3}}{_PICTURES})"
)
_REFUSALS = (
    re.compile(
        rf"\b{_CANNOT} (?:\w+ )?{_DECLINED}\b(?! (?:from|based|without|with the|whether|because the (?:text|document)))"
    ),
    re.compile(
        r"\bi (?:don't|do not) have (?:direct )?access to (?:the|this|that|your|any)\b[^.\n]{0,40}\b"
        r"(?:image|picture|photo|file|attachment)"
    ),
    re.compile(r"\bi(?:'m not| am not| don't feel| do not feel) comfortable (?:with )?\w+ing\b"),
    re.compile(r"\bi (?:must|have to|respectfully) (?:decline|refuse)\b|\bi(?: am|'m) (?:declining|refusing)\b"),
    re.compile(r"\b(?:against|violates?) (?:my|our|the) (?:\w+ )?(?:guidelines|policy|policies|principles)\b"),
)
_HINTS: Final = ("'t", "’t", "39;t", "not", "unable", "declin", "refus", "against", "violate")
"""Every English refusal contains one of these; a substring search is cheap."""
_FEW: Final = r"(?:\w+ ){0,5}?"
_OTHERS: Final[dict[str, str]] = {
    # German, Dutch, Swedish, Norwegian, Danish
    "kann|kan|darf": (
        rf"(?:kann|darf|kan|mag) {_FEW}(?:nicht|keine?|niet|geen|inte|ikke) {_FEW}(?:(?:weiter)?helfen|unterstützen"
        r"|beantworten|erfüllen|bearbeiten|nachkommen|helpen|assisteren|beantwoorden|voldoen|verwerken|hjälpa|hjelpe"
        r"|hjælpe|besvara|svara på (?:den|din)|svare på (?:det|dette|den)|assistera|bistå)|(?:kann|kan) (?:ich |ik "
        r"|jag |jeg )?(?:leider |helaas |das |dieses |die |diese |keine |de |deze |geen |inte "
        r"|ikke ){1,3}(?:se )?(?:bild|foto|afbeelding|billed)\w*(?: (?:leider |helaas )?(?:nicht |niet )?(?:direkt "
        r"|direct )?(?:sehen|ansehen|anzeigen|analysieren|betrachten|öffnen|zien|bekijken|openen|analyseren)|[.,!]|$)"
    ),
    # French
    "je ne": (
        r"je ne (?:peux|suis) (?:malheureusement )?pas (?:en mesure (?:de |d'))?(?:vous |t')?(?:aider|assister"
        r"|répondre à (?:cette|votre|ta) (?:question|demande)|satisfaire|traiter|fournir (?:cette|ces|ce) \w+"
        r"|identifier (?:\w+ )?person|accéder à (?:cette|votre) demande|(?:voir|visualiser|analyser|afficher) (?:les "
        r"|l'|d'|cette |votre |des )?(?:image|photo))"
    ),
    # Spanish
    "no pued|no podr": (
        rf"no (?:puedo|podré|podría) {_FEW}(?:ayudar|asistir|cumplir|procesar|responder (?:a )?(?:esa|esta|tu|su|eso)"
        r"|proporcionar es[ate]\w* \w+|identificar (?:a )?(?:las? )?person|(?:ver|visualizar|analizar) (?:la |las "
        r"|esta |tu |su )?(?:im[aá]gen|foto))"
    ),
    # Portuguese
    "não": (
        rf"não (?:posso|consigo|poderei) {_FEW}(?:ajud|auxili|atender|processar|cumprir|responder (?:a )?(?:essa|esta"
        r"|sua|isso)|fornecer es[st][ae]\w* \w+|identificar (?:as? )?pesso|(?:ver|visualizar|analisar) (?:a |as |essa "
        r"|esta |sua )?(?:image|foto))"
    ),
    # Italian
    "non ": (
        rf"non (?:posso|sono in grado di|riesco a) {_FEW}(?:aiutar|assister|fornire assistenza|soddisfare|elaborare"
        r"|fornire quest\w+ \w+|identificare (?:l[ae] )?person|rispondere a (?:questa|quella|tale)|(?:vedere"
        r"|visualizzare|analizzare) (?:l'|le |la |questa )?(?:immagin|foto))"
    ),
    # Finnish
    "en voi|en pysty|en kykene|en valitettavasti": (
        rf"en (?:valitettavasti )?(?:voi|pysty|kykene) {_FEW}(?:auttaa|auttamaan|vastata (?:tähän|siihen)"
        r"|vastaamaan (?:tähän|siihen)|(?:nähdä|näkemään|katsoa) kuv)"
    ),
    # Hungarian
    "nem ": (
        rf"nem segíthetek|nem (?:tudok|tudom|áll módomban) {_FEW}"
        r"(?:segíteni|válaszolni (?:erre|a kérdés)|megválaszolni|teljesíteni)"
    ),
    # Swahili
    "siwezi": r"siwezi (?:kukusaidia|kusaidia|kujibu (?:swali|ombi)|kutimiza)",
    # Polish
    "nie ": (
        rf"nie (?:mogę|jestem w stanie|potrafię) {_FEW}(?:pomóc|spełnić|zrealizować|odpowiedzieć na (?:to|twoje)"
        r"|(?:zobaczyć|wyświetlić|analizować|przeanalizować|oglądać) (?:\w+ )?(?:obraz|zdjęci))"
    ),
    # Czech
    "nemoh|nemůž|nejsem|nedok": (
        rf"(?:nemohu|nemůžu|nejsem schopen|nedokážu) {_FEW}(?:pomoci|pomoct|vyhovět|splnit|odpovědět na (?:tuto"
        r"|tu|vaši)|(?:vidět|zobrazit|analyzovat) (?:\w+ )?(?:obráz|obraz|fotk))"
    ),
    # Romanian
    "nu ": (
        rf"nu (?:(?:vă|te|îți) )?(?:pot|sunt în măsură) {_FEW}(?:ajut|asist|îndeplini|răspun\w+ la (?:această"
        r"|aceasta)|(?:vedea|vizualiza|analiza) (?:\w+ )?imagin)"
    ),
    # Turkish
    "olam|edem|ayam|eyem|erem|irem|örem": (
        r"yardım(?:cı)? (?:olam|edem)\w*|(?:soru|isteğ|taleb)\w* (?:\w+ )?(?:yanıtlayam|cevaplayam|cevap verem"
        r"|yanıt verem|yerine getirem|karşılayam)\w*|(?:görsel|görüntü|resim|resm"
        r"|fotoğraf)\w* (?:\w+ )?(?:görem|görüntüleyem|analiz edem|inceleyem)\w*"
    ),
    # Indonesian
    "tidak|tak ": (
        rf"(?:tidak|tak) (?:dapat|bisa|boleh) {_FEW}(?:membantu|memenuhi|memproses|melayani"
        r"|menjawab (?:pertanyaan )?(?:itu|ini|tersebut|anda)|(?:melihat|menganalisis) (?:gambar|foto))"
    ),
    # Vietnamese
    "không": (
        r"không thể (?:\S+ ){0,2}?(?:giúp|hỗ trợ|đáp ứng|thực hiện yêu cầu|trả lời câu hỏi (?:này|đó|của bạn)"
        r"|(?:xem|nhìn thấy|phân tích) (?:được )?(?:các |những )?(?:hình|ảnh))"
    ),
    # Russian, Ukrainian
    "не ": (
        rf"не (?:могу|смогу|можем|в состоянии|можу|зможу|в змозі) {_FEW}(?:помо[чг]|допомогти|выполнить|виконати"
        r"|предоставить (?:эту|такую|данную) \w+|обработать|обробити|обсуждать|с этим|ответить на (?:этот|ваш|данный"
        r"|твой)|відповісти на (?:це|ваше|твоє)|(?:видеть|просматривать|анализировать|бачити|переглядати"
        r"|аналізувати) (?:\w+ )?(?:изображени|картинк|фото|зображен))"
    ),
    # Greek
    "δεν": (
        rf"δεν (?:μπορώ|είμαι σε θέση) (?:να )?{_FEW}(?:βοηθήσω|εξυπηρετήσω|ικανοποιήσω|απαντήσω (?:σε αυτή"
        r"|στην ερώτησή)|(?:δω|αναλύσω) (?:\w+ )?(?:εικόν|φωτογραφ))"
    ),
    # Arabic
    "لا |لن |قادر": (
        r"(?:لا (?:[أا]ستطيع|يمكنني|[أا]قدر|[أا]تمكن)|لن [أا]تمكن|(?:لست|غير) قادر\w*) (?:على "
        r"|من )?(?:\w+ ){0,2}?(?:(?:ال)?مساعد|تلبية|تنفيذ|معالجة هذا|ال[إا]جابة (?:على|عن) (?:هذا|هذه|سؤالك)"
        r"|(?:رؤية|عرض|مشاهدة|تحليل) (?:\w+ )?(?:ال)?صور)"
    ),
    # Persian
    "نمی": r"نمی ?توانم (?:\w+ ){0,5}?(?:کمک|پاسخ|جواب|انجام)|(?:کمک|پاسخ|جواب)\w* (?:\w+ ){0,3}?نمی ?توانم",
    # Hebrew
    "לא |אינ|אין |איני": (
        rf"(?:אינני יכול|איני יכול|לא (?:אוכל|יכול)|אין באפשרותי)ה? {_FEW}(?:לעזור|לסייע|למלא"
        r"|לענות על (?:השאלה הזו|שאלה זו|כך|זה)|(?:לראות|לנתח) (?:את )?ה?תמונ|לצפות בה?תמונ)"
    ),
    # Hindi
    "नहीं": (
        r"(?:मदद|सहायता) नहीं कर (?:सक|पा)|(?:इस|आपके) (?:प्रश्न|सवाल) का (?:उत्तर|जवाब) नहीं दे सक|(?:छवि"
        r"|चित्र|तस्वीर|फोटो|इमेज)\S* (?:को )?(?:\S+ )?नहीं देख|अनुरोध (?:को )?(?:पूरा|स्वीकार) नहीं कर"
    ),
    # Bengali
    "না": (r"(?:সাহায্য|সহায়তা) করতে পার\S+ না|এই প্রশ্নের উত্তর দিতে পার\S+ না|ছবি\S* দেখতে পা\S+ না"),
    # Thai
    "ไม่": (
        r"ไม่สามารถ(?:ให้ความ)?(?:ช่วย|ตอบคำถาม(?:นี้|นั้น|ของคุณ)|ดำเนินการตาม|ทำตามคำขอ|(?:ดู|มองเห็น|เห็น"
        r"|วิเคราะห์)(?:รูป|ภาพ))"
    ),
    # Chinese
    "无|不|無|没|沒": (
        r"(?:无法|不能|無法|没办法|沒辦法|不便|没有能力)(?:直接|为您|為您|给您|向您|帮您|对此|就此"
        r"|继续){0,2}(?:提供(?:任何|该|这方面的|相关)?(?:帮助|协助|幫助|協助|服务)|协助|協助|帮助|幫助|帮忙"
        r"|满足|滿足|讨论|討論|执行|執行|(?:处理|處理|完成)(?:该|該|此|这|這|您)|回答(?:这个|這個|这类|这样的"
        r"|该|該|此|您的|你的)|(?:查看|看到|看见|看見|浏览|瀏覽|识别|識別|分析|访问|打开)(?:您|你)?(?:提供"
        r"|上传|上傳|发送)?的?(?:任何|这张|這張|该|此|这些)?(?:图片|图像|圖片|圖像|照片|影像))|看不(?:到|见"
        r"|見)(?:您|你)?(?:提供|上传|上傳|发送)?的?(?:任何)?(?:图片|图像|圖片|照片)|(?:抱歉|对不起"
        r"|對不起)[^.\n]{0,12}(?:无法|無法|不能)(?:协助|協助|帮助|幫助|满足|查看|处理|(?:识别|辨认)[^.\n]{0,8}(?:人物|身份)"
        r"|提供(?:[^.\n]{0,8}(?:信息|資訊))?)|(?:问题|問題)我(?:暂时|暫時)?(?:无法|無法|不能)(?:回答|作答)|[换換][个個][话話][题題]"
    ),
    # Japanese
    "せん|ない|かねます": (
        r"(?:お手伝い|お答え|お応え|ご要望|ご依頼|対応|回答|協力|支援|サポート)[^\n.]{0,12}(?:できません"
        r"|できかねます|いたしかねます|致しかねます|できない)"
        r"|(?:この|その|ご)(?:質問|要望|依頼)[^\n.]{0,9}(?:答え|応え|応じ)られません|(?:画像|写真)[をは](?:直接)?(?:見|閲覧|表示|分析"
        r"|確認|認識)[^\n.]{0,9}(?:できません|できない|ません)"
    ),
    # Korean
    "없|어렵": (
        r"(?:도와 ?(?:드리|드릴|줄)|도움을? ?(?:드리|드릴|줄|될)|(?:응답|답변|대답|처리|협조|지원)(?:을"
        r"|를)? ?(?:해 ?)?(?:드리|드릴|할|제공할))(?:기|는 것이| 수(?:가|는)?)? ?(?:없|어렵)|(?:이미지|사진"
        r"|그림)[를을은는]? ?(?:직접 )?(?:볼|확인할|분석할|열) 수(?:가|는)? 없"
    ),
}
"""Keys: words; every refusal in the language has one of them. The search for them is cheap, and `re` compiles and
caches a pattern only when its word occurs."""
_ROWS: Final = tuple(
    (hint, unicodedata.normalize("NFKC", pattern))
    for hints, pattern in _OTHERS.items()
    for hint in unicodedata.normalize("NFKC", hints).split("|")
)
_ASCII_HINTS: Final = (*_HINTS, *(hint for hint, _ in _ROWS if hint.isascii()))
_ALL_HINTS: Final = (*_HINTS, *(hint for hints in _OTHERS for hint in hints.split("|")), *(hint for hint, _ in _ROWS))
_SOURCES = re.compile(
    "document|dokument|документ|belge|metin|metn|tài liệu|văn bản|asiakir|tekst|teks |text|testo|έγγραφ|κείμεν|วรรค"
    "|"
    + unicodedata.normalize(
        "NFKC",
        "文档|文件|文書|文中|資料|資訊|記載|信息|情報|根据|根據|页|頁|ページ|문서|자료|정보|페이지|เอกสาร|ข้อความ|दस्तावेज|पाठ"
        "|المستند|الوثيقة|النص|מסמך|טקסט|নথি",
    )
    + r"|\b(?:seiten?|pages?|páginas?|pagin\w|informa\w+|bladzij|sid(?:an|orna)|stron|strán|sayfa|halaman|trang|страниц"
    r"|сторін|σελίδ)"
)
"""Names of the source; a reply with one of them says that the answer isn't there, and isn't a refusal."""
_GIVEN = re.compile(r"(?:proporcionar|fournir|fornecer|fornire|提供)[^.\n]{0,9}(?:informa\w+|信息|資訊)")
"""Here "information" is what the model doesn't give, not the source."""
_ENDS: Final = re.compile(r"[.!?\n]")
_SHORTEST: Final = 6


def may_refuse(text: str) -> bool:
    """Whether a text has a word that every refusal needs: a cheap check before folding it."""
    if len(text) < _SHORTEST:
        return False
    head = text[: 2 * _HEAD].lower()
    hints = _ASCII_HINTS if head.isascii() else _ALL_HINTS
    return any(map(head.__contains__, hints))


def refuses(text: str) -> bool:
    """Whether the plain `text` begins with a refusal; "I cannot determine this from the document" isn't one."""
    head = text[:_HEAD].lower()
    if any(refusal.search(head) for refusal in _REFUSALS):
        return True
    for hint, refusal in _ROWS:
        match = re.search(refusal, head) if hint in head else None
        if match and not _SOURCES.search(_GIVEN.sub("", _sentence(head, match))):
            return True
    return False


def _sentence(head: str, refusal: re.Match[str]) -> str:
    before, after = head[: refusal.start()], head[refusal.end() :]
    return _ENDS.split(before)[-1] + refusal[0] + _ENDS.split(after, maxsplit=1)[0]


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
_CANNOT_SEE: Final = r"(?:n't|\bnot|\bcannot|\bunable to|\bnever|\bfail(?:ed)? to)(?: \w+ly)?(?: able to)?"
_PROVIDED: Final = (
    r"(?:provided|attached|included|uploaded|supplied|shared|sent|load|loaded|loading|displayed|displaying|available"
    r"|accessible|received|retrieved|readable|legible|opened|viewed|seen|read|processed|decoded|found|there|come|arrive)"
)
_TO_MODEL: Final = r"(?:the|your|this|our) (?:message|prompt|conversation|chat|input|request|question)"
_ABSENT: Final = (
    r"(?: (?:is|was|are|were|has|have|had|could|can|seems?|appears?))?(?: been| be| to be| \w+ly)*?"
    rf" (?:{_PROVIDED}|visible(?! (?:on|in|at|behind|above)))\b"
)
"""After "no image": it is the question's image, not a picture on a wall."""
_ENGLISH = lazily(
    rf"\b(?:no|without|missing) {_OF}{_IMAGE}(?: (?:files?|links?|data|input))?(?: ?(?:$|[^\w ])|{_ABSENT}"
    rf"| (?:to|here|so|and|but|i|you|with|from|in {_TO_MODEL})\b)"
    rf"|{_SPEAKER}\s?{_CANNOT_SEE} (?:see|view|open|access|receive|find|load|display|look at|read|process|analy[sz]e"
    rf"|interpret|have|get|download|render|decode|provide|attach|include|upload|share|send)(?:d|ed|t)? {_OF}{_IMAGE}"
    rf"|\b{_IMAGE}(?: (?:itself|file|link|that|you|uploaded|attached|sent|shared|for|to|in|{_TO_MODEL})){{0,4}}"
    r" (?:(?:is|was|are|were|has|have|had|did|does|do|could|can)(?: not|n't)|cannot|can't)"
    rf"(?: been| be| \w+ly)?? {_PROVIDED}\b"
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
_MISSING: Final = (
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
_MISSING_UNSPACED: Final = (
    ("नहीं|बिना", "छवि|चित्र|तस्वीर|फोटो|इमेज"),
    ("নেই|না|ছাড়া", "ছবি"),
    ("ไม่", "รูป|ภาพ"),
    ("无法|没有?|沒有?|不到|未|無", "图片|图像|圖片|圖像|照片|影像"),
    ("ません|ない|なし", "画像|写真"),
    ("없", "이미지|사진|그림"),
)
_ABROAD = lazily(
    unicodedata.normalize(
        "NFKC",
        "|".join(
            (
                *(
                    rf"\b(?:{absent})(?: [\w']+){{0,2}}? (?:{image})\b|\b(?:{image})(?: [\w']+){{0,2}}? (?:{absent})\b"
                    for absent, image in _MISSING
                ),
                *(rf"(?:{a})[^.!?\n]{{0,12}}(?:{i})|(?:{i})[^.!?\n]{{0,12}}(?:{a})" for a, i in _MISSING_UNSPACED),
            )
        ),
    )
)


def misses_image(text: str) -> bool:
    """Whether folded plain text says at its beginning or end that it has no image, or asks for one."""
    text = text if len(text) <= 2 * _READ else f"{text[:_READ]}\n{text[-_READ:]}"
    return bool(_ENGLISH.search(text) or _ABROAD.search(text))


def unseeing(text: str) -> bool:
    """Whether the model refuses or misses the image."""
    return (may_refuse(text) and refuses(text)) or misses_image(text)
