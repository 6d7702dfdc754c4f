"""Words that deny, suppose or withdraw an answer; add a phrase or a language here.

The choice readings match `NOT`, `NOT_THAT` and `WRONG` against text with accents. The rest is matched against text from
`strict.containment.read` in lower case: it has no accents ("não" is "nao"), and words match as a whole. Scripts without
spaces, and those whose vowel signs end a word for `re`, are searched anywhere. Each line of a table is one or more
alternatives of a regular expression.
"""

import unicodedata
from typing import Final

from vqa_client.scoring.patterns import any_word, lazily, without_accents

NOT_THAT: Final = (
    r"(?:değil\w*|olamaz|imk[âa]ns[ıi]z\w*|না(?=[\s।.]|$)|수 ?없|नहीं|নয়|নয়|(?:では|じゃ)(?:な[いく]|ありません)|ない"
    r"|[이가] ?아니\w*|[이가] ?아닙\w*|않)"
)
"""Denies what comes before it: "A değil, C"."""
_WRONG_WORDS = r"""
    falsch\w*|faux|fausses?|incorrect[aeio]?s?|fals[aeio]s?|errad[ao]s?|errat[aeio]|equivocad[ao]s?|sbagliat[aeio]|fout|onjuist|verkeerd
    błędn\w*|niepoprawn\w*|nieprawidłow\w*|špatn\w*|nesprávn\w*|chybn\w*|yanlış\w*|fel|felaktig\w*|forkert\w*|feil|galt?
    väär\w*|hibás|helytelen|rossz|greșit\w*|incorect\w*|salah|sai|неверн\w*|неправильн\w*|ошибочн\w*|невірн\w*|помилков\w*
    λάθος|λανθασμέν\w*|خطأ|خاطئ\w*|שגוי\w*
"""
WRONG: Final = rf"(?:\b{any_word(_WRONG_WORDS)}\b|गलत|ভুল|ผิด|错|錯|誤|間違|틀[리렸린]|오답)"
"""Calls a choice wrong: "A é errada", "the wrong one is A"."""
EXCEPT: Final = (
    "(?:except|but|other than|apart from)(?: for)?|außer|bis auf|sauf|excepté|menos|excepto|salvo|exceto|tranne|eccetto"
    "|behalve|кроме"
)
"""Leads to the exception among all others."""


_LEAST_WORDS = r"""
    le(?:ast|ss)[ _-](?:likely|probable|plausible|suitable|convincing|correct|fitting|accurate|appropriate|consistent)
    low(?:est)?[ _-](?:probability|likelihood|chance)|small(?:est)?[ _-](?:probability|likelihood|chance)
    un(?:likeliest|wahrscheinlich\w*)|weni(?:gsten|ger) wahrscheinlich\w*|moins (?:probable|plausible|vraisemblable)s?
    menos (?:probable|plausible|provável)|meno (?:probabile|plausibile)
    minst (?:waarschijnlijke?|troliga|sannolika|sannsynlige)
    mindst sandsynlige|najmniej prawdopodobn\w*|nejméně pravděpodobn\w*|legkevésbé valószínű|cel mai puțin probabil
    en az olası|en düşük (?:olası|ihtimal)\w*|наименее вероятн\w*|найменш ймовірн\w*|λιγότερο πιθαν\w*
    الأقل (?:احتمال|ترجيح)\w*|أقل (?:احتمال|ترجيح)\w*
"""
LEAST: Final = rf"(?:\b{any_word(_LEAST_WORDS)}|可能性が(?:最も)?低い|可能性最[小低]|가능성이 가장 [낮적]\w*)"
"""Calls a choice the least likely one: "the least likely answer is A"."""
_IMPOSSIBLE_WORDS = r"""
    impossib\w*|improb\w*|implausible|imposibil\w*|imposible|inconceivable|unthinkable|unlikely|unmöglich|unwahrscheinlich
    onmogelijk|omöjligt|umulig\w*|niemożliwe|nemožné|lehetetlen|невозможно|неможливо|αδύνατο|المستحيل|mustahil
"""
IMPOSSIBLE: Final = (
    rf"\b{any_word(_IMPOSSIBLE_WORDS)},? (?:that|for (?:it|this|that|the answer|the correct answer|option)"
    r"|que|qu'|dass|dat|che|att|at|że|aby|že|aby|hogy|что|чтобы|що|να|أن|ca|bahwa)\b"
)
"""Calls the clause after it impossible: "it is impossible that the answer is A"."""


