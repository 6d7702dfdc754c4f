import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.reports.names import report_name, safe_name

FORBIDDEN = re.compile(r'[\x00-\x1f<>:"/\\|?*]')
NAMES = st.text(max_size=300) | st.text(alphabet="aA./\\: -_0fCON", max_size=20)


@pytest.mark.parametrize("name", ["longbenchv2_img", "adv_dpi_56", "adv_jpeg 30", "Qwen3-VL-8B", "模糊", "a.b"])
def test_a_harmless_name_is_kept(name: str) -> None:
    assert safe_name(name) == name
    assert report_name(name, "mc") == f"{name}_mc_eval.json"


@pytest.mark.parametrize(
    "name", ["org/name:bf16", "..\\x", "..", ".", "", "CON", "nul.txt", "Lpt1", "a.", " a", "a\n", "x" * 300, "模" * 90]
)
def test_a_harmful_name_is_changed_and_told_apart(name: str) -> None:
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


def test_composed_and_decomposed_letters_do_not_meet_in_one_file() -> None:
    assert safe_name("e\u0301") not in ("é", "e\u0301")


def test_an_undecodable_name_is_safe() -> None:
    assert safe_name("a\udcff").isascii()
