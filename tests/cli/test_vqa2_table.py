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


NONE = "questions without a reply count as wrong"
FRAMEWORK = (
    "accuracy and VQA accuracy (framework) in %: the published framework's scores, against the most frequent answer"
)
KINDS = "in % of the questions of a kind, by the published accuracy"
TEN = "VQA accuracy (ten answers) in %"
AGAINST = f"{TEN}, with its 95 % interval: against all answers of a question; times in s"
HEADS = ["VQA accuracy", "model correct accuracy (framework) average time assessment"]
TIMES = ["VQA accuracy", "model (ten answers) interval official whole words replied median p95"]


def lines(reports: list[Report]) -> list[str]:
    text = as_tables(reports, verbose=True)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip(" ─")]


def test_the_tables_of_two_models_word_for_word(tmp_path: Path) -> None:
    said = [replied(DAY, "Yes, it is a bright day."), replied(BOAT, "red"), lost(GULLS)]
    agree = "of them from the 3 questions (100.0 %) whose annotators all agree: there the official evaluator"
    assert lines([report(tmp_path, "small", said), report(tmp_path, "large", THREE)]) == [
        *("vqa2 · 3 questions", FRAMEWORK, NONE, *HEADS),
        "small 2/3 66.7 66.7 0.50 s excellent",
        "large 2/3 66.7 66.7 2.00 s excellent",
        KINDS,
        "kind small large",
        *("yes/no 100.0 (1/1) 100.0 (1/1)", "color 100.0 (1/1) 100.0 (1/1)", "count 0.0 (0/1) 0.0 (0/1)", "other - -"),
        f"by official question type, {TEN}",
        "question type small large",
        *("how many 0.0 (1) 0.0 (1)", "is it 0.0 (1) 0.0 (1)", "what color is the 100.0 (1) 100.0 (1)"),
        AGAINST,
        *TIMES,
        "small 33.3 4.2-85.2 33.3 66.7 66.7 0.50 0.50",
        "large 33.3 4.2-85.2 0.0 66.7 66.7 2.00 2.90",
        f"small: normalised - official = +0.00 points, +0.00 {agree} compares without normalising, "
        "and 0 score differently",
        "small: 1 answer of more than 5 words, where VQA accuracy wants a short answer: a config's prompt_template "
        "can ask for one",
        f"large: normalised - official = +33.33 points, +33.33 {agree} compares without normalising, "
        "and 1 score differently",
        *("1000 · yes/no · Is it day? · yes", "right small: Yes, it is a bright day.", "right large: Yes, it is."),
        *("2000 · color · What color is the boat? · red", "right small: red", "right large: Red"),
        "2001 · count · How many gulls are there? · 3",
        *(f"wrong {name}: error: no reply within 60 s" for name in ("small", "large")),
        "small: 1 question failed (timeout): no reply within 60 s",
        "small: 1 left out, no image",
        "large: 1 question failed (timeout): no reply within 60 s",
        "large: 1 left out, no image",
        *(f"{name}: {tmp_path / name}.json" for name in ("small", "large")),
    ]


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
    assert lines([report(tmp_path, "small", pairs)]) == [
        *("vqa2 · 2 questions", FRAMEWORK, NONE, *HEADS),
        "small - - - 0.50 s N/A",
        *(KINDS, "kind small", "yes/no - (1)", "color - (1)", "count -", "other -", AGAINST, *TIMES),
        "small - - - - 100.0 0.50 0.50",
        *("1 · yes/no · Is it day?", "- small: Yes", "2 · color · What color is it?", "- small: red"),
        "small: 1 left out, no image",
        *(f"small: {tmp_path / name}.json" for name in ("small", "small_submission")),
    ]


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
