from pathlib import Path

from tests.reports.vqa2_records import BOAT, DAY, GULLS, SETUP, THREE, Pair, asked, lost, replied, run_of
from vqa_client.cli.report_tables import as_tables
from vqa_client.reports.report import Report
from vqa_client.tasks.vqa2.report import write


def report(folder: Path, name: str, pairs: list[Pair]) -> Report:
    path = folder / f"{name}.json"
    summary = write(path, run_of(config=name), lambda: pairs, SETUP)
    return Report(
        task="vqa2",
        folder="",
        model=f"org/{name}",
        path=path,
        expected=len(pairs),
        left_out={"no_image": ("9",)},
        summary=summary,
        headline="normalised",
        failures={record.status: record.error for _, record in pairs if record.error},
    )


def row(text: str, *begins: str) -> list[str]:
    """The cells of the first line that begins with one word, after the first line that begins with another."""
    lines = [line.strip() for line in text.splitlines()]
    at = 0
    for begin in begins:
        at = next(n for n in range(at, len(lines)) if lines[n].startswith(begin)) + 1
    return lines[at - 1].split()


def test_the_published_table_ranks_the_models(tmp_path: Path) -> None:
    good = [replied(DAY, "yes", 1.0), replied(BOAT, "red", 2.0), replied(GULLS, "3", 3.0)]
    text = as_tables([report(tmp_path, "small", THREE), report(tmp_path, "large", good)])
    assert row(text, "model") == ["model", "correct", "accuracy", "(framework)", "average", "time", "assessment"]
    assert row(text, "model", "large") == ["large", "3/3", "100.0", "100.0", "2.00", "s", "excellent"]
    assert row(text, "model", "small") == ["small", "2/3", "66.7", "66.7", "2.00", "s", "excellent"]
    assert text.index("large") < text.index("small")


def test_the_two_scores_called_vqa_accuracy_are_told_apart(tmp_path: Path) -> None:
    lines = as_tables([report(tmp_path, "small", THREE)]).splitlines()
    named = [line for line in lines if "VQA accuracy" in line and line.strip() != "VQA accuracy"]
    assert [("(framework)" in line, "(ten answers)" in line) for line in named] == [(True, False), *[(False, True)] * 2]
    headers = [lines[at + 1].split() for at, line in enumerate(lines) if line.strip() == "VQA accuracy"]
    assert ["(framework)" in headers[0], "(ten" in headers[1]] == [True, True]


def test_kinds_and_official_types_are_broken_down_for_each_model(tmp_path: Path) -> None:
    text = as_tables([report(tmp_path, "small", THREE)])
    assert row(text, "kind", "yes/no") == ["yes/no", "100.0", "(1/1)"]
    assert row(text, "kind", "count") == ["count", "0.0", "(0/1)"]
    assert row(text, "kind", "other") == ["other", "-"]
    assert row(text, "question type", "how many") == ["how", "many", "0.0", "(1)"]


def test_the_comparison_has_intervals_and_times(tmp_path: Path) -> None:
    text = as_tables([report(tmp_path, "small", THREE)])
    cells = row(text, "model", "model", "small")
    assert cells == ["small", "33.3", "4.2-85.2", "0.0", "66.7", "66.7", "2.00", "2.90"]


def test_what_is_not_simply_right_or_wrong_is_said(tmp_path: Path) -> None:
    text = as_tables([report(tmp_path, "small", THREE)])
    assert "small: 1 question failed (timeout): no reply within 60 s" in text
    assert "small: 1 left out, no image" in text
    assert "small.json" in text


def test_single_questions_are_shown_on_request(tmp_path: Path) -> None:
    pairs = [replied(DAY, "Yes."), replied(BOAT, "It is\nblue and " + "very " * 40), lost(GULLS)]
    reports = [report(tmp_path, "small", pairs)]
    assert "Is it day?" not in as_tables(reports)
    text = as_tables(reports, verbose=True)
    assert "1000 · yes/no · Is it day? · yes\n    right small: Yes.\n" in text
    assert f"    wrong small: {('It is blue and ' + 'very ' * 40)[:48]} ...\n" in text
    assert "    wrong small: error: no reply within 60 s" in text
    assert max(len(line) for line in text.splitlines() if "small:" in line and "It is blue" in line) < 120


def test_an_unlabelled_split_has_dashes_and_no_zeros(tmp_path: Path) -> None:
    pairs = [replied(asked(1, "Is it day?"), "Yes"), replied(asked(2, "What color is it?"), "red")]
    text = as_tables([report(tmp_path, "small", pairs)], verbose=True)
    assert row(text, "model", "small") == ["small", "-", "-", "-", "0.50", "s", "N/A"]
    assert row(text, "kind", "color") == ["color", "-", "(1)"]
    assert "    - small: Yes" in text
    assert "small_submission.json" in text


def test_foreign_text_is_shown_and_not_obeyed(tmp_path: Path) -> None:
    pairs = [replied(asked(1, "[bold]Is it \x1b[31mday?", *["yes"] * 10), "\x1b[2J[red]no")]
    text = as_tables([report(tmp_path, "small", pairs)], verbose=True)
    assert "\x1b" not in text
    assert "[bold]Is it" in text


def test_many_models_are_set_in_several_tables(tmp_path: Path) -> None:
    reports = [report(tmp_path, f"a_model_of_number_{n}", THREE) for n in range(14)]
    text = as_tables(reports)
    assert text.count("100.0 (1/1)") == 14 * 2
    assert text.count(" kind ") == 2
    assert "…" not in text


def test_the_gap_to_the_official_score_is_told_with_its_reason(tmp_path: Path) -> None:
    text = " ".join(as_tables([report(tmp_path, "small", [replied(DAY, "Yes."), replied(BOAT, "red")])]).split())
    assert "small: normalised - official = +50.00 points, +50.00 of them from the 2 questions (100.0 %)" in text


def test_answers_that_are_sentences_are_told_of(tmp_path: Path) -> None:
    pairs = [replied(DAY, "Yes, it is a bright day."), replied(BOAT, "red")]
    text = " ".join(as_tables([report(tmp_path, "small", pairs)]).split())
    assert "small: 1 answer of more than 5 words, where VQA accuracy wants a short answer" in text
    assert "more than 5 words" not in as_tables([report(tmp_path, "small", pairs[1:])])
