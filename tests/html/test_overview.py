"""The numbers of a report."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.html.samples import corrupted, mixed, needles, record, write_run
from vqa_client.html.charts import curves
from vqa_client.reports.logged_run import read_run
from vqa_client.reports.overview import Overview, field_value, in_order, overview, quantile
from vqa_client.reports.summary import DOCUMENTS
from vqa_client.types import Record


def found(tmp_path: Path, records: list[Record]) -> Overview:
    return overview(read_run(write_run(tmp_path, records)))


def test_both_denominators_are_there(tmp_path: Path) -> None:
    tally = found(tmp_path, list(mixed())).summary.overall
    assert (tally.total, tally.accuracy, tally.answered) == (100, 0.6, 85)
    assert tally.accuracy_answered == pytest.approx(60 / 85)


@pytest.mark.parametrize("variants", [("clean",), ("seen", "blind")])
def test_where_no_answer_is_known_there_is_no_accuracy(tmp_path: Path, variants: tuple[str, ...]) -> None:
    records = [record(n, variant=each, references=(), score=0.0) for n in range(3) for each in variants]
    seen = found(tmp_path, records)
    assert {tally.accuracy for tally in (seen.summary.overall, seen.whole.overall, *seen.variants.values())} == {None}
    assert (seen.summary.overall.total, seen.whole.overall.total) == (3, len(records))
    known = [*records[1:], replace(records[0], references=("red",))]
    assert found(tmp_path / "known", known).whole.overall.accuracy == 0


@pytest.mark.parametrize("variants", [("",), ("repeat/1", "repeat/2"), ("seen", "blind")])
def test_a_group_called_level_is_broken_down_unless_images_are_corrupted(
    tmp_path: Path, variants: tuple[str, ...]
) -> None:
    levels = ("easy", "hard", "odd")
    records = [record(n, variant=each, groups={"level": levels[n]}) for n in range(3) for each in variants]
    seen = found(tmp_path, records)
    assert tuple(seen.summary.breakdowns["level"]) == levels
    assert curves(seen) == []


def test_a_reply_that_no_rule_read_is_counted_as_none(tmp_path: Path) -> None:
    seen = found(tmp_path, [record(1, rule="letter"), record(2, rule=""), record(3, rule="letter")])
    assert {rule: tally.total for rule, tally in seen.summary.breakdowns["rule"].items()} == {"letter": 2, "none": 1}
    assert seen.values["rule"] == ["letter", "none"]


def test_the_order_of_the_lines_changes_nothing(tmp_path: Path) -> None:
    records = needles(200)
    seen = found(tmp_path / "a", records)
    assert seen.fields == ("context_length", "difficulty", "needle_depth")
    assert seen == replace(found(tmp_path / "b", records[::-1]), run=seen.run, text_lengths=seen.text_lengths)


def test_headline_figures_are_of_the_clean_images_and_never_pooled(tmp_path: Path) -> None:
    records = [
        replace(one, score=float(one.variant == "clean"), parts={"robust": float(one.variant == "clean")})
        for one in corrupted(20)
    ]
    seen = found(tmp_path, records)
    assert (seen.run.headline, seen.summary.overall.total, seen.summary.overall.accuracy) == ("clean", 20, 1.0)
    assert seen.summary.parts["robust"].overall.value == 1.0
    assert "level" not in seen.summary.breakdowns
    assert (seen.whole.overall.total, len(seen.variants)) == (320, 16)
    assert list(seen.variants)[:2] == ["clean", "gaussian_noise/1"]
    assert {tally.accuracy for name, tally in seen.variants.items() if name != "clean"} == {0.0}


@pytest.mark.parametrize(
    ("variants", "headline"),
    [
        (("repeat/10", "repeat/2"), "repeat/2"),
        (("blind", "seen"), "seen"),
        (("snow/1", "clean"), "clean"),
        (("snow/2", "snow/1"), "snow/1"),
        (("clean",), None),
    ],
)
def test_the_headline_is_the_clean_the_seen_or_the_first_variant(
    tmp_path: Path, variants: tuple[str, ...], headline: str | None
) -> None:
    assert found(tmp_path, [record(1, variant=variant) for variant in variants]).run.headline == headline


def test_the_headline_is_named_in_words(tmp_path: Path) -> None:
    for at, (variants, words) in enumerate(
        {
            ("", "x"): "the unchanged variant",
            ("clean", "x"): "clean images",
            ("clean", "snow/1"): "clean images",
            ("seen", "blind"): "variant seen",
            ("a",): "",
        }.items()
    ):
        run = found(tmp_path / str(at), [record(1, variant=variant) for variant in variants]).run
        title = "robustness run of mc" if "snow/1" in variants else "mc clean"
        assert (run.of_words, run.title) == (words, f"{title} · {words}" if words else title)


def test_values_and_metrics_that_only_other_variants_have_are_kept(tmp_path: Path) -> None:
    apart = [record(1, variant="a", rule="x", parts={}), record(1, variant="b", rule="y", groups={"size": "s"})]
    seen = found(tmp_path, apart)
    assert seen.values["rule"] == ["x", "y"]
    assert set(seen.values["size"]) == {"s", "unknown"}
    assert (seen.summary.parts["robust"].overall.n, seen.whole.parts["robust"].overall.n) == (0, 1)


def test_known_pairs_of_fields_are_crossed_and_else_the_first_two(tmp_path: Path) -> None:
    assert list(found(tmp_path / "a", needles(100)).summary.crossings) == [("needle_depth", "context_length")]
    assert list(found(tmp_path / "b", corrupted(3)).summary.crossings) == [("corruption", "level")]
    own = [record(n, groups={"size": "ab"[n % 2], "shape": "cd"[n % 3 % 2]}) for n in range(12)]
    assert list(found(tmp_path / "c", own).summary.crossings) == [("shape", "size")]
    assert not found(tmp_path / "d", [record()]).summary.crossings
    for most, pairs in ((16, [("shape", "size")]), (17, [])):
        several = [record(n, groups={"size": str(n), "shape": "ab"[n % 2]}) for n in range(most)]
        assert list(found(tmp_path / str(most), several).summary.crossings) == pairs


def test_variants_and_rules_are_broken_down_if_records_differ_in_them(tmp_path: Path) -> None:
    assert found(tmp_path / "a", [record(1), record(2)]).fields == ("difficulty",)
    apart = [record(1, variant="a", rule="x"), record(1, variant="b", rule="y")]
    assert found(tmp_path / "b", apart).fields == ("difficulty", "variant", "rule")


def test_groups_add_up_to_all_questions(tmp_path: Path) -> None:
    some = [record(1), record(2, groups={}), record(3, groups={"difficulty": "impossible"})]
    assert [field_value(record(groups={"of": ("a", "b")}), name) for name in ("of", "kind")] == ["a, b", "unknown"]
    tallies = found(tmp_path, some).summary.breakdowns["difficulty"]
    assert {value: tally.total for value, tally in tallies.items()} == {"easy": 1, "impossible": 1, "unknown": 1}


def test_a_log_without_a_record_has_no_accuracy(tmp_path: Path) -> None:
    nothing = found(tmp_path, [])
    assert (nothing.summary.overall.total, nothing.summary.overall.accuracy) == (0, None)


@pytest.mark.parametrize(
    ("given", "ordered"),
    [
        (["hard", "unknown", "easy"], ["easy", "hard", "unknown"]),
        (["harder", "hard", "medium", "easy"], ["easy", "medium", "hard", "harder"]),
        ([">=64k", "8k-16k", "<8k"], ["<8k", "8k-16k", ">=64k"]),
        (["10", "9", "0"], ["0", "9", "10"]),
        (["80-100%", "0-20%", "20-40%"], ["0-20%", "20-40%", "80-100%"]),
        (["snow", "clean", "blur"], ["clean", "blur", "snow"]),
    ],
)
def test_values_are_in_the_order_in_which_people_read_them(given: list[str], ordered: list[str]) -> None:
    steps = (*DOCUMENTS[0].order, *DOCUMENTS[2].order, "clean")
    assert in_order(given, steps) == ordered


@pytest.mark.parametrize("steps", ["easy medium hard", "short medium long", "small medium large", "low moderate high"])
def test_usual_steps_are_in_order_where_none_is_declared(steps: str) -> None:
    assert in_order(["blur", "clean", *sorted(steps.split())]) == ["clean", *steps.split(), "blur"]


@pytest.mark.parametrize(("share", "value"), [(0.5, 2), (0.75, 3), (0.76, 4), (1.0, 4), (0.0, 1)])
def test_a_quantile_is_one_of_the_values(share: float, value: int) -> None:
    assert quantile([1, 2, 3, 4], share) == value
    assert quantile([], share) is None