def _lines(table: str) -> str:
    return unicodedata.normalize("NFKC", "|".join(line.strip() for line in table.splitlines() if line.strip()))


def _words(table: str) -> str:
    return rf"{_at_word_start(table)}\b"


def _at_word_start(table: str) -> str:
    """The lines at the start of a word: one common `\\b` keeps the search fast."""
    return rf"\b(?:{_lines(table)})"


_ENGLISH_NEGATORS: Final = (
    "not no never none nobody nothing neither nor nowhere cannot cant dont doesnt didnt isnt wasnt wont"
)
_NEGATORS: Final = """
    nicht nichts kein keine keinen keinem keiner keines keinerlei keineswegs keinesfalls nie niemals weder
    nirgends nirgendwo
    pas jamais aucun aucune aucunement nulle nullement non ni
    nunca jamás ningún ninguna ninguno tampoco
    não nenhum nenhuma nem
    nessun nessuna nessuno nemmeno neanche
    niet geen nooit nergens noch nimmer nie
    inte inget inga ingenstans aldrig varken icke
    ikke ikkje ingen intet aldri ingensteds hverken verken
    eivat eika
    nem nincs nincsen nincsenek sincs soha sehol
    niciun nicio nicaieri niciodata nici
    nigdy nigdzie żaden żadna żadne żadnej żadnego ani
    není nejsou nebyl nebyla nebylo neobsahuje neuvadi nenachazi nevyskytuje nikde nikdy nikoli
    nije nisu nema nigdje nikad
    degil degildir yok yoktur hicbir asla
    bukan bukanlah tidak tiada belum
    không chưa chẳng
    не ни нет нельзя никогда нигде никак никакого никакой отсутствует отсутствуют няма
    ні немає ніколи ніде жодного жодна жодне жоден відсутнє відсутній
    δεν όχι μη μην ποτέ πουθενά ούτε
    ليس ليست وليس وليست ليسوا لا ولا لم لن غير نیست ندارد ندارند نشده نشد نبود نمی نہیں
    לא אינו אינה אינם אין איננו איננה מעולם
"""
"""One language per line."""
_ABSENCES: Final = """
    fehlt fehlen manque manquent falta faltan manca mancano ontbreekt saknas mangler brakuje chybi eksik
    rien nada niente nulla niets ingenting nic nimic semmi mitaan ничего нічого нищо τίποτα
"""
"""Words for "is missing" and "nothing" in all languages."""
FOLLOWING: Final = frozenset(without_accents(f"{_NEGATORS} {_ABSENCES}").split()) - frozenset(_ENGLISH_NEGATORS.split())
"""Negators that may come after what they deny, in the same clause."""
NEGATORS: Final = FOLLOWING | frozenset(_ENGLISH_NEGATORS.split())
NOT_WORDS: Final = "|".join(
    ("no|não|nao|ne|n'est|ei|sem|né|kein\\w*|ningun\\w*|nu(?= (?:este|e|sunt|poate)\\b|\\s*$)", *_NEGATORS.split())
)
"""The same for text with accents, as regex source."""
NOT_SIGNS: Final = r"[不没沒非]|ไม่"
NOT: Final = rf"(?:\b{any_word(NOT_WORDS)}\b|{NOT_SIGNS})"
"""Denies what follows it or, at the end of a clause, what comes before it: "nicht C", "C ist nicht richtig"."""
UNSPACED: Final = lazily(
    _lines(r"""
    不|没|沒|非|无|無|未
    ない|なく|ません|なし|ぬ(?!\w)
    아니|아닌|아닙|않|없|못
    नहीं|नही|(?<!\S)न(?!\S)|নয়|নেই|নাই|(?<!\S)না(?!\S)|নি(?![\w\u0980-\u09ff])
    இல்லை|அல்ல|కాదు|లేదు|ಅಲ್ಲ|ಇಲ್ಲ|അല്ല|ഇല്ല
    ไม่|มิใช่
    """)
)
"""Negators of Chinese, Japanese, Korean, Hindi, Bengali, the languages of southern India, and Thai."""
PHRASES: Final = lazily(
    _lines(r"""
    n't\b|m[iu]yor(?:du|lar|um|uz)?\b|\byer almaz\b
    \bei (?:ole|ollut|esiinny|nay|loydy|mainita|kay|voi|sisalla|ilmene)\b
    \bnu (?:este|e|a|am|apare|exista|contine|se|poate|sunt|figureaza)\b
    """)
)
"""Negators of several words, including words that alone mean something else in another language."""

