"""The free fonts for pages, which of them has a character, and which characters of a text can be drawn.

Extra `render` brings pymupdf-fonts (SIL OFL 1.1): Noto Sans for Latin, Greek and Cyrillic, FiraGO for Hebrew, Arabic,
Devanagari, Thai and Georgian, and Noto's symbols. Extra `cjk` brings Noto Sans CJK. The machine's own fonts are not
used, so that the same packages draw the same page everywhere. Invisible characters are removed, characters without a
font are replaced, and both are counted.
"""

import hashlib
import re
import struct
import unicodedata
from collections import Counter
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from vqa_client.errors import UsageError, read_fault

if TYPE_CHECKING:
    import uharfbuzz

Script = Literal["chinese", "japanese", "korean"]

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
PACKAGED = {
    "Noto Sans": "notos",
    "Noto Sans Math": "math",
    "Noto Sans Symbols 2": "symbol2",
    "Noto Sans Symbols": "symbol1",
    "FiraGO": "figo",
    "Fira Mono": "fimo",  # the lines of boxes
    "Noto Music": "music",
}
"""Names in the package, in the order in which they are searched for a character."""
CJK_FACES: dict[Script, tuple[str, int]] = {
    "japanese": ("Noto Sans CJK JP", 0),
    "korean": ("Noto Sans CJK KR", 1),
    "chinese": ("Noto Sans CJK SC", 2),
}
"""Each has all characters; they differ in the forms of characters that the three scripts share."""
_KANA = re.compile(r"[\u3041-\u30ff\uff66-\uff9d]")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_HANGUL = re.compile(r"[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")
_PRIVATE = re.compile(r"[\ue000-\uf8ff\U000f0000-\U0010ffff]")
_COLLECTION = b"ttcf"
_OFFSETS_AT = 12
TAB = "    "
_LINE_BREAK = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_REMOVED = (
    r"\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u180e\u200b\u2060-\u2065\u206a-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_REMOVED}]")
"""Controls, soft hyphens, zero-width spaces, variation selectors and tags. Marks of the text's direction, and joiners,
stay until its lines are set."""
_GUIDES = r"\u061c\u200c-\u200f\u202a-\u202e\u2066-\u2069"
UNDRAWN = re.compile(f"[{_GUIDES}]")
_VISIBLE = re.compile(rf"[^\s{_REMOVED}{_GUIDES}]")
_BROKEN_LINES = re.compile(r"[ \t]*\n\s*")


class Glyph(Struct, frozen=True):
    """The face of a chain that has a character, the glyph's number there, and its advance in ems."""

    face: int
    number: int
    advance_em: float


class Face:
    """One font file: its bytes, and HarfBuzz's face; `index` is the number of the face in a collection.

    Glyphs in Unicode's private areas are used only if the user chose the font: elsewhere they mean something else.
    """

    def __init__(self, name: str, blob: "uharfbuzz.Blob", index: int = 0, *, is_chosen: bool = False) -> None:
        import uharfbuzz

        self.name = name
        self.shaper = uharfbuzz.Font(uharfbuzz.Face(blob, index))
        self.units: int = self.shaper.face.upem
        self._blob, self._index, self._is_chosen = blob, index, is_chosen
        self._characters = self.shaper.face.unicodes

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self._blob.data).hexdigest()

    def alone(self) -> bytes:
        """The bytes of a file whose first face is this one, because PDFium always draws the first face."""
        data: bytes = self._blob.data
        if data[:4] != _COLLECTION:
            return data
        (offset,) = struct.unpack_from(">I", data, _OFFSETS_AT + 4 * self._index)
        return data[:_OFFSETS_AT] + struct.pack(">I", offset) + data[_OFFSETS_AT + 4 :]

    def has(self, character: str) -> bool:
        return ord(character) in self._characters and (self._is_chosen or not _PRIVATE.match(character))

    def glyph(self, character: str) -> tuple[int, float]:
        """The number of a character's glyph and its advance in ems; 0, a box, for a character that the face lacks."""
        number = self.shaper.get_nominal_glyph(ord(character)) or 0
        return number, self.shaper.get_glyph_h_advance(number) / self.units


