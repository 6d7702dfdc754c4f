"""The page of a comparison in a browser: hostile records have no effect, and 20,000 questions are painted at once."""

import re
from pathlib import Path
from typing import Any

from tests.browser.conftest import Opened, serving
from tests.compare.logged import many, put, record
from tests.compare.test_files import HOSTILE, hostile
from tests.html.test_shown_images import put as sent_image
from vqa_client.compare.write import compare_runs, comparison_page, write_comparison
from vqa_client.html.viewer import Viewer
from vqa_client.types import Record

FIRST_PAINT_MS = 2_000
WIDTH = 800


def seen(browser: Any, tmp_path: Path, *runs: list[Record]) -> tuple[Any, list[str]]:
    """The page, with its messages and its requests."""
    for number, records in enumerate(runs):
        put(tmp_path / str(number), records, model=f"org/{number}")
    sides, compared = compare_runs([tmp_path / str(number) for number in range(len(runs))])
    write_comparison(tmp_path, sides, compared, html_images=5, csv_safe=False)
    page = browser.new_page(viewport={"width": WIDTH, "height": 600})
    page.set_default_timeout(10_000)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("request", lambda request: None if "compare.html" in request.url else wrong.append(request.url))
    page.goto((tmp_path / "compare.html").as_uri())
    return page, wrong


def test_hostile_records_are_text_in_a_browser(chromium: Any, tmp_path: Path) -> None:
    page, wrong = seen(chromium, tmp_path, *([hostile(text, score) for text in HOSTILE] for score in (0.0, 1.0)))
    for _ in HOSTILE:
        page.keyboard.press("j")
    assert wrong == []
    assert page.locator("iframe, img").count() == 0
    assert page.locator(".row").count() == len(HOSTILE)
    assert page.locator(".beside > div").count() == 2
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).display") == "block"
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH
    page.close()


def test_the_square_lists_its_questions_and_keys_step_through_those_that_differ(chromium: Any, tmp_path: Path) -> None:
    page, wrong = seen(chromium, tmp_path, *(many(number, 0.5, count=40) for number in range(3)))
    page.locator("table.heat a").nth(1).click()
    shown = int(page.locator("table.heat a").nth(1).inner_text().split()[0])
    assert page.locator("#count").inner_text().startswith(f"{shown} of 40 questions")
    page.locator("#clear").click()
    page.locator("#outcomes label", has_text="Differ").click()
    first = page.locator("#detail h3").inner_text()
    page.keyboard.press("n")
    assert page.locator("#detail h3").inner_text() != first
    assert page.locator(".beside > div").count() == 3
    assert wrong == []
    page.close()


def test_twenty_thousand_questions_are_painted_at_once(chromium: Any, tmp_path: Path) -> None:
    page, wrong = seen(chromium, tmp_path, *(many(number, 0.5, count=20_000) for number in range(2)))
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)")
    assert wrong == []
    assert all(moment < FIRST_PAINT_MS for moment in painted)
    assert page.locator("#count").inner_text() == "20,000 questions"
    page.close()


def test_ticked_runs_of_the_index_are_compared_with_their_images(opened: Opened, tmp_path: Path) -> None:
    image = sent_image(tmp_path / "pages" / "p.png")
    for number, name in enumerate("ab"):
        records = [record("q", score=float(number), images=(image,))]
        put(tmp_path / name, records, model=name, described={"settings": {"images_dir": str(tmp_path / "pages")}})
    with serving(opened, Viewer(tmp_path, comparison_page)) as address:
        opened.page.goto(address)
        for box in opened.page.locator("tbody input").all():
            box.check()
        opened.page.get_by_text("Compare 2 runs").click()
        opened.page.locator(".beside").wait_for()
        with opened.page.expect_response(re.compile("/0/image/0$")) as reply:
            opened.page.locator("#detail .pictures img").click()
        assert reply.value.ok
