"""The number that a reply gives as its answer, and what it counts."""

import pytest

from tests.scoring.test_open_answers import BIRDS, stopped
from vqa_client.scoring.numbers import number
from vqa_client.scoring.reply import reply_from
from vqa_client.types import Completion, Question

COUNTS = [
    *((text, "3") for text in ("3", "Three", "three.", "**3**", "3 birds", "There are 3 birds.")),
    *((text, "3") for text in ("There are three birds in the image.", "I count 3.", "The answer is 3.")),
    *((text, "3") for text in ("**Answer:** 3", "Answer: three", "\\boxed{3}", "<think>4 or 5</think>3")),
    *((text, "3") for text in ("There are 2 adults and 1 child, so 3 in total.", "There are 3 birds and 2 dogs.")),
    *((text, "3") for text in ("2 + 1 = 3", "I see 2 on the left and 1 on the right. So there are 3.")),
    ("1. a red bird\n2. a blue bird\n3. a green bird\n\nTotal: 3", "3"),
    *((text, "3") for text in ("In image 1 there are 3 birds", "One of the animals is a dog; there are 3 birds")),
    *((text, "3") for text in ("A total of 3 birds", "The total number of birds is 3.", "approximately 3", "$3$")),
    *((text, "3") for text in ("The image shows a flock. Counting each: 1, 2, 3. There are 3 birds.", "H2O has 3")),
    *((text, "3") for text in ('{"answer": 3}', "There are exactly three small birds")),
    *((text, "3") for text in ("So the final answer is: **3**", "3!", "the count is 3")),
    ("1 bird on the wire, 2 birds on the ground, 3 birds altogether.", "3"),
    ("We have 2 red + 1 blue.\nTherefore, there are 3 birds.", "3"),
    *((text, "3") for text in ("Let me count. I can see 5 people and 3 birds.", "In 2019 there were 3 birds", "3\n")),
    *((text, "3") for text in ("Three (3)", "3 (three)", "The answer is 3 because 1+2=3", "The answer is 3, not 4.")),
    *((text, "0") for text in ("No birds are visible.", "There are no birds in the image.", "None", "zero")),
    ("1,234", "1234"),
    ("1,234 birds", "1234"),
    *((text, None) for text in ("There are not 8 black birds but 9 or 10 white ones, not 7 cats", "3 or 4")),
    *((text, None) for text in ("I don't know", "", "many", "Between 3 and 5 birds.")),
    ("twenty-one", "21"),
    *((text, "1") for text in ("There is one bird.", "One bird", "I see one.")),
    ("3.0", "3.0"),
    ("-3", "-3"),
    ("The reply is 1.5 m", "1.5"),
    *(
        (reply, "9")
        for reply in ("Not 8 but 9", "It's 9, not 8.", "The answer is 9, not 8.", "9 and not 8", "不是8，而是9")
    ),
    *((reply, "9") for reply in ("nicht 8, sondern 9", "pas 8 mais 9", "no 8 sino 9", "не 8, а 9", "8ではなく9")),
    *((reply, None) for reply in ("Not 8 cats but 9 dogs", "8, no 9.", "I see 8 birds, no 9 birds.")),
]
COUNTS += [
    ("The year with most is **2019**, with 25.8%. In 2018 it was 23.1%.", "2019"),
    ("There are 3 balls. Then 1 ball. Therefore, there are **2** objects left after subtracting all 3.", "2"),
    ("Therefore, the total number of algorithms with accuracy lower than 8 is 3.", "3"),
    ("A total of 27% + 17% = 44%. The answer to your question is 44.", "44"),
    ("So, the number varies with the size. In general it is about 50, of 55 seats.", None),
    *((text, "7") for text in ("I count 7: three here and four there", "7 (3 left, 4 right)", "3 and 4 gives seven.")),
    *((text, "5") for text in ("Let me count: 1, 2, 3, 4, 5.", "1, 2, 3, 4, 5")),
    ("3 cats and 1 dog, so 4 pets and no birds", "0"),
    ("4 (3 cats, 1 dog). I see no birds.", None),
    *((text, "0") for text in ("There are no birds, but there are 2 dogs.", "There are 2 dogs and no birds.")),
    ("I don't see any birds in this image; only 2 dogs.", "0"),
    *(
        (text, "3")
        for text in ("No birds are in the tree, but 3 are on the roof.", "No birds in the tree, 3 on the roof")
    ),
    *((text, None) for text in ("3 trees and 1 house, so 4 objects", "2 dogs and 3 cats, 5 animals in total.")),
    *(
        (text, None)
        for text in ("A total of 5 animals: 3 cats and 2 dogs.", "2 dogs and 1 cat, so there are 3 animals.")
    ),
    *(
        (text, "3")
        for text in ("2 sparrows and 1 crow, so 3.", "2 sparrows and 1 crow, so 3 birds.", "2 + 1, so it is 3")
    ),
    *(
        (text, "3")
        for text in ("5 animals in total: 3 birds and 2 dogs.", '{"birds": 3, "dogs": 2}', "Birds: 3\nDogs: 2")
    ),
    ("birds: 3 on the left, 2 on the right", None),
    *((text, "4") for text in ("There are 3 birds. Wait, actually there are 4.", "I count 3. No, 4.")),
    ("The change is 3. No, -4.", "-4"),
    (f"There are {'1' * 5000} birds.", "1" * 5000),
    ("There are 3 birds. Wait, there are 2 dogs too.", "3"),
    *((text, "1") for text in ("There is a bird.", "I see a small bird in the image.")),
    *((text, None) for text in ("There is a bird house.", "There is a bird here and a bird there.")),
    *(("7,5 cm", "7.5"), ("1.234,56 €", "1234.56"), ("12.5 million", "12500000"), ("7,5", None)),
    *((text, None) for text in ("2 cats, 3 dogs and 5 cows", "10 animals: 6 cats, 4 horses", "Pages 2, 3, 9000000000")),
    *zip(("There is a single bird.", "Not a single one.", "There isn't a single bird."), "100", strict=True),
    *((text, None) for text in ("3-5 birds", "2–4")),
    ("2019-2020: 5 birds", "5"),
    ("5 - 2 = 3", "3"),
    ("7-3=4", "4"),
    *((text, None) for text in ("There aren't 3 birds.", "I can't see 4 birds.", "Anything but 3.", "There aren’t 3.")),
    ("It isn't possible to count exactly 3", None),
    ("There are no fewer than 3", "3"),
    ("There are no less than 3 birds", "3"),
    ("It cannot be less than 3", "3"),
    ("I can't count exactly – 3", "3"),
    ("No doubt there are 3", "3"),
    ("3.5-4.5", None),
    ("3.5–4.5 birds", None),
    ("1,000-2,000", None),
    ("5-10-15", None),
    ("1-800-555", None),
    ("5 - 10 birds", None),
    ("5 - 10", None),
    ("5 - 3", "2"),
    ("The answer is 5 - 3.", "2"),
    ("5−3", "2"),
    ("$5-3$", "2"),
    ("\\(5-3\\)", "2"),
    ("The answer is $5-3$.", "2"),
    ("It's not 3-5, it's 6", "6"),
    ("|2-5|", "3"),
    ("The digits, one at a time, are 7-4-1-3.", None),
    ("El número no es otro que 3.", "3"),
    ("Not all of the pages say 3, but most do.", "3"),
    ("I'm not sure but I count 3 birds.", "3"),
    ("هناك ٣ طيور", "3"),
    ("٧", "7"),
    ('{"left": 2, "right": 2, "total": 4}', "4"),
    ("100% sure: 4", "4"),
    ("I am 90% certain: 7", "7"),
    ("1 234 567", "1234567"),
    ("There are 10 000 birds.", "10000"),
    ("1\u202f234 oiseaux", "1234"),
    ("3 x 10^4", "30000"),
    ("3x10^4", "30000"),
    *((text, None) for text in ("2 3", "1.234.567", "1'234.50 CHF", "12:30", "12/05/2020", "A5", "图中有5只鸟和2只猫")),
    *((f"{bound} 5", None) for bound in ("More than", "There are over", "No more than", "It is greater than")),
    *((f"There are {bound} 5 birds.", None) for bound in ("up to", "less than", "fewer than")),
    ("At least 3", "3"),
    *(
        (f"{text}鸟", None)
        for text in ("超过5只", "10多只", "少于5只", "第5排有", "3.5万只", "3万5千只", "1点3分有4只")
    ),
    *((text, None) for text in ("5羽未満", "5番目", "3:45pm", "Ａ5", "1250\n15", "The demand is 36.1 billion dollars")),
    *((f"{text} up to 16.", "16") for text in ("They add", "That adds", "It comes", "It rises", "The bar reaches")),
    *((text, "5") for text in ("答案是5。", "图中有5只鸟", "前排2只，后排3只，共有5只", "The car drives over 5")),
    *((f"There are {text} birds.", "1250") for text in ("1’250", "1'250")),
    *((f"{time} 24 birds sat there.", "24") for time in ("At 10:30", "In 2020")),
    ("鳥は5羽ではありません。", None),
    *((f"The temperature {is_} -5 degrees.", "-5") for is_ in ("is", "reads", "was about")),
    *((text, "-5") for text in ("The value is −5", "5 degrees below zero", "profit was -5 (a loss)")),
    *((text, "24") for text in ("2 dozen birds", "Two dozen.", "There are two dozen birds in the image")),
    *(
        (text, "6")
        for text in ("Half a dozen", "a half dozen", "I count half a dozen of them", "6 of 9", "It is 6 because 4+2=6.")
    ),
    *((text, "1") for text in ("There is one bird and 2 cats.", "2 cats and one bird", "One small bird, 2 cats")),
    *((text, "0") for text in ("There aren't any.", "I don't see any birds.", "There are not any birds here")),
    *((text, "2/3") for text in ("Two thirds of them", "two-thirds", "About two thirds of the surface")),
    *((text, "7.3") for text in ("≈7.3cm", "The ruler shows 7.3cm", "= 7.3", "It is 7.3 (rounded to one decimal).")),
    *(
        (text, None)
        for text in ("2 hours 30 minutes", "5 ft 3 in", "There is only one hen, with 2 cats", "3 March 1998")
    ),
    *((text, None) for text in ("1. A (60)\n2. B (70)", "- A: 60\n- B: 70", "7.3D", "twenty-fifth of May")),
    *((text, None) for text in ("There is no information.", "There isn't any way to tell.", "No image is given")),
    *((text, None) for text in ("$45-$50", "45%-50%", "45% - 50%", "$45 - $50", "<5", "It is > 5.")),
    *((text, "5") for text in ("Count: five (5).", "1. I see 5 of them", "-> 5", "$10 - $5")),
    *((text, "5") for text in ("5. There are 2 cats.", "5\n\n2 are red and 3 are blue.", "2. 5")),
    *((text, "3") for text in ("9. Oh wait, that's upside down. It's 3.", "8\n\nCorrection: 3", "7. No, it's 3.")),
    *((text, "4") for text in ("The chart shows the sales of four quarters.", "four quarters of the year")),
    *((text, "9627") for text in ("There's only one number it can be: 9627", "It has one value: 9627")),
    ("£3bn", "3000000000"),
    ("4.333... ≈ 4.33", "4.33"),
    ("- A: 60\n- B: 10\n- Sum: 60+10=70", "70"),
    *(
        (text, "3")
        for text in ("Total = 1 + 2 = 3", "3 (1 + 2)", "Total: $3 (plus 1 for tax)", "- **Birds:** 3\n- **Cats:** 2")
    ),
    *((text, "-7") for text in ("It was minus 7.", "The lowest one is negative seven")),
    ("one half", "1/2"),
    *((text, "8.5") for text in ("eight and a half hours", "8,5 %", "Il coûte 8,5 €.")),
    ("Das sind 1 482,50 € insgesamt.", "1482.50"),
    ("€ 1.482,50", "1482.50"),
    *((f"I see 4 birds. Actually, {look}, there are 3.", "3") for look in ("looking closer", "on closer inspection")),
    ("At first glance there are 4, but a closer look shows 3.", "3"),
    *((f"{bound} 40", None) for bound in ("slightly above", "just under", "It is below")),
    *((text, None) for text in ("5 or more", "2015: 42", "two cats and one dog", "4 birds per tree, 3 trees")),
    *((text, "0") for text in ("There isn't anybody in the picture.", "The picture does not show any birds.")),
    ("5. Not counting the toy.", "5"),
    ("There are 3 birds, so it could be 4.", "3"),
]
RESTATED = [
    ("What was the value in 2015?", "In 2015, the value was 45.", "45"),
    ("What was the value in 2015?", "It was in 2015", "2015"),
    ("What was the value in 2015?", "In 2014, the value was 45.", None),
    ("How many bars are above 50?", "In all of those above 50, the bars are 3", "3"),
    ("How many more birds than cats are there?", "There are 3 more birds (7) than cats (4).", "3"),
    ("How many more birds than cats are there?", "There are 7 birds and 4 cats, so 3 more birds.", "3"),
    ("How many more birds than cats are there?", "There are 7 birds and 4 cats.", None),
    ("How many quarters had growth?", "Three quarters.", "3"),
    *(
        ("How many people are wearing hats?", reply, "3")
        for reply in (
            *("Out of 5 people, 3 are wearing hats.", "3 of the 5 people are wearing hats.", "3 out of 5 people"),
            *("There are 5 people and 3 of them wear hats.", "5 people, of whom 3 wear hats"),
        )
    ),
    ("How many birds are there?", "3 of the 5 birds are white.", "5"),
    ("How long is the fish?", "It starts at 2 cm and ends at 9.5 cm, so it is 7.5 cm long.", "7.5"),
    ("How long is the fish?", "It is 2 cm here and 9 cm there, so it is longer than 7 cm.", None),
    ("How many birds are there?", "There are 5 birds, 3 of them white.", "5"),
    *(
        ("How many of the cups are blue?", f"None of {them} are blue.", "0")
        for them in ("the 5 cups", "them", "these cups")
    ),
    ("How many of the cups are blue?", "2 out of the 5 cups are blue.", "2"),
    ("How many of the cups are blue?", "All 5 cups are blue.", "5"),
    ("How many students passed in 2020?", "In 2019, 40 students passed; in 2020, 45 did.", "45"),
    ("How many students passed in 2020?", "40 passed in 2019. 45 students passed in 2020.", "45"),
    *(
        ("How many people are wearing hats?", reply, answer)
        for reply, answer in (
            *(("There are 5 people; 3 wear hats and 2 do not.", "3"), ("None of the 5 workers is wearing a hat.", "0")),
            *(("There are 5 people but no one is wearing a hat.", "0"), ("5 people, but only one wears a hat", "1")),
            ("A boy and two girls are wearing hats.", None),
        )
    ),
    ("How many birds are there?", "In the image above 3 birds are flying.", "3"),
    ("How many animals have horns?", "3 animals have 6 horns.", "3"),
    ("How many people have no hat?", "2 people have no hat and 3 have a hat.", "2"),
    ("How many birds are on the wires?", "There are 7 birds on 3 wires.", "7"),
    ("How many candles are on the cake?", "One cake with 5 candles", "5"),
    ("How many goals did Brazil score in the matches?", "Brazil scored 3 goals in 2 matches.", "3"),
    ("How many wheels does the truck have?", "6 wheels: 2 in front of the truck and 4 behind", "6"),
    ("What is the value for Japan?", "The chart does not show any values for Japan.", None),
    ("How many people are there?", "The image does not show any people clearly.", "0"),
    ("How many apples were there initially?", "Initially, there were 5 apples. Now there are 3.", "5"),
    ("How many candles are on the cake?", 'The number "30" is on the cake, and there are 4 candles.', "4"),
    ("How many balls are on the table?", "There are no balls on the table, only 3 cups.", "0"),
    ("What is the age gap of these two people?", "The age gap of these two people is 7 years.", "7"),
    ("What is the difference?", "The difference between the first bar (78) and the last bar (23) is 55.", "55"),
    ("What was the value?", "The 95% interval was (3.5~22.5) in all.", None),
    ("How many objects are left?", "Initially there are 8 objects.\nRed: 3\nRemaining: 8 - 3 = 5", "5"),
    ("How many objects are there?", "3 trees and 1 house, so 4 objects", "4"),
    ("In how many quarters was it so?", "Three quarters of them.", "3"),
    ("What share of the year was it so?", "Three quarters of it", "3/4"),
    ("How many dozen eggs are there?", "There are two dozen eggs.", "2"),
]


