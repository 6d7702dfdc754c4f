"""Draws docs/page.webp, the README's picture of a run's page, after a demo: `python docs/screenshot.py demo_results`.

Needs Playwright, and Chromium on the PATH.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PAGE = "mc/clean_mc_eval.html"
WIDTH, HEAD, QUESTIONS = 1100, 690, 640
"""Pixels: of the page, of its head and of its questions."""


def main(results: Path) -> None:
    """Put the head of the page above its wrong answers."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": WIDTH, "height": 1000})
        page.goto(f"{(results / PAGE).resolve().as_uri()}#outcome=wrong")
        whole = Image.open(io.BytesIO(page.screenshot(full_page=True)))
        place = page.locator("#questions").bounding_box()
        below = int((place["y"] if place else 0) + page.evaluate("window.scrollY"))
        browser.close()
    picture = Image.new("RGB", (WIDTH, HEAD + QUESTIONS), "white")
    picture.paste(whole.crop((0, 0, WIDTH, HEAD)))
    picture.paste(whole.crop((0, below, WIDTH, below + QUESTIONS)), (0, HEAD))
    picture.save(Path(__file__).parent / "page.webp", quality=80, method=6)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
