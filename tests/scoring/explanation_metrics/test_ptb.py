import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.scoring.explanation_metrics.ptb import PUNCTUATION, ptb_tokens

# Each right-hand side is what Stanford's PTBTokenizer gave for the left one (CoreNLP 3.4.1, -preserveLines -lowerCase),
# less the punctuation.
SPLITS = [
    ("The light isn't green, it's red!", "the light is n't green it 's red"),
    ("She can't and won't; they cannot either.", "she ca n't and wo n't they can not either"),
    ("I'd've gone, he'll stay, we're late.", "i 'd 've gone he 'll stay we 're late"),
    ("It’s the dogs’ bowl", "it 's the dogs bowl"),
    ("'Tis gonna rain, gimme the coat", "'t is gon na rain gim me the coat"),
    ("rock'n'roll o'clock ma'am y'all", "rock 'n' roll o'clock ma'am y' all"),
    ("O'Brien and D'Angelo", "o'brien and d'angelo"),
    ("a well-known black-and-white t-shirt", "a well-known black-and-white t-shirt"),
    ("a re- made thing - or -- not", "a re made thing or not"),
    ('a sign that says "no parking"', "a sign that says no parking"),
    ("the ‘quoted’ “words” and `these'", "the quoted words and these"),
    ("a man (left) with [two] {bags}", "a man -lrb- left -rrb- with -lsb- two -rsb- -lcb- bags -rcb-"),
    ("Mr. Smith vs. Dr. Jones etc.", "mr. smith vs. dr. jones etc."),
    ("it is in the U.S. or the U.K.", "it is in the u.s. or the u.k."),
    ("it opens at 5 p.m. e.g. today", "it opens at 5 p.m. e.g. today"),
    ("La. is a state and la. is not", "la. is a state and la is not"),
    ("it is no. 5, not the no. of cars", "it is no. 5 not the no of cars"),
    ("the answer is option a.", "the answer is option a."),
    ("1,000 people, 3.5 km, 10:30am, 50%", "1,000 people 3.5 km 10:30 am 50 %"),
    ("the 1990's, the '90s and the 20s'", "the 1990 's the '90s and the 20s"),
    ("it costs $5.99 or £5", "it costs $ 5.99 or # 5"),
    ("half of it is 1/2 and and/or", "half of it is 1/2 and and/or"),
    ("wait... what?! no!!", "wait what ?! no !!"),
    ("the end.The next,one", "the end.the next one"),
    ("AT&T and cats & dogs", "at&t and cats & dogs"),
    ("<person1> is <b>near</b> a < b", "<person1> is <b> near </b> a < b"),
    ("person_1 is at www.example.com", "person_1 is at www.example.com"),
    ("a smile :) or a #tag", "a smile :-rrb- or a #tag"),
    ("a naïve café in Zürich", "a naïve café in zürich"),
    ("the word 北京 and привет", "the word 北京 and привет"),
    ("a dog 🐶 runs", "a dog runs"),
    ("half ½ and 5° and x²", "half 1/2 and 5 ° and x ²"),
    ("a — dash – here…", "a dash here"),
    ("salt &amp; pepper", "salt & pepper"),
    ("e.g. -LRB- sign", "e.g. -lrb- sign"),
    ("a -LRB-left-RRB- -lsb-1 -RCB-. --LRB-- -LABEL- x-LRB-y", "a -lrb- left-rrb -lsb- 1 -rcb- lrb label x-lrb-y"),
    ("1\\/2 and\\/or \\*", "1\\/2 and\\/or \\*"),
    ("हिन्दी word, हिन्दी-भाषा। है", "हिन्दी word हिन्दी भाषा । है"),
    ("বাংলা தமிழ் తెలుగు ગુજરાતી ਹਿੰਦ", "বাংলা தமிழ் తెలుగు ગુજરાતી ਹਿ ਦ"),
    ("ಕನ್ನಡ മലയാളം සිංහල မြန်မာ", "ಕನ ನಡ മലയാള ස හල မ န မ"),
    ("العَرَبِيَّة، هل؟ שָׁלוֹם א״ב", "العَرَبِيَّة ، هل ؟ שָׁלוֹם א ״ ב"),
    ("ภาษาไทย ที่นี่ ລາວ ໄດ້", "ภาษาไทย ที่นี่ ລາວ ໄດ້"),
    ("e\u0301te\u0301, e\u0301te\u0301's e\u0301-a", "e\u0301te\u0301 e\u0301te\u0301 's e\u0301 a"),
    ("二〇二四 and ١٫٥ and 1⁄2", "二 二四 and ١٫٥ and 1⁄2"),
    ("10⁻¹² ₁₀ ““x””", "10 ⁻¹² ₁₀ ```` x ''''"),
    ("v1.b, én't a@b.co.uk, and @@", "v1.b én t a@b.co.uk, and @@"),
    ("x.com/a www.x.com/ab. '21", "x.com / a www.x.com/ab '21"),
]
# A text for each further rule and spelling, split as it is today.
FURTHER = [
    ("an l's and J'd", "an l 's and j 'd"),
    ("Wash. is a state, wash. it, prop. 5, the prop. of it", "wash. is a state wash it prop. 5 the prop of it"),
    ("I gotta go", "i got ta go"),
    ("j'ai l'or d'un", "j' ai l'or d'un"),
    ("the ol' man, somethin' else and dunkin' donuts", "the ol' man somethin' else and dunkin' donuts"),
    ("c'mon, c'est la vie, e'er o'er nat'l li'l", "c'mon c'est la vie e'er o'er nat'l li'l"),
    ("N'Golo and X'ian and S'mores, not b'day", "n'golo and x'ian and s'mores not b day"),
    ("see नदी.jpg or 12.pdf", "see नदी.jpg or 12.pdf"),
    ("u.s.-a_b dr.-d'or", "u.s.-a_b dr.-d'or"),
    ("+.5 and -.25 .75 costs", "+.5 and -.25 .75 costs"),
    ("on 1/2-14 or", "on 1/2-14 or"),
    ("c++ and c# and f#", "c++ and c# and f#"),
    ("it costs US$ 5", "it costs us$ 5"),
    ("see https://a.org/b?c=d, or", "see https://a.org/b?c=d or"),
    ("call (555) 123-4567 now", "call -lrb-555-rrb- 123-4567 now"),
    ("a 12,000-ton ship", "a 12,000-ton ship"),
    ("see example.org/a/b, a.net", "see example.org/a/b a.net"),
    ("www.a-b.c-d.co/x", "www.a-b.c-d.co / x"),
    ("#tag #1 @user @x_y", "#tag # 1 @user @x_y"),
    ("lemme see, I wanna go: what? now --- or ---- then", "lem me see i wan na go what now or then"),
    ("5 ¢ €5 ¤5 ₠5 \u00805", "5 cents $ 5 $ 5 $ 5 $ 5"),
    ("¼ ¾ ⅓ ⅔ cup", "1/4 3/4 1/3 2/3 cup"),
    ("«a» ‹b› ‛c \u0093d\u0094 \u0091e\u0092", "a b c d e"),
    ("a\u0092s a ‒ b ― c so\u00adft", "a 's a b c soft"),
    ("1 &lt; 2 &gt; 0 &quot;x&quot; y&apos;s a&nbsp;b &apos;", "1 < 2 > 0 x y s a b"),
]