@pytest.mark.parametrize(("reply", "answer"), COUNTS)
def test_a_clear_number_is_read(reply: str, answer: str | None) -> None:
    found = number(stopped(reply), BIRDS) if reply else None
    assert (found.text if found else None) == answer


@pytest.mark.parametrize(("asked", "reply", "answer"), RESTATED)
def test_a_number_of_the_question_is_not_the_answer(asked: str, reply: str, answer: str | None) -> None:
    assert number(stopped(reply), Question(id="1", text=asked, references=("3",))).text == answer


def test_a_number_that_is_only_denied_is_not_a_rival() -> None:
    for text, status, rivals in (
        ("There aren't 3", "unparsed", ()),
        ("There aren't 3, there are 4", "ambiguous", ("3", "4")),
    ):
        answer = number(stopped(text), BIRDS)
        assert (answer.status, answer.rivals) == (status, rivals)


NUMBER_RULES = {
    "whole_reply": "3",
    "declaration": "There are 2 cats. The answer is 3.",
    "bold": "I see **3** of them and 2 cats.",
    "conclusion": "I count 2 red and 1 blue. So there are 3.",
    "total": "2 here and 1 there, 3 in total.",
    "none": "Beside 2 cats sit 4 dogs and no birds.",
    "asked for": "Beside 2 cats sit 3 birds.",
    "only number": "I see 3.",
    "first sentence": "3. I count them at 2 and 1.",
    "last sentence": "A cat is 7 and a dog 5. It must be 3.",
}


@pytest.mark.parametrize(("rule", "reply"), NUMBER_RULES.items())
def test_each_rule_that_reads_a_number_has_its_name(rule: str, reply: str) -> None:
    answer = number(stopped(reply), BIRDS)
    assert (answer.text, answer.rule) == ("0" if rule == "none" else "3", rule)


def test_a_cut_reply_gives_only_what_it_declared() -> None:
    for text, answer in (("There are 3", None), ("The answer is 3. To see why, consider", "3")):
        assert number(reply_from(Completion(text=text, finish_reason="length")), BIRDS).text == answer
