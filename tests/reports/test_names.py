import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.reports.names import count, cut, first_of, flat, interval_text, percent, report_name, safe_name
from vqa_client.scoring.statistics import Interval

FORBIDDEN = re.compile(r'[\x00-\x1f<>:"/\\|?*]')
NAMES = st.text(max_size=300) | st.text(alphabet="aA./\\: -_0fCON", max_size=20)


@pytest.mark.parametrize(
    "name", ["longbenchv2_img", "adv_dpi_56", "adv_jpeg 30", "Qwen3-VL-8B", "模糊", "a.b", "a ._-+=@,()b"]
)
def test_a_safe_name_is_kept(name: str) -> None:
    assert safe_name(name) == name
    assert report_name(name, "mc") == f"{name}_mc_eval.json"


@pytest.mark.parametrize(
    "name", ["org/name:bf16", "..\\x", "..", ".", "", "CON", "nul.txt", "Lpt1", "a.", " a", "a\n", "x" * 300, "模" * 90]
)
def test_an_unsafe_name_is_changed_and_stays_distinct(name: str) -> None:
    safe = safe_name(name)
    assert safe != name
    assert re.fullmatch(r".+-[0-9a-f]{10}", safe)
    assert len(safe.encode()) <= 140


@given(name=NAMES)
def test_every_name_is_safe_and_stable(name: str) -> None:
    safe = safe_name(name)
    assert not FORBIDDEN.search(safe)
    assert safe.strip(" .") == safe != ""
    assert safe_name(name) == safe
    assert len(safe.encode()) <= 140


@given(one=NAMES, other=NAMES)
def test_different_names_stay_different(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)
    assert safe_name(safe_name(one)) != safe_name(one) or safe_name(one) == one


def test_composed_and_decomposed_letters_have_different_files() -> None:
    assert safe_name("e\u0301") not in ("é", "e\u0301")


def test_an_undecodable_name_is_safe() -> None:
    assert safe_name("a\udcff").isascii()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (count(1), "1 question"),
        (count(0), "0 questions"),
        (count(1200, "page"), "1,200 pages"),
        (count(1, "reply", "replies"), "1 reply"),
        (count(2, "reply", "replies"), "2 replies"),
        (first_of(["a", "b"], 2), "a, b"),
        (first_of(["a", "b", "c"], 2), "a, b, ..."),
        (percent(0.98765), "98.8"),
        (percent(0.98765, 2), "98.77"),
        (percent(None), "-"),
        (interval_text(Interval(low=0.25, high=0.5, method="wilson", n=8, clusters=8)), "25.0-50.0"),
        (interval_text(None), "-"),
        (cut(" a\n b  c", 5), "a b c"),
        (cut("a b c d", 5), "a b c ..."),
    ],
)
def test_figures_and_lists_have_one_form(text: str, expected: str) -> None:
    assert text == expected


def test_nested_settings_are_named_with_dots() -> None:
    assert flat({"a": {"b": 1, "c": {}}, "d": [2], 3: {}}) == {"a.b": 1, "a.c": {}, "d": [2], "3": {}}
    assert flat({}) == {}
    assert flat(5, "top") == {"top": 5}


def test_a_run_without_a_folder_of_pages_is_named_by_its_benchmark() -> None:
    assert report_name("", "mc") == "mc_eval.json"
    assert safe_name("x" * 120) == "x" * 120
    assert safe_name("x" * 121).startswith("x" * 120 + "-")
    assert safe_name("a/b").startswith("a_b-")
    assert safe_name("a-0123456789").startswith("a-0123456789-")
    assert safe_name("/").startswith("_-")
