"""The grammar of declarations: a table of cues, one row per kind, and the patterns for one set of labels.

To add a phrase or a language, edit the words that `CUES` uses.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from msgspec import Struct

from vqa_client.scoring.choices.labels import AGAIN, labels_of
from vqa_client.scoring.denials import EXCEPT
from vqa_client.scoring.patterns import JOINER, any_word, joins, lazily

_ANSWERS = "answer|ans|ans.|solution|verdict|conclusion|my guess|best guess|my pick|my vote|most likely|more likely"
_ANSWERS_ABROAD = """
    antwort|lösung|réponse|reponse|respuesta|resposta|alternativa|risposta|antwoord|odpowied|odpověď|cevap|cevab|yanıt
    svar|vastau|válasz|răspuns|jawab|đáp án|câu trả lời|ответ|відповід|απάντησ|απαντήσ|إجابة|الإجابة|إجابت|الجواب|جواب
    תשובה|התשובה|שהתשובה|תשובת|उत्तर|जवाब|উত্তর|คำตอบ|ตอบ
    答案|正解|回答|解答|答え|答|정답|답변|해답|답
"""
_OPTIONS = """
    choice|option|selection|prediction|letter|response|result
    wahl|choix|opción|opcion|opção|вариант|выбор|选项|選項|選択肢|선택
"""
_CORRECT = """
    correct|final|closest|nearest|statement|right answer|right option|right choice|right one|right letter
    right statement
    best answer|best option|best choice|best response|best fit|best match|best describes|best fits|best matches
    best description|best explanation|best representation|best supported|better answer|better option|better choice
    more accurate
    odd one|odd one out|exception|different one|matching one|most consistent|most correct
    most plausible|most accurate|most appropriate|most suitable|most probable|most reasonable
    better match|better fit|one that matches|one that fits|most fitting|most relevant|exact
"""
_CORRECT_ABROAD = """
    richtig|korrekt|zutreff|trifft zu|bonne|correcta|correcto|correcte|corretta|corretto|correta|correto
    giust|esatt|juist|goed|poprawn|prawidłow|správn|doğru|rätt|rigtig|riktig|oikea|oikein|helyes|corect|benar|tepat|đúng
    верн|правильн|вірн|σωστ|الصحيح|صحيح|الصواب|צודק|נכון|נכונה|הנכונה|הנכון|सही|সঠিক|ถูกต้อง|ที่ถูก
    正确|正確|是对的|是對的|对.|對.|正しい|正しく|맞|옳|올바른
"""
_COMMITMENTS = """
    choose|chose|chosen|choosing|select|selected|selecting|pick|picked|picking|go with|going with|went with|opt for
    opting for|settle on|settle for|vote for|guess|i'd say|i would say|i say|i vote|i vote for|lean toward|lean towards
    leaning toward|leaning towards|i lean|i'd lean|i lean toward|i lean towards|i'd lean toward
    i'd lean towards|bet on|betting on|my money is on
"""
_COMMITMENTS_ABROAD = """
    wähle|wählen|entscheide mich für|nehme|choisis|choisirais|elijo|elegiría|escojo|escolho|scelgo|kies|wybieram|vybírám
    seçiyorum|seçerim|väljer|vælger|velger|valitsen|választom|aleg|memilih|pilih|chọn|выбираю|выбрал|выберу|обираю|вибираю
    tippe auf|würde sagen|je dirais|diría|diria|direi|zou zeggen|skulle säga|ville sige|ville si|tippar på|gissar på
    gætter på|tipper på|veikkaan|typuję|tipuji
    επιλέγω|أختار|בוחר|בוחרת|चुनता हूँ|เลือก|だと思|认为是|認為是|觉得是|覺得是
    故选|应选|應選|选择|選擇|选|選|選びます
"""
_IDENTITIES = """
    it's|it is|it must be|it should be|it has to be|it would be|this is|that's|that is|must be|has to be|can only be
    is therefore
    c'est|es ist|das ist|es la|é a|è la|это|more like
    应该是|應該是|penso che sia|credo che sia
    handelt es sich um|es handelt sich um|il s'agit de|il s'agit du|se trata de|trata-se da|trata-se de|si tratta di
    si tratta della|si tratta dell'|het gaat om|chodzi o|jde o
