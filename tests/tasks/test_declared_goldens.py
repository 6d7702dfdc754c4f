"""ChartQA and POPE against the scores of their published scripts, to the last digit."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.tasks.declared import benchmark_of, compute, golden, needs_goldens, scored, task_of
from vqa_client.aggregates import MEAN, Scored
from vqa_client.runner import judge
from vqa_client.scoring.numbers import formula, number
from vqa_client.scoring.readings import Parse, short_answer, whole_reply
from vqa_client.scoring.reply import reply_from
from vqa_client.scoring.short_answers import relaxed, relaxed_published
from vqa_client.types import Answer, Completion, Question


@needs_goldens
def test_chartqas_published_rule() -> None:
    cases = golden("chartqa")
    assert len(cases) == 127
    for case in cases:
        given = case["prediction"], case["reference"]
        assert relaxed_published(*given) == case["expected"], given
        assert relaxed_published(given[0].strip(), given[1]) == case["vlmevalkit"], given


@needs_goldens
def test_chartqas_published_metric_takes_the_reply_as_it_came() -> None:
    task = task_of("chartqa")
    for case in golden("chartqa"):
        question = Question(id="1", text="?", references=(case["reference"],))
        completion = Completion(text=case["prediction"], finish_reason="stop")
        if not case["prediction"].strip():
            continue  # an empty reply has no answer, which is a status of its own
        assert judge(completion, question, task)[1].parts["published"] == case["expected"], case


@pytest.mark.parametrize(
    ("answer", "reference", "score"),
    [
        ("$1,234.00", "1234", 1),
        ("1234", "1,234", 1),
        ("62", "62%", 1),
        ("0.62", "62%", 1),
        ("62%", "0.62", 1),
        ("0.65", "0.62", 1),
        ("0.66", "0.62", 0),
        ("66", "62%", 0),
        ("−3.2", "-3.2", 1),
        ("about 1,234", "1234", 1),
        ("~23.5", "23.5", 1),
        ("Approximately 45 percent", "45%", 1),
        ("USD 1,234.50", "1234.5", 1),
        ("Rs. 450", "450", 1),
        ("₹450", "450 rupees", 1),
        ("$1.2 million", "1,200,000", 1),
        ("12k", "12 thousand", 1),
        ("12 000", "12,000", 1),
        ("Three", "3", 1),
        ("12 thousand", "12", 0),
        ("23.5 million", "23.5", 0),
        ("12 0000", "120000", 0),
        ("one of them", "1", 0),
        ("3.2", "-3.2", 0),
        ("0.0", "0", 1),
        ("0.01", "0", 0),
        ("1e3", "1000", 1),
        ("Blue.", "blue", 1),
        ("  The  red   bar", "the red bar", 1),
        ("blue bar", "blue", 0),
        ("nan", "nan", 1),
        ("", "0", 0),
        (".", "0", 0),
        ("14 bars", "14", 0),
        *(("0.6509", "62%", 1), ("0.652", "62%", 0), ("65.1%", "0.62", 1), ("65.2%", "0.62", 0)),
    ],
)
def test_relaxed_reads_numbers_as_people_write_them(answer: str, reference: str, score: float) -> None:
    assert relaxed(answer, reference) == score


FORMS = (
    "\\text{@}|\\operatorname{@}|\\mbox{@}|\\textbf{@}|```\n@\n```|~~~\n@\n~~~|```text\n@```|`@`|**@**.|***@***|<b>@</b>"
    '|<mark>@</mark>|<p>@</p>|$@$|$$@$$|“@”|"@".|# @|> @|- *@*|• @|$\\text{@}$|**Answer:** @|Antwort: @|Réponse: @'
    "|答案是@|정답은 @입니다|答え: @です|La respuesta es @|Final answer\n@|Sure! The answer is @|A: @|Ответ: @|回答：@"
    "|Based on the picture, the answer is @|1) Answer: @|The correct answer would be: @|Die Antwort ist @"
    "|The answer to this question is @"
)
"""Around an answer, "@"."""


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("14", "14"),
        *((text, "14") for text in ("The answer is 14.", "I think the answer is 14.", "I believe the answer is 14")),
        ("There are 3 bars. So the final answer is: 14", "14"),
        ("<think>13?</think>\\boxed{14}", "14"),
        ("Answer: Blue", "Blue"),
        ("14\n\n**Explanation:** 6 bars and 8 bars.", "14"),
        ("Answer: 13\nNo, wait.\nAnswer: 14", "14"),
        ("The answer is 13. Actually, the answer is 14.", "14"),
        ("Sorry, the answer is 14.", "14"),
        ("Answer: 14. The answer is derived from the table.", "14"),
        ("14\nThe answer is given in the chart.", "14\nThe answer is given in the chart"),
        ("The answer is B. The answer is B. The answer is", "B"),
        *((text, "Blue") for text in ("- Blue", "正解は Blue です。", "答えはBlueです。理由は色です。")),
        ("- 14", "- 14"),
        ("It shows 14 bars", "It shows 14 bars"),
        ("Blue.", "Blue"),
        ("14.", "14"),
        ("At 4 p.m.", "At 4 p.m."),
        ("The answer is the U.S.", "the U.S."),
        ("See example.org.", "See example.org"),
        ("The total is **42%**.", "42%"),
        ("**Note:** 42", "**Note:** 42"),
        ("It isn't **42**.", "It isn't **42**"),
        ('The sign says "STOP".', "STOP"),
        ('He says "yes" to "no".', 'He says "yes" to "no"'),
        ('The answer is "STOP" because it is red.', "STOP"),
        ("The **answer** is 5", "The **answer** is 5"),
        ("The **total** is 5.", "The **total** is 5"),
        ("Revenue in **2019** was 5 million.", "Revenue in **2019** was 5 million"),
        ("The **capital** of France is Paris.", "The **capital** of France is Paris"),
        ("**Sales** grew by 5% that year.", "**Sales** grew by 5% that year"),
        ("**Total**: 42", "**Total**: 42"),
        ("**42**. It is the sum.", "42"),
        ("5 is the **answer**.", "5 is the **answer**"),
        ("Look at the **chart**. It shows 5.", "Look at the **chart**. It shows 5"),
        ("The value is 5, as shown in the **chart**.", "The value is 5, as shown in the **chart**"),
        ("The line which is **red** reaches 40.", "The line which is **red** reaches 40"),
        ("The title is **Sales** and the total is 5.", "The title is **Sales** and the total is 5"),
        ("It is **5** million.", "It is **5** million"),
        ("It is **not** 5.", "It is **not** 5"),
        ("China - **2019** was 5.", "China - **2019** was 5"),
        ("There are **14** bars in the chart.", "14"),
        ("The largest bar is **China**. It has 40 units.", "China"),
        ("It was **Paris**, as the sign shows.", "Paris"),
        ("The total: **$5**", "$5"),
        ("The largest bar belongs to **China**.", "China"),
        ('The "total" is 12.', 'The "total" is 12'),
        ('The value is 5, labeled "Revenue".', 'The value is 5, labeled "Revenue"'),
        ('The word "red" is written there.', 'The word "red" is written there'),
        ('The brand is "Heinz", as the label shows.', "Heinz"),
        ('The sign says: "STOP".', "STOP"),
        ("答案是12。", "12"),
        ("Réponse : 12", "12"),
        ("14\n\nQuestion: What else?\nAnswer: 13", "14"),
        ("Blue bars\n\nQ: What else?\nA: Red", "Blue bars"),
        ("Here you are:\nQuestion: What?\nAnswer: 13", "13"),
        *((form.replace("@", "Blue"), "Blue") for form in FORMS.split("|")),
    ],
)
def test_a_short_answer_is_what_is_declared_last(reply: str, answer: str) -> None:
    question = Question(id="1", text="?", references=("14",))
    assert judge(Completion(text=reply, finish_reason="stop"), question, task_of("chartqa"))[0].text == answer


@pytest.mark.parametrize(
    ("asked", "reply", "answer"),
    [
        ("What is the value in 2015?", "The value in 2015 is 23.5.", "23.5"),
        ("What is the value in 2015?", "In 2015, the value was 23.5%.", "23.5%"),
        ("What is the value in 2015?", "In 2014, the value was 20.", None),
        ("What is the value in 2015?", "23.5, up from 20 in 2014", "23.5"),
        ("Quelle est la valeur en 2015 ?", "La valeur en 2015 est 23,5.", "23,5"),
        ("Quelle est la valeur en 2015 ?", "La valeur en 2014 est 20.", None),
        ("¿De qué color es la camisa?", "La camisa es de color rojo.", "rojo"),
        ("Welche Farbe hat das Hemd?", "Das Hemd ist rot.", "rot"),
        ("Welche Farbe hat das Hemd?", "Das Hemd ist nicht rot.", None),
        ("Welche Farbe hat das Hemd?", "Das Hemd ist rot oder blau.", None),
        ("How much does the package weigh?", "The package weighs 5 kg.", "5 kg"),
        ("What is the table made of?", "It appears to be made of wood.", "wood"),
        ("What sport are they playing?", "They're playing tennis.", "tennis"),
        ("What is the value in 2015?", "The value in 2015 is 23.5, but in 2016 it is 30.", None),
        ("What is the value of B?", "The value of A is 5 and the value of B is 6.", None),
        ("How many people are there in the image?", "There are three people in the image.", "three"),
        ("How many people are there?", "I can see 3 people: a man, a woman and a child.", "3"),
        ("How many people don't wear hats?", "There are 3 people who wear hats.", None),
        ("What percentage of people agree?", "According to the chart, 45 % of people agree, while 55 % don't.", "45%"),
        ("What percentage of people agree?", "According to the chart, 45 % of people agree.", "45%"),
        ("How much more is A than B?", "B is 5 more than A.", None),
        ("Which country has the highest value?", "France has the highest value.", "France"),
        ("Which year had a higher value, 2015 or 2016?", "2016 had a higher value.", None),
        ("What is the name of the company?", "The name of the company is Acme Company.", "Acme Company"),
        ("What is the name of the company?", "Acme Company Limited", "Acme Company Limited"),
        ("What is the title of the chart?", "The title of the chart is The Chart of Values.", "The Chart of Values"),
        ("What is the title of the chart?", "The title of the chart is not given.", None),
        ("Who is the letter addressed to?", "The letter is addressed to Mr. Smith.", "Mr. Smith"),
        ("When was the company founded?", "The company was founded in 1998.", "1998"),
        ("What is the date of the letter?", "The letter is dated March 3, 1998.", "March 3, 1998"),
        ("What is the total amount?", "**Total amount:** $450", "$450"),
        ("What is the total?", "- Total: 450\n- Tax: 50", "450"),
        ("What is the total?", "The total is 450. It is the sum of 200 and 250.", "450"),
        ("What is the tax?", "The total is 450. The total of the tax is 50.", "50"),
        ("What is the tax?", "Total: 450", None),
        *(("What color is the bus?", f"The bus is red{end}.", "red") for end in ("", ", I think", ", I believe")),
        ("What color is the bus?", "The color is red. It is actually blue.", None),
        ("What color is the bus?", "The bus may be red.", None),
        ("What color is the bus?", "The bus is red or blue.", None),
        ("What is the man holding?", "The man is holding nothing.", None),
        ("What color jacket is the man wearing?", "The man is wearing a blue jacket.", "blue"),
        ("What color is the man's shirt?", "The man is wearing a blue shirt.", "blue"),
        ("What color is the man's shirt?", "The man is wearing black pants and a blue shirt.", "blue"),
        ("What color is the man's shirt?", "The man's shirt is not blue; it is red.", "red"),
        ("What color is the man's shirt?", "The man's shirt isn't blue; it's red.", "red"),
        ("What is the name of the company?", 'The name is "Acme", located in Rome.', "Acme"),
        ("What color is the seahorse?", "The seahorse is yellow and orange.", "yellow and orange"),
        ("What is the dog's hat for?", "The dog's hat is for Christmas.", "Christmas"),
        ("Who signed the letter?", "R. J. Reynolds signed the letter.", "R. J. Reynolds"),
        ("Who is the author?", "The author is J. K. Rowling, who also wrote plays.", "J. K. Rowling"),
        ("Which country has the lowest rate?", "Japan has the lowest rate at 2.4%.", "Japan"),
        ("Which country has the lowest rate?", "The country with the lowest rate is Japan, with 2.4%.", "Japan"),
        ("Which tournament was held in Paris?", "Open Championship in Paris", None),
        ("What is the title of the annual report?", "ACME annual report", None),
        ("What is the title of the chart?", "Number of people in the chart", None),
        ("What is the difference between 2018 and 2019?", "45 - 33 = 12", "12"),
        ("What is the sum?", "The sum is 20 + 30 = 50.", "50"),
        ("What changed?", "In 2018 it is 45. In 2019 it is 33. So the change is 12.", "12"),
        ("What is the biggest zero?", "The zeros are 2 and 1.\n\nTherefore, the biggest zero is **2**.", "2"),
        ("She ran 7 miles a day. What is the range?", "Therefore, the range of all days is 7 miles.", None),
        ("What is written on the shirt?", 'The word "NASA" is written on the shirt.', "NASA"),
        ("How many people like the ball?", "The ball is what most people like.", None),
        ("Is there another bus behind this one?", "Yes, there is another bus behind this one.", None),
        ("Write out the formula in the image.", "3 + 5 = 8", None),
        ("Welche Stadt?", "Die Antwort ist Berlin.", "Berlin"),
        ("Quelle ville ?", "La réponse est Paris.", "Paris"),
        ("都市はどこですか？", "答えは東京です。", "東京"),
        ("도시는 어디입니까?", "정답은 서울입니다.", "서울"),
    ],
)
def test_a_short_answer_is_what_a_sentence_adds_to_its_question(asked: str, reply: str, answer: str | None) -> None:
    """None: the whole reply, without its full stop."""
    question = Question(id="1", text=asked, references=("14",))
    said = judge(Completion(text=reply, finish_reason="stop"), question, task_of("chartqa"))[0].text
    assert said == (reply.removesuffix(".") if answer is None else answer)


@pytest.mark.parametrize("reading", [number, short_answer])
def test_a_ratio_is_read_where_every_reference_is_one(reading: Parse) -> None:
    for reply, answer in (
        ("16:9", "16:9"),
        ("The screen has 16 : 9.", "16:9"),
        ("The answer is 16:9.", "16:9"),
        ("It has 16:9, not 4:3.", "16:9"),
        *(
            (reply, "16:9")
            for reply in ("16 to 9", "The ratio is sixteen to nine.", "A 16-to-9 screen", "The answer is 16 to 9")
        ),
        *((reply, None) for reply in ("from 16 to 9", "between 16 to 9 and 4 to 3")),
    ):
        question = Question(id="1", text="What is the ratio?", references=("16:9",))
        text = reading(reply_from(Completion(text=reply, finish_reason="stop")), question).text
        assert text == answer if answer else text in (None, reply)
    either = Question(id="1", text="When is it?", references=("12:00", "noon"))
    assert short_answer(reply_from(Completion(text="noon, 12:00", finish_reason="stop")), either).text == "noon, 12:00"


@pytest.mark.parametrize("reading", [short_answer, whole_reply, formula])
@pytest.mark.parametrize("reply", ['{"thought": "It is a pine", "answer": "', '{"answer": ""}'])
def test_an_object_without_its_answer_is_not_an_answer(reading: Parse, reply: str) -> None:
    question = Question(id="1", text="What is it?", references=("pine",))
    answer = reading(reply_from(Completion(text=reply, finish_reason="stop")), question)
    assert (answer.text, answer.status) == (None, "empty")


def test_a_sentence_stays_whole_where_a_reference_is_one() -> None:
    reply = "There are 3 dogs."
    question = Question(id="1", text="How many dogs are there?", references=("3 dogs", reply))
    assert judge(Completion(text=reply, finish_reason="stop"), question, task_of("okvqa"))[0].text == "There are 3 dogs"


@pytest.mark.parametrize(
    ("reply", "finish_reason", "status"),
    [
        ("The bars show that", "length", "truncated"),
        ("<think>The bars", "stop", "truncated"),
        ("", "stop", "empty"),
        ("I'm sorry, I can't assist with that request.", "stop", "refused"),
        ("14", "content_filter", "refused"),
    ],
)
def test_a_reply_without_an_answer_has_a_status(reply: str, finish_reason: str, status: str) -> None:
    question = Question(id="1", text="?", references=("14",))
    answer, score = judge(Completion(text=reply, finish_reason=finish_reason), question, task_of("chartqa"))
    assert (answer.status, score.value) == (status, 0)


def scored_rows(case: dict[str, Any], metric: str, kind: str = "") -> Iterator[Scored]:
    """The questions scored by a metric, in the files of their categories, or in one file."""
    benchmark = benchmark_of("pope")
    of = next(each for each in benchmark.metrics if each.name == metric)
    rows = zip(case["labels"], case["predictions"], case["categories"], strict=True)
    for place, (label, prediction, categories) in enumerate(rows):
        kinds = tuple(categories.split(","))
        if kind in ("", *kinds):
            groups = {"kind": kind or kinds}
            question = Question(id=str(place), text="?", references=(label,), groups=groups)
            answer = _read(benchmark, of, Completion(text=prediction, finish_reason="stop"), question).text
            score = of.score(answer, question)
            assert score is not None
            yield scored(question, score, answer)


def _read(benchmark: Any, metric: Any, completion: Completion, question: Question) -> Answer:
    found: Answer = benchmark.answer(metric, reply_from(completion), question)
    return found


def figures(questions: Iterable[Scored], **names: str) -> dict[str, float]:
    """Totals by other names; a share of nothing is 0."""
    asked = list(questions)
    totals = {total.name: compute(total.value, asked).value for total in benchmark_of("pope").totals}
    totals["accuracy"] = compute(MEAN, asked).value
    return {name: totals[of] or 0 for name, of in names.items()}


@needs_goldens
def test_popes_readers_are_the_published_ones() -> None:
    benchmark = benchmark_of("pope")
    readers = {metric.name: metric for metric in benchmark.metrics}
    question = Question(id="1", text="?", references=("yes",))
    for case in golden("pope", "reply"):
        completion = Completion(text=case["prediction"], finish_reason="stop")
        published, vlmevalkit, lmms_eval = (
            _read(benchmark, readers[name], completion, question).text
            for name in ("published", "vlmevalkit", "lmms_eval")
        )
        assert published == case["expected"], case
        assert (vlmevalkit or "unknown") == case["vlmevalkit"].lower(), case
        assert lmms_eval == (case["lmms_eval"] if case["lmms_eval"] in ("yes", "no") else None), case


@needs_goldens
def test_popes_totals_are_the_published_ones() -> None:
    cases = golden("pope", "aggregate")
    assert len(cases) == 9
    rates = {"precision": "precision", "recall": "recall"}
    for case in cases:
        if case["error"] is not None:
            continue
        alone = {**case, "categories": ["random"] * len(case["labels"])}
        found = figures(scored_rows(alone, "published"), acc="accuracy", f1="f1", yes_ratio="yes_share", **rates)
        assert found == {name: case["expected"][name] for name in found}
        lmms = figures(
            scored_rows(alone, "lmms_eval"),
            accuracy="accuracy",
            precision="precision",
            recall="recall_lmms",
            f1="f1_lmms",
        )
        assert lmms == pytest.approx({name: case["lmms_eval"][name] for name in lmms}, abs=1e-13)
        in_files = list(scored_rows(case, "vlmevalkit"))
        for kind, wanted in case["vlmevalkit"].items():
            of_kind = in_files if kind == "Overall" else scored_rows(case, "vlmevalkit", kind)
            kit = figures(of_kind, Overall="f1", **rates)
            assert {name: 100 * value for name, value in kit.items()} == pytest.approx(
                {name: wanted[name] for name in kit}, abs=1e-11
            )
            if kind != "Overall":
                assert figures(in_files, f1=f"f1_{kind}")["f1"] == kit["Overall"]
        of_kinds = [wanted["Overall"] for kind, wanted in case["vlmevalkit"].items() if kind != "Overall"]
        assert 100 * figures(in_files, mean="f1_by_kind")["mean"] == pytest.approx(sum(of_kinds) / len(of_kinds))
