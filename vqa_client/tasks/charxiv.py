"""CharXiv: charts of scientific papers, with four descriptive questions and one of reasoning for each.

Data: descriptive_val.json, reasoning_val.json and image_metadata_val.json beside images/, or the hub's val.parquet
(code Apache-2.0, questions CC BY-SA 4.0, the charts are their authors'). Rows:

    "0": {"figure_id": 0, "num_subplots": 2, "subplot_loc": [1, 2], "qids": [7, 13, 11, 15], "answers": ["60", ...]}
    "0": {"figure_id": 0, "query": "Which curve is higher?", "answer": "a", "inst_category": 1, "qa_source": 1}

Published: the share of answers that GPT-4o finds right (Wang et al., NeurIPS 2024). Here a stricter rule decides: the
same words, or the same number. The authors number their descriptive questions; we word them ourselves.

Source of the names of its kinds: src/constants.py; of the criteria: the paper's appendix.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from vqa_client.reports.names import count
from vqa_client.benchmark import Benchmark, Beside, ColumnNames, Columns, Form, Home, Join, Judge, Metric, Picture
from vqa_client.benchmark import Place, Question, Total, best_of, only_in, short_answer, tables
from vqa_client.scoring.published.anls import plain
from vqa_client.types import Group

HOME = Home("https://github.com/princeton-nlp/CharXiv", "CC BY-SA 4.0", megabytes=300)
HUB = Home("hf://princeton-nlp/CharXiv", "CC BY-SA 4.0", megabytes=300)
COLUMNS: ColumnNames = {
    "figure": "figure_id",
    "image": Beside("images/{figure_id}.jpg"),
    "answer_type": "inst_category",
}
HUB_COLUMNS: ColumnNames = {
    "figure": "figure_path",
    "qids": Columns("descriptive_q1", "descriptive_q2", "descriptive_q3", "descriptive_q4"),
    "answers": Columns("descriptive_a1", "descriptive_a2", "descriptive_a3", "descriptive_a4"),
    "query": "reasoning_q",
    "answer": "reasoning_a",
    "answer_type": "reasoning_a_type",
    "qa_source": "reasoning_q_source",
}
METADATA = Join("image_metadata_{split}.json", on="figure_id", key="key")
_NONE: Final = "answer: Not Applicable"
_TICK: Final = "Give the number or word at the tick, without a unit or factor that is written elsewhere."
_BAR: Final = f"Leave out a per cent sign; without such a colour bar {_NONE}"
_LEGEND: Final = "also where the legend is outside of the plot"
DESCRIPTIVE: Final = {
    1: f"what is the title, as it is written? Without one, or with a letter alone, {_NONE}",
    2: f"how is the x-axis labelled, the lower one where there are two? Without a label {_NONE}",
    3: f"how is the y-axis labelled, the left one where there are two? Without a label {_NONE}",
    4: f"which labelled tick of the x-axis, the lower one where there are two, is furthest to the left? {_TICK}",
    5: f"which labelled tick of the x-axis, the lower one where there are two, is furthest to the right? {_TICK}",
    6: f"which labelled tick of the y-axis, the left one where there are two, is the lowest in space? {_TICK}",
    7: f"which labelled tick of the y-axis, the left one where there are two, is the highest in space? {_TICK}",
    8: f"by how much do neighbouring ticks of the x-axis differ? Without numbers, or with steps that vary, {_NONE}",
    9: f"by how much do neighbouring ticks of the y-axis differ? Without numbers, or with steps that vary, {_NONE}",
    10: f"how many lines does it show, without those of grid, ticks and aids? Where it is no line plot {_NONE}",
    11: f"do any of its lines cross, those of the grid apart? Answer Yes or No; where it is no line plot {_NONE}",
    12: f"how many separate labels does the legend have, {_LEGEND}? Without a legend {_NONE}",
    13: f"which labels does the legend have, {_LEGEND}, from top to bottom, then left to right? Put commas between; "
    f"without a legend {_NONE}",
    14: f"by how much do the highest and lowest labelled values of the colour bar differ? {_BAR}",
    15: f"which is the highest labelled value of the colour bar? {_BAR}",
    16: "how do the data go from left to right? Answer in a few words, such as: increases, then stays the same",
    17: "how many ticks have a label, on all axes together, those shared with other plots too?",
    18: "In how many rows and columns are the plots? Answer as in: 2 by 3. A single plot is 1 by 1.",
    19: "How many plots are there? A single plot is 1.",
}
"""The descriptive questions by number; all but the last two are about one plot, whose name comes before them."""
_WHOLE: Final = 18
"""The first question about the whole figure."""
_CATEGORIES: Final = {
    "Information Extraction": range(1, 8),
    "Enumeration": (8, 9, 13, 14, 15),
    "Pattern Recognition": (11, 16, 18),
    "Counting": (10, 12, 19),
    "Compositionality": (17,),
}
_ANSWER_TYPES: Final = {1: "Text-in-Chart", 2: "Text-in-General", 3: "Number-in-Chart", 4: "Number-in-General"}
_SOURCES: Final = {1: "GPT-Sourced", 2: "GPT-Inspired", 3: "Completely Human"}
_SUBJECTS: Final = {
    "cs": "Computer Science",
    "econ": "Economics",
    "eess": "Electrical Engineering and Systems Science",
    "math": "Mathematics",
    "physics": "Physics",
    "q-bio": "Quantitative Biology",
    "q-fin": "Quantitative Finance",
    "stat": "Statistics",
}
_INSTRUCTIONS: Final = {
    1: "Answer with words that are in the chart, full names of plots and labels, with commas between several.",
    2: "Answer with one of the options where there are some, else with a short phrase.",
    3: "Answer with a number that is written in the chart, be it approximate.",
}
_SAME_NUMBER: Final = (
    "The same number or word, however it is written; units and factors that go without saying don't count."
)
_DESCRIPTIVE_CRITERIA: Final = {
    (1, 2, 3): "The same words, whatever their case, line breaks and notation of formulas; none is missing or added.",
    (11,): "The same Yes or No.",
    (13,): "All labels of the reference, in its order, and no other; the notation of symbols doesn't matter.",
    (16,): "The same course from left to right in whatever words; each of its parts is there.",
    (18,): "The same number of rows and the same number of columns.",
}
_REASONING_CRITERIA: Final = {
    "Text-in-Chart": "The same words of the chart, whatever their case and notation; of several, all and no other.",
    "Text-in-General": "The same meaning; a part of it, or something more general, is incorrect.",
    "Number-in-Chart": "The same number as the reference, however it is written.",
    "Number-in-General": "The same number, rounded to the decimals of the reference.",
}


class Row(Struct):
    figure: str
    image: Picture
    category: str = ""
    year: str = ""
    num_subplots: int = 0
    subplot_loc: Any = None
    subplot_row: int = 0
    subplot_col: int = 0
    qids: tuple[int, ...] = ()
    answers: tuple[str, ...] = ()
    query: str = ""
    answer: str = ""
    answer_type: int = 0
    qa_source: int = 0


def question(row: Row, place: Place) -> Iterator[Question]:
    figure = row.figure.rpartition("/")[2].partition(".")[0]
    location = row.subplot_loc or (row.subplot_row, row.subplot_col)
    chart = chart_groups(row.category, row.year, row.num_subplots)

    def make(id: str, text: str, answer: str, kind: dict[str, str]) -> Question:
        groups: dict[str, Group] = {**chart, **kind}
        return Question(id=id, text=text, images=(row.image,), references=(answer,), groups=groups, cluster=figure)

    answers = row.answers or ("",) * len(row.qids)
    if len(answers) != len(row.qids):
        raise ValueError(f"{count(len(answers), 'answer')} to {count(len(row.qids), 'descriptive question')}")
    for at, (number, answer) in enumerate(zip(row.qids, answers, strict=True)):
        yield make(f"{figure}_{at}", descriptive_text(number, location), answer, descriptive_groups(number))
    if row.query:
        text = reasoning_text(row.query, row.answer_type, row.answer)
        yield make(figure, text, row.answer, reasoning_groups(row.answer_type, row.qa_source))


def descriptive_text(number: int, location: str | Sequence[int]) -> str:
    """The text of a descriptive question about a plot: `location` is its row and column, from 1, or words.

    (0, 0) is the only plot of a figure. Raises ValueError for an unknown number.
    """
    if number not in DESCRIPTIVE:
        raise ValueError(f"there is no descriptive question {number}; they are 1 to {len(DESCRIPTIVE)}")
    text = DESCRIPTIVE[number]
    if number >= _WHOLE:
        return text
    if not isinstance(location, str):
        row, column = location
        location = f"the plot in row {row}, column {column}" if row else "the current plot"
    return f"In {location}: {text}"


def reasoning_text(query: str, answer_type: int, answer: str) -> str:
    """A reasoning question with the form of its answer; a computed number has as many decimals as the reference."""
    places = len(answer.partition(".")[2])
    number = f"a number with {places} decimal places" if places else "a whole number"
    return f"{query}\n{_INSTRUCTIONS.get(answer_type, f'Answer with {number}.')}"


def chart_groups(subject: str, year: str, plots: int) -> dict[str, str]:
    """The groups of a chart, by their published names."""
    count = "1 Subplot" if plots == 1 else "2-4 Subplots" if plots < 5 else "5+ Subplots"
    subplots = {"subplots": count} if plots else {}
    return {**subplots, "subject": _SUBJECTS.get(subject, subject), "year": f"20{year}" if len(year) == 2 else year}


def descriptive_groups(number: int) -> dict[str, str]:
    """The groups of a descriptive question."""
    category = next(name for name, numbers in _CATEGORIES.items() if number in numbers)
    return {"half": "descriptive", "question": f"Q{number}", "category": category}


def reasoning_groups(answer_type: int, source: int) -> dict[str, str]:
    """The groups of a reasoning question; raises ValueError for an unknown answer type or source."""
    if answer_type not in _ANSWER_TYPES or source not in _SOURCES:
        raise ValueError(f"the answer type is {answer_type}, the source {source}: they are 1 to 4 and 1 to 3")
    return {"half": "reasoning", "answer_type": _ANSWER_TYPES[answer_type], "source": _SOURCES[source]}


def rubric(groups: Mapping[str, Group]) -> str:
    """The criterion for a judge by the kind of the question: the published criteria in our own words."""
    if groups["half"] == "reasoning":
        return _REASONING_CRITERIA[str(groups["answer_type"])]
    number = int(str(groups["question"])[1:])
    rule = next((words for numbers, words in _DESCRIPTIVE_CRITERIA.items() if number in numbers), _SAME_NUMBER)
    return (
        rule if number >= _WHOLE else f"{rule} That there is none is right where the reference is Not Applicable alone."
    )


def same(answer: str, reference: str) -> float:
    """1 for the same number, or the same text, where case, outer full stops and quotation marks don't count."""
    text, wanted = (plain(side).strip(" .'\"") for side in (answer, reference))
    try:
        return float(text == wanted or float(text.replace(",", "")) == float(wanted.replace(",", "")))
    except ValueError:
        return 0.0


BENCHMARK = Benchmark(
    name="charxiv",
    load=tables(
        Row,
        Form(("descriptive_{split}.json", "reasoning_{split}.json"), columns=COLUMNS, join=METADATA, home=HOME),
        Form("{split}.parquet", columns=HUB_COLUMNS, home=HUB),
        question=question,
        split="val",
    ),
    prompt="{question}",
    parse=short_answer,
    metrics=(Metric("exact", best_of(same), "the same words or number; published scores are of a judge"),),
    totals=tuple(
        Total(half, only_in("half", half), f"of the {half} questions") for half in ("descriptive", "reasoning")
    ),
    judge=Judge("correct", lambda question: rubric(question.groups)),
    breakdowns=("half", "category", "question", "answer_type", "source", "subject", "subplots", "year"),
)