"""
_REFERENCES = """
    matches|match|matching|consistent with|points to|suggests|suggesting|supports|supporting|indicates|indicating|we get
    describes|refers to|favors|favours|agrees with|agree with|agreeing with|aligns with|in line with|equal to|equals
    identical to|same as|is closest to|is nearest to|close to|approximates
"""
_TITLES = "is option|be option|is choice|be choice|is answer choice|be answer choice|is the option|is letter"
_PLACES = """
    shown in option|shown in choice|given in option|given by option|drawn in option|depicted in option
    represented by option|described in option
"""
_REMAINDERS = """
    corresponds to|correspond to|corresponding to|leaves|leaves us with|leaving|leaving us with|left with|which is
    i.e.|namely|what remains is|what is left is|what's left is
"""
_STANCES = """
    i think it's|i think it is|i think this is|i believe it's|i believe it is|i'd say it's|i would say it's|so it's
    so it is|so it must be|so this is|so i think it's|so i think it is|therefore it's|thus it is|hence it is
    i think|i believe
"""
_PROBABLY = """
    probably|likely|wahrscheinlich|vermutlich|wohl|dürfte|probablement|probablemente|provavelmente|probabilmente
    waarschijnlijk|prawdopodobnie|pravděpodobně|muhtemelen|troligtvis|sandsynligvis|sannsynligvis|todennäköisesti
    valószínűleg|probabil|kemungkinan besar|có lẽ|вероятно|скорее всего|наверное|ймовірно|πιθανότατα|على الأرجح
    ככל הנראה|शायद|น่าจะเป็น|可能是|大概是|很可能是|たぶん|おそらく|恐らく|아마|아마도
"""
_CONCLUSIONS = """
    therefore|thus|hence|so|consequently|accordingly|in conclusion|in summary|finally|ultimately|presumably
    donc|daher|deshalb|somit|por lo tanto|por tanto|portanto|следовательно|поэтому|итак
    因此|所以|故|따라서|よって|したがって
"""
_CORRECTIONS = """
    wait|actually|correction|scratch that|strike that|i mean|i meant|make that|on second thought|on reflection|rather,
    no,|no:|yes,|yes:|edit:|sorry|change my answer to|changing my answer to|change it to|switch to|revised to
    corrected to
    if pressed|if forced|if forced to choose|if forced to pick|if forced to guess|if i had to pick|if i had to pick one
    if i had to choose|if i had to choose one|if i had to guess
"""
_CONTRASTS = """
    not|nicht|pas|no es|no la|não é|non è|niet|nie|není to|inte|ikke|ei ole|nem|nu este|bukan|không phải|όχι|ليس|לא|ไม่ใช่
    не|不是
"""
_REPLACEMENTS = """
    아니라|ではなく|じゃなくて|じゃなく|而是|değil|नहीं|নয়|아니고|sondern|sondern um|mas sim|mais bien|mais plutôt|sino
    bensì|nýbrž|hanem|vaan|melainkan
