from string import ascii_lowercase, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.answers.rows import caption_form, split_caption

WORDS = st.lists(st.text(f"{ascii_lowercase}{digits}'.,", min_size=1, max_size=8), min_size=1, max_size=6).map(" ".join)


@given(answer=WORDS.filter(lambda text: "because" not in text), explanation=WORDS)
def test_a_caption_is_split_where_its_parts_were_joined(answer: str, explanation: str) -> None:
    assert split_caption(f"{answer} because {explanation}", "full") == (answer, explanation)


@given(caption=st.text(max_size=60))
def test_any_text_is_an_explanation_where_captions_are_explanations(caption: str) -> None:
    assert split_caption(caption, "exp") == ("", caption.strip())


@pytest.mark.parametrize(
    ("caption", "parts"),
    [
        ("yes", ("yes", "")),
        ("because it rains", ("", "it rains")),
        ("yes BECAUSE it rains because of clouds", ("yes", "it rains because of clouds")),
        ("yes because", ("yes", "")),
        ("", ("", "")),
        ("the becausest one", ("the becausest one", "")),
    ],
)
def test_the_first_whole_because_is_the_separator(caption: str, parts: tuple[str, str]) -> None:
    assert split_caption(caption, "full") == parts


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("captions_full.json", "full"),
        ("x_annot_exp.json", "exp"),
        ("full_run_pred_exp.json", "exp"),
        ("experts.json", "full"),
        ("fully.json", "full"),
    ],
)
def test_the_last_word_of_the_name_is_the_form(name: str, form: str) -> None:
    assert caption_form(name, ["yes because it rains"]) == form


def test_without_a_form_in_the_name_most_captions_decide() -> None:
    assert caption_form("m.json", ["yes because a", "no because b", "c"]) == "full"
    assert caption_form("m.json", ["yes because a", "it rains", "c"]) == "exp"
    assert caption_form("m.json", []) == "exp"
