"""Tables and lines of commands in a terminal, word for word, from made-up figures."""

import json
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from vqa_client.aggregates import Estimate
from vqa_client.cli.judge import _people_section, _sections
from vqa_client.cli.parse import _changes_section
from vqa_client.cli.report_tables import as_tables, json_rows
from vqa_client.cli.tables import as_text
from vqa_client.cli.varied_tables import of_blind, of_circular, of_repeats, of_shuffled
from vqa_client.judge.people import AgainstPeople
from vqa_client.reports.judged import FormMeans, JudgeLog, Judges, Verdicts
from vqa_client.reports.record_counts import TokenSum
from vqa_client.reports.report import Report
from vqa_client.reports.run import Sample
from vqa_client.reports.summary import Means, Tally
from vqa_client.reports.varied import AT_ZERO, VariedSummary
from vqa_client.runs.reopened import Change, Reading, Rescored, RescoredMeans
from vqa_client.scoring.agreement import Kappa
from vqa_client.scoring.choices.circular import CircularFigures, Position, PositionBias
from vqa_client.scoring.choices.modes import Calibration
from vqa_client.scoring.paired import Difference
from vqa_client.scoring.repeats import BlindFigures, Pairing, RepeatFigures
from vqa_client.scoring.statistics import Interval, Mean
from vqa_client.task import Breakdown, Description
from vqa_client.tasks.report import DeclaredSummary
from vqa_client.types import Failure

BOUNDS = Interval(low=0.25, high=0.75, method="Wilson", n=4, clusters=4)
HALF, NONE = Mean(n=4, value=0.5, interval=BOUNDS), Mean(n=0, value=None, interval=None)
TALLY = Tally(
    total=4, correct=2, accuracy=0.5, interval=BOUNDS, answered=3, accuracy_answered=0.6, interval_answered=None
)
SUMMARY: dict[str, Any] = {
    "overall": TALLY,
    "status_counts": {},
    "n_truncated": 0,
    "without_truncated": NONE,
    "parts": {},
    "breakdowns": {"variant": {"form/10": TALLY, "form/2": TALLY}},
    "crossings": {},
    "prompt_tokens": TokenSum(),
    "completion_tokens": TokenSum(),
}
BIAS = PositionBias(
    positions={
        "A": Position(recall=HALF, right=1_000, right_share=0.25, chosen=3, chosen_share=0.75),
        "B": Position(recall=NONE, right=0, right_share=None, chosen=0, chosen_share=None),
    },
    deviation=0.125,
)
GAIN = Difference(value=0.25, low=-0.05, high=0.5, n=4, clusters=4, higher=2, lower=1, p=0.5, draws=0)


def report(summary: Any) -> Report:
    return Report(task="t", folder="", model="m", path=Path("r.json"), expected=4, left_out={}, summary=summary)


def lines(sections: Any) -> list[str]:
    text = as_text(list(sections))
    return [" ".join(line.split()) for line in text.splitlines() if line.strip(" ─")]


POSITIONS = [
    "position bias: how often the right answer is found in each place, and how often the place is chosen",
    "place right here found 95 % interval of all right of all chosen",
    "A 1,000 50.0 25.0-75.0 25.0 75.0",
    "B 0 - - - -",
    "standard deviation of what is found: 12.5 points (0: no place is preferred)",
]


def test_repeats_are_shown_together_and_one_by_one() -> None:
    figures = RepeatFigures(
        repeats=3, questions=4, unfinished=2, pass_at={1: HALF, 3: NONE}, majority=HALF, turning=HALF, changing=HALF
    )
    summary = VariedSummary(**SUMMARY, figures=figures, notes=(AT_ZERO,))
    expected = [
        "4 questions asked 3 times each; in %; a question is right at a full score, and wrong without a reply",
        "together % 95 % interval",
        "pass@1 50.0 25.0-75.0",
        "pass@3 - -",
        "majority 50.0 25.0-75.0",
        "right in some repeats only 50.0 25.0-75.0",
        "several answers 50.0 25.0-75.0",
        "repeat questions accuracy 95 % interval answered",
        "form/2 4 50.0 25.0-75.0 3",
        "form/10 4 50.0 25.0-75.0 3",
    ]
    assert lines(of_repeats(report(summary), summary)) == [
        *expected,
        "the temperature was 0: what differs comes from the server itself",
        "2 questions without all repeats yet, left out above",
    ]


