import pytest

from tests.pages.typefaces import FONTS
from vqa_client.pages.fonts import Script, chain, script_of
from vqa_client.pages.typeset import GlyphRun, Typesetter, runs_left

SETTER = Typesetter(FONTS)


def seen(line: str, *, right_to_left: bool = False) -> str:
    """The characters from left to right, read back from the glyphs; those of joined letters as "?"."""
    letters = {(glyph.face, glyph.number): character for character, glyph in _table(line).items()}
    placed = [
        (run.x_em, letters.get((run.face, number), "?"))
        for run in SETTER.runs(line, right_to_left=right_to_left)
        for number in run.glyphs
    ]
    return "".join(character for _, character in sorted(placed, key=lambda place: place[0]))


def _table(line: str) -> dict:
    return {character: FONTS[character] for character in [*line, *"()[]"]}


@pytest.mark.parametrize(
    ("line", "right_to_left", "expected"),
    [
        ("plain (text)", False, "plain (text)"),
        ("שלום", True, "םולש"),
        ("שלום 12 עולם", True, "םלוע 12 םולש"),
        ("שלום (עולם) abc", True, "abc (םלוע) םולש"),
        ("see (שלום) here", False, "see (םולש) here"),
        ("say שלום [1] now", False, "say [1] םולש now"),
    ],
)
def test_hebrew_runs_left_and_its_brackets_close_the_right_way(line: str, right_to_left: bool, expected: str) -> None:
    assert seen(line, right_to_left=right_to_left) == expected


def test_arabic_letters_are_joined() -> None:
    word = "سلام"
    alone = {FONTS[letter].number for letter in word}
    shaped = [number for run in SETTER.runs(word, right_to_left=True) for number in run.glyphs]
    assert shaped
    assert not alone.issuperset(shaped)


def test_a_mark_takes_no_room_and_stands_over_its_letter() -> None:
    assert SETTER.width_em("x\u0302y") == pytest.approx(SETTER.width_em("xy"))
    letter, mark, _ = SETTER.runs("x\u0302y")
    assert letter.x_em - 0.1 < mark.x_em < letter.x_em + SETTER.width_em("x")


def test_a_change_of_font_begins_a_run_where_the_last_one_ended() -> None:
    runs = list(SETTER.runs("ab∑c"))
    assert [len(run.glyphs) for run in runs] == [2, 1, 1]
    assert len({run.face for run in runs}) == 2
    assert runs[1].x_em == pytest.approx(SETTER.width_em("ab"))


def test_marks_of_direction_are_not_drawn() -> None:
    assert _glyphs("a\u200eb\u2066c") == _glyphs("abc")


@pytest.mark.parametrize(("text", "left"), [("abc שלום", False), ("(שלום) abc", True), ("12 مرحبا", True), ("", False)])
def test_the_first_letter_decides_the_direction(text: str, left: bool) -> None:
    assert runs_left(text) is left


def test_many_marks_in_a_row_are_no_trouble() -> None:
    assert list(SETTER.runs("ש" + "a" + "\u0301" * 20_000))


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("a", "Noto Sans"),
        ("λ", "Noto Sans"),
        ("ж", "Noto Sans"),
        ("∑", "Noto Sans Math"),
        ("ש", "FiraGO"),
        ("س", "FiraGO"),
        ("├", "Fira Mono"),
        ("✓", "Noto Sans Symbols 2"),
        ("\N{REPLACEMENT CHARACTER}", "Noto Sans"),
    ],
)
def test_every_script_has_a_font(character: str, name: str) -> None:
    assert FONTS.faces[FONTS.face_of(character)].name == name


def test_a_character_that_a_font_lacks_is_its_box() -> None:
    assert FONTS.faces[0].glyph("直")[0] == FONTS["\U0010fffd"].number == 0


def test_chinese_japanese_and_korean_write_shared_characters_in_their_own_way() -> None:
    pytest.importorskip("noto_cjk_sans_otc", reason="needs the extra `cjk`")
    assert [script_of(text) for text in ("直 ja", "直 です", "直 입니다")] == ["chinese", "japanese", "korean"]
    scripts: tuple[Script, ...] = ("chinese", "japanese", "korean")
    names = [chain("", script).faces[-1].name for script in scripts]
    assert names == ["Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR"]
    assert len({chain("", script)["直"].number for script in scripts}) > 1


def _glyphs(line: str) -> list[int]:
    runs: list[GlyphRun] = list(SETTER.runs(line))
    return [number for run in runs for number in run.glyphs]
