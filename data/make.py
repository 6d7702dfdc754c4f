"""Makes the sample data of this folder anew from `documents/`: the data files and all page images.

    python data/make.py

Needs Pillow alone. The same documents, the same SEED and the same Pillow give the same bytes.
"""

import argparse
import hashlib
import io
import json
import random
import re
import shutil
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).parent
SEED = 42
NEEDLES = 5
# A full stop after "Mrs" or a number in a list ends no sentence.
BOUNDARY = re.compile(r"(?<!\bMr)(?<!\bMrs)(?<!\bSt)(?<!\d)[.!?]+\s+|\n{2,}")

# Ten categories of ten values, as in the needle benchmark; a value that the document itself contains is passed over.
SECRETS = {
    "number": "137 208 319 446 571 683 728 854 962 1049",
    "animal": "penguin otter badger giraffe lynx tortoise walrus hedgehog beaver panther",
    "flower": "tulip orchid dahlia peony jasmine lavender magnolia begonia primrose violet",
    "color": "turquoise crimson indigo magenta scarlet maroon purple beige amber teal",
    "city": "Prague Nairobi Lima Kyoto Montreal Helsinki Cairo Bogota Hanoi Vienna",
    "fruit": "mango papaya apricot banana lemon melon cherry fig grape lychee",
    "element": "argon neon helium cobalt nickel titanium platinum zinc silicon tungsten",
    "planet": "Mercury Venus Mars Jupiter Saturn Uranus Neptune Pluto Ceres Eris",
    "instrument": "cello trumpet bassoon mandolin oboe harp clarinet banjo violin trombone",
    "gemstone": "ruby emerald topaz garnet opal sapphire onyx jade diamond zircon",
}

# Small pages in a large type: at these figures an OCR engine reads nearly all of the clean pages, and the two
# perturbations cost it clearly different shares of the needles (README.md).
PAGE_PT = (595, 842)
MARGIN_PT = 50
TYPE_PT = 13
TITLE_PT = 17
LEADING = 1.35
CLEAN_DPI = 88
LOW_DPI = 56
JPEG_QUALITY = 10
OVERSAMPLING = 4
GREYS = 16


def documents(folder: Path = HERE / "documents") -> list[dict[str, str]]:
    """The records of longbench/data.json: one a file, in the order of the file names."""
    return [_record(path) for path in sorted(folder.glob("*.toml"))]


def _record(path: Path) -> dict[str, str]:
    source = tomllib.loads(path.read_text(encoding="utf-8"))
    paragraphs = (" ".join(lines.split()) for lines in source.pop("context").strip().split("\n\n"))
    return {
        "_id": hashlib.sha256(path.stem.encode()).hexdigest()[:24],
        "domain": source.pop("domain"),
        "sub_domain": source.pop("sub_domain"),
        "difficulty": source.pop("difficulty"),
        "length": "short",  # by the benchmark's own bounds: all of these are far below 32,000 words
        **source,
        "context": "\n\n".join(paragraphs),
    }


def with_needles(record: dict[str, str], seed: int) -> dict[str, Any]:
    """The record of niah/data.json: NEEDLES sentences put into the text at even depths."""
    text, chance = record["context"], random.Random(seed)
    secrets = {key: _value(key, text, chance) for key in chance.sample(sorted(SECRETS), NEEDLES)}
    ends = [match.end() for match in BOUNDARY.finditer(text)]
    places = [min(ends, key=lambda end: abs(end - (i + 0.5) / NEEDLES * len(text))) for i in range(NEEDLES)]
    for place, (key, value) in reversed(list(zip(places, secrets.items(), strict=True))):
        text = f"{text[:place]}The secret {key} is {value}. {text[place:]}"
    return {
        "_id": record["_id"],
        "domain": "Needle in a Haystack",
        "sub_domain": "Secret Retrieval",
        "difficulty": record["difficulty"],
        "length": record["length"],
        "questions": [f"What is the secret {key} in the above context?" for key in secrets],
        "answers": list(secrets.values()),
        "question_depths": [f"{100 * i // NEEDLES}-{100 * (i + 1) // NEEDLES}%" for i in range(NEEDLES)],
        "context": text,
        "secrets": secrets,
        "original_question": record["question"],
        "original_answer": record["answer"],
    }


