"""The figures of a comparison against numbers computed by hand, and comparisons of unusual runs."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.compare.logged import failed, many, put, record
from vqa_client.cli.tables import as_text
from vqa_client.compare.figures import EXACT, Comparison
from vqa_client.compare.matching import match
from vqa_client.compare.sections import sections, sentence
from vqa_client.compare.sections import tests as every_test
from vqa_client.compare.write import compare_runs, content
from vqa_client.errors import UsageError
from vqa_client.reports.sections import p_text, points
from vqa_client.scoring.sign_flips import mcnemar
from vqa_client.types import Record


def compared(tmp_path: Path, *runs: list[Record], **given: Any) -> list[Comparison]:
    for number, records in enumerate(runs):
        put(tmp_path / str(number), records, model=f"org/{'abc'[number]}", **given)
    return [of for of, _ in compare_runs([tmp_path / str(number) for number in range(len(runs))])[1]]


def scored(*scores: float, **changes: Any) -> list[Record]:
    return [record(f"q{number}", score=score, **changes) for number, score in enumerate(scores)]


def test_right_and_wrong_on_independent_questions_get_mcnemars_test(tmp_path: Path) -> None:
    a, b = scored(*[1.0] * 40, *[0.0] * 20), scored(*[1.0] * 38, 0, 0, *[1.0] * 12, *[0.0] * 8)
    (of,) = compared(tmp_path, a, b)
    assert (of.mcnemar.only_a, of.mcnemar.only_b, of.mcnemar.both, of.mcnemar.neither) == (2, 12, 38, 8)
    assert of.p == of.p_holm == of.mcnemar.p == mcnemar(2, 12)
    assert (of.p_method, of.partial, of.unit, of.clusters) == (EXACT, False, "question", 60)
    assert of.difference.value == pytest.approx(10 / 60)
    assert of.accuracy_a.value == pytest.approx(40 / 60)
    assert of.shown
    assert sentence(of).startswith("org/b is better than org/a: over the same 60 vqa2 questions org/b scores 83.3 %")
    assert "p = 0.013" in sentence(of)


def test_the_sentence_and_the_tests_word_for_word(tmp_path: Path) -> None:
    a = [record(f"q{n}", score=(0.0, 0.5, 1.0)[n % 3], cluster=f"i{n // 2}") for n in range(24)]
    b = [record(f"q{n}", score=(0.5, 1.0, 1.0)[n % 3], cluster=f"i{n // 2}") for n in range(24)]
    b[5] = failed("q5", cluster="i2")
    for model, records in (("one", a), ("two", b), ("three", a[:20])):
        put(tmp_path / model, records, model=model)
    _, pairs = compare_runs([tmp_path / model for model in ("one", "two", "three")])
    two, three = (of for of, _ in pairs)
    test = "exact sign-flip permutation by image"
    means = "(how often a random sign for each image's difference gives a total as large)"
    shared = "takes questions as independent, but some share images"
    assert sentence(two) == (
        "two is better than one: over the same 24 vqa2 questions on 12 images two scores 79.2 % and one 50.0 % in VQA "
        f"accuracy (ten answers), +29.2 points (95 % interval +11.8 to +42.1; {test}, Holm, p = 0.009)."
    )
    assert list(every_test(two).notes) == [
        f"{test}: p = 0.004 {means}",
        "difference: +29.2 (+11.8 to +42.1) points",
        "where both answered (23): +34.8 (+19.7 to +44.3) points",
        f"exact McNemar on full marks: p = 0.039 (two alone 8, one alone 1; {shared})",
        "paired t by image: t = 4.84, df 11, p < 0.001",
        "minimum detectable difference (80 % power): 21.2 points",
    ]
    assert sentence(three) == (
        "No significant difference between three and one: over the same 20 vqa2 questions on 10 images three scores "
        f"47.5 % and one 47.5 % in VQA accuracy (ten answers), 0.0 points (95 % interval -19.2 to +19.2; {test}, "
        "p = 1). This run can reliably detect only differences above 26.8 points."
    )
    assert list(every_test(three).notes) == [
        f"{test}: p = 1 {means}",
        "difference: 0.0 (-19.2 to +19.2) points",
        f"exact McNemar on full marks: p = 1 (three alone 0, one alone 0; {shared})",
        "minimum detectable difference (80 % power): 26.8 points",
    ]


def test_questions_on_one_image_are_a_cluster(tmp_path: Path) -> None:
    (of,) = compared(tmp_path, many(1, 0.5), many(2, 0.6))
    assert (of.p_method, of.unit, of.clusters, of.n) == ("exact sign-flip permutation by image", "image", 100, 300)
    assert "300 vqa2 questions on 100 images" in sentence(of)
    assert f"exact sign-flip permutation by image, {p_text(of.p)})" in sentence(of)
    assert of.p == of.difference.p != of.mcnemar.p


def test_images_count_once_where_mcnemars_test_counts_every_question(tmp_path: Path) -> None:
    """Eight images of five questions: on seven only b is right, on one only a."""
    a, b = (
        [record(f"q{n}", score=float((n // 5 == 7) == first), cluster=f"image{n // 5}") for n in range(40)]
        for first in (True, False)
    )
    (of,) = compared(tmp_path, a, b)
    assert of.mcnemar.p < 1e-5
    assert of.p == pytest.approx(18 / 256)  # 0 or 1 of 8 signs turned, either way
    assert not of.shown


def test_scores_without_a_common_fraction_have_a_p_by_drawn_signs(tmp_path: Path) -> None:
    a, b = ([record(f"q{n}", score=math.sqrt(n * step) % 1) for n in range(1, 60)] for step in (2, 7))
    (of,) = compared(tmp_path, a, b)
    assert of.p_method == "sign-flip permutation by question (10,000 draws)"
    assert 0 < of.p <= 1


@pytest.mark.parametrize(
    ("a", "b", "clusters"),
    [
        ("xxyyzz", "xxyyzz", 3),
        ("xxyyzz", "......", 3),
        ("......", "xxyyzz", 3),
        ("xxyyzz", "112233", 3),
        ("xxyyzz", "x11zz2", 1),
        ("xxyyzz", "111333", 1),
        ("xxyy..", "11...3", 4),
        ("xyzuvw", "xxxuuu", 2),
    ],
)
def test_questions_on_one_image_in_either_side_are_a_cluster(a: str, b: str, clusters: int, tmp_path: Path) -> None:
    runs = [
        [record(f"q{number}", score=score, cluster=name.strip(".")) for number, name in enumerate(names)]
        for names, score in ((a, 0.0), (b, 1.0))
    ]
    (there,), (back,) = compared(tmp_path / "x", *runs), compared(tmp_path / "y", *runs[::-1])
    assert there.clusters == back.clusters == clusters
    assert there.unit == "image"
    assert there.p == back.p


def test_partial_credit_counts_and_mcnemar_sees_full_marks_only(tmp_path: Path) -> None:
    (of,) = compared(tmp_path, scored(0.3, 1.0, 0.6, 0.0), scored(0.6, 1.0, 1.0, 0.0))
    assert of.partial
    assert of.p_method == "exact sign-flip permutation by question"
    assert of.p == 0.5
    assert (of.mcnemar.only_b, of.mcnemar.only_a) == (1, 0)
    assert (of.difference.higher, of.difference.lower) == (2, 0)
    assert of.difference.value == pytest.approx(0.7 / 4)


def test_failed_questions_count_as_wrong_and_are_also_left_out(tmp_path: Path) -> None:
    (of,) = compared(tmp_path, scored(1.0, 1.0, 0.0), [record("q0"), failed("q1"), record("q2")])
    assert of.accuracy_b.value == pytest.approx(2 / 3)
    assert (of.accuracy_b.answered, of.accuracy_b.value_answered) == (2, 1.0)
    assert of.answered_by_both is not None
    assert (of.answered_by_both.n, of.answered_by_both.value) == (2, 0.5)


def test_several_variants_are_compared_separately(tmp_path: Path) -> None:
    a, b = (
        [record(f"q{n}", score=score if v == "jpeg/1" else 1.0, variant=v) for n in range(20) for v in names]
        for score, names in ((1.0, ("clean", "jpeg/1", "snow/1")), (0.0, ("clean", "jpeg/1")))
    )
    (of,) = compared(tmp_path, a, b)
    assert (of.variant, of.n, of.clusters, of.difference.value) == ("clean", 20, 20, 0.0)
    assert "over the same 20 vqa2 questions, clean images (2 variants in the table), org/b scores" in sentence(of)
    assert [(group.value, group.difference.value) for group in of.variants] == [("clean", 0.0), ("jpeg/1", -1.0)]
    assert of.variants[1].p_holm == pytest.approx(2 * of.variants[1].p)
    assert of.groups == ()


def test_runs_that_have_no_clean_images_in_common_are_compared_on_the_first_variant_and_say_so(tmp_path: Path) -> None:
    a, b = (
        [record(f"q{n}", variant=v) for n in range(3) for v in names]
        for names in (("clean", "snow/1", "snow/2"), ("snow/1", "snow/2"))
    )
    (of,) = compared(tmp_path, a, b)
    assert of.variant == "snow/1"
    assert "warning: the clean images are not in both runs" in of.warnings
    for names in (("clean", "snow/1"), ("snow/1", "snow/2"), ("",)):
        runs = [[record(f"q{n}", variant=v) for n in range(20) for v in names] for _ in "ab"]
        assert compared(tmp_path / str(len(names) + len(names[0])), *runs)[0].warnings == ()


def test_holm_takes_all_groups_and_all_runs_as_families(tmp_path: Path) -> None:
    first, second = compared(tmp_path, many(1, 0.5), many(2, 0.62), many(3, 0.58))
    assert {group.field for group in first.groups} == {"kind"}
    assert sum(group.difference.n for group in first.groups) == 300
    assert all(group.p_holm >= group.p for group in first.groups)
    smaller, larger = sorted([first, second], key=lambda of: of.p)
    assert smaller.p_holm == pytest.approx(2 * smaller.p)
    assert larger.p_holm == pytest.approx(max(larger.p, 2 * smaller.p))
    assert ", Holm, p" in sentence(smaller)


def test_groups_that_a_record_lacks_are_unknown_and_add_up(tmp_path: Path) -> None:
    a = [*scored(1.0, 0.0, groups={"kind": "x"}), record("z")]
    (of,) = compared(tmp_path, a, [*a[:2], failed("z")])
    assert {(group.value, group.difference.n) for group in of.groups} == {("x", 2), ("unknown", 1)}


@pytest.mark.parametrize("scores", [([1.0], [0.0]), ([0.0], [0.0]), ([1.0] * 3, [1.0] * 3)])
def test_a_few_questions_are_not_significant_and_every_number_is_finite(
    scores: tuple[list[float], list[float]], tmp_path: Path
) -> None:
    (of,) = compared(tmp_path, scored(*scores[0]), scored(*scores[1]))
    assert not of.shown
    assert sentence(of).startswith("No significant difference between org/b and org/a")
    least = {1: "1", 3: "0.25"}[of.n]
    said = f"warning: only few independent questions ({of.n}), so p is only indicative: "
    assert f"{said}their smallest possible p is {least}" in of.warnings
    assert of.minimum_detectable is None
    _finite(content(*compare_runs([tmp_path / "0", tmp_path / "1"])))


def _finite(value: Any) -> None:
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
        _finite(each)
    assert not isinstance(value, float) or math.isfinite(value)


def test_the_published_count_is_beside_the_accuracy(tmp_path: Path) -> None:
    parts = ({"containment": 0.0, "published": 1.0}, {"containment": 1.0, "published": 1.0})
    a = [record(f"q{number}", score=each["containment"], parts=each) for number, each in enumerate(parts)]
    (of,) = compared(tmp_path, a, [*a[:1], failed("q1")], task="niah")
    assert (of.accuracy_a.value, of.accuracy_a.published) == (0.5, 1.0)
    assert (of.accuracy_b.value, of.accuracy_b.published) == (0.0, 0.5)
    shown = as_text(sections([(of, match(*compare_runs([tmp_path / "0", tmp_path / "1"])[0]))], []))
    assert "published" in shown
    (vqa,) = compared(tmp_path / "vqa", scored(1.0), scored(0.0))
    assert not vqa.has_published


def test_where_all_failed_there_is_no_accuracy_of_the_answered(tmp_path: Path) -> None:
    (of,) = compared(tmp_path, [failed("1"), failed("2")], [failed("1"), failed("2")])
    assert (of.accuracy_a.value, of.accuracy_a.value_answered, of.answered_by_both) == (0.0, None, None)


def test_the_same_run_twice_is_not_a_comparison(tmp_path: Path) -> None:
    log = put(tmp_path, [record("1")])
    with pytest.raises(UsageError, match="are one run") as raised:
        compare_runs([tmp_path, log])
    assert raised.value.hint == "name two runs over the same questions"


def test_exchanging_the_sides_reverses_the_sentence(tmp_path: Path) -> None:
    runs = many(1, 0.4), many(2, 0.7)
    (there,) = compared(tmp_path / "x", *runs)
    (back,) = compared(tmp_path / "y", *runs[::-1])
    assert back.difference.value == pytest.approx(-there.difference.value)
    assert back.p == pytest.approx(there.p)
    assert "is better than" in sentence(there)
    assert "is worse than" in sentence(back)


def test_numbers_are_written_as_people_write_them() -> None:
    assert [points(value) for value in (0.0321, -0.5, 0.0, -0.0001)] == ["+3.2", "-50.0", "0.0", "0.0"]
    assert [p_text(p) for p in (0.0004, 0.001, 0.0214, 0.3, 0.995, 1.0, 0.0)] == [
        "p < 0.001",
        "p = 0.001",
        "p = 0.021",
        "p = 0.300",
        "p = 1",
        "p = 1",
        "p < 0.001",
    ]


def test_a_folder_is_all_the_runs_in_it(tmp_path: Path) -> None:
    for name in ("one", "two"):
        put(tmp_path / "models", scored(1.0, 0.0), stem=name, model=f"org/{name}")
        put(tmp_path / "pages", scored(1.0, 0.0, variant=name), stem=name)
        put(tmp_path / "again" / name, scored(1.0, 0.0))
    for folder, labels in (("models", ["org/one", "org/two"]), ("pages", ["one", "two"])):
        assert [side.label for side in compare_runs([tmp_path / folder])[0]] == labels
    assert len(compare_runs([tmp_path / "again"])[0]) == 2
    assert len(compare_runs([tmp_path / "models", tmp_path / "again" / "one"])[0]) == 3


def test_a_folder_with_one_run_is_not_a_comparison(tmp_path: Path) -> None:
    put(tmp_path, scored(1.0))
    with pytest.raises(UsageError, match=r"^there is 1 run to compare in") as raised:
        compare_runs([tmp_path])
    assert raised.value.hint == "name another run over the same questions"


def test_a_terminal_shows_the_sentence_both_accuracies_every_test_the_largest_groups_and_what_changed(
    tmp_path: Path,
) -> None:
    runs = [
        [
            record(
                f"q{n}",
                score=float(n % 2 != side or n < 3),
                groups={"kind": f"k{n % 14}", "word_type": ("x" * 37, "y" * 36)[n % 2]},
            )
            for n in range(30)
        ]
        for side in (0, 1)
    ]
    (of,) = compared(tmp_path, *runs)
    shown = as_text(sections(compare_runs([tmp_path / "0", tmp_path / "1"])[1], ["compare.json"]))
    title, said, *others = [" ".join(line.split()) for line in shown.splitlines() if line.strip(" ─")]
    assert (said, [title, *others]) == (sentence(of), TERMINAL)


TERMINAL = """
compare · org/b against org/a
questions accuracy 95 % interval full marks answered of these
a: org/a 30 56.7 39.2-72.6 17 30 56.7
b: org/b 30 53.3 36.1-69.8 16 30 53.3
difference: -3.3 (-37.4 to +31.1) points
exact McNemar: p = 1 (org/b alone 13, org/a alone 14; takes questions as independent)
paired t by question: t = -0.19, df 29, p = 0.851
minimum detectable difference (80 % power): 48.6 points
by kind (the 12 largest of 14) questions a b points 95 % interval p p by Holm
k0 3 33.3 100.0 +66.7 -52.1 to +100.0 0.500 1
k1 3 100.0 33.3 -66.7 -100.0 to +52.1 0.500 1
k2 2 50.0 100.0 +50.0 -96.5 to +100.0 1 1
k3 2 100.0 0.0 -100.0 -100.0 to +79.9 0.500 1
k4 2 0.0 100.0 +100.0 -79.9 to +100.0 0.500 1
k5 2 100.0 0.0 -100.0 -100.0 to +79.9 0.500 1
k6 2 0.0 100.0 +100.0 -79.9 to +100.0 0.500 1
k7 2 100.0 0.0 -100.0 -100.0 to +79.9 0.500 1
k8 2 0.0 100.0 +100.0 -79.9 to +100.0 0.500 1
k9 2 100.0 0.0 -100.0 -100.0 to +79.9 0.500 1
k10 2 0.0 100.0 +100.0 -79.9 to +100.0 0.500 1
k11 2 100.0 0.0 -100.0 -100.0 to +79.9 0.500 1
by word type questions a b points 95 % interval p p by Holm
xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ... 15 13.3 100.0 +86.7 +50.6 to +100.0 < 0.001 0.004
yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy 15 100.0 6.7 -93.3 -100.0 to -58.4 < 0.001 0.002
scored higher by org/b: 13 questions: q4, q6, q8, q10, q12, ...
scored higher by org/a: 14 questions: q3, q5, q7, q9, q11, ...
compare.json
""".strip().splitlines()
"""Both runs have all of q0 to q2 right, then each what the other has wrong; blanks and rules of tables left out."""