def test_the_gain_from_images_is_shown_over_all_and_by_group() -> None:
    of = Pairing(questions=1_000, seen=HALF, blind=NONE, gain=GAIN)
    groups = {"kind_of": {"a": of, "b": of}, "alone": {"x": of}}
    figures = BlindFigures(overall=of, groups=groups, unfinished=1, kept=HALF, same=HALF, chance=0.25)
    summary = VariedSummary(**SUMMARY, figures=figures)
    fields = tuple(Breakdown(field=name) for name in ("alone", "kind_of", "other"))
    described = replace(report(summary), description=Description(headline="", breakdowns=fields))
    assert lines(of_blind(described, summary)) == [
        "1,000 questions with their images and without; in %, questions without a reply count as wrong; "
        "the difference is paired, in points",
        "questions n with images without difference 95 % interval",
        *(f"{name} 1,000 50.0 - +25.0 -5.0 to +50.0" for name in ("all", "kind of a", "kind of b")),
        "of the questions right with images, also right without: 50.0 % of 4",
        "same answer with and without images: 50.0 % of 4",
        "guessing would be right in 25.0 %",
        "1 question only asked one way so far, not shown above",
    ]
    alone = BlindFigures(overall=replace(of, gain=None), groups={}, unfinished=0, kept=HALF, same=None, chance=None)
    summary = VariedSummary(**SUMMARY, figures=alone)
    assert lines(of_blind(report(summary), summary))[2:] == [
        "all 1,000 50.0 - - -",
        "of the questions right with images, also right without: 50.0 % of 4",
    ]


def test_rotations_and_shuffled_choices_are_shown_with_the_position_bias() -> None:
    figures = CircularFigures(
        rotations=3,
        questions=1,
        unfinished=2,
        bias=BIAS,
        **dict.fromkeys(("circular", "mean", "once", "majority", "same_text", "same_letter"), HALF),
    )
    circular = VariedSummary(**SUMMARY, figures=figures)
    shown = lines(of_circular(report(circular), circular))
    assert shown[:2] == [
        "1 question in 3 rotations of their choices; in %; questions without a reply count as wrong",
        "together % 95 % interval",
    ]
    assert shown[2:8] == [
        f"{name} 50.0 25.0-75.0"
        for name in (
            *("right in all rotations", "mean of all rotations", "right in at least one", "majority of texts"),
            *("always the same text", "always the same letter"),
        )
    ]
    assert shown[8] == "rotation questions accuracy 95 % interval answered"
    assert shown[11:] == [*POSITIONS, "2 questions without all rotations yet, left out of the first table"]
    shuffled = VariedSummary(**SUMMARY, figures=replace(BIAS, deviation=None))
    assert lines(of_shuffled(report(shuffled), shuffled)) == [
        "with shuffled choices: accuracy 50.0 % (25.0-75.0) of 4 questions; questions without a reply count as wrong",
        *POSITIONS[:-1],
    ]


def reading(**changes: Any) -> Reading:
    given = {"status": "ok", "answer": "A", "score": 1.0, "rule": "answer", "references": ("A",), "parts": {}}
    return Reading(**(given | changes))


