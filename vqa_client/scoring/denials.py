"""The words that deny, suppose or withdraw an answer; the only place to add a phrase or a language.

Everything is matched against text from `containment.read` in lower case: accents are gone ("não" is "nao"), and a word is
looked up as a whole. Scripts that set no spaces, or whose vowel signs `re` takes for the end of a word, are searched as
they are.
"""

import re
import unicodedata
from typing import Final

_NEGATORS: Final = {
    "English": "not no never none nobody nothing neither nor nowhere cannot cant dont doesnt didnt isnt wasnt arent wont",
    "German": "nicht nichts kein keine keinen keinem keiner keines keineswegs keinerlei keinesfalls nie niemals nirgends "
    "nirgendwo weder",
    "French": "pas jamais aucun aucune aucunement nulle nullement non ni",
    "Spanish, Catalan": "nunca jamas ningun ninguna ninguno tampoco",
    "Portuguese": "nao nenhum nenhuma nem",
    "Italian": "nessun nessuna nessuno nemmeno neanche",
    "Dutch, Afrikaans": "niet geen nooit nergens noch nimmer nie",
    "Swedish": "inte inget inga ingenstans aldrig varken icke",
    "Danish, Norwegian": "ikke ikkje ingen intet aldri ingensteds hverken verken",
    "Finnish, Estonian": "eivat eika ",
    "Hungarian": "nem nincs nincsen nincsenek sincs soha sehol",
    "Romanian": "niciun nicio nicaieri niciodata nici",
    "Polish, Czech, Slovak": "nigdy nigdzie zaden zadna zadne zadnej zadnego ani neni nejsou nebyl nebyla nebylo neobsahuje "
    "neuvadi nenachazi nevyskytuje nezminuje nikde nikdy nikoli nikoliv nieje",
    "Serbian, Croatian, Slovene": "nije nisu nema nigdje nikad",
    "Turkish": "degil degildir yok yoktur hicbir asla",
    "Indonesian, Malay": "bukan bukanlah tidak tiada belum",
    "Vietnamese": "khong chua",
    "Russian, Bulgarian": "не ни нет никогда нигде никак никакого никакой отсутствует отсутствуют няма",
    "Ukrainian": "ні немає ніколи ніде жодного жодна жодне жоден відсутнє відсутній",
    "Greek": "δεν οχι ποτε πουθενα ουτε",
    "Arabic, Persian, Urdu": "ليس ليست وليس وليست ليسوا لا ولا لم لن غير نیست نمی نہیں",
    "Hebrew": "לא אינו אינה אינם אין איננו איננה מעולם",
}
NEGATORS: Final = frozenset(" ".join(_NEGATORS.values()).split())
FOLLOWING: Final = NEGATORS - frozenset(_NEGATORS["English"].split())
"""Negators that may follow in a clause what they deny."""
UNSPACED: Final = re.compile(
    unicodedata.normalize(
        "NFKC",
        r"不|没|沒|非|无|無|未"  # Chinese
        r"|ない|なく|ません|なし|ぬ(?!\w)"  # Japanese
        r"|아니|아닌|아닙|않|없|못"  # Korean
        r"|नहीं|नही|(?<!\S)न(?!\S)|নয়|নেই|নাই|(?<!\S)না(?!\S)|নি(?![\w\u0980-\u09ff])"  # Hindi, Bengali
        r"|இல்லை|அல்ல|కాదు|లేదు|ಅಲ್ಲ|ಇಲ್ಲ|അല്ല|ഇല്ല"  # Tamil, Telugu, Kannada, Malayalam
        r"|ไม่|มิใช่",  # Thai
    )
)
PHRASES: Final = re.compile(
    r"n't\b|\bei (?:ole|ollut|esiinny|nay|loydy|mainita|kay|voi|sisalla|ilmene)\b|m[iu]yor(?:du|lar|um|uz)?\b|\byer almaz\b"
    r"|\bnu (?:este|e|a|am|apare|exista|contine|se|poate|sunt|figureaza)\b"
)
"""Negators of more than one word, and those that another language has for something else alone."""