_WITHOUT = r"""no|without(?: an?y?)?|beyond(?: an?y?)?|kein\w*|ohne(?: jeden)?|sans(?: aucun)?|sin(?: ninguna)?
    sem(?: nenhuma)?|senza(?: alcun)?|geen|zonder|utan|ingen|uten|uden|bez|без|нет|немає"""
_DOUBT = r"""doubt|question|zweifel|doute|duda|duvida|dubbio|twijfel|tvekan|tvivel|tvil|tvivl|watpienia|pochyby
    сомнени\w+|сумнів\w*"""
_ONLY = r"""only|just|merely|simply|nur|allein|seulement|solo|so|somente|apenas|soltanto|alleen|slechts|bara|endast|bare
    kun|tylko|только|лише|тільки"""
HARMLESS: Final = lazily(
    _lines(rf"""
    \b(?:not|nicht|pas|no|nao|non|niet|inte|ikke|nie|не) {_words(_ONLY)}|\bnejen\b
    {_words(_WITHOUT)} {_words(_DOUBT)}|\bno (?:hay|cabe|ha) duda\b|لا شك|אין ספק
    \b(?:nothing|none|no one|nobody|nowhere) (?:but|else)\b|\bout of nowhere\b
    \b(?:ne|n'est|n'etait) autres? que\b|\bno other\b
    \b(?:never|no|don't) (?:mind|matter|wonder|worry|problem|longer (?:secret|hidden))\b|\bif not\b|\bor not\b
    (?:\bcan't|\bcannot|\bcouldn't) (?:help|agree more|be clearer)\b|(?:\bnot|n't) (?:wrong|false|incorrect|untrue)\b
    \bnot (?:to mention|an? (?:coincidence|accident))\b
    \b(?:nobody|no one) (?:must|may|should|can|could|would) \w[^,;]{{1,30}}(?= (?:is|was) *$)
    \b(?:that|which|who)(?: is| are| was| does| do| did| has)?(?: not|n't)\b[^,;]{{1,40}}(?= (?:is|was) *$)
    \bno (?:documento|texto|contexto|arquivo|relatorio|trecho|paragrafo|capitulo|final|inicio|meio|\w+o paragrafo)\b
    不仅|不僅|不只|不但|不过|不過|无论|無論|不管|毫无疑问|毫無疑問|无疑|無疑|没错|沒錯|不错|非常
    だけでなく|(?:間)?違いない|(?:間)?違いありません|間違いなく|疑いなく|ほかならない|他ならない|しかない
    틀림없|의심의 여지가? 없|뿐만 아니라|밖에 없|निस्संदेह|ไม่ต้องสงสัย
    """)
)
"""Phrases that have the form of a denial but not its meaning."""

_DENYING = _lines(r"""
    doubt\w*|(?<!nor )den(?:y|ies|ied|ying)|fail(?:s|ed|ing)? to|lack\w*|missing|absent|false|untrue|wrong|incorrect\w*
    mistak\w+|erroneous\w*|unlikely|impossible|improbable|unable|refus\w+|declin\w+|disagree\w*|reject\w*|rul\w+ out
    exclud\w+|eliminat\w+|dismiss\w+|discard\w+|ignor\w+|disregard\w*|forget|hardly|scarcely|far from|unlike|contrary to
    as opposed to|crossed out|struck out|withdr[ae]w\w*|made up|invented|opposite of|forb[ia]d\w*|prohibit\w*|prevent\w*
    (?:less|least) (?:likely|probable|plausible)|scratch|tak(?:e|es|en|ing) back|took back|insufficient
    decoys?|distractors?|red herrings?|placeholders?
    removed|deleted|dropped|(?:turned|voted) down|misled|expired|deprecated|obsolete|outdated
    hypothetical|silent|dishonest|misleading|inaccurate|an? (?:lie|myth|fabrication|invention)|my invention
    falsch\w*|faux|fausse|fals[oa]|sbagliat\w+|errone\w+|errat\w+|verkeerd\w*|felaktig\w*
    forkert|neverne|неверн\w+|неправильн\w+|ложн\w+
    """)