def test_changes_by_scoring_again_are_listed() -> None:
    lost = reading(status="unparsed", answer=None, score=0.0, rule="", references=("B",))
    changes = (
        Change(question_id="q1", variant="snow/1", old=reading(), new=lost),
        Change(question_id="q2", variant="", old=reading(answer="x" * 61), new=reading(score=0.5)),
    )
    found = Rescored(
        log="a.records.jsonl",
        task="mc",
        total=1_000,
        failed=2,
        not_in_data=("q9",),
        scoring_old={"parser": "a"},
        scoring_new={"parser": "b"},
        data_changed=True,
        old=RescoredMeans(accuracy=0.5, parts={"accuracy": 0.5, "robust": 0.5, "n_words": 1}, statuses={"ok": 1_000}),
        new=RescoredMeans(accuracy=0.25, parts={"accuracy": 0.25, "robust": 0.25}, statuses={"bad_image": 3}),
        changes=changes,
        written=False,
    )
    head = [
        "rescore · mc · a.records.jsonl",
        "in % of all old new",
        "accuracy 50.0 25.0",
        "robust 50.0 25.0",
        "questions ok 1,000 0",
        "questions bad image 0 3",
    ]
    first = "q1 · snow/1: ok 'A' by answer (1) -> unparsed (0), another right answer"
    remarks = [
        "2 questions without a reply: nothing to read again",
        "1 question no longer in the data file, left as it is: q9",
        "scored by {'parser': 'b'}, before by {'parser': 'a'}",
        "the data file is another one than when the run was made or last scored",
    ]
    unwritten = "nothing is written: --write puts the new readings into the log"
    shown = lines([_changes_section(found)])
    assert shown[:7] == [*head, first]
    assert shown[7] == f"q2: ok '{'x' * 60} ...' by answer (1) -> ok 'A' by answer (0.5)"
    assert shown[8:] == ["2 of 1,000 questions changed", *remarks, unwritten]
    many = replace(found, changes=changes[:1] * 22, not_in_data=("q9", "q8"), failed=0, data_changed=False)
    many = replace(many, scoring_new=many.scoring_old, written=True)
    assert lines([_changes_section(many)])[6:] == [
        *[first] * 20,
        "and 2 more changes: --json has all",
        "22 of 1,000 questions changed",
        "2 questions no longer in the data file, left as they are, such as q9",
        "written into the log; the run's own command makes its report again and repeats no answered question",
    ]
    assert lines([_changes_section(replace(many, changes=()))])[6] == "0 of 1,000 questions changed"
    assert lines([_changes_section(replace(many, changes=(), written=False))])[-1].startswith("2 questions no longer")


def test_a_run_is_shown_with_its_totals_notes_and_files(tmp_path: Path) -> None:
    fields = Breakdown(field="kind_of", order=("b", "a")), Breakdown(field="alone")
    shares = [Means(overall=mean, answered=replace(NONE, value=0.25)) for mean in (HALF, replace(HALF, value=0.45))]
    totals = {
        "all_points": {"accuracy": Estimate(value=2.5, low=1, high=4, pieces=4), "robust": None},
        "share": {"robust": Estimate(value=0.25, low=None, high=None, pieces=4)},
    }
    given = SUMMARY | {
        "status_counts": {"ok": 1, "timeout": 2, "too_long": 1, "unparsed": 1, "truncated": 2},
        "parts": dict(zip(("accuracy", "published", "n_words", "mass"), [*shares, *shares], strict=True)),
        "breakdowns": {"kind_of": {"a": TALLY, "b": TALLY}, "alone": {"x": TALLY}},
    }
    first = replace(
        report(DeclaredSummary(**given, totals=totals)),
        path=tmp_path,
        expected=1_004,
        left_out={"no_answer": ("q7", "q8")},
        limit=1_000,
        sample=Sample(size=5, of=1_000, by=("a", "b"), seed=3),
        headline="accuracy",
        description=Description(headline="accuracy", points={"all_points": 10.0}, breakdowns=fields),
        failures={"timeout": Failure(message="no reply", hint="wait"), "too_long": Failure(message="x" * 201)},
        cut_documents=1,
    )
    bare = DeclaredSummary(**SUMMARY | {"breakdowns": {}, "overall": replace(TALLY, interval=None)}, totals={})
    second = replace(report(bare), folder="v", path=tmp_path / "none.json")
    assert [" ".join(line.split()) for line in as_tables([first, second]).splitlines() if line.strip(" ─")] == [
        "t · m",
        "accuracy in %; questions without a reply count as wrong; intervals: Wilson",
        "folder questions accuracy 95 % interval published mass answered",
        "t (incomplete) 4 50.0 25.0-75.0 45.0 45.0 60.0 (3)",
        "v 4 50.0 - - - 60.0 (3)",
        "totals accuracy robust",
        "all points 2.5 (1.0-4.0) -",
        "share - 25.0",
        "by kind of t v",
        "b 50.0 (4) -",
        "a 50.0 (4) -",
        "t: 2 questions failed (timeout), e.g. no reply (wait)",
        f"t: 1 question failed (too long): {'x' * 200} ...",
        *("t: 1 question unparsed", "t: 2 questions truncated (raise --max_tokens)"),
        "t: 2 left out, no answer",
        "t: published - accuracy = -5.00 points",
        "t: only 25.0 % of the first token's probability falls on letters; the prompt should ask for only the letter",
        "t: 1 document shown in part (--max_pages)",
        "t: limited to the first 1,000 of the data file (--limit)",
        "t: 5 of 1,000 questions, drawn by a, b with seed 3 (--sample)",
        "t: 1,000 questions not yet answered",
        f"t: {first.path}",
    ]