HARMLESS: Final = re.compile(
    unicodedata.normalize(
        "NFKC",
        r"\b(?:not|nicht|pas|no|nao|non|niet|inte|ikke|nie|не) (?:only|just|merely|simply|nur|allein|seulement|solo|so|somente"
        r"|apenas|soltanto|alleen|slechts|bara|endast|bare|kun|tylko|только|лише|тільки)\b|\bnejen\b"
        r"|\b(?:no|without(?: an?y?)?|beyond(?: an?y?)?|kein\w*|ohne(?: jeden)?|sans(?: aucun)?|sin(?: ninguna)?|sem(?: nenhuma)?"
        r"|senza(?: alcun)?|geen|zonder|utan|ingen|uten|uden|bez|без|нет|немає) (?:doubt|question|zweifel|doute|duda|duvida|dubbio|twijfel"
        r"|tvekan|tvivel|tvil|tvivl|watpienia|pochyby|сомнени\w+|сумнів\w*)\b"
        r"|\bno (?:hay|cabe|ha) duda\b|لا شك|אין ספק"
        r"|\b(?:nothing|none|no one|nobody|nowhere) (?:but|else)\b|\b(?:ne|n'est|n'etait) autres? que\b|\bno other\b"
        r"|\b(?:never|no|don't) (?:mind|matter|wonder|worry|problem|longer (?:secret|hidden))\b|\bif not\b|\bor not\b"
        r"|\bnot (?:to mention|an? (?:coincidence|accident))\b|\b(?:that|which|who)(?: is| are| was| does| do| did| has)?(?: not|n't)\b"
        r"[^,;]{1,40}(?= (?:is|was) *$)"
        r"|不仅|不僅|不只|不但|不过|不過|无论|無論|不管|毫无疑问|毫無疑問|无疑|無疑|没错|沒錯|不错|非常"
        r"|だけでなく|(?:間)?違いない|(?:間)?違いありません|間違いなく|疑いなく|ほかならない|他ならない|しかない"
        r"|틀림없|의심의 여지가? 없|뿐만 아니라|밖에 없|निस्संदेह|ไม่ต้องสงสัย",
    )
)
"""What has the form of a denial and none of its meaning."""

_REVERSERS = (
    r"doubt\w*|den(?:y|ies|ied|ying)|fail(?:s|ed|ing)? to|lack\w*|missing|absent|false|untrue|wrong|incorrect\w*|mistak\w+"
    r"|erroneous\w*|unlikely|impossible|improbable|unable|refus\w+|declin\w+|disagree\w*|reject\w*|rul\w+ out|exclud\w+"
    r"|eliminat\w+|dismiss\w+|discard\w+|ignor\w+|disregard\w*|forget|hardly|scarcely|far from|unlike|contrary to|as opposed to"
    r"|crossed out|struck out|withdrawn|an? (?:lie|myth|fabrication)|falsch\w*|faux|fausse|fals[oa]|sbagliat\w+|errone\w+|errat\w+|verkeerd\w*|felaktig\w*"
    r"|forkert|neverne|неверн\w+|неправильн\w+|ложн\w+"
)
_INSTEAD = (
    r"(?:rather|other|less|better) than|instead of|in place of|except(?: for)?|apart from|aside from"
    r"|(?:anything|everything|all) but|anders als|ander\w* als|anderes? als|autres? que|otr[oa]s? que|outr[oa] que|altr[oaie] che"
    r"|ander\w* dan|annat an|andet end|(?:an)?statt|au lieu de|en lugar de|en vez de|em vez de|invece di|in plaats van"
    r"|ausser|sauf|excepto|salvo|tranne|fuorche|behalve|utom|undtagen|unntatt|tod[oa]s? menos|tud[oa] menos"
    r"|i stallet for|istallet for|i stedet for|вместо|кроме|замість|zamiast|misto"
)
REVERSERS: Final = re.compile(rf"\b(?:{_REVERSERS}|{_INSTEAD})\b|错误|錯誤|错(?!过)|間違い|間違っ|틀린|틀렸")
"""Words that deny by their meaning: two of them, or one under a negator, deny nothing ("no doubt", "none other than")."""

