import random
from math import isclose

import pytest

from tests.reports.sample_records import answered, failed, mc_groups
from vqa_client.reports.summary import summarise
from vqa_client.scoring.statistics import interval
from vqa_client.types import STATUSES, Record


def test_failures_count_as_wrong_and_both_denominators_are_shown() -> None:
    records = [answered(f"r{n}") for n in range(60)]
    records += [answered(f"w{n}", right=False) for n in range(20)]
    records += [failed(f"f{n}") for n in range(15)]
    records += [answered(f"u{n}", right=False, status="unparsed", answer=None) for n in range(5)]
    summary = summarise(records)
    assert (summary.overall.total, summary.overall.correct, summary.overall.answered) == (100, 60, 85)
    assert summary.overall.accuracy == 0.6
    assert summary.overall.accuracy_answered == 60 / 85
    assert summary.status_counts["timeout"] == 15
    assert summary.status_counts["unparsed"] == 5
    assert summary.overall.interval == interval((score, 1) for score in [0.0] * 40 + [1.0] * 60)
    assert summary.overall.interval_answered == interval((score, 1) for score in [0.0] * 25 + [1.0] * 60)


def test_every_status_is_counted_zeros_included() -> None:
    records = [failed(status, status) for status in STATUSES]
    assert summarise(records).status_counts == dict.fromkeys(STATUSES, 1)
    assert summarise([]).status_counts == dict.fromkeys(STATUSES, 0)


def test_no_records_have_no_accuracy() -> None:
    summary = summarise([], crossings=[("difficulty", "length")])
    assert (summary.overall.total, summary.overall.accuracy, summary.overall.interval) == (0, None, None)
    assert (summary.parts, summary.breakdowns, summary.crossings) == ({}, {}, {("difficulty", "length"): {}})


def test_without_an_answered_question_there_is_no_accuracy() -> None:
    summary = summarise([failed("a"), failed("b")], crossings=[("difficulty", "length")])
    assert (summary.overall.accuracy, summary.overall.interval, summary.overall.accuracy_answered) == (None, None, None)
    assert summary.overall.total == 2
    assert (summary.without_truncated.n, summary.without_truncated.value) == (2, None)
    tallies = [tally for of in summary.breakdowns.values() for tally in of.values()]
    tallies += [tally for of in summary.crossings["difficulty", "length"].values() for tally in of.values()]
    assert len(tallies) >= 2
    assert {(tally.accuracy, tally.interval) for tally in tallies} == {(None, None)}


def test_groups_add_up_to_the_whole() -> None:
    values = ["easy", "hard", "unknown", "novel"]
    records = [answered(str(n), right=n % 3 == 0, groups=mc_groups(difficulty=values[n % 4])) for n in range(40)]
    records += [failed(f"f{n}", groups={"length": "xl"}) for n in range(3)]
    summary = summarise(records)
    for tallies in summary.breakdowns.values():
        assert sum(tally.total for tally in tallies.values()) == 43
        assert sum(tally.correct for tally in tallies.values()) == summary.overall.correct
    assert summary.breakdowns["difficulty"]["unknown"].total == 10 + 3
    assert summary.breakdowns["length"]["xl"].answered == 0


def test_crossings_count_each_pair() -> None:
    easy_short = [answered(f"a{n}", right=n < 2) for n in range(3)]
    hard_long = [answered("b", groups=mc_groups(difficulty="hard", length="long"))]
    crossed = summarise(easy_short + hard_long, crossings=[("difficulty", "length")]).crossings["difficulty", "length"]
    counted = {
        (outer, inner): (tally.correct, tally.total) for outer in crossed for inner, tally in crossed[outer].items()
    }
    assert counted == {("easy", "short"): (2, 3), ("hard", "long"): (1, 1)}


