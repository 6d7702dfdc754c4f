"""Sets text as placed glyphs: simple scripts with a table of advances, joined and right-to-left scripts with HarfBuzz.

Simple scripts get neither kerning nor ligatures, as in the published renderer.
"""

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from msgspec import Struct

from vqa_client.pages.fonts import UNDRAWN, Chain

_RTL = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
_JOINERS = "\u200c\u200d"
_SHAPED = rf"{_RTL}{_MARKS}{_JOINERS}\u0900-\u109f\u1780-\u18af\ua8e0-\ua8ff\ua9e0-\uaaff\uabc0-\uabff"
_SHAPED_WORD = re.compile(rf"[^ {_SHAPED}]?[{_SHAPED}]+")
"""Letters that join, are reordered or have marks, and the letter before a mark."""
_RTL_WORD = re.compile(rf"[{_MARKS}{_JOINERS}]{{0,16}}[{_RTL}][{_RTL}{_MARKS}{_JOINERS}]*")
_NEEDS_SHAPING = re.compile(f"[{_SHAPED}]")
_RUNS_LEFT = re.compile(f"[{_RTL}\u200f\u202b\u202e\u2067]")
_FOLLOWER = "\u034f"
"""Put after each character with a mirror image: its side in the visual order shows the text's direction there.
`prepare` has removed this character from the text itself."""
_CACHED_WIDTHS, _CACHED_WORDS = 50_000, 5_000
_CACHED_CHARACTERS = 40


class GlyphRun(Struct, frozen=True):
    """Consecutive glyphs of one face; x and y are in ems from the start of the line's baseline."""

    face: int
    glyphs: "array[int]"
    x_em: float
    y_em: float = 0.0


class Shaped(Struct, frozen=True):
    """The glyphs of a word with their places, and the word's advance."""

    runs: tuple[GlyphRun, ...]
    advance_em: float


class Typesetter:
    """Measures and sets text in one chain of faces."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._widths: dict[str, float] = {}
        self._shaped_word = lru_cache(_CACHED_WORDS)(self._shape)

    def width_em(self, text: str) -> float:
        """The width of a piece of a line; its last letters may still join the next piece."""
        width = self._widths.get(text)
        if width is None:
            width = self._measure(text)
            if len(text) <= _CACHED_CHARACTERS:
                if len(self._widths) >= _CACHED_WIDTHS:
                    self._widths.clear()
                self._widths[text] = width
        return width

    def advances_em(self, text: str) -> Iterator[float]:
        """The advance of each character by itself."""
        chain = self._chain
        return (chain[character].advance_em for character in text)

    def runs(self, line: str, *, right_to_left: bool = False) -> Iterator[GlyphRun]:
        """Set one line; `right_to_left` is the direction of its paragraph."""
        x_em = 0.0
        for part, direction in _parts(line, right_to_left):
            if direction:
                word = self._shaped_word(part, direction)
                for run in word.runs:
                    yield GlyphRun(run.face, run.glyphs, run.x_em + x_em, run.y_em)
                x_em += word.advance_em
                continue
            yield from self._simple(part, x_em)
            x_em += sum(self.advances_em(part))

    def _simple(self, text: str, x_em: float) -> Iterator[GlyphRun]:
        glyphs, face, start_em = array("I"), -1, x_em
        for character in text:
            glyph = self._chain[character]
            if glyph.face != face:
                if glyphs:
                    yield GlyphRun(face, glyphs, start_em)
                glyphs, face, start_em = array("I"), glyph.face, x_em
            glyphs.append(glyph.number)
            x_em += glyph.advance_em
        if glyphs:
            yield GlyphRun(face, glyphs, start_em)

    def _measure(self, text: str) -> float:
        if not _NEEDS_SHAPING.search(text):
            return sum(self.advances_em(UNDRAWN.sub("", text)))
        return sum(
            self._shaped_word(part, direction).advance_em if direction else sum(self.advances_em(part))
            for part, direction in _parts(text, False)
        )

    def _shape(self, word: str, direction: str) -> Shaped:
        import uharfbuzz

        runs: list[GlyphRun] = []
        x_em = 0.0
        stretches = list(self._stretches(word))
        for face_at, text in reversed(stretches) if direction == "rtl" else stretches:
            face = self._chain.faces[face_at]
            buffer = uharfbuzz.Buffer()
            buffer.add_str(text)
            buffer.guess_segment_properties()
            buffer.direction = direction
            uharfbuzz.shape(face.shaper, buffer)
            for info, place in zip(buffer.glyph_infos, buffer.glyph_positions, strict=True):
                at_em = x_em + place.x_offset / face.units
                runs.append(GlyphRun(face_at, array("I", [info.codepoint]), at_em, place.y_offset / face.units))
                x_em += place.x_advance / face.units
        return Shaped(tuple(runs), x_em)

    def _stretches(self, word: str) -> Iterator[tuple[int, str]]:
        """Cut a word where the face changes; a mark stays with its letter if the letter's face has the mark."""
        face, start = -1, 0
        for at, character in enumerate(word):
            stays = face >= 0 and (character in _JOINERS or self._carries(face, character))
            next_face = face if stays else max(self._chain.face_of(character), 0)
            if next_face != face and at > start:
                yield face, word[start:at]
                start = at
            face = next_face
        yield face, word[start:]

    def _carries(self, face: int, character: str) -> bool:
        return unicodedata.category(character)[0] == "M" and self._chain.faces[face].has(character)


