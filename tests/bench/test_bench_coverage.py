"""The simulation of intervals and tests: its results in single settings, and its tables."""

import pytest

pytest.importorskip("scipy")
from tests.bench.coverage import Setting, main, settings, simulate


@pytest.mark.parametrize(
    ("setting", "coverage", "excluded", "by_p"),
    [
        (Setting(40, "5", 0.97, 0.93), 0.94, 0.30, 0.25),
        (Setting(40, "5", 0.97, 0.93, shared=0.5), 0.94, 0.45, 0.40),
        (Setting(8, "5", 0.9, 0.8), 0.94, 0.10, 0.03),
        (Setting(8, "5", 0.9, 0.8, shared=0.5), 0.94, 0.12, 0.04),
        (Setting(15, "1-10", 0.6, 0.5, correlation=0.3), 0.93, 0.08, 0.06),
        (Setting(40, "3", 0.9, 0.8, correlation=0.3, shared=0.5, credits=(0.3, 0.6, 1.0)), 0.93, 0.25, 0.25),
    ],
)
def test_intervals_contain_the_truth_and_real_differences_are_found(
    setting: Setting, coverage: float, excluded: float, by_p: float
) -> None:
    found = simulate(setting, 300)
    assert found.coverage >= coverage
    assert found.excluded >= excluded
    assert found.by_p >= by_p


@pytest.mark.parametrize(
    "setting",
    [
        Setting(5, "5", 0.9, 0.9, correlation=0.6),
        Setting(8, "5", 0.9, 0.9, correlation=0.6),
        Setting(15, "10", 0.5, 0.5, correlation=0.6, whole=True),
        Setting(40, "1-10", 0.97, 0.97, correlation=0.6, shared=0.5),
    ],
)
def test_where_both_models_are_as_good_hardly_anything_is_found_but_by_mcnemar(setting: Setting) -> None:
    found = simulate(setting, 400)
    assert found.by_p <= 0.055
    assert found.both <= found.by_p < found.by_mcnemar
    assert found.by_mcnemar > 0.08


@pytest.mark.parametrize("whole", [False, True])
def test_questions_of_a_cluster_are_as_alike_as_they_are_drawn(whole: bool) -> None:
    """McNemar's errors grow with the correlation, and so does the width."""
    loose, tight = (simulate(Setting(40, "5", 0.9, 0.9, correlation=c, whole=whole), 100) for c in (0.05, 0.6))
    assert tight.width > 1.4 * loose.width
    assert tight.by_mcnemar > loose.by_mcnemar


def test_settings_differ_and_are_drawn_from_seeds_of_their_own() -> None:
    every = list(settings(quick=False))
    assert len(every) == len(set(every)) > 800
    assert {setting.clusters for setting in every} >= {5, 8, 40, 1_000}
    assert simulate(every[40], 20) == simulate(every[40], 20) != simulate(every[41], 20)


def test_a_quick_run_prints_a_row_a_setting_and_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--replications", "10"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert [line.split()[:3] for line in lines[1:4]] == [["8", "x", "5"], ["40", "x", "5"], ["5", "x", "1-10"]]
    assert lines[5].startswith("clusters  settings")
    assert "s of CPU" in printed.err
