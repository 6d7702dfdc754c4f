from hypothesis import given
from hypothesis import strategies as st

from tests.pages.typefaces import SMALL, lines, pages
from vqa_client.pages.layout import Style, boxes, lines_a_page

ROOM_PT = SMALL.page_width_pt - 2 * SMALL.margin_x_pt
letters = st.text(st.sampled_from("aéжΩ中あ한ש، -.(「。\t\n"), max_size=300)


@given(letters)
def test_no_letter_is_lost_and_no_line_is_wider_than_the_page(text: str) -> None:
    if not text.strip():
        return
    drawn = [line for page in pages(text) for line in page.lines]
    assert "".join("".join(line.text for line in drawn).split()) == "".join(text.split())
    assert all(line.width_pt <= ROOM_PT + 0.01 for line in drawn)


@given(st.lists(st.text("abcdefgh", min_size=1, max_size=12), min_size=1, max_size=60))
def test_words_of_a_paragraph_stay_whole_and_in_order(words: list[str]) -> None:
    broken = lines(" ".join(words))
    assert [word for line in broken for word in line.split()] == words


def test_line_breaks_blank_lines_and_indentation_stay() -> None:
    code = "def f(x):\n\tif x:\n\t\treturn 1\n\n\treturn 2"
    assert lines(code) == ["def f(x):", "    if x:", "        return 1", "", "    return 2"]


def test_line_breaks_can_be_removed() -> None:
    style = Style(remove_line_breaks=True)
    assert lines("one\ntwo \r\n\r\n  three", style) == ["one two three"]


def test_a_word_wider_than_the_page_is_broken_where_the_page_ends() -> None:
    broken = lines("so " + "x" * 300 + " end")
    assert broken[0] == "so"
    assert sum(line.count("x") for line in broken) == 300
    assert min(len(line) for line in broken[1:-1]) > 25
    assert broken[-1].split()[-1] == "end"


def test_a_million_letters_without_a_space_are_broken_in_linear_time() -> None:
    assert sum(map(len, lines("x" * 200_000))) == 200_000


def test_indentation_that_leaves_less_than_half_a_line_is_given_up() -> None:
    assert lines(" " * 300 + "here") == ["here"]
    assert [lines(" " * spaces + "here") for spaces in (31, 32)] == [[" " * 31 + "here"], ["here"]]


def test_ideographs_break_anywhere_but_not_before_a_full_stop() -> None:
    broken = lines("天地玄黄宇宙洪荒日月盈昃辰宿列张。" * 6)
    assert len(broken) > 3
    assert all(len(line) > 10 for line in broken[:-1])
    assert not any(line.startswith("。") for line in broken)


BROKEN = [
    (" ", ["Plain words go up to the margin", "and then break at a space."]),
    ("", ["  天地玄黄（宇宙）洪荒、「日月」", "盈昃。辰宿列张，寒来暑往；秋收冬", "藏！（闰余成岁）律吕调阳"]),
    ("", ["said “天地玄黄宇宙洪荒日月盈昃辰", "宿列张寒来暑”往秋"]),
    ("", ["cafécafécafécafécafécafécafécaféc", "afécafé end"]),
    ("", ["שלום עולם hello"]),
]
"""What is between the lines of a paragraph, and its lines."""


def test_lines_of_every_kind_of_writing_end_at_the_margin() -> None:
    text = "\n".join(between.join(broken) for between, broken in BROKEN)
    assert lines(text) == [line for _, broken in BROKEN for line in broken]


def test_a_paragraph_that_runs_left_stands_at_the_right_margin() -> None:
    (page,) = pages("שלום עולם\nhello")
    hebrew, english = page.lines
    assert hebrew.right_to_left
    assert abs(hebrew.x_pt + hebrew.width_pt - (SMALL.page_width_pt - SMALL.margin_x_pt)) < 0.01
    assert (english.right_to_left, english.x_pt) == (False, SMALL.margin_x_pt)


def test_pages_are_full_and_the_last_one_is_known() -> None:
    full = lines_a_page(SMALL)
    found = pages("\n".join(map(str, range(2 * full + 1))))
    assert [len(page.lines) for page in found] == [full, full, 1]
    assert [(page.number, page.is_last) for page in found] == [(1, False), (2, False), (3, True)]


def test_max_pages_cuts_a_document_and_says_so_only_where_text_is_left() -> None:
    full = lines_a_page(SMALL)
    text = "\n".join(map(str, range(2 * full)))
    assert [page.is_cut for page in pages(text, Style(**{**_fields(), "max_pages": 1}))] == [True]
    assert [page.is_cut for page in pages(text, Style(**{**_fields(), "max_pages": 2}))] == [False, False]


def test_the_default_page_has_68_lines() -> None:
    assert lines_a_page(Style()) == 68


def test_boxes_lie_on_the_page_one_below_the_other() -> None:
    style = Style()
    (page,) = pages("first line\n\nsecond line", style)
    (first, upper), (second, lower) = boxes(page, style)
    assert (first.text, second.text) == ("first line", "second line")
    assert upper[0] == lower[0] == style.pixels(style.margin_x_pt)
    assert lower[1] - upper[1] == style.pixels(2 * style.line_height_pt)
    (page,) = pages("first line\nsecond line")
    assert [(box[0], box[1], box[3]) for _, box in boxes(page, SMALL)] == [(10, 10, 24), (10, 22, 36)]


def _fields() -> dict:
    return {name: getattr(SMALL, name) for name in SMALL.__struct_fields__}
