"""Prompts: images before, after or between the words, marks in every spelling, and prompt forms."""

import ast
import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.tasks.declared import benchmark_of, golden, needs_goldens
from vqa_client import prompt as template
from vqa_client.benchmark import Benchmark, Content, Metric, Place, Prompt, numbered, short_answer
from vqa_client.errors import DataError, UsageError
from vqa_client.scoring.choices.circular import as_shown
from vqa_client.task import visible
from vqa_client.tasks import (
    blink,
    countbench,
    mathverse,
    mathvision,
    mathvista,
    mm_niah,
    mmmu,
    mmmu_pro,
    mmstar,
    realworldqa,
    vstar,
)
from vqa_client.tasks.ask.benchmark import at_places
from vqa_client.tasks.choices import ChoiceRow
from vqa_client.types import Choosing, Question

MARKED = Prompt("{question}\n{choices}", images="marked")
BRACED = st.text(alphabet="{}questionchoices \\", max_size=60)
CHOICES = {"A": "<image 2>", "B": "none", "C": "<image 1>"}


def question(text: str, images: int, choices: dict[str, str] | None = None, variant: str = "") -> Question:
    names = tuple(f"{number}.png" for number in range(1, images + 1))
    return Question(id="q", text=text, images=names, choices=choices or {}, references=("A",), variant=variant)


PUT: list[tuple[Prompt, Question, Content, str]] = [
    (Prompt(), question("What?", 2), (1, 2, "What?"), "What?"),
    (Prompt(), question("See <image 1>?", 1), (1, "See <image 1>?"), "See <image 1>?"),
    (Prompt(images="last"), question("What?", 2), ("What?", 1, 2), "What?"),
    (
        Prompt("{question}{choices}", "({label}) {text}"),
        question("?", 0, {"A": "{label}"}),
        ("?(A) {label}",),
        "?(A) {label}",
    ),
    (MARKED, question("What?", 2), (1, 2, "What?\n"), "What?\n"),
    (MARKED, question("See <image 2> here", 2), (1, "See ", 2, " here\n"), "<image 1>See <image 2> here\n"),
    (MARKED, question("<image 2><image 1>?", 2), (2, 1, "?\n"), "<image 2><image 1>?\n"),
    (MARKED, question("<image 1> = <image 1>", 1), (1, " = ", 1, "\n"), "<image 1> = <image 1>\n"),
    (MARKED, question("?", 2, CHOICES), ("?\nA. ", 2, "\nB. none\nC. ", 1), "?\nA. <image 2>\nB. none\nC. <image 1>"),
    (MARKED, question("See <image 1>", 0), ("See <image 1>\n",), "See <image 1>\n"),
    (Prompt("{question}", images="marked"), question("<image 1>", 1), (1,), "<image 1>"),
    (Prompt("{question}", images="marked"), question("", 0), ("",), ""),
    (Prompt(lambda asked: ("a", 3, "b", 1)), question("?", 3), (2, "a", 3, "b", 1), "<image 2>a<image 3>b<image 1>"),
    (Prompt(lambda asked: ("a", 2)), question("?", 1), (1, "a", "<image 2>"), "<image 1>a<image 2>"),
    (Prompt(lambda asked: ["a", 2]), question("?", 2), (1, "a", 2), "<image 1>a<image 2>"),  # type: ignore[arg-type,return-value]
    (Prompt(lambda asked: asked.text + "!"), question("?", 1), (1, "?!"), "?!"),
]


@pytest.mark.parametrize(("prompt", "asked", "content", "shown"), PUT)
def test_parts_come_in_the_order_that_the_prompt_gives(
    prompt: Prompt, asked: Question, content: Content, shown: str
) -> None:
    assert (prompt.content(asked), visible(prompt.content(asked))) == (content, shown)


def test_marks_move_with_their_choices() -> None:
    turned = as_shown(question("?", 2, CHOICES, variant="rotation/1"))
    assert MARKED.content(turned) == (*("?\nA. none\nB. ", 1, "\nC. ", 2),)
    assert turned.references == ("C",)


@pytest.mark.parametrize(
    ("text", "start", "found"),
    [
        ("<image> and <image>", 1, "<image 1> and <image 2>"),
        ("<image>", 3, "<image 3>"),
        ("<|image_2|> <image1> <image_03>", 1, "<image 2> <image 1> <image 3>"),
        ("<image> <image 1> <|image|>", 1, "<image 2> <image 1> <image 3>"),
        ("<images> [image 1] <image x> <|image>", 1, "<images> [image 1] <image x> <|image>"),
    ],
)
def test_marks_are_numbered_on_loading(text: str, start: int, found: str) -> None:
    assert numbered(text, start) == found


