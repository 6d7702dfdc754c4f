"""Why a reply has no answer: it is empty, truncated, a refusal, ambiguous or unparsed."""

import pytest

from tests.scoring.choice_label_sets import VEHICLES
from vqa_client.scoring.choices.choice import read_choice
from vqa_client.scoring.refusal import may_refuse, misses_image, refuses
from vqa_client.types import Answer, Completion

OTHER_REFUSALS = """
很抱歉，我无法回答这个问题。
作为一个人工智能语言模型，我无法看到图片。
抱歉，我無法提供協助。
عذرًا، لا أستطيع المساعدة في ذلك.
عذراً، لا يمكنني مساعدتك في هذا الطلب.
Ich kann diese Frage leider nicht beantworten.
Es tut mir leid, ich kann Ihnen bei dieser Anfrage nicht helfen.
Ich kann keine Bilder sehen.
Lo siento, no puedo responder a esa pregunta.
Lo siento, no puedo ver imágenes.
Désolé, je ne peux pas répondre à cette question.
Je ne suis pas en mesure de voir les images.
申し訳ございませんが、そのご質問にはお答えできません。
죄송합니다. 그 질문에는 답변해 드릴 수 없습니다.
죄송하지만 이미지를 볼 수 없습니다.
Извините, я не могу ответить на этот вопрос.
Вибачте, але я не можу допомогти з цим.
क्षमा करें, मैं इसमें मदद नहीं कर सकता।
Üzgünüm, bu konuda yardımcı olamam.
Üzgünüm, bu soruyu yanıtlayamıyorum.
Przykro mi, ale nie mogę w tym pomóc.
Desculpe, não posso ajudar com isso.
Mi dispiace, non posso aiutarti con questo.
Sorry, ik kan je daar niet mee helpen.
Tyvärr kan jag inte hjälpa till med det.
Beklager, jeg kan ikke hjælpe med det.
Valitettavasti en voi auttaa tässä.
Xin lỗi, tôi không thể giúp bạn với yêu cầu này.
ขออภัย ฉันไม่สามารถช่วยเรื่องนี้ได้
Maaf, saya tidak dapat membantu dengan permintaan itu.
Omlouvám se, ale s tím nemohu pomoci.
Îmi pare rău, dar nu vă pot ajuta cu asta.
Λυπάμαι, αλλά δεν μπορώ να βοηθήσω με αυτό.
מצטער, אני לא יכול לעזור בזה.
দুঃখিত, আমি এতে সাহায্য করতে পারব না।
Ich darf dabei nicht helfen.
S tím nedokážu pomoci.
Bu görseli göremem.
Saya tak dapat membantu.
很抱歉，沒辦法提供協助。
回答いたしかねます。
죄송하지만 답변드리기 어렵습니다.
""".strip().split("\n")
OTHER_ABSENCES = """
Ich kann es im Dokument nicht finden.
Ich kann diese Frage anhand des Dokuments nicht beantworten.
Auf dem Bild kann ich keine Uhr sehen.
Je ne peux pas le trouver dans le document.
No puedo encontrarlo en el documento.
No puedo ver la fecha en la imagen.
我在文档中找不到答案。
根据文档，我无法回答这个问题。
图片中我无法看到日期。
文書には記載がないため、回答できません。
죄송하지만 답변을 찾을 수 없습니다.
Я не могу найти это в документе.
Nie mogę tego znaleźć w dokumencie.
Não consigo encontrar no documento.
Non riesco a trovarlo nel documento.
Bunu belgede bulamıyorum.
Không thể tìm thấy trong tài liệu.
ฉันไม่สามารถหาได้ในเอกสาร
Saya tidak dapat menemukannya di dokumen.
لا أستطيع العثور عليه في المستند.
Ik kan het niet vinden in het document.
""".strip().split("\n")
REFUSALS = (
    "I'm sorry, but I can't assist with that.",
    "I do not feel comfortable answering this.",
    "I'm not comfortable identifying people.",
    "Ich kann das Bild leider nicht sehen.",
    "Sajnálom, de ebben nem segíthetek.",
    "I’m sorry, but I can’t help with that request.",
    "I cannot assist with this request.",
    "I'm unable to help with that.",
    "I am sorry, I won't be able to help with that.",
    "I must decline to answer.",
    "This violates our content policy.",
    "Sorry, I can't provide assistance with that.",
    "I am not able to view images.",
    "I am unable to view images.",
    "I'm unable to view the details in images or recognize patterns such as pedigrees.",
    "I'm sorry, but I can't see or analyze images. However, I can help with text.",
    "As an AI language model, I don't have access to the image you are referring to.",
    "I'm sorry, I can't identify the people in the image.",
    "抱歉，我无法协助处理该请求。",
    "Es tut mir leid, aber dabei kann ich nicht helfen.",
    "Lo siento, pero no puedo ayudar con eso.",
    "Je suis désolé, mais je ne peux pas vous aider.",
    "申し訳ありませんが、お手伝いできません。",
    "죄송하지만 도와드릴 수 없습니다.",
    "Извините, но я не могу помочь с этим.",
    "抱歉，我无法提供这方面的信息。",
    "你好，这个问题我暂时无法回答，让我们换个话题再聊聊吧。",
    "すみませんが、この質問には答えられません。",
    "Sajnálom, de ebben nem tudok segíteni.",
    "متأسفم، نمی\u200cتوانم در این مورد کمک کنم.",
    "نمی\u200cتوانم به این سؤال پاسخ دهم.",
    "Samahani, siwezi kukusaidia na hilo.",
    "No puedo proporcionar esa información.",
    "Je ne peux pas fournir cette information.",
    "Não posso fornecer essas informações.",
    "Non posso fornire queste informazioni.",
    "Я не могу предоставить эту информацию.",
    "Lo siento, pero no puedo identificar a personas en imágenes.",
    *OTHER_REFUSALS,
)
NO_REFUSALS = (
    "The man can't help laughing.",
    "I cannot determine this from the document.",
    "I'm sorry, but I cannot determine the answer from the document.",
    "I can't answer this based on the given pages.",
    "I cannot find it in the document.",
    "I'm sorry, the document does not mention it.",
    "I don't know.",
    *OTHER_ABSENCES,
    "抱歉，文档中没有提供相关信息，无法确定。",
    "Le document ne fournit pas cette information.",
    "A dokumentum alapján nem tudok válaszolni erre.",
    "この文書からは答えられません。",
    "The document cannot help with that question, it ends on page 3.",
)
IMAGELESS = """
die abbildung ist nicht da.
het plaatje is er niet.
foto mangler.
la photo est manquante.
foto no disponible.
falta a foto.
manca la foto.
kuva puuttuu.
a kép hiányzik.
jibu bila picha.
bez zdjęcia.
bez fotky.
nu am imaginea.
fotoğrafı göremiyorum.
tak ada foto.
thiếu ảnh.
зображення немає.
фото отсутствует.
λείπει η φωτογραφία.
صور غير متاحة.
عکس ندارم.
בלי תמונה.
बिना इमेज
ছবি ছাড়া
ไม่มีภาพ
無影像
写真なし
그림 없음
""".strip().split("\n")
WITH_IMAGE = (
    "veo una imagen de un perro.",
    "vedo una foto.",
    "näen kuvan.",
    "there is no picture in the corner of it.",
)