def _value(key: str, text: str, chance: random.Random) -> str:
    return chance.choice([value for value in SECRETS[key].split() if value.lower() not in text.lower()])


@cache
def _font(size_px: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size_px)  # Aileron, public domain, which Pillow carries inside
    assert isinstance(font, ImageFont.FreeTypeFont), "this Pillow was built without FreeType"
    return font


def _lines(text: str, dpi: int) -> Iterable[tuple[str, int]]:
    """The text broken into lines of the page's width, each with its type size in points; "" ends a paragraph."""
    width = (PAGE_PT[0] - 2 * MARGIN_PT) * dpi * OVERSAMPLING / 72
    for number, paragraph in enumerate(text.split("\n\n")):
        size_pt = TYPE_PT if number else TITLE_PT
        font = _font(_pixels(size_pt, dpi))
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}".strip()
            if font.getlength(longer) > width:
                yield line, size_pt
                longer = word
            line = longer
        yield line, size_pt
        yield "", size_pt // 2


def _pixels(points: float, dpi: int) -> int:
    return round(points * dpi * OVERSAMPLING / 72)


def draw(text: str, dpi: int) -> list[Image.Image]:
    """The text as grey pages at `dpi`, drawn OVERSAMPLING times as large and averaged down, as a PDF viewer does."""
    size = (_pixels(PAGE_PT[0], dpi), _pixels(PAGE_PT[1], dpi))
    margin, bottom = _pixels(MARGIN_PT, dpi), size[1] - _pixels(MARGIN_PT, dpi)
    pages: list[Image.Image] = []
    y = bottom
    for line, size_pt in _lines(text, dpi):
        height = _pixels(size_pt * LEADING, dpi)
        if line and y + height > bottom:
            pages.append(Image.new("L", size, 255))
            y = margin
        if line:
            ImageDraw.Draw(pages[-1]).text((margin, y), line, font=_font(_pixels(size_pt, dpi)), fill=0)
        y += height
    return [page.reduce(OVERSAMPLING) for page in pages]


def compress(page: Image.Image, quality: int) -> Image.Image:
    """The page after JPEG at `quality`."""
    buffer = io.BytesIO()
    page.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer).convert("L")


def save(page: Image.Image, path: Path) -> None:
    """Write a PNG of GREYS greys, a half of the size of one with all 256."""
    step = 255 // (GREYS - 1)
    indices = page.point(lambda grey: (grey + step // 2) // step)
    palette = Image.frombytes("P", page.size, indices.tobytes())
    palette.putpalette([grey * step for grey in range(GREYS) for _ in "RGB"])
    palette.save(path, "PNG", optimize=True, bits=4)


VARIANTS: dict[str, dict[str, Any]] = {
    "clean": {"perturbation_type": "clean", "params": {"dpi": CLEAN_DPI}},
    f"adv_dpi_{LOW_DPI}": {"perturbation_type": "dpi", "params": {"dpi": LOW_DPI}},
    f"adv_jpeg_{JPEG_QUALITY}": {"perturbation_type": "jpeg", "params": {"dpi": CLEAN_DPI, "quality": JPEG_QUALITY}},
}


def pages(text: str, params: dict[str, int]) -> list[Image.Image]:
    """The pages of one variant of VARIANTS."""
    drawn = draw(text, params["dpi"])
    return [compress(page, params["quality"]) for page in drawn] if "quality" in params else drawn


def write(task: str, records: list[dict[str, Any]], out: Path) -> None:
    """Write `out/task/`: data.json, and for each variant metadata.json and images/."""
    folder = out / task
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "data.json", records)
    for variant, about in VARIANTS.items():
        images = folder / variant / "images"
        shutil.rmtree(images.parent, ignore_errors=True)
        images.mkdir(parents=True)
        where = {"input_dir": f"{task}/data.json", "output_dir": f"{task}/{variant}", "task": task}
        _write_json(images.parent / "metadata.json", about | where)
        for record in records:
            for number, page in enumerate(pages(record["context"], about["params"]), start=1):
                save(page, images / f"{record['_id']}_page_{number:03d}.png")


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """Write both data sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=HERE, help="folder that longbench/ and niah/ are written to")
    out = parser.parse_args().out
    records = documents()
    write("longbench", records, out)
    write("niah", [with_needles(record, SEED + i) for i, record in enumerate(records)], out)


if __name__ == "__main__":
    main()