"""

_VERBS = (
    "is|are|was|be|ist|lautet|wäre|sei|sind|est|serait|soit|sont|es|sería|sea|son|seria|é|è"
    "|jest|je|este|är|er|là|adalah|είναι|является|это|هي|هو|היא|הוא"
)
CONNECTION: Final = (
    rf"(?:[:=→]|\|(?! *(?:\n|$))|[-=]{{1,2}}>|-{{1,3}}(?!\d)|\b(?:{_VERBS})\b|'s\b"
    r"|應為|应为|应该是|应是|是|为|為|คือ|は|が|은|는|이|가)"
)
_TO: Final = r"\b(?:to|with) (?:the )?(?=(?:option|choice|letter)\b)"
LINK: Final = rf"(?P<fill>[^.!?;\n]{{0,120}}?)(?:{CONNECTION}|{_TO})"
"""From a noun to its answer: "... to the question is", ":", "->"; `fill` is what comes before the connection."""
NOTHING: Final = r"(?P<fill>)(?:[,:]|是|为|為)?"
HEDGED: Final = rf"(?P<fill>)[,:]?(?: ?(?:{CONNECTION}|sea|sia|seja|c'est)(?: es| la)?\b)?"
NAMED: Final = r"(?P<fill>)[,:]?[ \x02]{0,2}(?:the )?(?:(?:option|choice|answer|statement)\b|(?=[\"'(\x02]))"
"""For verbs that any letter may follow by chance: "supports option C", not "supports C"."""
MENDING: Final = (
    r"(?P<fill>)(?:[\s,:;-]|\b(?:no|wait|actually|hmm|oops|sorry|i meant|i mean|i think|make that|rather|it's|it is"
    r"|(?:looking|on|upon) closer(?: look| inspection)?|it must be|it should be|should be|must be|is)\b){0,12}+"
)
FIELD: Final = r"(?P<fill>)[ \"'\x03]{0,3}[:=]"
RATHER: Final = (
    "(?:but|rather|it's|it is|sondern|mais|sino|es|mas|é|ma|è|maar|lecz|tylko|ale|nýbrž|utan|men|vaan|hanem|ci|tetapi"
    "|melainkan|mà là|mà|αλλά|بل|אלא|แต่เป็น|แต่|а|але|而是|应为|應為|是)"
)
"""Between the denied and the meant label: "not A but B"."""
BUT: Final = (
    r"(?P<fill>)[\s\"'(\x02]*(?:(?:option|choice|la|az?) (?=\S))?\w{1,3}[\"')\x03]*[ ,;:]{1,3}"
    rf"{RATHER}(?: rather| instead| az?(?= \w\b))?"
)
"""From "not" past the denied label to the meant one: "not A but B"."""

OPENERS: Final = r"[✅☑✔✓👉➡→⇒∴\s\"'()<>*_#~=:\x02-\x05-]{0,16}+"
"""Signs before a label."""
_FILLERS = (
    "most likely|probably|likely|clearly|therefore|thus|definitely|simply|just|actually|indeed|either|both|only|hence"
    "|then|now|i think|in fact|still|also|as|under|labell?ed|options?|choices?|letter|answer|number|alternative"
    "|statement|figure|image|picture|panel|(?:given|shown) (?:in|by)|the|la|le|der|die|das|el|los|a letra|für"
    "|buchstabe|antwort|l'option|l'opzione|opzione|lettre|réponse|possibly|maybe|perhaps"
    "|opción|opcion|letra|respuesta|вариант|буква|ответ"
)
_ARTICLES = r"(?-i:a|o|az|το|η|за)(?= (?-i:[A-Z])\b)"
_UNSPACED_FILLERS = "选项|選項|選択肢|选择|选|보기|番号"
FILLERS: Final = rf"(?:(?:(?:{_FILLERS})\b|{_ARTICLES}|{_UNSPACED_FILLERS}){OPENERS}){{0,4}}+"
"""Words between a connection and its label: "is therefore option"."""
CONJUNCTIONS: Final = (
    r"(?:[/&+|]|\band/or\b|\b(?:and|or|und|oder|et|ou|y|o|e|и|или|as well as)\b"
    r"|和|或者|还是|還是|それとも|아니면|或|与|與|及|と|か|및|또는|와|과)"
)
SEPARATORS: Final = rf"[ ()\"'\x03\x05]{{0,6}}(?:(?:[,;]|{CONJUNCTIONS})[ )]{{0,2}}){{1,2}}|\x05[ ]?\x04"


class Cue(Struct, frozen=True, kw_only=True):
    """One kind of declaration: `words` start it, and `link` leads from them to the label.

    `alone`: only the end of a clause may follow the label. `subject`: "B is" may come before the words. `text`: the
    text of a choice may replace the label. `bare`: the label may follow directly. `weak`: it counts only if nothing
    disagrees. `denies`: a negation before the words doesn't refute it. `stem`: the words may be inflected. `anywhere`:
    the label may be anywhere in the sentence.
    """

    name: str
    words: str
    link: str
    alone: bool = False
    subject: bool = False
    text: bool = False
    bare: bool = False
    weak: bool = False
    denies: bool = False
    stem: bool = False
    anywhere: bool = False


CUES: Final[tuple[Cue, ...]] = (
    Cue(name="correction", words=_CORRECTIONS, link=MENDING, alone=True, denies=True),
    Cue(name="commitment", words=_COMMITMENTS, link=NOTHING, text=True, subject=True),
    Cue(name="commitment", words=_COMMITMENTS_ABROAD, link=NOTHING, text=True, subject=True, anywhere=True),
    Cue(name="identity", words=_IDENTITIES, link=NOTHING, alone=True),
    Cue(name="hedge", words=_PROBABLY, link=HEDGED, alone=True, weak=True),
    Cue(name="possibility", words="maybe|perhaps|possibly", link=HEDGED, alone=True, weak=True),
    Cue(name="stance", words=_STANCES, link=NOTHING, alone=True, text=True),
    Cue(name="reference", words=_REFERENCES, link=NAMED, alone=True, weak=True),
    Cue(name="title", words=_TITLES, link=NOTHING, weak=True),
    Cue(name="title", words=_PLACES, link=NOTHING, alone=True, weak=True),
    Cue(name="remainder", words=_REMAINDERS, link=NOTHING, alone=True, weak=True),
    Cue(name="correct", words=_CORRECT, link=LINK, subject=True, text=True, stem=True),
    Cue(name="correct", words=_CORRECT_ABROAD, link=LINK, subject=True, text=True, stem=True, anywhere=True),
    Cue(name="correct", words="certa|certo", link=LINK, subject=True, text=True, anywhere=True),
    Cue(name="right", words="right|accurate|stimmt|zutreffend|juste", link=r"(?P<fill>)(?!)", subject=True),
    Cue(name="answer", words=_ANSWERS, link=LINK, subject=True, text=True, bare=True, stem=True),
    Cue(name="answer", words=_ANSWERS_ABROAD, link=LINK, subject=True, text=True, bare=True, stem=True, anywhere=True),
    Cue(name="option", words=_OPTIONS, link=LINK, subject=True, stem=True),
    Cue(name="field", words="output|label|decision|classification|key|reply", link=FIELD, alone=True),
    Cue(name="conclusion", words=_CONCLUSIONS, link=NOTHING, alone=True, text=True),
    Cue(name="contrast", words=_CONTRASTS, link=BUT, denies=True),
    Cue(name="replacement", words=_REPLACEMENTS, link=NOTHING, denies=True),
)


def _rows_by_phrase() -> dict[str, Cue]:
    """Each phrase, spelled as in a folded reply, to the first row that has it."""
    rows: dict[str, Cue] = {}
    for cue in CUES:
        for phrase in cue.words.replace("\n", "|").split("|"):
            if phrase.strip():
                rows.setdefault(unicodedata.normalize("NFKC", phrase.strip()), cue)
    return rows


def _any_of(phrases: list[str]) -> str:
    return any_word(*map(re.escape, sorted(phrases, key=len, reverse=True)))


ROWS: Final = _rows_by_phrase()
STARTS: Final = lazily(
    rf"(?<!{JOINER}){_any_of([phrase for phrase in ROWS if joins(phrase[0])])}"
    rf"|{_any_of([phrase for phrase in ROWS if not joins(phrase[0])])}"
)
"""Any cue in lower-case text; `ROWS` maps it to its row."""

_TITLE: Final = (
    r"(?:(?:probably|most likely|likely|i think|i believe|i guess|i'd say|definitely|clearly|certainly)[ ,]{1,2})?"
    r"(?:(?:the |my )?(?:option|choice|letter|opción|вариант|选项|選項|選択肢)[ :#.\x02\x03]{0,4}[\"'(\x02]{0,4})?"
)
_ANSWER: Final = r"(?:(?:the )?(?:answer|ans|antwort|réponse|respuesta|ответ)[ .\x02\x03]{1,4}[\"'(\x02]{0,4})?"
"""For a reply that contains nothing else; elsewhere "Answer B" is a cue with its label."""
_AROUND: Final = r"(?:[^\w\n+~¬!≠✗✘❌×#]|_|#+ ){0,16}"
"""Signs before a label at the start of a line, except those that deny it or make it part of a word."""
_SURE: Final = r"(?:confidence|confident|certainty|certain|sure|probability|likelihood)"
_ENDING: Final = (
    r"(?![+#°%]|-(?!-))(?:番?です|번?입니다|번|番|项|項|吧| it is)?"
    rf"(?:[ \x03]?[,(] ?(?i:(?:{_SURE}\W{{1,3}})?(?:\d{{1,3}} ?%|[01]?\.\d+|high|medium|low)(?: {_SURE})?)\))?"
    r"(?:[^\w\n]|_){0,16}$"
)
"""What may follow a label on its line: signs, the copula, a confidence ("(confidence: 90%)")."""
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
    "satisf(?:y|ies)|fits?|suits?|meets?|match(?:es)?|represents?|shows?|describes?|fulfil+s?|works?"
    "|illustrates?|depicts?|explains?|accounts for|it is"
    "|(?:is|seems|comes|looks|appears)(?= (?:better|best|closest)\\b)|makes(?= (?:the )?(?:most|more|best) sense\\b)"
    "|(?(only)(?:(?:is|are) (?:supported|consistent|possible|plausible|true)|can be (?:correct|right))|(?!))"
)
_MAKES: Final = r"\b(?:mak(?:es|ing)|leav(?:es|ing)) (?:option |choice |answer |statement )?"
BEST: Final = (
    r"(?: (?:the|this|that) \w+)?"
    r" (?:best|(?:the )?(?:most|more|best) sense"
    r"|(?:better|closest)(?=[.,;!]|$| (?:match|fit|answer|choice|option)\b))\b"
)
"""Makes a label that fits the answer; "C is better than D" does not."""
RIGHT_SIGNS: Final = r"[☑✅✔✓]|\((?<![\w)]\()\s?[xX✓✔]\s?\)"
SAYS_RIGHT: Final = "correct|true|right"
_WRONG_SIGNS: Final = "☐❌✗✘✖"
_WRONG: Final = rf"[{_WRONG_SIGNS}]|\(\s?\)|\b(?i:incorrect|wrong|false|not (?:{SAYS_RIGHT}))\b"


class Patterns:
    """All patterns for one set of labels; the group `label` is the label as the reply writes it.

    `linked`: a cue's link and its label, by the name of the cue; `bare`: a label right after a cue; `further`: another
    label joined to a label; `joined`: a label that is joined to the next; `counted`: the same in "none of A, B"; `line`
    and `whole_reply`: a label alone; `leading`: a label at the start of a line; `ticked`: a label with a tick;
    `verdicts`: a judged label; `fitting`: a label that fits; `excepted`: B in "all but B"; the subjects: "B is",
    "makes B the", "B是".
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.labels = labels = labels_of(names)
        written, label = labels.exact.pattern, f"(?P<label>{labels.source})"
        exact = f"(?P<label>{written})"
        lead_in = f"{OPENERS}(?i:{FILLERS})"
        numbered = "" if any(name[:1].isdecimal() for name in labels.written) else r"(?:\d{1,2}[.)] )?"
        opening = f"{_AROUND}{numbered}(?i:{_TITLE})"
        spoken = f"(?P<label>{labels.spoken})"
        option = r"[\"'( \x02]*(?i:(?:option|choice) )?[\"'( \x02]*"
        self.linked = {cue.name: lazily(f"(?i:{cue.link}){lead_in}{label}") for cue in CUES}
        self.bare = lazily(f"{lead_in}{label}")
        self.further = lazily(
            r"(?!\W*(?i:possibly|perhaps|maybe)\b)"
            rf"(?i:{SEPARATORS}){lead_in}{exact}|[ ](?P<spaced>{written})(?=[^\w\n]*(?:\n|$))"
        )
        self.joined = lazily(rf"{exact}[ )\"'\x03]{{0,6}}(?i:,? ?{CONJUNCTIONS}){option}\Z")
        self.counted = lazily(
            rf"(?i:{_COUNTED}[^.;:\n]{{0,60}}?){exact}[ )\"'\x03]{{0,6}}(?:,|(?i:,? ?nor\b)){option}\Z"
        )
        self.line = lazily(f"^{opening}{exact}{_ENDING}", re.MULTILINE)
        self.whole_reply = lazily(rf"\A{_AROUND}{numbered}(?i:{_ANSWER}{_TITLE}){label}{AGAIN}{_ENDING}")
        self.leading = lazily(f"^{opening}{exact}", re.MULTILINE)
        self.ticked = lazily(
            rf"^\W{{0,6}}(?:{RIGHT_SIGNS})\W{{0,6}}{exact}(?=[).:\x03]| -|\W*$)"
            rf"|^\W{{0,6}}(?P<before>{written})[^\n=\\{_WRONG_SIGNS}]{{0,300}}(?:{RIGHT_SIGNS})\W{{0,4}}$",
            re.MULTILINE,
        )
        self.verdicts = _verdicts(written)
        self.fitting = lazily(
            rf"\b(?:(?P<only>[Oo]nly )(?:option |choice )?|(?:[Oo]ption|[Cc]hoice) |(?=[A-Z]\W+(?:best |\w+{BEST})))"
            rf"[\x02(\"']{{0,2}}{exact}[\x03)\"']*(?i: (?:best|most|\w+ly))*(?i: (?:{_FITS}))\b"
        )
        self.excepted = lazily(
            rf"(?i:\b(?:(?P<out>rul\w+ out|exclud\w+|eliminat\w+|dismiss\w+|discard\w+|reject\w+) )?"
            r"(?:all|every|any|(?P<none>none|no|nothing)|alle|tou(?:te)?s|tod[oa]s|tutt[ei]|все|(?P<thing>(?:any|every)thing))"
            rf"\b[^.;\n]{{0,40}}?\b(?:{EXCEPT}) (?:(?:option|choice|answer|la) )?)[\"'(]{{0,2}}{exact}[\"')]{{0,2}}"
            rf"(?= (?:is|are|can|[cw]ould|ha[sv]e?|fits?|fails?|works?|match(?:es)?|sind|sont|sono?|são|zijn)\b"
            r"|(?(out)|(?(thing)(?!)|(?:[.,]|$))))"
            rf"|除了? ?(?P<but>{written}) ?(?:以外|之外|外)?[^.;\n]{{0,6}}?(?:都|全)"
        )
        self.subjects = (
            lazily(rf"(?P<head>.*){spoken}(?P<tail>.{{0,70}}?)(?i:{_IS})\Z", re.DOTALL),
            lazily(
                rf"(?P<head>.*)(?i:{_MAKES})[\"'(\x02]*{exact}(?P<tail>)[\"')\x03]*"
                rf"(?i: (?:as )?the (?:(?:{_ADVERBS})[ \x02]*){{0,3}})\Z",
                re.DOTALL,
            ),
        )
        self.unspaced_subject = lazily(rf"(?P<head>.*){exact}(?P<tail>){_UNSPACED_IS}\Z", re.DOTALL)


