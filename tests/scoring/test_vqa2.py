"""The published scores with their faults, and the scores by whole words."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linear_time import RATIO, growth
from vqa_client.scoring.vqa2 import (
    compared,
    enhanced_score,
    enhanced_score_by_words,
    simple_correct,
    simple_correct_by_words,
)
from vqa_client.scoring.yes_no import yes_or_no

RESULTS = Path(__file__).parents[3] / "shared" / "data" / "seed000_vqa2coco" / "results"


@pytest.mark.parametrize(
    ("gold", "reply", "simple", "enhanced"),
    [
        ("yes", "Yes, there is another bus.", False, 0.1),
        ("no", "Yes, there is another bus.", False, 0.1),
        ("no", "I don't know.", True, 1.0),
        ("no", "It isn't.", False, 0.2),
        ("yes", "A bright lamp", True, 1.0),
        ("yes", "Nope.", False, 0.0),
        *(("yes", reply, True, 1.0) for reply in ("Yeah.", "Yep!", "correct", "true", "sure", "Okay")),
        *(("no", reply, True, 1.0) for reply in ("Nope.", "It is not.", "false", "wrong", "negative")),
        ("no", "incorrect", False, 0.1),
        ("yes", "incorrect", False, 0.1),
        ("Yes.", "yes", True, 1.0),
        ("yes", "", False, 0.0),
        ("yes", " \n", False, 0.0),
        ("0", "There are 10.", True, 0.5),
        ("3", "Three", True, 1.0),
        ("twenty-one", "20 1", True, 1.0),
        ("flag", "two flags", True, 0.5),
        ("flag", "a flag", True, 0.9),
        ("on top of hill", "on top of it", False, 0.7),
        ("yellow and orange", "yellow", False, 0.3),
        ("red", "blue", False, 0.0),
        ("?", "anything", False, 0.0),
    ],
)
def test_the_published_scores_compare_substrings(gold: str, reply: str, simple: bool, enhanced: float) -> None:
    assert (simple_correct(gold, reply), enhanced_score(gold, reply)) == (simple, enhanced)


@pytest.mark.parametrize(
    ("name", "differing"),
    [
        ("vqa2_results_coco_20250801_194855.json", []),
        ("vqa2_results_coco_20250729_131258.json", [("smolvlm_v2_instruct", 100187002)]),  # breaks its own rule there
    ],
)
def test_the_published_records_are_reproduced(name: str, differing: list[tuple[str, int]]) -> None:
    if not (RESULTS / name).exists():
        pytest.skip(f"{name} is not here")
    records = [
        (model, record)
        for model, result in json.loads((RESULTS / name).read_text())["results"].items()
        for record in result["question_results"]
    ]
    assert len(records) == 100
    found = []
    for model, record in records:
        gold, answer = record["ground_truth"], record["model_answer"]
        scores = (simple_correct(gold, answer), enhanced_score(gold, answer))
        if scores != (record["is_correct"], record["vqa_accuracy"]):
            found.append((model, record["question_id"]))
        assert record["debug_info"] == compared(gold, answer)
    assert found == differing


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ("Yes", "yes"),
        ("**Yes**, it is not closed.", "yes"),
        ("Yes, you can see a snowboard.", "yes"),
        ("Assistant: Yes.", "yes"),
        ("The answer is: yes", "yes"),
        ("I think yes", "yes"),
        ("Sure, it is.", "yes"),
        ("That is right.", "yes"),
        ("Correct", "yes"),
        ("That's not wrong.", "yes"),
        ("Absolutely, yes.", "yes"),
        ("Absolutely.", "yes"),
        ("Of course, it is.", "yes"),
        ("Sure, no problem: yes.", "yes"),
        ("Yes. Actually, it's clear that there is.", "yes"),
        ("Yes. Actually, I can see two dogs. No cats.", "yes"),
        ("<think>no</think> yes", "yes"),
        ("Yes. Is it night? No.", "yes"),
        ("No. Wait, actually yes.", "yes"),
        ("No. Actually, yes.", "yes"),
        ("Yes, actually no dogs are there", "yes"),
        ("Yes. Actually, no other animals.", "yes"),
        ("No doubt there is: yes", "yes"),
        ("Yes or no? I'd say yes.", "yes"),
        ("The answer is not no.", "yes"),
        ("Ja.", "yes"),
        ("Oui, il y a un chien.", "yes"),
        ("是的，有一只狗。", "yes"),
        ("はい、犬がいます。", "yes"),
        ("네, 개가 있습니다.", "yes"),
        ("Да, есть.", "yes"),
        ("نعم، يوجد كلب", "yes"),
        ("Yes - sorry, it is difficult to see, but it is there.", "yes"),
        ("At first no, but yes, there is one.", "yes"),
        ("Hard to tell. I'd say yes.", "yes"),
        ("No.", "no"),
        ("Yes? No: there is none.", "no"),
        ("没有自行车。", "no"),
        ("图中没有自行车。", "no"),
        ("Não há cão na imagem.", "no"),
        ("Il n'y a aucun chien.", "no"),
        ("Es gibt kein Fahrrad.", "no"),
        ("No hay perros en la imagen.", "no"),
        ("Yes... wait, no.", "no"),
        ("Yes... wait, looking closer, it's a cap. No, he isn't.", "no"),
        ("No, wait, it is a fox, not a dog.", "no"),
        ("Absolutely not.", "no"),
        ("Of course not.", "no"),
        ("Of course, there is no dog.", "no"),
        ("Definitely, no.", "no"),
        ("Sure, it isn't.", "no"),
        ("Yes! Sorry, no.", "no"),
        ("Yes — wait, I meant no.", "no"),
        ("The answer isn't yes, it's no.", "no"),
        ("Nein, kein Hund.", "no"),
        ("Non, il n'y a pas de chien.", "no"),
        ("没有。", "no"),
        ("いいえ", "no"),
        ("아니요", "no"),
        ("No, I can't say that there is one.", "no"),
        ("That is incorrect.", "no"),
        ("It isn't.", "no"),
        ("Isn’t", "no"),
        ("There aren’t any.", "no"),
        ("There is no bus.", "no"),
        ("The bear is not wearing shoes.", "no"),
        ("I don't think so.", "no"),
        ("This is not correct.", "no"),
        ("I can't see any dog.", "no"),
        ("Not at all", "no"),
        ("cannot", "no"),
        ("", None),
        ("Certainly.", None),
        ("No. Actually, it's unclear but I see something.", None),
        ("没有图片", None),
        ("没有问题", None),
        ("没有汽车，但有一辆自行车", None),
        ("Es gibt kein Fahrrad, aber ein Motorrad.", None),
        ("No hay ninguna imagen.", None),
        ("Non c'è dubbio, è rosso.", None),
        ("No. Actually, I can't say.", None),
        ("Yes. Wait, I'm not sure.", None),
        ("No. Sorry, the image is unclear.", None),
        ("I don't know.", None),
        ("I’m not sure.", None),
        ("Not sure", None),
        ("No idea", None),
        ("cannot tell", None),
        ("It can't be determined.", None),
        ("The image does not provide information about it.", None),
        ("It doesn't say.", None),
        ("unclear", None),
        ("I do not have enough information.", None),
        ("Impossible to say", None),
        ("No image was provided, so I cannot tell.", None),
        ("There is no image attached.", None),
        ("No image is visible to me.", None),
        ("No picture hangs on the wall.", "no"),
        ("No document is open on the screen.", "no"),
        ("It looks like the image did not load.", None),
        ("Sure! Please upload the image.", None),
        ("No, there is no picture.", "no"),
        ("There is no dog in the picture provided.", "no"),
        ("Yes and no", None),
        ("da Vinci painted it", None),
        ("有一只狗在图里", None),
        ("There is no question about it.", None),
        ("The surface is bright.", None),
        ("It is on the right.", None),
        ("It is on the right side.", None),
        ("Nothing.", None),
        ("another one", None),
        ("Knotted rope in the snow", None),
        ("notable", None),
        ("Yes?", "yes"),
        ("Yes???", "yes"),
        ("No?", "no"),
        ("No? Look again: yes, there is.", "yes"),
        ("I think so.", "yes"),
        ("It would be wrong to say no.", "yes"),
        ("It would be incorrect to answer yes.", "no"),
        ("The answer is anything but yes.", "no"),
        ("Oui ? Non, il n'y a personne.", "no"),
        ("If the lamp were on, yes; but it is off, so no.", "no"),
        ("The answer is yes only if the light is on.", None),
        ("The least likely answer is yes.", None),
        ("Yes, only one.", "yes"),
        ("Neither yes nor no.", None),
        ("yes/no", None),
        ("Yes\nNo", None),
        ("No. Yes.", None),
        *(
            (f"{reply}.", None)
            for reply in ("I see no reason to doubt it", "There's no denying it", "Not only is it so")
        ),
        ("No, no.", "no"),
        ("不，图中没有狗。", "no"),
        ("जी नहीं", "no"),
        ("नहीं।", "no"),
        ("No wait, yes, there is one behind it.", "yes"),
        ("Yes wait no.", "no"),
        *((both, None) for both in ("हाँ। नहीं।", "Sí\nNo", "Ja, nein.", "不。是的。", "Oui / non")),
        ("जी हाँ", "yes"),
        ("No lo sé.", None),
        ("No lo se.", None),
        ("Paris? No. Nice? No. Lille? Yes.", None),
        ("No sé si hay un perro.", None),
        ("No se ve ningún perro en la imagen.", "no"),
        ("No se trata de un gato.", "no"),
        ("No se puede ver un perro", "no"),
        ("Yes. So no.", "yes"),
        ("Yes, so the answer is no", "yes"),
        ("No. So, yes.", "no"),
        ("No. Wait, there is one, so yes.", "yes"),
        ("Yes, but the answer is no.", "no"),
        ("Yes, only if you look closely can you see it.", "yes"),
        ("Yes, only if you zoom in.", "yes"),
        ("Yes, only when reading.", "yes"),
        ("Yes, only if the light is on.", None),
        ("It would not be wrong to say no.", "no"),
        ("The image may or may not contain a dog.", None),
        ("There is no sign, so I can't tell.", None),
    ],
)
def test_polarity_is_read_by_words_and_a_non_answer_has_none(reply: str, says: str | None) -> None:
    assert yes_or_no(reply) == says
    for gold in ("yes", "no"):
        assert simple_correct_by_words(gold, reply) == (says == gold)
        assert enhanced_score_by_words(gold, reply) == float(says == gold)


@pytest.mark.parametrize(
    ("gold", "reply", "simple", "enhanced"),
    [
        ("0", "There are 10.", False, 0.0),
        ("3", "Three", True, 1.0),
        ("three", "There are 3 dogs.", True, 0.9),
        ("5", "3.5", False, 0.0),
        ("1000", "1,000 people", True, 0.9),
        ("1", "-1", False, 0.0),
        ("flag", "two flags", False, 0.0),
        ("ped xing", "It says Ped Xing.", True, 0.9),
        ("ped xing", "xing ped", False, 0.9),
        ("yellow and orange", "yellow", False, 0.3),
        ("?", "?", False, 0.0),
        ("", "anything", False, 0.0),
        ("red", "It is dark blue, not red.", False, 0.9),
        ("blue", "It is dark blue, not red.", True, 0.9),
        ("blue", "anything but blue", False, 0.9),
        ("tennis", "Not tennis, badminton.", False, 0.9),
        ("white", "Neither white nor black; it's gray.", False, 0.9),
        ("gray", "Neither white nor black; it's gray.", True, 0.9),
        ("cake", "I can't tell whether it is cake.", False, 0.9),
        ("ocean", "The least likely place is the ocean.", False, 0.9),
        ("3", "not 4 but 3", True, 0.9),
        ("3", "There are no fewer than three.", True, 0.9),
        *(
            ("red", reply, True, 0.9)
            for reply in (
                *(
                    "without a doubt red",
                    "I do not doubt it is red",
                    "I have no doubt at all it is red",
                    "No it is red",
                ),
                *("It cannot be anything other than red", "It isn't anything but red", "It is not just red"),
                *("It is not unlikely that it is red", "I can't deny it is red", "Isn't it red", "not blue and red"),
                *("not blue – red", "not blue -- red", "not blue / red", "not blue\nred", "not blue → red"),
                *("not blue (red)", "I don't know maybe red"),
            )
        ),
        ("tennis", "There is no question the sport is tennis", True, 0.9),
        ("tennis", "No doubt this is tennis", True, 0.9),
        ("snow", "You can't go wrong with snow", True, 0.9),
        ("kite", "The boy is not alone he flies a kite", True, 0.9),
        ("rot", "nicht blau sondern rot", True, 0.9),
        ("tulip", "I see no flower except the tulip.", True, 0.9),
        ("otter", "There's no animal in it save the otter.", True, 0.9),
        ("5926", "№ 5926", True, 0.9),
        ("rojo", "no es azul sino rojo", True, 0.9),
        *(
            ("red", reply, False, 0.9)
            for reply in (
                "It isn’t red",
                "It is not yet red",
                "not blue or red",
                "I doubt it is red",
                "I don't think it is red",
            )
        ),
    ],
)
def test_other_answers_have_to_be_whole_words(gold: str, reply: str, simple: bool, enhanced: float) -> None:
    assert (simple_correct_by_words(gold, reply), enhanced_score_by_words(gold, reply)) == (simple, enhanced)


@given(st.text(max_size=40), st.text(max_size=60))
def test_scores_are_in_0_to_1_and_an_empty_reply_scores_0(gold: str, reply: str) -> None:
    assert 0 <= enhanced_score(gold, reply) <= 1
    assert 0 <= enhanced_score_by_words(gold, reply) <= 1
    for score in (simple_correct, enhanced_score, simple_correct_by_words, enhanced_score_by_words):
        assert score(gold, "") == 0


@pytest.mark.parametrize(
    "word", ["it is ", "not ", "answer: ", "the ", "n't ", "(", "no no ", "to be ", ". wait no", ", sorry, wait "]
)
def test_a_long_reply_is_read_in_linear_time(word: str) -> None:
    def scored(reply: str) -> None:
        yes_or_no(reply)
        enhanced_score_by_words("red", reply)

    took = growth(scored, word, 20_000, limit=400)
    assert took.ratio < RATIO
    assert took.whole < 400