_INSTEAD = r"""
    (?:rather|other|less|better|more|fewer|greater|smaller|larger|higher|lower) than|instead of|in place of
    except(?: for)?|apart from|aside from|besides(?! it)|save (?:for|the)
    (?:any|every|all)(?:thing|where|one|body)?(?: \w+)? but
    anders als|ander\w* als|anderes? als|autres? que|otr[oa]s? que|outr[oa] que|altr[oaie] che|ander\w* dan|annat an
    andet end|(?:an)?statt|au lieu de|en lugar de|en vez de|em vez de|invece di|in plaats van|i stallet for|istallet for
    i stedet for|вместо|замість|zamiast|misto|ausser|sauf|excepto|salvo|tranne|fuorche|behalve|utom|undtagen|unntatt
    plutot que|mas bien que|piuttosto che|anziche|eerder dan|кроме|tod[oa]s? menos|tud[oa] menos
    """
REVERSERS: Final = lazily(rf"\b(?:{_DENYING}|{_lines(_INSTEAD)})\b|错误|錯誤|错(?!过)|間違い|間違っ|틀린|틀렸")
"""Words that deny by their meaning; a second one, or a negator, cancels the denial ("no doubt", "none other than")."""

_OTHER_PEOPLE = r"""you|(?:the|your) (?:question|user|prompt|message)
    every(?:one|body)(?: \w+){0,3}
    (?:some|many|people|others|one)(?: readers)?(?: (?:may|might|could|would|will|people))?"""
_OPINIONS = """say|says|said|claim|claims|claimed|thinks?|thought|believes?|believed|suggest|suggests|suggested|assumes?
    mention|mentions|mentioned|expect|guess|thinking of|told|tell"""
_VERBS = "is|are|was|were|do|does|did|has|have|had|can|could|would|will|should|seems?"
DENIES_BEFORE: Final = lazily(
    _at_word_start(rf"""
    (?:{_VERBS})(?: \w+)? ?(?:not|n't|never|nowhere)\b|cannot\b|can't\b|nowhere\b|neither\b|no longer\b
    not (?:found|present|mentioned|listed|visible|stated|given|there|in|on)\b|not! *$
    (?<!after )(?<!by )(?:(?:is|are|was|were)(?: \w+ly| just| simply| an?)? )?(?:{_DENYING})\b|nothing to do with\b
    out of the question\b|runners?-up\b|(?:is|are|was) no\b|second (?:choice|best)\b
    tricks?\b|lost (?:out )?to\b|would have been\b|too \w+ to be\b
    (?:only|just|merely) (?:mentioned|named|cited)\b|(?:is|was|are|were) (?:only|just|merely) an?\b
    (?:is|was) what {_words(_OTHER_PEOPLE)} {_words(_OPINIONS)}
    was my (?:guess|thought|assumption|idea)\b|(?:is|was) out\b
    was (?:my|our|the|an?) (?:initial|first|original|earlier|old|previous|former)\b
    (?:only|just|merely) my guess\b|without success\b|in vain\b|to no avail\b|(?:in|on|by) no\b
    (?:stay|remain|be kept) (?:secret|hidden|private|confidential)\b|used to be\b
    was (?:once|formerly|previously|originally)\b|(?:fruher|ehemals|autrefois|antiguamente|vroeger|tidigare|раньше)\b
    in (?:an|the) (?:earlier|older|previous|former|old|first) (?:version|draft|edition)\b|mis(?:reading|print|take)s?\b
    (?:replaced|superseded|overwritten|overridden|supplanted) (?:by|with)\b
    (?:changed|corrected|updated|amended|renamed|revised) (?:to|into)\b|no (?:es|aparece|figura|consta|esta|existe|se)\b
    """)
    + "|"
    + _lines(r"""
    ^ ?[:=-] ?(?:no|not|nein|non|false)\b|^ ?(?:->|=>|[>→⇒➔➜➡]) ?\w|^ ?until\b|^ never\b|n't\b|^ ?[❌✗✘✖🚫]
    ^ (?:reversed|backwards|minus|plus|(?:divided|multiplied) by|squared|doubled|halved|my foot|and counting)\b
    ^ or (?:a similar|something|thereabouts|so|nothing|more|less|higher|above)\b
    ^ (?:is|was) (?:half|twice|double|one|more|less|\w+er)\b
    ^只是|错误|错(?!过)|間違|違い|틀렸|틀립
    """)
)
"""English phrases that deny the words before them in their clause; `FOLLOWING` has other languages."""