patterns_of = lru_cache(maxsize=256)(Patterns)
"""Cached for the questions that share their labels: to compile the patterns takes some 50 ms."""


def _verdicts(written: str) -> tuple[re.Pattern[str], ...]:
    """Patterns of a label judged at the end of its line, after it, in a row ("A ❌ B ✅") or in a box before it."""
    judgement = rf"(?<!n't )(?:(?P<right>{RIGHT_SIGNS}|\b(?i:{SAYS_RIGHT})\b)|(?P<wrong>{_WRONG}))"
    label = f"(?i:(?:option|choice) )?(?P<label>{written})"
    line, clause = r"^[^\w\n]{0,8}", r"(?:^[^\w\n]{0,8}|[.;|] )"
    sources = (
        rf"{line}{label}[^\w\n](?:[^\n]{{0,300}}?[^\w\n])??(?:is )?{judgement}[^\w\n]*$",
        rf"{clause}{label}[ :|).\x03-]{{1,4}}(?:is )?{judgement}(?=[^\w\n]*$|[\x03)]*[.:;,|])",
        rf"(?:^|(?<=[\w:).] [☑✅✔✓{_WRONG_SIGNS}] )){label}[ :).\x03-]{{1,4}}{judgement}(?= (?:{written})\b|[^\w\n]*$)",
        rf"{judgement}[ \x02]{{0,3}}{label}(?=[ ).:\x03]|[^\w\n]*$)",
    )
    return tuple(lazily(source, re.MULTILINE) for source in sources)