def runs_left(text: str) -> bool:
    """Whether the paragraph's first letter with a direction is written right to left."""
    if not _RUNS_LEFT.search(text):
        return False
    import bidi

    return bool(bidi.get_base_level(text) == 1)


def _parts(line: str, right_to_left: bool) -> Iterator[tuple[str, str]]:
    """Cut a line, from left to right, into simple pieces with direction "" and words for HarfBuzz with theirs."""
    if not _NEEDS_SHAPING.search(line):
        yield UNDRAWN.sub("", line), ""
        return
    if not _RUNS_LEFT.search(line):
        yield from _split_by(line, [(_SHAPED_WORD, "ltr")])
        return
    for part, direction in _split_by(_visual_order(line, right_to_left), [(_RTL_WORD, "rtl"), (_SHAPED_WORD, "ltr")]):
        yield (part[::-1] if direction == "rtl" else part), direction


def _visual_order(line: str, right_to_left: bool) -> str:
    """Return the characters from left to right; brackets and the like are mirrored in right-to-left text."""
    import bidi
    from bidi.mirror import MIRRORED

    every, marked = _mirrored_patterns()
    visual = bidi.get_display(every.sub(rf"\g<0>{_FOLLOWER}", line), base_dir="R" if right_to_left else "L")
    return marked.sub(lambda match: match[1] or MIRRORED[match[2]], visual)


@cache
def _mirrored_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of a character with a mirror image: alone, and with _FOLLOWER after it, or before it if mirrored."""
    from bidi.mirror import MIRRORED

    any_of = f"[{re.escape(''.join(MIRRORED))}]"
    return re.compile(any_of), re.compile(f"({any_of}){_FOLLOWER}|{_FOLLOWER}({any_of})")


def _split_by(text: str, patterns: list[tuple[re.Pattern[str], str]]) -> Iterator[tuple[str, str]]:
    (pattern, direction), *others = patterns
    at = 0
    for match in pattern.finditer(text):
        yield from _split_rest(text[at : match.start()], others)
        yield match[0], direction
        at = match.end()
    yield from _split_rest(text[at:], others)


def _split_rest(text: str, patterns: list[tuple[re.Pattern[str], str]]) -> Iterable[tuple[str, str]]:
    if not text:
        return ()
    return _split_by(text, patterns) if patterns else ((UNDRAWN.sub("", text), ""),)
