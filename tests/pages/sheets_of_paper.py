"""Small pages with words on them, drawn by Pillow alone."""

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

WORDS = "The ferry left at seven and the keeper wrote its name"


def paper(text: str = WORDS, *, mode: str = "L", size: tuple[int, int] = (240, 120)) -> Image.Image:
    """Words in lines on white."""
    page = Image.new("L", size, 255)
    words, line, y = text.split(), "", 6
    pen, font = ImageDraw.Draw(page), ImageFont.load_default(16)
    for word in [*words, ""]:
        if not word or font.getlength(f"{line} {word}") > size[0] - 20:
            pen.text((8, y), line, fill=0, font=font)
            line, y = "", y + 22
        line = f"{line} {word}".strip()
    return page.convert(mode)


def clean_folder(root: Path, *names: str, flat: bool = False) -> Path:
    """A folder of pages, each with a word of its own."""
    images = root / "clean" if flat else root / "clean" / "images"
    images.mkdir(parents=True)
    for name in names or ("d1_page_001.png", "d1_page_002.png", "d2_page_001.png"):
        paper(f"{WORDS} {name[:4]}").save(images / name)
    return root / "clean"
