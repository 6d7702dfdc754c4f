"""The page of `label` in a real browser: keys label, a reload shows saved labels, hostile replies have no effect."""

from pathlib import Path

import pytest

from tests.browser.conftest import Opened, serving
from tests.browser.test_accessibility import complaints
from tests.html.samples import HOSTILE
from tests.judge.judged import Run
from tests.judge.test_label import column, labelling


def test_keys_label_one_reply_after_the_other(opened: Opened, tmp_path: Path) -> None:
    pages = labelling(Run(tmp_path, [f"city {n}" for n in range(4)]).log, "ada")
    page = opened.page
    with serving(opened, pages) as address:
        page.goto(address)
        for key in "12":
            page.keyboard.press(key)
        page.get_by_role("button", name="unclear").click()
        page.locator("#count", has_text="3 of 4 labelled · saved").wait_for()
        page.reload()
        assert "4 of 4 · q3" in page.locator("#item h2").inner_text()
        page.keyboard.press("k")
        assert page.locator('[aria-pressed="true"]').inner_text().startswith("unclear")
        page.keyboard.press("x")
        page.keyboard.press("n")
        page.keyboard.press("1")
        page.locator("#count", has_text="3 of 4 labelled · saved").wait_for()
        assert opened.wrong == []
    assert column(pages.sheet, "label_ada") == ["correct", "incorrect", "", "correct"]


def test_a_label_that_can_not_be_saved_is_undone(opened: Opened, tmp_path: Path) -> None:
    pages = labelling(Run(tmp_path, ["city 0", "city 1"]).log)
    with serving(opened, pages) as address:
        opened.page.goto(address)
        pages.sheet.unlink()
        opened.page.keyboard.press("1")
        opened.page.locator("#count", has_text="0 of 2 labelled · Not saved: ").wait_for()
        assert "1 of 2 · q0" in opened.page.locator("#item h2").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_replies_are_text_and_no_rule_of_access_is_broken(opened: Opened, tmp_path: Path, scheme: str) -> None:
    pages = labelling(Run(tmp_path, [text.replace("\0", "") for text in HOSTILE]).log, "<b>ada</b>")
    with serving(opened, pages) as address:
        opened.page.goto(address)
        for _ in HOSTILE:
            opened.page.keyboard.press("j")
        assert opened.page.evaluate("window.hacked") is None
        assert opened.page.evaluate("document.scripts.length") == 2
        assert opened.wrong == []
        opened.page.set_viewport_size({"width": 390, "height": 800})
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert complaints(opened.context.browser, address, scheme) == []