def test_a_report_as_json_has_all_figures() -> None:
    figures = VariedSummary(**SUMMARY | {"status_counts": {"ok": 1, "timeout": 0}}, figures={"x": TALLY})
    first = report(replace(figures, parts={"robust": Means(overall=NONE, answered=NONE)}))
    first = replace(first, left_out={"no_answer": ("q7", "q8")}, sample=Sample(size=5, of=9, by=("a",), seed=3))
    second = report(DeclaredSummary(**SUMMARY, totals={"t": {"m": None}}))
    interval = {"low": 0.25, "high": 0.75, "method": "Wilson", "n": 4, "clusters": 4}
    tally = {"total": 4, "correct": 2, "accuracy": 0.5, "interval": interval, "answered": 3, "accuracy_answered": 0.6}
    tally["interval_answered"] = None
    common = {"task": "t", "variant": "", "model": "m", "report": "r.json", "incomplete": False, "expected": 4}
    empty = {"n": 0, "value": None, "interval": None}
    assert json.loads(msgspec.json.encode(json_rows([first, second]))) == [
        {
            **common,
            "left_out": {"no_answer": 2},
            "sample": {"size": 5, "of": 9, "by": ["a"], "seed": 3},
            "figures": {"x": tally},
            "overall": tally,
            "scores": {"robust": {"overall": empty, "answered": empty}},
            "status_counts": {"ok": 1},
        },
        {**common, "left_out": {}, "overall": tally, "scores": {}, "status_counts": {}, "totals": {"t": {"m": None}}},
    ]


def test_judges_are_shown_beside_the_rule() -> None:
    kappa = Kappa(value=0.5, agreement=0.75, n=4, clusters=4)
    clean = FormMeans(name="clean", judge=HALF, rule=NONE)
    forms = clean, FormMeans(name="snow/1", judge=HALF, rule=HALF, gap=GAIN)
    judged = Verdicts(
        judge=JudgeLog(
            name="one",
            scores={},
            undecided={"unparsed": 1_000},
            controls={"right": (3, 4)},
            order_decided=2,
            repeats=3,
            unsteady=0.25,
            prompt_tokens=1_000,
            completion_tokens=50,
            dollars=1.5,
        ),
        **{"total": 2_000, "judged": 1_009, "undecided": 1_000, "no_reply": 2, "not_asked": 3, "accuracy": 0.5},
        **{"rule": 0.25, "low": 0.125, "high": 0.875, "table": ((1_000, 2), (3, 4)), "difference": GAIN},
        **dict.fromkeys(("interval", "rule_interval", "agreement"), BOUNDS),
        kappa=kappa,
        longer=(0.0, 0.125, 0.25),
        raised=tuple((f"q{number}", "snow/1") for number in range(11)),
        lowered=(("q1", ""),),
        totals={"all_in": Estimate(value=0.5, low=0.25, high=0.75, pieces=4)},
        forms=forms,
        calibration=Calibration(n=4, expected_error=0.125, brier=0.25),
    )
    none = dict.fromkeys(("accuracy", "interval", "rule", "rule_interval", "agreement", "kappa", "difference"))
    idle = replace(judged, judge=JudgeLog(name="two", scores={}), judged=0, **none)
    both = Judges(log="l", task="mc", model="m", headline="robust", kind="match", verdicts=(judged, idle))
    both = replace(both, pairs={"one and two": kappa, "one and rule": None}, fleiss=kappa, notes=("few",))
    head = [
        "judged 1,009 of 2,000; 2 without a reply; 1,000 undecided (1,000 unparsed); "
        "3 not asked about, scored by the rule",
        *("controls: right 3/4", "2 pairs judged by the order of the replies, counted as equal"),
        *("repeats: 25.0 % of verdicts differ (3 each)", "cost: 1,000 + 50 tokens, $1.50"),
        "in % score 95 % interval of",
        "by the judge 50.0 25.0-75.0 1,009 judged",
        "bounds: undecided all wrong, all right 12.5-87.5 2,000",
        "by the rule (robust) 25.0 25.0-75.0 the same",
    ]
    left = "no reply counts as wrong, a question that was not judged counts by the rule, undecided ones are left out"
    table = ["judge right judge wrong all", "rule right 1,000 2 1,002", "rule wrong 3 4 7", "all 1,003 6 1,009"]
    same = ["agreement 99.5 % (25.0-75.0); kappa 0.500, n 4", "judge - rule, in points: +25.0 (-5.0 to +50.0)"]
    assert lines(_sections(both, Path("r.json"))) == [
        *("mc · m · match by another model", "one", *head, "in % by the judge by the rule of judge - clean"),
        "clean 50.0 (25.0-75.0) - 4",
        "snow/1 50.0 (25.0-75.0) 50.0 (25.0-75.0) 4 +25.0 (-5.0 to +50.0)",
        *(left, *table, "all in by the judge: 50.0 (25.0-75.0) %", *same),
        "P(correct) beside the rule: expected calibration error 12.5 points, Brier score 0.250, n 4",
        "judge - rule of short, middle and long replies: 0.0, +12.5, +25.0 points; it grows with the length",
        f"right by the judge alone, 11: {', '.join(f'q{n} snow/1' for n in range(10))} and 1 more (in the report)",
        "right by the rule alone, 1: q1",
        *("two", "judged 0 of 2,000; 2 without a reply; 1,000 undecided; 3 not asked about, scored by the rule"),
        *("kappa of one and two: 0.500, n 4", "kappa of one and rule: -"),
        *("Fleiss' kappa of all judges: 0.500, n 4", "note: few", "r.json"),
    ]
    bare = replace(judged, forms=(clean,), totals={}, raised=(), lowered=(), longer=(), calibration=None)
    alone = replace(both, verdicts=(bare,), pairs={}, fleiss=None, notes=())
    assert lines(_sections(alone, Path("r.json")))[2:] == [
        *(*head, "in % by the judge by the rule of", "clean 50.0 (25.0-75.0) - 4", left, *table, *same, "r.json")
    ]