CONTRASTS: Final = _words("""
    but|however|though|although|whereas|while|yet|instead|despite|in spite of|therefore|thus|hence|because|aber|sondern
    (?:and|und|et|y|e|en|och|og|i|и) (?:not|nicht|non|pas|no|nao|niet|inte|ikke|nie|не)
    doch|mais|sino|pero|mas|ma|bensi|maar|utan|men|uden|vaan|mutta|hanem|ci|dar|lecz|ale|nybrz|tylko|а|но|але|αλλα|بل|لكن
    ولكن|אלא|melainkan|tetapi
    """)
UNSPACED_CONTRASTS: Final = _lines("बल्कि|लेकिन|বরং|而是|但是|ではなく|じゃなく(?:て)?|でなく|아니라|아니고")

_DENIAL_READ: Final = 60
_DENIED_NEXT = lazily(
    rf"(?:\b(?:not|never|cannot|neither|nor|doubt|unlikely|(?:any|every)thing but)\b|n't\b|{NOT}|{IMPOSSIBLE}|{LEAST})"
    r"(?:(?![.,;:!?()|\n\d–—→⇒，。；：！？]|--|[-=]>| [-/] "
    r"|\b(?:and|so|only|sure|certain|maybe|probably|i (?:think|guess))\b"
    rf"|(?!yet\b){CONTRASTS}|{UNSPACED_CONTRASTS}).){{0,30}}\Z"
)
_AFFIRMS = lazily(
    r"(?:\bnot|\bnever|\bcannot|n't|\bno)(?: \w+){0,5} "
    r"(?:doubt\w*|den(?:y|ied)|except|besides|apart from|aside from|save|"
    r"(?:other|less|fewer|more|greater) than|else (?:but|than)|(?:any|no)(?:thing|one|where) but)\b"
    r"|\bnot (?:all|every\w*|each)\b"
    r"|(?:\bnot|n't|\bcannot)(?: \w+)? (?:alone|least|go wrong|unlikely|impossible|improbable|un\w+ly)\b"
    r"|\b(?:no|nao|não|non|n'est|nicht|niet)(?: \w+){0,3} "
    r"(?:(?:ou?tr[oa]s?|autres?|altr[oaie]) (?:que|che)|ander\w* (?:als|dan))\b"
    r"|(?:\A|[.!?] )\W*(?:no (?=(?:it|this|that|he|she|they|there|the|i|we)\b)"
    r"|(?:is|are|was|were|do|does|did)n't (?=(?:it|this|that|he|she|they|there)\b))"
)


def denied_before(text: str, at: int) -> bool:
    """Whether the clause before `at` denies what is there: "there aren't 3", "it is not a red one"."""
    before = text[max(0, at - _DENIAL_READ) : at].lower().replace("’", "'")
    if not _DENIED_NEXT.search(before):
        return False
    return _DENIED_NEXT.search(HARMLESS.sub(" ", _AFFIRMS.sub(" ", before))) is not None


SUPPOSES: Final = lazily(
    _words(r"""
    if|whether|suppose|supposing|supposed|assuming|assume|imagine|hypothetically|such as|e\.g|example
    (?:(?:number|code|secret|word|thing|sentence|line|statement|phrase)s?|something) like
    could (?:say|guess|answer|name)|(?:might|could|would|may|can) look like
    random|arbitrary|fictional|fictitious|plausible|conceivable
    an? (?:\w+ )?(?:number|code|answer|word) (?:would|could|might|may)
    (?:might|could|would|may|should|i'd) have (?!to\b)\w+|wenn|falls|ob|hvis|jos|jesli|gdyby|kdyby|eger|jika|если|якщо
    αν|إذا|לו|אם
    si (?:el|le|la|les|fuera|fuese|fosse|c'etait)|se fosse
    """)
    + r"|^\W*(?:were|had|should) \w|^\W*if (?:it|this|that)(?:'s| is) |如果|假如|若|もし|만약|यदि|अगर|যদি|ถ้า"
)
SURE: Final = lazily(
    r"\bif (?:you|we)(?: \w+)? (?:look|read|check|see|turn|zoom|count|scroll|go)\b|\b(?:even|as) if\b"
    r"|\bif i(?: (?:(?:had|have|were) (?:to|a)|must)\b|'m\b| am\b| read\b| see\b)"
)
"""Phrases that have the form of a supposition but lead to an answer."""
DEPENDS: Final = (
    lazily(
        _words("""(?:would|could|might|i'd)(?! (?:say|guess|go))|maybe|perhaps|possibly|serait|ware|wurde
        seria|sarebbe|zou|skulle|ville|olisi|бы""")
    ),
    lazily(_words("if|were|had|unless|provided|hypothetically|si|wenn|falls|se|als|om|hvis|jos|если|якщо")),
)
"""A sentence with a match of both depends on a condition."""