def read(text: str, finish_reason: str | None = None, reasoning: str | None = None) -> Answer:
    return read_choice(Completion(text=text, finish_reason=finish_reason, reasoning=reasoning), VEHICLES)


@pytest.mark.parametrize("reply", REFUSALS)
def test_a_refusal_has_its_own_status(reply: str) -> None:
    answer = read(reply)
    assert (answer.text, answer.status) == (None, "refused")


@pytest.mark.parametrize("reply", NO_REFUSALS[:-1])
def test_finding_no_answer_is_not_a_refusal(reply: str) -> None:
    assert read(reply).status == "unparsed"
    assert not refuses(reply)


def test_words_of_a_refusal_in_another_sentence_are_not_one() -> None:
    assert not any(map(refuses, ("siwezi kujua.", "এটা না।")))


@pytest.mark.parametrize(("dots", "refused"), [(386, True), (387, False)])
def test_a_refusal_is_in_the_first_400_characters(dots: int, refused: bool) -> None:
    assert refuses(f"{'.' * dots}I must decline") is refused


@pytest.mark.parametrize(
    ("text", "may"),
    [
        *(("I can’t help", True), ("I can&#39;t help", True), ("not ok", True), ("not o", False)),
        *(("." * 797 + "not", True), ("." * 798 + "not", False)),
    ],
)
def test_only_a_text_with_a_word_of_a_refusal_is_folded(text: str, may: bool) -> None:
    assert may_refuse(text) is may