@pytest.mark.parametrize(
    ("written", "columns", "marked"),
    [
        ("{right} or {left}? {image 2}", ("left", "right"), "<image 2> or <image 1>? <image 2>"),
        ("{right} or {left}? {image}", ("left", "right"), "<image 2> or <image 1>? <image 3>"),
        ("{photo}, {image}: {question}", ("photo",), "<image 1>, <image 2>: {question}"),
    ],
)
def test_a_column_of_images_has_its_place_in_a_template(written: str, columns: tuple[str, ...], marked: str) -> None:
    assert at_places(written, columns) == marked


@pytest.mark.parametrize(
    ("prompt", "asked", "told"),
    [
        (MARKED, question("<image 3>", 2), "question 'q' names image 3, and the number of its images is 2"),
        (MARKED, question("<image 0>", 2), "names image 0, and the number of its images is 2"),
        (MARKED, question("?", 1, CHOICES), "names image 2, and the number of its images is 1"),
        (Prompt(lambda asked: (1, "?")), question("?", 0), "names image 1, and the number of its images is 0"),
    ],
)
def test_a_mark_beyond_the_images_is_an_error_with_both_numbers(prompt: Prompt, asked: Question, told: str) -> None:
    with pytest.raises(DataError, match=told) as caught:
        prompt.check(asked)
    assert caught.value.hint == "marks count a question's images from 1: correct the mark, or add the image"


@pytest.mark.parametrize("prompt", [MARKED, Prompt()])
def test_marks_that_fit_or_mean_nothing_are_not_errors(prompt: Prompt) -> None:
    prompt.check(question("<image 1>" if prompt is MARKED else "<image 9>", 1))


def colours(**given: Prompt) -> Benchmark:
    return Benchmark(
        name="colours",
        load=lambda source: [],
        parse=short_answer,
        metrics=(Metric("m", lambda said, asked: 1.0),),
        prompt=Prompt("{question}?", system="Be brief."),
        prompt_forms=given,
    )


def test_a_prompt_form_replaces_the_prompt_and_the_configs_template() -> None:
    benchmark = colours(other=Prompt("Q: {question}", max_tokens=16))
    own, other = benchmark.with_prompt_form("").task(), benchmark.with_prompt_form("other").task()
    assert (own.content(question("Red", 0)), own.system, own.parameters) == (("Red?",), "Be brief.", {})
    assert (other.content(question("Red", 0)), other.system) == (("Q: Red",), "")
    assert other.parameters == {"max_tokens": 16}
    assert benchmark.with_prompt_form("other").template("{question}!") == (
        None,
        "--prompt_form other is used, not the config's prompt_template",
    )
    short = benchmark.with_prompt_form("oth")
    assert (short.form, short.identity) == ("other", {"prompt_form": "other"})
    assert colours(other=Prompt(), other_one=Prompt()).with_prompt_form("other").form == "other"
    assert benchmark.template("{question}!") == ("{question}!", "")
    assert benchmark.task("{question}!", system="").system == ""
    assert benchmark.with_prompt_form("other").template(None) == (None, "")
    for other, lacks in (("{question} {choices}", "it has {choices}"), ("Look.", "it has no {question}")):
        said = f"colours asks with its own template, '{{question}}?', not the config's: {lacks}"
        assert benchmark.template(other)[1] == said
    own_words = replace(benchmark, prompt=lambda asked: asked.text)
    assert own_words.template(None) == (None, "")
    assert own_words.template("{question}!") == (
        None,
        "colours uses its own prompts, not the config's prompt_template",
    )
    lettered = replace(benchmark, choosing=Choosing(mode="logprob", labels=("A", "B")))
    assert lettered.template("{question}!") == (
        "{question}!",
        "--choice_mode logprob: the config's prompt_template is kept; it should ask for the letter alone",
    )