def test_judges_are_compared_with_people_in_a_column_each() -> None:
    half = Estimate(value=0.5, low=0.25, high=0.75, pieces=4)
    none = Estimate(value=None, low=None, high=None, pieces=0)
    kappa = Kappa(value=0.5, agreement=0.75, n=4, clusters=4)
    each = AgainstPeople(
        name="one",
        labelled=1_000,
        agreement=half,
        rule_agreement=none,
        kappa=kappa,
        rule_kappa=None,
        rho=0.25,
        calibration=Calibration(n=4, expected_error=0.125, brier=0.25),
        sensitivity=half,
        specificity=replace(half, low=None),
        accuracy=none,
        graded=True,
        people={"a and b": kappa},
        fleiss=kappa,
    )
    assert lines([_people_section([each])]) == [
        "against people one",
        "labelled 1,000",
        "agreement, % 50.0 (25.0-75.0)",
        "of the rule, % -",
        "kappa 0.500, n 4",
        "of the rule -",
        "Spearman's rho 0.250",
        "sensitivity, % 50.0 (25.0-75.0)",
        "specificity, % 50.0",
        "corrected accuracy, % - (hardly better than chance)",
        "corrected accuracy: of the judge, for its errors on what people have labelled (Rogan and Gladen)",
        "kappas have quadratic weights; shares take grades from the middle of the scale on as correct",
        "one: P(correct) beside people: expected calibration error 12.5 points, Brier score 0.250, n 4",
        "kappa of a and b: 0.500, n 4",
        "Fleiss' kappa of all people: 0.500, n 4",
    ]
    plain = replace(each, graded=False, rho=None, calibration=None, people={}, fleiss=None, sensitivity=none)
    shown = lines([_people_section([plain, replace(plain, name="two")])])
    assert shown[0] == "against people one two"
    assert not any("rho" in line or "quadratic" in line for line in shown)
    assert shown[-2:] == [
        "corrected accuracy, % - -",
        "corrected accuracy: of the judge, for its errors on what people have labelled (Rogan and Gladen)",
    ]