LENT: Final = lazily(
    rf"{_words(_OTHER_PEOPLE)}(?: (?:have|had|be|may|might|could))? {_words(_OPINIONS)}|"
    + _words(r"""
    at first(?!.* now )|initially(?!.* now )|originally(?!.* now )|formerly(?!.* now )|previously(?!.* now )
    used to be(?!.* now )|once was(?!.* now )|was once(?!.* now )|until \d{4}(?!.* now )|i (?:had )?first \w+
    we (?:had )?first \w+|i (?:was|have been|'ve been) told
    my (?:guess|idea|hunch) was|my (?:initial|first|original|earlier) \w+ was|forgiven for|tempt\w+ to|as if|argue for
    pensais|croyais|dachte|glaubte|pensaba|creia|pensavo|credevo|pensava|achava|dacht|trodde|troede|думала?|myslalem
    (?<!second )(?:thought|believed|assumed|supposed|suspected|expected)(?! to be)|i was (?:expecting|hoping|thinking)
    (?:wanted|going|about) to say|(?:almost|nearly) said|presuppose\w*|according to you|only \d+% \w+
    closest|nearest|it (?:is|was) (?:claimed|alleged|rumou?red)
    """)
)
"""Words that attribute what follows them in their clause to others, or to the past."""
_NOUNS = "secret|hidden|number|code|word|value|name|answer|animal|city"
LENT_NEXT: Final = lazily(
    _at_word_start(r"""
    considered|(?:look|search|check|scann?)\w*(?: \w+)? for|(?:asked|wondered) about|thought (?:of|about)|tried
    (?:changed|corrected|updated|revised|renamed)(?: \w+)? from|old|former|previous|earlier|outdated|obsolete
    (?:chosen|picked|selected|preferred|favou?red) (?:over|to|above)|beats?|defeated|replace[sd]?|overtook
    half(?: of)?|twice|double|triple|at (?:least|most)|up to|away from|minus|negative
    not far from|resembl\w+|rhymes? with|similar to
    (?:sum|square|half|digits?|anagram|synonym|behalf|successor|predecessor|north|south|east|west|outside) of
    (?:number|code|word|name|one|letter|line|page) (?:before|after|following|preceding|above|below|beside|next to)
    (?:is|was|lies) (?:(?:the|an?) )?(?:[\w']+ ){1,4}(?:from|beyond)|an? \w+ of|close to|nearly|almost
    twinned with|same \w+ as|as likely \w+ as|that looks? like|an? \w+(?: \w+)? like|near
    """)
    + rf"(?: (?:the|an?|that|this|{_NOUNS}))*\W*$|[≠<>≤≥❌✗✘✖🚫](?<![-=]>)=? ?$|^\W*(?:was|were|like|say) $"
)
"""The same for what follows directly."""

_SUBJECT = (
    r"(?:it|that|this|which|they|these|he|she|so|one)"
    r"(?:'s|'d|'re| is| was| were| are| would| must| seems| can| may| might| could)?(?: well)?(?: be)?"
)
_WRONG = _lines(r"""
    (?:wrong|incorrect|false|untrue|mistaken|just kidding
    an? (?:mistake|misreading|misprint|decoy|distractor|red herring|lie|joke|hallucination)
    i (?:made|invented) (?:that|it)
    my (?:mistake|bad|error)\b|oops\b
    i (?:confused|misread|misspoke|mixed|was (?:wrong|mistaken)|stand corrected)(?!.{0,60} (?:at first|earlier)\b))\b
    (?:not|n't|cannot|can't)(?: be)?(?: \w+ly)?(?: as)? (?:it|true|so|right|correct|the (?:case|secret|answer))\b
    (?:not|n't|cannot|can't)(?: be)?(?: \w+ly)?(?: as)? the (?:correct|right)(?= \w)(?! side| hand)\b
    (?:c'est|das ist|es|det ar|det er|dat is|to|это)? ?(?:faux|falsch|fals[oa]|fel|feil|forkert|fout|yanlis|неверно)\b
    错|不对|不對|違います|틀렸
    (?:crossed|struck|ruled|voted|turned) (?:out|through|down)\b
    (?:rejected|deprecated|obsolete|outdated|expired|superseded|invalid|excluded|not found|not it|nope?|never)\W*$
    """)
