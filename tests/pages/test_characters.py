import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pages.typefaces import FONTS
from vqa_client.pages.fonts import TAB, UNDRAWN, _cjk, chain, has_cjk, is_blank, prepare, script_of


def test_what_is_invisible_goes_and_is_counted() -> None:
    prepared = prepare("soft\u00adhyphen\u00ad zero\u200bwidth \x07bell \ufeffbom", FONTS)
    assert prepared.text == "softhyphen zerowidth bell bom"
    assert prepared.removed == {"\x07": 1, "\xad": 2, "\u200b": 1, "\ufeff": 1}
    assert prepared.missing == {}


def test_chinese_japanese_and_korean_are_told_from_other_scripts() -> None:
    scripts = {
        "中 é": "chinese",
        "豈": "chinese",
        "中か": "japanese",
        "ｶ": "japanese",
        "中한": "korean",
        "ㄱ": "korean",
    }
    assert {text: script_of(text) for text in scripts} == scripts
    assert [has_cjk(text) for text in (*scripts, "abc éжש。")] == [True] * 6 + [False]


def test_what_no_font_has_is_replaced_and_counted() -> None:
    prepared = prepare("a \U000f0000 b \U000f0000 \U000f0001", FONTS)
    assert prepared.text == "a \ufffd b \ufffd \ufffd"
    assert prepared.missing == {"\U000f0000": 2, "\U000f0001": 1}


def test_what_fonts_have_in_private_areas_is_no_character_of_a_text() -> None:
    every = "".join(map(chr, range(0xE000, 0xF900)))
    assert prepare(every, FONTS).missing == dict.fromkeys(every, 1)


def test_a_font_of_ones_own_may_draw_private_characters(tmp_path: Path) -> None:
    pymupdf_fonts = pytest.importorskip("pymupdf_fonts", reason="needs the extra `render`")
    own = tmp_path / "own.ttf"
    own.write_bytes(pymupdf_fonts.myfont("fimo"))
    assert prepare("\ue000", chain(str(own), "chinese")).missing == {}


def test_without_its_package_a_chinese_face_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "noto_cjk_sans_otc", None)
    assert _cjk.__wrapped__("chinese") == ()


def test_marks_of_direction_are_neither_removed_nor_missing() -> None:
    marks = "\u061c\u200e\u200f\u2067\u2069"
    assert prepare(f"a{marks}b", FONTS).text == f"a{marks}b"
    assert prepare(marks, FONTS).missing == {}


def test_every_kind_of_line_end_ends_a_line() -> None:
    assert prepare("a\r\nb\rc\x0bd\x0ce\x85f\u2028g\u2029h", FONTS).text == "\n".join("abcdefgh")


def test_tabs_are_wide_and_letters_and_accents_are_put_together() -> None:
    assert prepare("\ta\tb", FONTS).text == f"{TAB}a{TAB}b"
    assert prepare("e\u0301", FONTS).text == "\u00e9"


def test_a_text_of_nothing_visible_is_blank() -> None:
    assert is_blank("\u200b\u00ad \u200e\n\t\x07\x85")
    assert not is_blank(" . ")
    assert not is_blank("\u200b\U000f0000")


@given(st.text())
def test_whatever_comes_every_character_left_can_be_drawn(text: str) -> None:
    prepared = prepare(text, FONTS)
    assert all(FONTS.face_of(mark) >= 0 for mark in UNDRAWN.sub("", prepared.text) if mark != "\n")
    assert len(prepared.text) <= len(TAB) * 3 * max(len(text), 1)