DENIES_BEFORE: Final = re.compile(
    rf"\b(?:is|are|was|were|do|does|did|has|have|had|can|could|would|will|should|seems?)(?: \w+)? ?(?:not|n't|never|nowhere)\b"
    rf"|\b(?:cannot|can't|nowhere|neither)\b|\bnot (?:found|present|mentioned|listed|visible|stated|given|there|in|on)\b"
    rf"|\b(?:(?:is|are|was|were)(?: \w+ly| just| simply)? )?(?:{_REVERSERS})\b|\b(?:only|just|merely) (?:an?|my) (?:example|guess)\b|\bout of the question\b|\bno longer\b|\bused to be\b|\bwas (?:once|formerly|previously|originally)\b|\bnothing to do with\b|\bnot! *$|\bwithout success\b|\bin vain\b|\bto no avail\b"
    r"|\b(?:replaced|superseded|overwritten|overridden|supplanted) (?:by|with)\b|\b(?:changed|corrected|updated|amended|renamed|revised) (?:to|into)\b"
    r"|\b(?:decoys?|distractors?|red herrings?|placeholders?|mis(?:reading|print|take)s?)\b"
    r"|\bno (?:es|aparece|figura|consta|esta|existe|se)\b|^ ?(?:->|=>|[>→⇒➔➜➡]) ?\w|错误|错(?!过)|間違|違い|틀렸|틀립"
)
"""What denies the words before it in its clause, in English; `NEGATORS` of other languages may follow what they deny."""

CONTRASTS: Final = (
    "but however though although whereas while yet instead therefore thus hence because aber sondern doch mais sino pero mas "
    "ma bensi maar utan men uden vaan mutta hanem ci dar lecz ale nybrz nybrz tylko а но але αλλα بل لكن ولكن אלא melainkan tetapi"
).split()
UNSPACED_CONTRASTS: Final = r"बल्कि|लेकिन|বরং|而是|但是|ではなく|じゃなく(?:て)?|でなく|아니라|아니고|mà là"

SUPPOSES: Final = frozenset(
    "if whether suppose supposing supposed assuming assume imagine hypothetically wenn falls ob hvis jos jesli gdyby kdyby "
    "eger jika если якщо إذا לו אם αν".split()
)
SUPPOSITIONS: Final = re.compile(
    r"\b(?:such as|e\.g\.|(?:numbers?|codes?|secrets?|words?|things?|something) like)\b"
    r"|\b(?:might|could|would|may|should) have \w+|'d have \w+|\bexample\b|^\W*(?:were|had|should) \w|\bsi (?:el|le|la|les|fuera|fuese|fosse|c'etait)\b|\bse fosse\b"
    r"|如果|假如|若|もし|만약|यदि|अगर|যদি|ถ้า"
)
SURE: Final = re.compile(
    r"\bif (?:you|we|one)(?: \w+)? (?:look|read|check|see|turn|zoom|count|scroll|go)\b|\b(?:even|as) if\b"
    r"|\bif i(?: (?:had|have|were|must)\b|'m\b| am\b| read\b| see\b)"
)
"""What has the form of a supposition and gives an answer."""
DEPENDS: Final = (
    re.compile(
        r"\b(?:(?:would|could|might)(?! (?:say|guess|go))|serait|ware|wurde|seria|sarebbe|zou|skulle|ville|olisi|бы)\b"
    ),
    re.compile(r"\b(?:if|were|had|unless|si|wenn|falls|se|als|om|hvis|jos|если|якщо)\b"),
)
"""What depends on a condition has one of each in its sentence."""

