import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client import prompt as template
from vqa_client.errors import UsageError

BRACED = st.text(alphabet="{}questionchoices \\", max_size=60)


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
