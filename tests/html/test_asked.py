"""The figures of a run's options lead its page."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.html.samples import facts, failed, record, write_run
from tests.html.test_page import html_of, said
from vqa_client.html.asked import AskedForms, asked
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.overview import overview
from vqa_client.types import Record


def found(tmp_path: Path, records: list[Record], run: Any = None) -> AskedForms:
    made = read_run(write_run(tmp_path, records, run=run))
    return asked(overview(made))


def chosen(number: int, answer: str | None, right: str, **changes: Any) -> Record:
    fields: dict[str, Any] = {
        "prompt": f"A. not this\nWhich of {number}?\nA. ash\nB. bay\nC. cedar",
        "references": (right,),
        "answer": answer,
        "status": "ok" if answer else "unparsed",
    }
    return record(number, right=answer == right, **(fields | changes))


def rotations(number: int, *answers: str) -> list[Record]:
    """The right text is choice A in the data: it is shown as A, C and B."""
    return [
        chosen(number, answer, right, variant=f"rotation/{by}")
        for by, (answer, right) in enumerate(zip(answers, "ACB", strict=True))
    ]


def test_right_in_all_rotations_leads(tmp_path: Path) -> None:
    records = [*rotations(1, *"ACB"), *rotations(2, *"AAA"), *rotations(3, *"ACA"), *rotations(4, *"ACB")[:2]]
    of = found(tmp_path, records)
    assert [(one.label, one.share, one.n) for one in of.lead] == [
        ("right in all rotations", pytest.approx(1 / 3), 3),
        ("mean of all rotations", pytest.approx(2 / 3), 3),
    ]
    assert {one.label: one.share for one in of.together} == {
        "right in at least one": 1.0,
        "majority of texts": pytest.approx(7 / 9),  # of texts chosen as often, the mean of their scores
        "always the same text": pytest.approx(1 / 3),
        "always the same letter": pytest.approx(1 / 3),
    }
    assert of.notes == ("1 question without all rotations yet, left out of these figures.",)
    assert of.option == "every question in 3 rotations of its choices (--circular)"
    assert of.chance == pytest.approx(1 / 3)
    assert of.confusion is not None
    assert (of.confusion.of, sum(n for _, cells in of.confusion.rows for n, _, _ in cells)) == ("", 11)
    text = said(html_of(tmp_path / "page", records))
    assert "33.3 % right in all rotations" in text
    assert "guessing 33.3\u202f% (dashed)" in text.replace("&#8239;", "\u202f")


def test_a_failure_in_a_later_rotation_alone_is_linked(tmp_path: Path) -> None:
    lost = failed(1, variant="rotation/2", references=("B",))
    page = html_of(tmp_path / "lost", [*rotations(1, *"ACB")[:2], lost])
    assert '<a href="#outcome=failed">What got no reply</a>' in page
    assert "What got no reply" not in html_of(tmp_path / "none", rotations(1, *"ACB"))


def test_the_difference_that_images_make_is_paired(tmp_path: Path) -> None:
    records = [
        record(number, variant=variant, right=variant == "seen" or number < 2)
        for number in range(8)
        for variant in ("seen", "blind")
    ]
    of = found(tmp_path, [*records, record(9, variant="seen")])
    assert [(one.label, one.share) for one in of.lead] == [("with images", 1.0), ("without images", 0.25)]
    assert of.gaps[0].difference is not None
    assert (of.gaps[0].label, of.gaps[0].difference.value, of.gaps[0].difference.n) == ("all", 0.75, 8)
    assert [gap.label for gap in of.gaps[1:]] == ["difficulty easy", "difficulty hard"]
    assert of.notes == ("1 question only asked one way so far, left out of these figures.",)
    assert (of.option, of.before, of.after) == (
        *("every question with its images and without (--blind)", "without images", "with images"),
    )
    assert [(one.label, one.share) for one in of.together] == [
        ("of the questions right with images, also right without", 0.25),
        ("the same answer both ways", 1.0),
    ]
    page = html_of(tmp_path / "page", records)
    [drawn, *_] = re.findall(
        r'viewBox="-100 0 200[^¶]*?"reach" x1="([^"]+)" x2="([^"]+)"[^¶]*?"mean" x1="([^"]+)"', page
    )
    assert "+75.0" in said(page)
    gap = of.gaps[0].difference
    assert drawn == tuple(f"{100 * share:.2f}" for share in (gap.low, gap.high, gap.value))


def test_repeats_give_pass_at_k(tmp_path: Path) -> None:
    records = [record(n, variant=f"repeat/{at}", right=at == 1 or n == 0) for n in range(4) for at in (1, 2)]
    of = found(tmp_path, records)
    assert [(one.label, one.share) for one in of.lead] == [
        ("pass@1: mean of 2 repeats", 0.625),
        ("pass@2: right in at least one of 2", 1.0),
    ]
    assert of.option == "every question 2 times (--repeat)"
    fewer = found(tmp_path / "fewer", records[:-1])
    assert fewer.notes == ("1 question without all repeats yet, left out of these figures.",)


def test_forms_of_pages_are_compared_in_the_order_in_which_they_were_asked_for(tmp_path: Path) -> None:
    run = facts()
    run["identity"]["asked"] = "pages evidence,all"
    records = [record(n, variant=form, right=form == "evidence") for n in range(3) for form in ("all", "evidence")]
    of = found(tmp_path, records, run)
    (gap,) = of.gaps
    assert (of.option, of.before, of.after) == ("every question with pages evidence, all (--pages)", "before", "after")
    assert [(one.label, one.share) for one in of.lead] == [("pages evidence", 1.0), ("pages all", 0.0)]
    assert gap.difference is not None
    assert (gap.label, gap.before, gap.after, gap.difference.value) == ("all less evidence", 1.0, 0.0, -1.0)
    assert gap.link == ""


def test_corruptions_are_listed_by_their_drop(tmp_path: Path) -> None:
    records = [
        record(n, variant=variant, right=n >= lost)
        for n in range(10)
        for variant, lost in (("clean", 0), ("snow/1", 2), ("fog/1", 5))
    ]
    of = found(tmp_path, records)
    gaps = of.gaps
    assert (of.option, of.before, of.after) == (
        *("clean and corrupted images; largest drops first", "clean", "corrupted"),
    )
    assert of.notes == ("Each drop is paired: the same questions, clean and corrupted.",)
    assert [(gap.label, gap.difference and gap.difference.value) for gap in gaps] == [("fog 1", -0.5), ("snow 1", -0.2)]
    assert (gaps[0].link, gaps[0].before, gaps[0].after) == ("#by.variant=fog%2F1", 1.0, 0.5)
    assert found(tmp_path / "odd", [*records[:3], record(9, variant="odd")]).option == ""


def test_choices_are_crossed_and_lead_to_their_questions(tmp_path: Path) -> None:
    records = [chosen(1, "A", "A"), chosen(2, "B", "A"), chosen(3, "B", "A"), chosen(4, None, "C")]
    of = found(tmp_path, [*records, failed(5, prompt=records[0].prompt, references=("B",))])
    assert of.confusion is not None
    counts = {right: [n for n, _, _ in cells] for right, cells in of.confusion.rows}
    assert (of.confusion.columns, counts) == (
        ("A", "B", "C", "-"),
        {"A": [1, 2, 0, 0], "B": [0, 0, 0, 1], "C": [0, 0, 0, 1]},
    )
    assert of.confusion.rows[0][1][1][2] == "#right=A&chosen=B"
    assert of.confusion.of == "", "of all records"
    assert (of.chance, of.same_chance) == (pytest.approx(1 / 3), True)
    assert of.confusion.places.positions["A"].recall.value == pytest.approx(1 / 3)
    few = [record(9, prompt="How many?", references=("3",)), chosen(1, "A", "A"), chosen(2, "B", "A")]
    of = found(tmp_path / "few", few)
    assert (of.chance, of.same_chance, of.confusion is None) == (None, False, False)
    of = found(tmp_path / "fewer", [*few[:2], replace(few[0], question_id="q8")])
    assert (of.chance, of.confusion) == (None, None)


def test_probabilities_give_a_reliability_diagram(tmp_path: Path) -> None:
    records = [chosen(n, "A", "AB"[n % 2], probabilities={"A": 0.9, "B": 0.1, "C": 0.0}) for n in range(4)]
    of = found(tmp_path, records)
    assert of.calibration is not None
    assert of.calibration.expected_error == pytest.approx(0.4)
    assert [(one.n, one.accuracy) for one in of.bins] == [(4, 0.5)]
    assert "Reliability: accuracy by confidence" in said(html_of(tmp_path / "page", records))


@pytest.mark.parametrize("records", [[record()], [record(variant="clean")], [failed(1)], []])
def test_a_plain_run_has_no_figures_of_options(tmp_path: Path, records: list[Record]) -> None:
    of = found(tmp_path, records)
    assert (of.option, of.lead, of.gaps) == ("", (), ())
    of = found(tmp_path, [replace(each, variant="shuffled/7") for each in records])
    assert (of.option, of.lead) == ("shuffled choices (--shuffle_choices)" if records else "", ())
