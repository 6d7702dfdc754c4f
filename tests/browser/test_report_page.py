"""The page in a real browser: filters, keys, links, hostile texts, twenty thousand questions, a running run."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.browser.conftest import Opened, report_of, serving
from tests.html.samples import HOSTILE, corrupted, facts, failed, hostile, mixed, needles, record, write_run
from tests.html.samples_judged import sample_judged
from tests.html.test_shown_images import put, run_of
from vqa_client.compare.write import comparison_page
from vqa_client.html.viewer import Viewer, read_notes
from vqa_client.reports.judged import judged_path

FIRST_PAINT_MS = 2000


@pytest.fixture
def report(opened: Opened, tmp_path: Path) -> Opened:
    """One hundred questions: 60 right, 20 wrong, 15 without a reply, 5 unparsed."""
    opened.page.goto(report_of(write_run(tmp_path, mixed())))
    return opened


def test_the_page_opens_from_disk_and_asks_for_nothing_else(report: Opened) -> None:
    assert report.wrong == []
    assert len(report.asked) == 1
    assert report.count == "100 questions"
    assert report.chosen == "q0"


def test_the_filters_limit_the_list_and_are_in_the_address(report: Opened) -> None:
    report.page.get_by_text("Wrong", exact=True).click()
    assert report.count == "25 of 100 questions · accuracy here 0.0 %"
    report.page.get_by_label("any status").select_option("unparsed")
    assert report.count.startswith("5 of 100")
    report.page.get_by_label("any difficulty").select_option("hard")
    assert report.count.startswith("2 of 100")
    address = report.page.url
    report.page.get_by_role("button", name="Clear").click()
    assert report.count == "100 questions"
    report.page.goto("about:blank")
    report.page.goto(address)
    assert report.count.startswith("2 of 100")


def test_text_is_found_and_marked(report: Opened) -> None:
    report.page.keyboard.press("/")
    report.page.keyboard.type("harbour 42")
    report.until_count("1 of")
    assert report.chosen == "q42"
    assert report.page.locator("#detail mark:not(.read)").first.inner_text() == "harbour 42"
    report.page.keyboard.press("Escape")
    report.page.keyboard.press("c")
    assert report.count == "100 questions"


def test_a_run_without_known_answers_calls_no_question_wrong(opened: Opened, tmp_path: Path) -> None:
    unknown = [record(n, references=(), score=0.0, groups={"size": "ab"[n % 2]}) for n in range(3)]
    opened.page.goto(report_of(write_run(tmp_path, [*unknown, failed(3)])))
    assert opened.page.locator("#outcomes label").all_inner_texts() == ["All", "No reply"]
    assert opened.page.locator("#detail .badge").inner_text() == "· no known answer"
    assert opened.page.get_by_label("no known answer").count() == 3
    opened.page.get_by_label("any size").select_option("a")
    assert opened.count == "2 of 4 questions"
    with opened.page.expect_download() as found:
        opened.page.get_by_role("button", name="JSONL", exact=True).click()
    rows = map(msgspec.json.decode, found.value.path().read_text().splitlines())
    assert [row["score"] for row in rows] == [None, None]
    assert opened.page.locator(".jump a").all_inner_texts() == ["All questions", "What got no reply"]
    assert "fully right" not in opened.page.locator("main").inner_text()
    assert opened.wrong == []


def test_an_empty_list_says_so(report: Opened) -> None:
    report.page.locator("#find").fill("no such words")
    report.until_count("0 of")
    assert report.page.locator("#detail").inner_text() == "No question matches."


def test_the_keys_step_through_the_questions(report: Opened) -> None:
    for key, chosen in (("j", "q1"), ("j", "q2"), ("k", "q1"), ("n", "q60"), ("G", "q99"), ("p", "q98"), ("g", "q0")):
        report.page.keyboard.press(key)
        assert report.chosen == chosen
    report.page.keyboard.press("w")
    assert report.count.startswith("25 of")
    report.page.keyboard.press("?")
    assert report.page.locator("#help").is_visible()
    report.page.keyboard.press("Escape")
    assert not report.page.locator("#help").is_visible()


def test_the_chosen_row_is_visible_and_announced_to_screen_readers(report: Opened) -> None:
    report.page.locator("#list").focus()
    report.page.keyboard.press("End")
    row = report.page.locator('[role="option"][aria-selected="true"]')
    assert row.get_attribute("aria-posinset") == "100"
    assert report.page.locator("#list").get_attribute("aria-activedescendant") == row.get_attribute("id")
    assert row.is_visible()


def test_a_question_has_a_link_of_its_own(report: Opened) -> None:
    href = report.page.get_by_role("link", name="Link").get_attribute("href")
    report.page.goto(report.page.url.partition("#")[0] + "#q=q77")
    assert (href, report.chosen) == ("#q=q0", "q77")


def test_a_number_of_the_summary_links_to_its_questions(report: Opened) -> None:
    report.page.get_by_role("link", name="unparsed").click()
    report.until_count("5 of")


def test_a_failed_question_says_why(report: Opened) -> None:
    report.page.goto(report.page.url.partition("#")[0] + "#q=q80")
    detail = report.page.locator("#detail").inner_text()
    assert "no reply within 60 s" in detail
    assert "HTTP 502" in detail


def test_everything_is_unfolded_on_paper_and_the_screen_does_not_change(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(report_of(write_run(tmp_path, [record(references=("blue",) * 8 + ("dark blue",) * 2)])))
    folded = opened.page.locator("#summary details:not([open])")
    before = folded.count()
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert (before > 3, folded.count()) == (True, 0)
    assert "blue x8, dark blue x2" in opened.page.locator("#printed tbody tr").inner_text()
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert (folded.count(), opened.page.locator("#printed").inner_html()) == (before, "")


def test_variants_of_a_question_link_to_each_other(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(report_of(write_run(tmp_path, corrupted(5))) + "#q=q3&v=snow%2F2")
    opened.page.locator("#detail").get_by_role("link", name="zoom_blur/5").click()
    opened.page.locator("#detail .aside", has_text="·  zoom_blur/5").first.wait_for()
    assert opened.chosen == "q3"


def test_ten_answers_are_shown_as_votes(opened: Opened, tmp_path: Path) -> None:
    answers = ("dark blue", *("blue",) * 8, "dark blue")
    opened.page.goto(report_of(write_run(tmp_path, [record(references=answers), record(2, references=("a", "b"))])))
    assert "blue x8, dark blue x2" in opened.page.locator(".row .under").first.inner_text()
    assert "blue x8, dark blue x2" in opened.page.locator("#detail .answers").inner_text()
    assert "a / b" in opened.page.locator(".row .under").last.inner_text()


def test_a_template_that_all_prompts_begin_with_is_in_no_row(opened: Opened, tmp_path: Path) -> None:
    template = "Answer in one word.\nNothing else.\n\nQuestion: "
    asked = ("How many ships?", "How many boats?", "Which harbour?")
    records = [record(n, prompt=template + question) for n, question in enumerate(asked)]
    opened.page.goto(report_of(write_run(tmp_path, [*records, failed(9)])))
    assert opened.page.locator(".row .text").all_inner_texts() == [*asked, "question q9"]
    assert opened.page.locator("#detail pre").last.inner_text().startswith("Answer in one word.")


def test_several_variants_are_listed_but_never_pooled(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(report_of(write_run(tmp_path, corrupted(5))))
    assert opened.count == "80 questions in 16 variants"
    opened.page.get_by_label("any variant").select_option("snow/2")
    opened.until_count("5 of 80 questions · accuracy here")


def test_hostile_texts_do_nothing(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(report_of(write_run(tmp_path, hostile())))
    for key in ("r", "j") * len(HOSTILE):
        opened.page.keyboard.press(key)
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.page.evaluate("window.hacked") is None
    assert opened.wrong == []
    assert len(opened.asked) == 1


def test_hostile_texts_are_shown_unchanged_in_the_details(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(report_of(write_run(tmp_path, hostile())))
    for text in HOSTILE:
        shown = opened.page.locator("#detail .reply").last.text_content()
        assert shown == "".join(_seen(character) for character in text * 3)
        opened.page.keyboard.press("j")
    assert opened.page.evaluate("window.hacked") is None
    assert opened.page.evaluate("document.scripts.length") == 2
    assert opened.page.locator("img, svg[onload], main script").count() == 0


def _seen(character: str) -> str:
    unseen = (ord(character) < 32 and character not in "\n\t") or character in "\u202e\u202c\u2028\u2029"
    return f"U+{ord(character):04X}" if unseen else character


def test_injected_script_does_not_run(report: Opened) -> None:
    report.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 1\">')")
    report.page.wait_for_timeout(100)
    assert report.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in said for said in report.wrong)


def test_a_reply_of_a_megabyte_is_shown(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(report_of(write_run(tmp_path, [record(output="x" * 1_000_000 + " the end")])))
    assert "characters left out here" in opened.page.locator("#detail .reply").inner_text()
    assert opened.page.locator("#detail .reply").inner_text().endswith("the end")


def test_images_are_shown_small_and_linked(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(report_of(run_of(tmp_path, put(tmp_path / "pages/a.png")).log))
    assert opened.page.evaluate("document.querySelector('.pictures img').complete") is True
    assert opened.page.evaluate("document.querySelector('.pictures img').naturalWidth") == 360
    assert opened.page.locator(".pictures a").first.evaluate("(link) => link.href").endswith("/pages/a.png")
    assert opened.wrong == []


def test_twenty_thousand_questions_are_painted_within_two_seconds(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(report_of(write_run(tmp_path, needles(20_000))))
    opened.page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
    painted_ms = opened.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    assert painted_ms < FIRST_PAINT_MS
    assert opened.count == "20,000 questions"
    assert opened.page.locator("#list .row").count() < 60
    opened.page.keyboard.press("G")
    assert opened.chosen == "q19999"
    began_ms = opened.page.evaluate("performance.now()")
    opened.page.locator("#find").fill("so it is 1234.")
    opened.until_count("1 of")
    assert opened.page.evaluate("performance.now()") - began_ms < FIRST_PAINT_MS


def test_a_served_page_follows_its_run_and_keeps_the_readers_place(opened: Opened, tmp_path: Path) -> None:
    log = write_run(tmp_path, [record(n, right=n % 2 == 0) for n in range(10)])
    with serving(opened, Viewer(tmp_path, comparison_page)) as address:
        opened.page.goto(address + "0/#outcome=wrong&q=q3")
        opened.page.wait_for_timeout(300)
        with log.open("ab") as file:
            file.write(msgspec.json.encode(record(11, right=False)) + b"\n")
        opened.until_count("6 of 11")
        assert opened.chosen == "q3"
        assert "11 questions" in opened.page.locator("#summary").inner_text()


def test_notes_and_tags_are_kept_beside_the_run_and_filter_its_questions(opened: Opened, tmp_path: Path) -> None:
    log = write_run(tmp_path, hostile())
    with serving(opened, Viewer(tmp_path, comparison_page)) as address:
        opened.page.goto(address + "0/")
        opened.page.locator(".note").wait_for()
        for key, text in zip("g" + "j" * len(HOSTILE), HOSTILE, strict=False):
            opened.page.keyboard.press(key)
            opened.page.keyboard.press("m")
            opened.page.keyboard.insert_text(text.replace("\0", ""))
            opened.page.get_by_label("Tags").fill(f"{text.replace(',', '')[:9]}, odd".replace("\0", ""))
            opened.page.keyboard.press("Escape")
        opened.page.locator("#detail [role=status]", has_text="saved").wait_for()
        opened.page.reload()
        opened.page.get_by_label("any tag").select_option("odd")
        opened.until_count(f"{len(HOSTILE)} ")
        opened.page.get_by_label("Note", exact=True).fill("")
        opened.page.get_by_label("Tags").fill("")
        opened.page.keyboard.press("Escape")
        opened.page.keyboard.press("c")
        opened.page.get_by_label("any note").select_option("no")
        opened.until_count(f"1 of {len(HOSTILE)}")
        assert opened.page.evaluate("window.hacked") is None
        assert opened.wrong == []
    assert len(read_notes(log)) == len(HOSTILE) - 1
    opened.page.goto(report_of(log))
    assert opened.page.locator(".note").count() == 0


def test_the_judge_table_links_to_the_questions_on_which_judge_and_rule_differ(opened: Opened, tmp_path: Path) -> None:
    log = write_run(tmp_path, [record(n, right=n % 2 == 0) for n in range(10)])
    judged = sample_judged(raised=("q1", "q3"), lowered=("q4",))
    judged_path(log, "correct").write_bytes(msgspec.json.encode(judged))
    opened.page.goto(report_of(log))
    assert "right 20/20, injected 18/20" in opened.page.locator("#summary").inner_text()
    opened.page.locator("#summary").get_by_role("link", name="2", exact=True).click()
    opened.until_count("2 of 10")
    assert "right; wrong by the rule" in opened.page.locator("#detail").inner_text()
    opened.page.get_by_label("any judge").select_option("correct by <b>judge</b>: differs from the rule")
    opened.until_count("3 of 10")
    assert opened.wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(chromium: Any, tmp_path: Path, scheme: str) -> None:
    page = Opened(chromium, color_scheme=scheme)
    page.page.goto(report_of(write_run(tmp_path, corrupted(40))))
    pairs = page.page.evaluate(CONTRASTS)
    page.context.close()
    assert len(pairs) > 5
    assert min(pairs) >= 4.5


CONTRASTS = """() => {
  const parts = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const light = (colour) => parts(colour).slice(0, 3).map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (one) => { for (; one; one = one.parentElement) {
    const found = getComputedStyle(one).backgroundColor; if (parts(found)[3] !== 0) return found; } };
  return [...document.querySelectorAll("p, .heat a, th, td, dt, h2, .is-wrong, .is-right, a")].map((one) => {
    const [low, high] = [light(getComputedStyle(one).color), light(ground(one))].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05); });
}"""


def test_numbers_and_a_table_of_questions_are_printed(report: Opened) -> None:
    report.page.emulate_media(media="print")
    report.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert report.page.locator("#printed tr").count() == 101
    assert not report.page.locator("#filters").is_visible()
    assert report.page.locator("#printed .sheet").is_visible()


def test_a_narrow_page_does_not_scroll_sideways(report: Opened) -> None:
    report.page.set_viewport_size({"width": 390, "height": 800})
    assert report.page.evaluate("document.documentElement.scrollWidth") <= 390


MARKDOWN = (
    "Let me see: B?\n\n# So\n- **bold** and `code`\n- $\\frac{1}{2} \\times x^2$\n\n<b>no</b> the answer is **A**"
)


def test_a_reply_shows_what_was_read_and_can_be_drawn(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(report_of(write_run(tmp_path, [record(output=MARKDOWN)])))
    reply = opened.page.locator("#detail .reply")
    assert reply.text_content() == MARKDOWN
    assert reply.locator("mark.read").all_text_contents() == ["A"]
    assert "rule answer" in str(reply.locator("mark.read").get_attribute("title"))
    opened.page.get_by_role("button", name="Draw its Markdown").click()
    assert reply.locator("b").all_text_contents() == ["So", "bold", "A"]
    assert reply.locator(".math").inner_text().replace("\n", "") == "(1)/(2) × x2"
    assert "<b>no</b>" in reply.inner_text()
    assert opened.wrong == []


def test_the_answer_has_the_text_of_its_choice(opened: Opened, tmp_path: Path) -> None:
    opened.page.goto(report_of(write_run(tmp_path, [record(right=False)])))
    assert opened.page.locator("#detail .answers dd").all_inner_texts()[:2] == ["A. Ada", "B. Bee"]


def test_a_cell_of_the_confusion_shows_its_questions(report: Opened) -> None:
    report.page.locator("#summary .heat a").nth(1).click()
    report.until_count("20 of 100")
    assert report.page.get_by_label("any right choice").input_value() == "B"


def test_the_request_is_given_as_curl_without_a_key(opened: Opened, tmp_path: Path) -> None:
    run = facts(server={"base_url": "http://host/v1"})
    opened.page.goto(report_of(write_run(tmp_path, [record(prompt="What's it?")], run=run)))
    command = opened.page.locator("#detail details pre").last.text_content() or ""
    assert command.startswith("curl 'http://host/v1/chat/completions'")
    assert "$API_KEY" in command
    assert "What'\\''s it?" in command


def test_the_filtered_questions_are_downloaded_and_no_cell_is_a_formula(opened: Opened, tmp_path: Path) -> None:
    records = [record(1, output="=1+1"), record(2, right=False, output='say "no"')]
    opened.page.goto(report_of(write_run(tmp_path, records)))
    texts = {}
    for form in ("CSV", "JSONL"):
        with opened.page.expect_download() as found:
            opened.page.get_by_role("button", name=form, exact=True).click()
        texts[found.value.suggested_filename] = found.value.path().read_text()
    assert '"\'=1+1"' in texts["questions.csv"]
    assert '"say ""no""' in texts["questions.csv"]
    rows = [msgspec.json.decode(line) for line in texts["questions.jsonl"].splitlines()]
    assert [(row["output"], row["references"]) for row in rows] == [("=1+1", ["A"]), ('say "no"', ["B"])]


def test_the_pages_of_a_question_are_read_in_a_lightbox(opened: Opened, tmp_path: Path) -> None:
    images = [put(tmp_path / f"pages/{name}.png", side=1200 + n) for n, name in enumerate("abcd")]
    run = facts(images_dir=str(tmp_path / "pages"))
    opened.page.goto(report_of(write_run(tmp_path, [record(images=tuple(images))], run=run)))
    opened.page.keyboard.press("i")
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.locator("#image-title").inner_text() == "b.png · 2 of 4"
    opened.page.wait_for_timeout(200)
    assert opened.page.evaluate("document.querySelector('#sheet img').naturalWidth") >= 1200
    opened.page.keyboard.press("Escape")
    assert not opened.page.locator("#lightbox").is_visible()
    assert opened.wrong == []


def test_the_index_of_runs_sorts_and_filters(opened: Opened, tmp_path: Path) -> None:
    for name, right in (("a", False), ("b", True)):
        write_run(tmp_path / name, [record(n, right=right) for n in range(3)], name=name)
    with serving(opened, Viewer(tmp_path, comparison_page)) as address:
        opened.page.goto(address)
        folders = opened.page.locator("tbody tr:visible td:last-child")
        assert folders.all_inner_texts() == ["a", "b"]
        for _ in range(2):
            opened.page.locator("thead button").nth(2).click()
        assert folders.all_inner_texts() == ["b", "a"]
        opened.page.locator("#find").fill("100.0")
        assert folders.all_inner_texts() == ["b"]
        opened.page.get_by_role("link").first.click()
        assert opened.chosen == "q0"
        assert opened.wrong == []