@pytest.mark.parametrize(
    ("forms", "way_out"),
    [
        ({"lmms_eval": Prompt()}, "it has lmms_eval"),
        ({"y1": Prompt(), "y2": Prompt()}, "it has y1, y2"),
        ({}, "it has only one prompt"),
    ],
)
def test_an_unknown_form_is_refused_with_the_known_ones(forms: dict[str, Prompt], way_out: str) -> None:
    with pytest.raises(UsageError, match="colours has no prompt form 'x'") as caught:
        colours(**forms).with_prompt_form("x")
    assert caught.value.hint == way_out


def test_the_beginning_of_several_forms_is_refused_with_their_names() -> None:
    with pytest.raises(UsageError, match=r"^colours: --prompt_form x fits x1 and x2$") as caught:
        colours(x1=Prompt(), x2=Prompt(), y=Prompt()).with_prompt_form("x")
    assert caught.value.hint == "write more of the name"


def test_braces_in_question_and_choices_are_literal() -> None:
    filled = template.fill(
        "{question}\n{choices}", question="What does {x: 1} and {choices} print?", choices=r"A. \frac{a}{b} {question}"
    )
    assert filled == "What does {x: 1} and {choices} print?\nA. \\frac{a}{b} {question}"


@given(question=BRACED, choices=BRACED, before=st.text(alphabet="{} \\a", max_size=9))
def test_texts_are_filled_in_unchanged_and_once(question: str, choices: str, before: str) -> None:
    filled = template.fill(f"{before} {{question}}|{{choices}}", question=question, choices=choices)
    assert filled == f"{before} {question}|{choices}"


@pytest.mark.parametrize(
    "text",
    [
        '{question} {choices} Reply as {"answer": "B"}',
        '{question} {choices} Reply as {"answer": {"letter": "B", "why": []}}',
        r"{question} {choices} Reply as \boxed{B}, or \frac{a}{b}, or \textbf{answer}",
        "{question} {choices} {x: 1} {} {0} { context } {a-b} }{",
    ],
)
def test_json_latex_and_other_braces_are_not_placeholders(text: str) -> None:
    template.check(text)
    rest = text.removeprefix("{question} {choices}")
    assert template.fill(text, question="Q", choices="C") == f"Q C{rest}"


@pytest.mark.parametrize("name", ["context", "answer", "Question", "choice", "x_1"])
def test_an_unknown_placeholder_is_named_with_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        template.check(f"{{question}} {{choices}} {{{name}}}")
    known = "known are {question} and {choices}"
    assert str(caught.value) == f"unknown placeholder {{{name}}} in prompt_template; {known}"
    assert caught.value.hint == f"to send the braces themselves, write them with a space: {{ {name} }}"


def test_a_template_without_the_question_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^prompt_template has no \{question\}: 'Choose: \{choices\}'$") as caught:
        template.check("Choose: {choices}")
    way_out = "write {question} and {choices} where the texts belong; '{question}' is the shortest template"
    assert caught.value.hint == way_out
    with pytest.raises(UsageError, match=rf": '{'w' * 60}'$"):
        template.check("w" * 61)


FORMS = {"lmms-eval": "lmms_eval", "VLMEvalKit": "vlmevalkit", "official": "official"}
LONG = "Think step by step"
"""Long instructions are in our own words, as `step_by_step`."""
HERE = Place("data", 0, "test")


def harness_question(name: str, row: dict[str, Any]) -> Question:
    """The question of a harness's row."""
    text = row.get("question", "")
    match name:
        case "blink" if "prompt" in row:
            made = {"prompt": row["prompt"], "options": tuple(row["choices"])}
            return blink.question(blink.Row(id="1", images=("1",), answer="(A)", task="t", **made), HERE)
        case "mmstar" if "A" not in row:
            kinds = {"category": "c", "l2_category": "l"}
            return mmstar.question(mmstar.Row(index="1", image="1", answer="A", question=text, **kinds), HERE)
        case "realworldqa" if "A" not in row:
            return realworldqa.question(realworldqa.Row(image="1", answer="A", question=text), HERE)
        case "vstar" if "text" in row:
            return vstar.question(vstar.Row(id="1", image="1", answer="A", category="c", question=row["text"]), HERE)
        case "countbenchqa":
            return Question(id="1", text=text, row=countbench.Row("1", text, "3", row["text"]))
        case "mathvista":
            kinds = {kind: row[kind] for kind in ("question_type", "answer_type", "precision")}
            made = {"unit": row["unit"] or "", "choices": tuple(row["choices"] or ())}
            return mathvista.question(
                mathvista.Row(pid="1", image="1", question=text, answer="x", **made, **kinds), HERE
            )
    options = row.get("options", row.get("choices", []))
    letters = {label: choice for label, choice in row.items() if len(label) == 1 and choice not in (None, "nan")}
    letters |= {label[-1].upper(): choice for label, choice in row.items() if label.startswith("choice_")}
    asked = ChoiceRow(
        question=text,
        hint=row.get("hint") or "",
        options=tuple(ast.literal_eval(options) if isinstance(options, str) else options),
        lettered=letters,
    )
    return Question(id="1", text=asked.text(), choices=asked.choices(), row=asked)