LENT: Final = re.compile(
    r"\b(?:you|the (?:question|user|prompt)|(?:some|many|people|others|one)(?: (?:may|might|could|would|will|people))?)(?: have| had)?"
    r" (?:say|says|said|claim|claims|claimed|think|thought|believe|believed|suggest|suggests|suggested|assume|mention|mentions|mentioned)\b"
    r"|\b(?:at first|initially|originally|formerly|previously|used to be|once was|was once)\b"
    r"|\b(?:i|we) (?:had )?first \w+"
    r"|\bi (?:had |have |first )?(?:thought|believed|assumed|supposed|expected)\b"
)
"""Words that lend what follows them in their clause to somebody else, or to an earlier time."""
_FILLERS = r"(?: (?:the|a|an|that|this|secret|hidden|number|code|word|value|name|answer|animal|city))*"
LENT_NEXT: Final = re.compile(
    rf"\b(?:considered|(?:look|search|check|scann?)\w*(?: \w+)? for|asked about|thought (?:of|about)|tried|changed from|corrected from"
    rf"|updated from|renamed(?: \w+)? from|(?:changed|corrected|updated|revised)(?: \w+)? from){_FILLERS}\W*$"
    r"|\b(?:old|former|previous|earlier|outdated|obsolete)(?: (?:secret|hidden|number|code|word|value|name|answer|animal|city)){0,2}\W*$"
)
"""The same, only of what follows at once."""

_ANAPHOR = r"(?:it|that|this|which|they|these|he|she|so|one)"
_DOUBLY = r"(?:wrong|incorrect|false|untrue|mistaken|an? (?:mistake|misreading|misprint|decoy|distractor|red herring))"
WITHDRAWS: Final = re.compile(
    rf"^\W*(?:(?:but|and|though|however|yet|although|no|so|i think|clearly)\W+)*"
    rf"(?:{_ANAPHOR}(?:'s|'d| is| was| would| must| seems| can)?(?: be)?(?: \w+ly| just| also| all)? ?)?"
    rf"(?:{_DOUBLY}\b|(?:not|n't|cannot|can't)(?: be)?(?: \w+ly)?(?: as)? (?:it|true|so|right|correct|the (?:case|secret|answer|correct|right))\b"
    r"|(?:crossed|struck|ruled) (?:out|through)\b|(?:rejected|invalid|excluded|not found|not it|nope?|never)\W*$)"
)
"""A clause without an answer that takes back the one before it."""
_SHOWN = r"(?:stat|say|said|mention|contain|show|appear|occur|list|includ|found|find|exist|present|support|confirm|giv|there|locat|readable)"
ABSENT: Final = re.compile(
    rf"{_SHOWN}\w*|(?:\bnot|n't) (?:in|on) (?:the|this|any)\b|\b(?:kind|sort|success|trace|sign|vain|avail)\b|(?:n't|\bnot|\bno)\W*$"
)
ABSENT_AS_SUCH: Final = re.compile(rf"\b{_SHOWN}\w* (?:it|that|this|so|them)\b|\bof the (?:kind|sort)\b|n't\W*$")
"""Of an answer that was stated, only what names it takes it back: "never states it", not "doesn't mention a date"."""
OTHERS: Final = re.compile(r"\b(?:else\w*|others?|another|again|why|how|where|who|when|page|more|further|additional)\b")

FINDS_NONE: Final = re.compile(
    r"(?:\b(?:no|not|never|cannot|unable)\b|n't\b)(?! (?:only|other|another))[^.!?\n,;:]{0,40}\b(?:secret|hidden|answer)\b(?! (?:is|was)\b)"
)
"""The reply has no answer; what it mentions without a statement is something else."""

CORRECTS: Final = re.compile(
    r"\b(?:wait|actually|correction|sorry|scratch that|strike that|i mean|i meant|make that|on second (?:look|thought|glance)"
    r"|on (?:closer|further) (?:look|inspection|reading)|no)\b|\.\.\. ?no\b|不对|不對|いや|아니,"
)
"""Between two answers, these take the first one back."""
PREFERS: Final = re.compile(r"\b(?:but|however|really|instead|now|therefore|thus|hence|so)\b")
"""Between two answers that are both stated, these do."""