def test_questions_on_one_document_are_one_cluster_of_the_interval() -> None:
    apart = [answered(str(n), right=n < 50) for n in range(100)]
    together = [answered(str(n), right=n < 50, cluster=f"doc{n // 10}") for n in range(100)]
    narrow, wide = summarise(apart).overall.interval, summarise(together).overall.interval
    assert narrow is not None
    assert wide is not None
    assert wide == interval([(0.0, 10)] * 5 + [(10.0, 10)] * 5)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_records_without_a_cluster_are_clusters_of_their_own() -> None:
    alone = summarise([answered(str(n), right=n < 7, cluster="") for n in range(10)])
    named = summarise([answered(str(n), right=n < 7) for n in range(10)])
    assert alone == named


def test_parts_average_over_all_and_over_the_answered() -> None:
    summary = summarise([answered("a"), answered("b", right=False), failed("c"), failed("d")])
    robust, published = summary.parts["robust"], summary.parts["published"]
    assert (robust.overall.n, robust.overall.value, robust.answered.n, robust.answered.value) == (4, 0.25, 2, 0.5)
    assert (published.overall.value, published.answered.value) == (0.5, 1.0)


def test_an_answered_record_without_a_part_is_not_in_its_mean() -> None:
    summary = summarise([answered("a", parts={"rouge_l": 0.3}), answered("b", parts={}), failed("c")])
    assert (summary.parts["rouge_l"].overall.n, summary.parts["rouge_l"].answered.n) == (2, 1)


def test_missing_token_counts_are_not_zeros() -> None:
    records = [answered("a"), answered("b", prompt_tokens=None, completion_tokens=0), failed("c")]
    summary = summarise(records)
    assert (summary.prompt_tokens.total, summary.prompt_tokens.n) == (100, 1)
    assert (summary.completion_tokens.total, summary.completion_tokens.n) == (10, 2)


def test_cut_replies_are_counted_with_and_without_an_answer() -> None:
    records = [
        answered("a"),
        answered("b", right=False),
        answered("c", finish_reason="length"),
        answered("d", right=False, status="truncated", finish_reason="length", answer=None),
        answered("a thought that is never closed", right=False, status="truncated", answer=None),
    ]
    summary = summarise(records)
    assert summary.n_truncated == 3
    assert summary.status_counts["truncated"] == 2
    assert (summary.overall.accuracy, summary.without_truncated.value, summary.without_truncated.n) == (0.4, 0.5, 2)


def test_partial_credit_counts_in_the_accuracy_and_not_in_correct() -> None:
    summary = summarise([answered("a", score=0.3), answered("b", score=1.0), answered("c", score=0.9)])
    assert summary.overall.correct == 1
    assert summary.overall.accuracy is not None
    assert isclose(summary.overall.accuracy, 2.2 / 3)


def test_the_order_of_records_does_not_change_the_summary() -> None:
    chooser = random.Random(5)
    records = [
        answered(
            str(n),
            score=chooser.random(),
            parts={"robust": chooser.random()},
            cluster=f"doc{n // 4}",
            groups=mc_groups(difficulty=chooser.choice(["easy", "hard"])),
        )
        for n in range(400)
    ]
    first = summarise(records, crossings=[("difficulty", "length")])
    for _ in range(3):
        chooser.shuffle(records)
        assert summarise(records, crossings=[("difficulty", "length")]) == first


@pytest.mark.parametrize("per_cluster", [1, 5])
def test_many_records_add_up_for_any_clusters(per_cluster: int) -> None:
    lengths = ["<8k", "8k-16k", "16k-24k", "24k-32k", "32k-48k", "48k-64k", ">=64k"]
    kinds = [
        answered("x", right=n % 3 > 0, groups=mc_groups(context_length=lengths[n % 7], domain=f"d{n % 6}"))
        for n in range(84)
    ]
    fields = [kind.groups for kind in kinds]

    def records() -> list[Record]:
        return [
            answered(str(n), right=n % 3 > 0, groups=fields[n % 84], cluster=str(n // per_cluster))
            for n in range(20_000)
        ]

    made = records()
    summary = summarise(made, crossings=[("difficulty", "length")])
    assert summary.overall.total == 20_000