@needs_goldens
def test_prompt_forms_are_those_of_the_harnesses() -> None:
    compared = 0
    for case in golden("prompts"):
        expected = case["expected_text"]
        if case["harness"] not in FORMS or LONG in str(expected):
            continue
        parts = [expected] if isinstance(expected, str) else expected
        images = tuple(sorted({part for part in parts if re.fullmatch(r"<.*\.(jpg|png)>", part)}))
        for name in re.sub(r"(?<!,) .*", "", case["benchmark"]).split(", "):
            form = FORMS[case["harness"]]
            if name == "mathvista":
                if form == "vlmevalkit":
                    continue  # the question of its row is the whole prompt
                form = "official_solution" if "solution" in case["source"] else form
            form = "lmms_eval_captioned" if name == "countbenchqa" else form
            question = replace(harness_question(name, case["row"]), images=images)
            if re.search("_V|pro vision", case["benchmark"]):
                question = replace(question, text="")
            benchmark = {"countbenchqa": "countbench", "mm_vet": "mmvet"}.get(name, name.replace("_", "-"))
            content = benchmark_of(benchmark).with_prompt_form(form).task().content(question)
            assert [part if isinstance(part, str) else images[part - 1] for part in content] == parts, case
            compared += 1
    assert compared == 66


def further() -> Iterator[tuple[str, Any]]:
    """Questions of kinds that the samples lack, with the names of their benchmarks."""
    marked: dict[str, Any] = {"question": "See <image 1>?", "images": ("1.png", "2.png"), "answer": ("A",)}
    marked["options"] = ("<image 2>", "cat")
    for tail in ("", "\nA. 1\nB. 2"):
        row = realworldqa.Row(question=f"How many?{tail}", image="1.png", answer="2")
        yield "realworldqa", realworldqa.question(row, HERE)
    for file, folder in (("MMMU_Pro_10c", ""), ("MMMU_Pro_V", ""), ("test", mmmu_pro.FOUR)):
        shown = mmmu_pro.Row(**marked | {"answer": "A"}, id="1")
        yield "mmmu-pro", mmmu_pro.question(shown, Place(file, 0, "test", folder))
    for changes in ({}, {"options": (), "question": "<image 1> How many?"}):
        yield "mmmu", mmmu.question(mmmu.Row(id="test_Art_1", **marked | changes), HERE)
    for options in ((), ("A", "B"), ("1", "2")):
        drawn = mathvision.Row(id="1", question="Which <image1>?", answer="A", image="1.png", options=options)
        yield "mathvision", mathvision.question(drawn, HERE)
    for text in ("", "Which?\nChoices:\nA:1\n(B) 2"):
        for kind in ("multi-choice", "free-form"):
            posed = mathverse.Row(sample_index="1", question=text, answer="A", question_type=kind)
            yield "mathverse", mathverse.question(posed, HERE)
    for task, answer, choices in (("retrieval-text", "x", None), ("counting-text", [1], None), ("x", 0, ["é", "b"])):
        meta = mm_niah.Meta(choices=choices)
        hidden = mm_niah.Row(
            id="1", question="Which?", answer=answer, context="Old.<image>", images=("a.jpg",), meta=meta
        )
        yield "mm-niah", mm_niah.question(hidden, Place(f"{task}-val", 0, "val"))


def test_prompts_of_questions_that_samples_lack_stay_letter_by_letter() -> None:
    asked = []
    for name, each in further():
        benchmark = benchmark_of(name)
        forms = [benchmark, *(benchmark.with_prompt_form(form) for form in benchmark.prompt_forms)]
        asked.append((each.text, each.choices, each.references, [form.task().content(each) for form in forms]))
    assert sha256("\n".join(map(repr, asked)).encode()).hexdigest()[:12] == "430beccd3662", asked
