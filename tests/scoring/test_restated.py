"""Sentences that restate the question: which words are the answer, and when there is none."""

import pytest

from vqa_client.scoring.restated import affirms, answer_in

VALUE = "What was the value in 2015?"
ANSWERED = [
    (VALUE, "The value in 2015 was 23.5.", "23.5."),
    (VALUE, "In 2015 the value was 23.5, which is the highest.", "23.5"),
    (VALUE, "In 2015, 23.5 was the value.", "23.5"),
    (VALUE, "Value in 2015: 23.5", "23.5"),
    ("Who is the man in the photo?", "In the photo, Tom", "Tom"),
    (VALUE, "The value in 2015 was 23.5 because of the crisis.", "23.5"),
    (VALUE, "The value in 2015 was 23.5. The value in 2016 was 24.", "23.5."),
    (VALUE, "The value in 2015 was 23.5. It was higher than before.", "23.5."),
    (VALUE, "20 was the value in 2014. So the value in 2015 was 23.5.", "23.5."),
    (VALUE, "The value in 2015 may be 23.5.", ""),
    (VALUE, "The value in 2015 was not 23.5.", ""),
    (VALUE, "The value in 2015 was 23 %.", "23%."),
    (VALUE, "The value in 2015 was **23.5**.", "23.5."),
    (VALUE, "The value in 2015 was 20 + 3.5 = 23.5.", "23.5"),
    ("Which brand leads the market?", "Samsung leads the market with 32%.", "Samsung"),
    ("Which country has the largest value?", "Norway has the largest value with 45 votes.", "Norway"),
    ("How many people are there?", "There are 3 people: a man, a woman and a child.", "3"),
    ("How many people are there?", "There are several people.", ""),
    ("How many people are there?", "I can see 5 dogs and 3 people.", ""),
    ("How many people are there?", "There are three people in the image.", "three"),
    ("How many people are there?", "3 people are there.", "3"),
    ("How many cars are in the picture?", "1. There are 4 cars in the picture.\n2. Done.", ""),
    ("What color is the jacket?", "The man is wearing a blue jacket.", ""),
    ("What colour is the car?", "The car is a dark red.", "dark red."),
    ("What is the name of the shop?", 'The name of the shop is "Bonnie\'s Books".', "Bonnie's Books"),
    ("What does the sign say?", "The sign says STOP.", "STOP."),
    ("Who won the cup in 2002?", "Brazil won the cup in 2002.", "Brazil"),
    ("Who won the cup in 2002?", "The cup in 2002 was won by Brazil.", "Brazil."),
    ("Where was the photo taken?", "The photo was taken in Paris.", "Paris."),
    ("When was the letter dated?", "The letter is dated January 5, 1995.", "January 5, 1995."),
    ("What is the sum of 2 and 3?", "2 + 3 = 5", "5"),
    ("What is the total?", "The total appears to be 40.", "40."),
    ("What is the animal?", "The animal is not a dog, but a cat.", "a cat."),
    ("What is the animal?", "The animal isn't a dog; it's a cat.", "a cat."),
    ("Quelle est la valeur en 2015 ?", "La valeur en 2015 est 23,5.", "23,5."),
    ("¿Cuál es el valor en 2015?", "El valor en 2015 es 23,5.", "23,5."),
    ("Is the car red?", "The car is red.", ""),
    ("Is Norway larger than what?", "Norway is larger than Spain.", ""),
    ("Which is larger than Spain?", "Norway is larger than Spain.", ""),
    ("What is the date? Answer with a word.", "The date is Monday.", "Monday."),
    ("Look at the chart. What is the title?", "The title is Sales of Cars.", "Sales of Cars."),
    ("What is the title?", "It is Sales.", "Sales."),
    ("What is the title?", "Sales", ""),
    ("What is the title?", "The title is none.", ""),
    ("What percentage is shown?", "The percentage shown is 45 %, I think.", "45%"),
    ("What is he holding?", "He's holding a frisbee.", "a frisbee."),
    ("What is the man doing?", "The man is riding a horse, followed by a dog.", "riding a horse"),
    ("What is the price?", "The price is $5 at 20 % off.", "$5 at 20% off."),
    ("What is the page number?", "Page: 12", "12"),
    ("What is the name of the firm?", "According to the letter, the name of the firm is Acme.", "Acme."),
    ("What is the name of the firm?", "I think it's Acme.", "Acme."),
    ("What is the name of the firm?", "The firm is called Acme.", "Acme."),
    (VALUE, "In 2014, the value was 20.", ""),
    (VALUE, "The chart shows that the value in 2015 was 23.5.", "23.5."),
    (VALUE, "2015 has a value of 23.5.", "23.5."),
    (VALUE, "The value in 2014 was 20. 20 + 3.5 = 23.5.", "23.5"),
    (VALUE, "In 2014 it was 20 and 3.5 more in 2015, so the value is 23.5.", "23.5."),
    (VALUE, "The value was formerly 20, and is now 23.5.", ""),
    ("What does the sign say?", 'The sign has the words "Keep out" written on it.', "Keep out"),
    ("What does the blue line represent?", "The blue line represents exports.", "exports."),
    ("What day is the event?", "The event takes place on Saturday.", "Saturday."),
    ("What is the price of tea?", "The tea costs $5.", "$5."),
    ("What is the date?", "May 5, 1995, as stated at the top.", "May 5, 1995"),
    ("In which month were sales lowest?", "In May, sales were lowest.", "May"),
    ("Which product has the lowest price?", "The pen has the lowest price ($2).", "The pen"),
    ("What is the highest bar?", "The highest bar is Norway at 45.2 points.", "Norway at 45.2 points."),
]
AFFIRMED = [
    ("Is there a dog?", "There is a dog.", True),
    ("Is there a dog?", "There is a cat.", False),
    ("Is there a dog in the image?", "I can see a dog.", True),
    ("Is there a dog in the image?", "We see there is a dog.", True),
    ("Is there a dog in the image?", "There is a dog on the left.", True),
    ("Is there a dog?", "There is a dog house.", False),
    ("Is there a dog or a cat?", "There is a dog or a cat.", False),
    ("Is there a dog or a cat?", "There is a dog OR a cat.", False),
    ("Is there a dog?", "There isn't a dog.", False),
    ("Is there a dog?", "There may be a dog.", False),
    ("Is the man tall?", "The man is tall.", True),
    ("Is the man tall?", "The man (on the left) is tall, thin", True),
    ("What is it?", "It is a dog.", False),
    ("Is the man tall?", "The man is taller.", False),
    ("Is the man tall?", "The man is tall", True),
]


@pytest.mark.parametrize(("question", "reply", "answer"), ANSWERED)
def test_the_words_that_do_not_restate_the_question_are_the_answer(question: str, reply: str, answer: str) -> None:
    assert answer_in(reply, question) == answer


@pytest.mark.parametrize(("question", "reply", "is_said"), AFFIRMED)
def test_a_reply_affirms_a_question_by_stating_it(question: str, reply: str, is_said: bool) -> None:
    assert affirms(reply, question) == is_said