@pytest.mark.parametrize(("text", "tokens"), SPLITS + FURTHER)
def test_a_text_is_split_as_the_treebank_does(text: str, tokens: str) -> None:
    assert ptb_tokens(text) == tokens.split()


@pytest.mark.parametrize("text", ["", " ", "\n", ".", '"', "...", "’", "🐶", "\x00"])
def test_a_text_without_words_has_no_tokens(text: str) -> None:
    assert ptb_tokens(text) == []


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r", "\x0b", "\x85", "\u2028", "\t", "\u00a0"])
def test_a_line_break_is_a_space(line_break: str) -> None:
    assert ptb_tokens(f"it is wet{line_break}and cold") == ["it", "is", "wet", "and", "cold"]


@given(text=st.text() | st.text(alphabet="aAn't'’.,-_/<>&;:$#@()\"0159 \n", max_size=60))
def test_every_text_has_tokens_that_hold_no_space_and_are_no_punctuation(text: str) -> None:
    for token in ptb_tokens(text):
        assert token
        assert token.split() == [token]
        assert token not in PUNCTUATION


@given(words=st.lists(st.text("bcdfghjk", min_size=2, max_size=8), max_size=20))
def test_plain_words_are_left_as_they_are(words: list[str]) -> None:
    assert ptb_tokens(" ".join(words).upper() + " .") == words
