"""How questions are matched, which comparisons are refused, and the warnings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.compare.logged import DIGEST, failed, put, record
from vqa_client.compare.matching import Matched, match, warnings
from vqa_client.compare.sides import Kept, Side, label_sides, read_sides
from vqa_client.errors import DataError, IdentityError
from vqa_client.log_lines import Key
from vqa_client.types import Record


def sides(tmp_path: Path, a: list[Record], b: list[Record], **of_b: Any) -> tuple[Side, Side]:
    put(tmp_path / "a", a)
    put(tmp_path / "b", b, **({"model": "org/two"} | of_b))
    [one], [other] = read_sides(tmp_path / "a"), read_sides(tmp_path / "b")
    label_sides([one, other])
    return one, other


def matched(tmp_path: Path, a: list[Record], b: list[Record], **of_b: Any) -> tuple[Matched, list[str]]:
    one, other = sides(tmp_path, a, b, **of_b)
    found = match(one, other)
    return found, warnings(one, other, found)


def test_questions_match_by_id_and_variant_and_others_are_reported(tmp_path: Path) -> None:
    a = [record(name, variant=variant) for name in "12" for variant in ("clean", "snow/3")] + [
        record("4", variant="clean")
    ]
    b = [record(name, variant=variant) for name in "23" for variant in ("clean", "snow/5")]
    found, said = matched(tmp_path, a, b)
    assert [pair.key for pair in found.pairs] == [("2", "clean")]
    assert (len(found.only_a), len(found.only_b), found.variants) == (4, 3, None)
    assert said == [
        "only in org/one, and not compared: 4 questions: 1 (clean), 1 (snow/3), 2 (snow/3), ...",
        "only in org/two, and not compared: 3 questions: 2 (snow/5), 3 (clean), 3 (snow/5)",
    ]


def test_two_variants_are_compared_by_id(tmp_path: Path) -> None:
    a, b = ([record("1", variant=variant), record("2", variant=variant)] for variant in ("clean", "jpeg"))
    found, said = matched(tmp_path, a, b)
    assert [pair.key for pair in found.pairs] == [("1", "clean"), ("2", "clean")]
    assert "matched only by question id: org/one is 'clean', org/two is 'jpeg'" in said


def test_a_run_in_several_forms_is_walked_over_a_few_times_and_not_once_per_question(tmp_path: Path) -> None:
    class Walked(dict[Key, Kept]):
        walks = 0

        def __iter__(self) -> Iterator[Key]:
            self.walks += 1
            return super().__iter__()

    ids = [str(number) for number in range(40)]
    several = [record(name, variant=variant) for name in ids for variant in ("clean", "snow/1")]
    plain, other = sides(tmp_path, [record(name) for name in ids], several)
    plain.kept = kept = Walked(plain.kept)
    assert len(match(plain, other).pairs) == 40
    assert kept.walks < 20


@pytest.mark.parametrize(
    ("variants", "headline"), [(("repeat/2", "repeat/10"), "repeat/2"), (("snow/1", "clean"), "clean")]
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_plain_run_is_compared_with_the_headline_variant_of_another(
    tmp_path: Path, variants: tuple[str, ...], headline: str, is_first: bool
) -> None:
    several = [record(name, variant=variant) for name in "12" for variant in variants]
    plain = [record("2"), record("3")]
    found, said = matched(tmp_path, *((several, plain) if is_first else (plain, several)))
    first, second = (headline, "") if is_first else ("", headline)
    assert ([pair.key for pair in found.pairs], found.other_key(("2", first))) == ([("2", first)], ("2", second))
    only_first, only_second = ("1", "3") if is_first else ("3", "1")
    assert (found.only_a, found.only_b) == ([(only_first, first)], [(only_second, first)])
    assert f"matched only by question id: org/one is {first!r}, org/two is {second!r}" in said


def test_runs_in_several_forms_without_a_common_one_are_not_compared(tmp_path: Path) -> None:
    a, b = ([record("1", variant=f"{kind}/{n}") for n in (1, 2)] for kind in ("repeat", "rotation"))
    with pytest.raises(DataError, match="have no question in common: 1 \\(repeat/1\\), 1 \\(repeat/2\\) and 1 \\(rot"):
        matched(tmp_path, a, b)


def test_other_data_is_refused_with_what_differs(tmp_path: Path) -> None:
    b = [record("1", references=("teapot",), prompt="And now?"), record("2")]
    one, other = sides(tmp_path, [record("1"), record("2"), record("3")], b, described={"data_sha256": "cd" * 32})
    with pytest.raises(IdentityError) as raised:
        match(one, other)
    assert str(raised.value).splitlines() == [
        f"{tmp_path / 'a'} and {tmp_path / 'b'} are of other data:",
        "  data_sha256: abababababab... and cdcdcdcdcdcd...",
        "  right answer of 1: 'kettle' and 'teapot'",
        "  of 2 matched questions 1 have another right answer,",
        "  1 another prompt; 1 and 0 no match",
    ]
    assert raised.value.hint == (
        "compare runs over one data file; a run's own command with the other file re-scores its saved replies"
    )


def test_another_answer_key_is_refused_even_if_no_data_file_is_known(tmp_path: Path) -> None:
    long = ("y" * 99,), f"'{'y' * 99} [.]{{3}}"
    for references, told in ((("boat", "boat", "ship"), "'boat', 'ship'"), ((), "none"), long):
        one, other = sides(tmp_path, [record("1")], [record("1", references=references)], run_file=False)
        with pytest.raises(IdentityError, match=f"\n  right answer of 1: 'kettle' and {told}\n"):
            match(one, other)


def test_a_plain_run_and_one_with_shuffled_choices_are_compared_by_right_and_wrong(tmp_path: Path) -> None:
    a = [record("1", references=("B",), variant="clean")]
    b = [record("1", references=("D",), variant="shuffled/0", score=0.0)]
    identity = {"task": "vqa2", "asked": "shuffled/0", "model": {"model_name": "org/one"}}
    found, said = matched(tmp_path, a, b, identity=identity)
    assert [pair.gap for pair in found.pairs] == [-1.0]
    assert "the choices are in other orders, so a letter is another choice: only right and wrong are compared" in said
    for changes in ({"described": {"data_sha256": "cd" * 32}}, {"identity": identity | {"asked": "blind"}}):
        with pytest.raises(IdentityError, match=r"right answer of 1 .*: 'B' and 'D'"):
            match(*sides(tmp_path, a, b, **({"identity": identity} | changes)))


def test_another_benchmark_is_refused(tmp_path: Path) -> None:
    one, other = sides(tmp_path, [record("1")], [record("1")], task="mc")
    with pytest.raises(IdentityError, match=r"can't be compared:\n  task: 'vqa2' and 'mc'$") as raised:
        match(one, other)
    assert raised.value.hint == "compare runs of one benchmark"


def test_without_a_common_question_or_a_right_answer_there_is_no_comparison(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"have no question in common: 1 and 2$") as raised:
        match(*sides(tmp_path, [record("1")], [record("2")]))
    assert raised.value.hint == "compare runs over the same data, and the same image folders or corruptions"
    with pytest.raises(DataError, match="no question has a right answer"):
        match(*sides(tmp_path, [record("1", references=())], [record("1", references=())]))


def test_prompts_parsers_and_settings_that_differ_are_warned_of(tmp_path: Path) -> None:
    model = {"model": {"model_name": "org/two", "max_tokens": 5, "temperature": 0.7}}
    found, said = matched(
        tmp_path,
        [record("1"), record("2"), record("3")],
        [record("1", prompt="Short?"), failed("2"), record("3", prompt="")],
        scoring={"parser": "seed", "version": "4.2"},
        identity=model,
    )
    assert len(found.pairs) == 3
    otherwise = (
        "warning: replies are read or scored otherwise, so scores may differ for that: parser: not set and 'seed'"
    )
    assert said == [
        "warning: the prompts of 1 of 3 questions differ",
        f"{otherwise}; version of the reading and scoring: '1' and '4.2'; "
        "vqa-client rescore RUN --write reads a run's replies as today",
        "what else was set otherwise: model.temperature: 0.0 and 0.7",
        "org/two: 1 question without a reply, counted as wrong",
    ]
    _, said = matched(tmp_path, [record("1")], [record("1")], scoring={"parser": "seed", "version": "1"})
    assert said == [otherwise]


def test_a_log_without_run_file_is_compared_with_a_warning(tmp_path: Path) -> None:
    unknown = "warning: without a run file nothing is known of the data and parser of"
    assert matched(tmp_path, [record("1")], [record("1")], run_file=False)[1] == [f"{unknown} (b)"]
    for name in "ab":
        (tmp_path / name / "vqa2_results.run.json").unlink(missing_ok=True)
    [one], [other] = read_sides(tmp_path / "a"), read_sides(tmp_path / "b")
    label_sides([one, other])
    assert warnings(one, other, match(one, other)) == [f"{unknown} (a) and (b)"]


def test_equal_runs_have_no_warnings(tmp_path: Path) -> None:
    assert matched(tmp_path, [record("1")], [record("1")], described={"data_sha256": DIGEST})[1] == []


def test_failures_are_counted_over_all_variants_and_say_so(tmp_path: Path) -> None:
    a = [record("1", variant="clean"), failed("1", variant="snow/1")]
    b = [record("1", variant="clean"), record("1", variant="snow/1")]
    _, said = matched(tmp_path, a, b)
    assert "org/one: 1 question without a reply, counted as wrong (in all 2 variants)" in said


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        (("clean", "snow/1"), ("clean", "snow/1"), True),
        (("clean",), ("clean", "snow/1"), True),
        (("shuffled/0",), ("adv_dpi_56",), True),
        (("clean",), ("adv_dpi_56",), False),
    ],
)
def test_other_page_folders_are_reported_unless_they_are_the_variants(
    tmp_path: Path, a: tuple[str, ...], b: tuple[str, ...], told: bool
) -> None:
    for folder, forms in (("clean", a), ("adv_dpi_56", b)):
        put(tmp_path / folder, [record("1", variant=form) for form in forms], variant=folder)
    [one], [other] = (read_sides(tmp_path / folder) for folder in ("clean", "adv_dpi_56"))
    said = warnings(one, other, match(one, other))
    assert ("what else was set otherwise: folder: 'clean' and 'adv_dpi_56'" in said) is told


def test_a_question_matched_only_by_id_is_named_without_a_variant(tmp_path: Path) -> None:
    for other, name in (("jpeg", "1"), ("clean", "1 (clean)")):
        found, _ = matched(tmp_path / other, [record("1", variant="clean")], [record("1", variant=other)])
        assert [found.question_name(pair) for pair in found.pairs] == [name]