class Chain(dict[str, Glyph]):
    """Faces in the order in which they are searched; a dictionary of characters."""

    def __init__(self, faces: tuple[Face, ...]) -> None:
        super().__init__()
        self.faces = faces

    def __missing__(self, character: str) -> Glyph:
        index = self.face_of(character)
        glyph = self[character] = Glyph(max(index, 0), *self.faces[index].glyph(character))
        return glyph

    def digests(self, text: str) -> dict[str, str]:
        """The names and digests of the faces that a text needs."""
        used = {self.face_of(character) for character in set(text)}
        return {face.name: face.sha256 for at, face in enumerate(self.faces) if at in used}

    def face_of(self, character: str) -> int:
        """The number of the first face that has a character, -1 if none does."""
        return next((at for at, face in enumerate(self.faces) if face.has(character)), -1)


def script_of(text: str) -> Script:
    """The script whose forms of shared characters a document uses."""
    if _KANA.search(text):
        return "japanese"
    return "korean" if _HANGUL.search(text) else "chinese"


def has_cjk(text: str) -> bool:
    """Whether a text has Chinese, Japanese or Korean letters."""
    return bool(_HAN.search(text) or _KANA.search(text) or _HANGUL.search(text))


@cache
def chain(font: str, script: Script) -> Chain:
    """The user's font file, if any, then the packages' fonts; raises UsageError for a font that can't be used."""
    faces = [_user_face(font)] if font else []
    return Chain((*faces, *_packaged_faces(), *_cjk(script)))


def _user_face(font: str) -> Face:
    import uharfbuzz

    try:
        face = Face(Path(font).name, uharfbuzz.Blob(Path(font).read_bytes()), is_chosen=True)
    except OSError as error:
        raise UsageError(read_fault(f"the font {font}", error)) from None
    if not face.has("e"):
        raise UsageError(f"{font} is not a font with Latin letters", hint="give a .ttf or .otf file")
    return face


@cache
def _packaged_faces() -> tuple[Face, ...]:
    import pymupdf_fonts
    import uharfbuzz

    return tuple(Face(name, uharfbuzz.Blob(pymupdf_fonts.myfont(code))) for name, code in PACKAGED.items())


@cache
def _cjk(script: Script) -> tuple[Face, ...]:
    """The face for Chinese, Japanese and Korean if its package is installed; without it they count as missing."""
    try:
        from noto_cjk_sans_otc import FONT_PATH
    except ImportError:
        return ()
    name, index = CJK_FACES[script]
    return (Face(name, _map_file(str(FONT_PATH)), index),)


@cache
def _map_file(path: str) -> "uharfbuzz.Blob":
    """Map a large file, so that only the pages that are read are in memory."""
    import uharfbuzz

    return uharfbuzz.Blob.from_file_path(path)


class Prepared(Struct, frozen=True, kw_only=True):
    """A text whose characters can be drawn or control the drawing, and counts of the characters that were changed."""

    text: str
    missing: dict[str, int]
    removed: dict[str, int]


def is_blank(text: str) -> bool:
    """Whether its pages would be white."""
    return not _VISIBLE.search(text)


def prepare(text: str, chain: Chain, *, remove_line_breaks: bool = False) -> Prepared:
    """Make a text drawable; all line ends become "\\n", or spaces with `remove_line_breaks`."""
    text = _LINE_BREAK.sub("\n", text)
    removed = Counter(_INVISIBLE.findall(text))
    if removed:
        text = _INVISIBLE.sub("", text)
    text = unicodedata.normalize("NFC", text.replace("\t", TAB))
    if remove_line_breaks:
        text = _BROKEN_LINES.sub(" ", text)
    missing = {mark: text.count(mark) for mark in sorted(set(text)) if _is_missing(mark, chain)}
    if missing:
        text = text.translate({ord(mark): REPLACEMENT for mark in missing})
    return Prepared(text=text, missing=missing, removed=dict(sorted(removed.items())))


def _is_missing(mark: str, chain: Chain) -> bool:
    return mark != "\n" and not UNDRAWN.match(mark) and chain.face_of(mark) < 0