WITHDRAWS: Final = lazily(
    r"\W*(?:(?:but|and|though|however|yet|although|no|so|i think|clearly)\W+)*"
    rf"(?:(?:{_SUBJECT}|is|was|has been)(?: \w+ly| just| also| all)? ?)?(?:{_WRONG})(?! ?:)"
)
"""A clause that withdraws the answer before it."""
AS_LIKELY: Final = lazily(
    r"\bso (?:would|could|might|does|do)\b"
    r"|\b(?:(?:just|is|equally) (?:as )?|equally )(?:likely|possible|plausible|probable)\b"
)
_SHOWN = r"""(?:stat|specif|say|name|said|mention|contain|show|appear|occur|list|includ|found|find|exist|present|support
    confirm|giv|there|locat|readable|legible|visible|silent|ha(?=s\b|ve\b))\w*"""
ABSENT: Final = lazily(
    _lines(rf"""
    \b{_lines(_SHOWN)}|(?:\bnot|n't) (?:in|on|by|from) (?:the|this|any)\b|(?:n't|\bnot|\bno)\W*$
    \b(?:kind|sort|success|trace|sign|vain|avail|such)\b
    """)
)
ABSENT_AS_SUCH: Final = lazily(
    rf"\b{_lines(_SHOWN)} (?:it|that|this|so|them|one|any)\b|\bof the (?:kind|sort)\b"
    r"|\bnothing about (?:it|that|this)\b|\bno such\b|n't\W*$"
)
"""Withdraws a stated answer: "never states it", but not "doesn't mention a date"."""
OTHERS: Final = lazily(
    _words(r"else\w*|others?|another|again|why|how|where|who|when|page \d|more|further|additional")
    + "|其他|其它|另外|别的|다른|他の|ほか"
)

NOT_SECRET: Final = lazily(
    r"\W*(?:the|an?|its|this) (?!secret|hidden|answer)[^,]{1,60}\b(?:is|are|was|were)(?:n't| not)"
    r"(?: \w+){0,3} (?:secret|hidden)"
)
"""Denies something other than the answer: "the oak isn't called secret"."""
NOTHING: Final = lazily(
    r"\b(?:can't|cannot|won't) (?:give|share|reveal|tell|disclose)\b|"
    + _words(
        r"null|n/a|unknown|unspecified|unnamed|undisclosed|unclear|illegible|unreadable|redacted|removed|depends on"
    )
    + r"|: *(?:none|no|-+|\?+)$"
)
"""How a clause says that the reply doesn't give the answer."""
_VERDICT = r"""found|present|exist|visible|available|readable|legible|mentioned|stated|contain|answerable|success|has_
    in_(?:text|document|context)|status"""
VERDICTS: Final = tuple(
    lazily(rf"(?:^|\n)(?:\w*(?:{_lines(_VERDICT)})\w*: (?:{said})\b{further})")
    for said, further in (
        (r"false|no|none|null|0|error|fail\w*|not[_ ]?found", r"|(?:error|not_found)\w*: (?!null|none|false|no\b)\w"),
        ("true|yes|1", ""),
    )
)
"""Fields that say for the whole reply that it has no answer, and that it has one."""

CORRECTS: Final = lazily(
    _words("""
    wait|actually|correct(?:ion|s (?:it|this|that) to)|sorry|scratch that|strike that|i meant?|make that|or rather|no
    on second (?:look|thoughts?|glance)|on (?:closer|further) (?:look|inspection|reading)
    """)
    + "|不对|不對|いや|아니,"
)
"""Between two answers, these withdraw the first one."""
PREFERS: Final = lazily(_words(r"but|however|really|instead|now|current\w*|latest|therefore|thus|hence|so|until"))
"""Between two statements, these prefer the second one."""
