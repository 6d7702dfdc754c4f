"""The accessibility of the pages, checked by axe."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.browser.conftest import report_of
from tests.compare.logged import many, put
from tests.html.samples import corrupted, mixed, write_run
from tests.html.samples_judged import sample_judged
from vqa_client.compare.leaderboard import leaderboard, write_board_page
from vqa_client.compare.write import compare_runs, write_comparison
from vqa_client.reports.judged import judged_path

RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],  # one element of each other kind: half the time
}


def complaints(browser: Any, address: str, scheme: str) -> list[str]:
    """The rules that the page breaks with everything unfolded, each with an example."""
    axe = pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    context = browser.new_context(bypass_csp=True, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    found = page.evaluate("rules => axe.run(document, rules)", RULES)
    context.close()
    assert len(found["passes"]) > 20
    return [f"{broken['id']}: {broken['nodes'][0]['html'][:200]}" for broken in found["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_is_broken_by_a_report(chromium: Any, tmp_path: Path, scheme: str) -> None:
    for name, records in (("mixed", list(mixed())), ("corrupted", corrupted(5))):
        log = write_run(tmp_path / name, records)
        judged_path(log, "correct").write_bytes(msgspec.json.encode(sample_judged(raised=("q61",), lowered=("q1",))))
        assert complaints(chromium, report_of(log), scheme) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_is_broken_by_a_comparison(chromium: Any, tmp_path: Path, scheme: str) -> None:
    for number in range(2):
        put(tmp_path / str(number), many(number, 0.5, count=60), model=f"org/{number}")
    sides, compared = compare_runs([tmp_path / "0", tmp_path / "1"])
    write_comparison(tmp_path, sides, compared, html_images=0, csv_safe=False)
    assert complaints(chromium, (tmp_path / "compare.html").as_uri(), scheme) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_rule_is_broken_by_a_leaderboard(chromium: Any, tmp_path: Path, scheme: str) -> None:
    for number in range(3):
        put(tmp_path / str(number), many(number, 0.3 * number, count=60), model=f"org/{number}")
        put(tmp_path / str(number), many(number, 0.5, count=20 + number), model=f"org/{number}", stem="mc", task="mc")
    write_board_page(tmp_path / "leaderboard.html", leaderboard([tmp_path]), "general")
    assert complaints(chromium, (tmp_path / "leaderboard.html").as_uri(), scheme) == []