@pytest.mark.parametrize("text", IMAGELESS)
def test_a_reply_without_an_image_is_known_in_each_language(text: str) -> None:
    assert misses_image(text)


def test_a_missing_image_is_named_at_the_beginning_or_end_of_a_long_reply() -> None:
    assert not any(map(misses_image, WITH_IMAGE))
    for dots, misses in ((391, True), (392, False)):
        assert misses_image(f"{'.' * dots} no image{'.' * 900}") is misses
        assert misses_image(f"{'.' * 900}no image {'.' * dots}") is misses


@pytest.mark.parametrize(
    "reply",
    ["I'm sorry, but the answer is B.", "I can't see the image clearly, but I'd say B.", "I can't help but choose B."],
)
def test_an_answer_after_an_apology_is_an_answer(reply: str) -> None:
    assert read(reply).text == "B"


@pytest.mark.parametrize("text", ["", "  \n\t", "<|im_end|>", "</s>", "<think>A</think>", "<think></think>\n"])
def test_a_reply_without_words_is_empty(text: str) -> None:
    assert read(text, "stop").status == "empty"


@pytest.mark.parametrize("finish_reason", ["length", "MAX_TOKENS"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "Let me look at B and C.",
        "A. red bus\nB. blue",
        "A. red bus",
        "It is a blue car",
        "Answer: not given, as the",
        "**B",
        "Looking at option by option, the red bus",
        "I'm sorry, but I can't",
        "<think>The answer is B",
        "<think>hm</think>",
    ],
)
def test_a_reply_cut_off_before_its_answer_is_truncated(text: str, finish_reason: str) -> None:
    answer = read(text, finish_reason)
    assert (answer.text, answer.status) == (("B", "ok") if text == "**B" else (None, "truncated"))


@pytest.mark.parametrize("text", ["B", "(B)", "The answer is B because the", "Answer: B\n\nThe car", "\\boxed{B} is"])
def test_a_reply_cut_off_after_its_answer_keeps_it(text: str) -> None:
    assert read(text, "length").text == "B"


def test_unfinished_reasoning_is_truncated_with_any_finish_reason() -> None:
    assert read("<think>The answer is B", "stop").status == "truncated"


def test_an_answer_in_the_reasoning_counts_if_the_model_stopped() -> None:
    answer = read("", "stop", "The rails show it, so the answer is C.")
    assert (answer.text, answer.status, answer.source) == ("C", "ok", "reasoning")


@pytest.mark.parametrize(
    ("finish_reason", "reasoning", "status"),
    [
        ("length", "So the answer is C.", "truncated"),
        (None, "So the answer is C.", "empty"),
        ("stop", "It looks like a tram.", "empty"),
        ("stop", "The answer is A or C.", "empty"),
        ("stop", "The answer is E.", "empty"),
        ("stop", "So the answer is A. Hmm wait, let me check option C again because rails", "empty"),
        ("stop", "", "empty"),
        ("content_filter", None, "refused"),
    ],
)
def test_reasoning_without_a_declaration_is_not_an_answer(
    finish_reason: str | None, reasoning: str | None, status: str
) -> None:
    answer = read("", finish_reason, reasoning)
    assert (answer.text, answer.status) == (None, status)


@pytest.mark.parametrize(("text", "letter"), [("B", "B"), ("It is hard to say.", None)])
def test_reasoning_is_not_read_if_there_is_a_reply(text: str, letter: str | None) -> None:
    answer = read(text, "stop", "So the answer is C.")
    assert (answer.text, answer.source) == (letter, "content")


def test_replies_of_a_blind_model_give_no_answers() -> None:
    assert {read("I am unable to view images.", "stop").text for _ in range(500)} == {None}
