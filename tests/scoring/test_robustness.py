import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vqa_client.errors import UsageError
from vqa_client.scoring.robustness import METRICS, class_of, known_name, metrics_of, vre

GOLDEN = Path(__file__).resolve().parents[3] / "shared/data/seed003_robustness/vre_golden.json"
ERROR = st.floats(0.01, 1).map(lambda value: round(value, 4))
SERIES = st.lists(ERROR, min_size=6, max_size=6)


@pytest.mark.parametrize(
    ("errors", "first", "spread", "slope", "mean"),
    [
        ([0.2, 0.3, 0.4], 0.5, 1.0, 0.1, 0.3),
        ([0.2, 0.2, 0.2], 0.0, 0.0, 0.0, 0.2),
        ([0.0, 0.1, 0.2], None, None, 0.1, 0.1),
        ([0.4, 0.0, 0.2], -1.0, None, -0.1, 0.2),
        ([0.3], None, 0.0, None, 0.3),
    ],
)
def test_each_metric_follows_its_formula_or_has_a_reason(errors, first, spread, slope, mean):
    values, reasons = metrics_of(errors)
    wanted = {"first_drop": first, "range_of_error": spread, "error_rate": slope, "average_error": mean}
    assert {name: values[name] for name in wanted} == pytest.approx(wanted, abs=1e-12)
    assert {name for name, value in values.items() if value is None} == reasons.keys()


@pytest.mark.parametrize(
    ("errors", "why"), [([], "no level was run"), ([0.3], "a level above 0 is needed")], ids=["none", "level 0 alone"]
)
def test_a_series_that_is_too_short_has_a_reason(errors, why):
    assert why in metrics_of(errors)[1].values()
    assert metrics_of(errors)[1]["error_rate"] == "a level above 0 is needed"


def test_the_slope_of_two_levels_is_their_difference():
    assert metrics_of([0.2, 0.3])[0]["error_rate"] == pytest.approx(0.1)


def test_metrics_of_a_level_that_was_not_run_are_null():
    values, reasons = metrics_of([0.2, 0.3, None, 0.4])
    assert values["first_drop"] == pytest.approx(0.5)
    assert values["error_rate"] is values["average_error"] is values["range_of_error"] is None
    assert reasons["average_error"] == "level 2 was not run"
    assert metrics_of([0.2, None, None, 0.4])[1]["average_error"] == "levels 1, 2 were not run"


def test_a_series_shorter_than_the_others_of_its_pool_lacks_the_levels_above():
    found = vre({"m": {"snow": [0.1, 0.2, 0.3], "contrast": [0.1, 0.2]}})
    assert found.metrics["m"]["contrast"]["average_error"] is None
    assert found.reasons["m/contrast/average_error"] == "level 2 was not run"
    assert found.metrics["m"]["snow"]["average_error"] == pytest.approx(0.2)


def test_a_pool_of_one_has_metrics_and_no_vre():
    found = vre({"m": {"snow": [0.1, 0.2, 0.3]}})
    assert found.metrics["m"]["snow"]["first_drop"] == pytest.approx(1.0)
    assert found.per_model == {"m": None}
    assert found.reasons["first_drop"] == "the pool contains no two different values"
    assert found.reasons["per_model/m"]


def test_undefined_metrics_give_their_weight_to_the_others():
    errors = {"a": {"snow": [0.0, 0.1, 0.2]}, "b": {"snow": [0.0, 0.2, 0.4]}}
    found = vre(errors)
    assert found.per_model == pytest.approx({"a": 0.0, "b": 1.0})
    assert found.used_weights["per_model/b"] == pytest.approx(
        dict.fromkeys(("error_rate", "average_error", "average_difference"), 1 / 3)
    )


def test_weights_are_shares_and_may_be_named():
    errors = {"a": {"snow": [0.1, 0.2, 0.3], "contrast": [0.1, 0.1, 0.5]}}
    assert vre(errors, weights=[6, 1, 1, 1, 1]).weights["first_drop"] == pytest.approx(0.6)
    assert vre(errors, weights={"error_rate": 1}).per_corruption == pytest.approx({"snow": 0.0, "contrast": 1.0})


@pytest.mark.parametrize("weights", [[1, 1], [0, 0, 0, 0, 0], [-1, 1, 1, 1, 1], {"slope": 1.0}, [float("nan")] * 5])
def test_meaningless_weights_are_refused(weights):
    with pytest.raises(UsageError) as caught:
        vre({"a": {"snow": [0.1, 0.2]}}, weights=weights)
    names = "first_drop, range_of_error, error_rate, average_error, average_difference"
    assert (str(caught.value), caught.value.hint) in {
        ("2 weights are given; 5 are needed", f"the metrics are {names}"),
        ("weights for unknown metrics: slope", f"the metrics are {names}"),
        (f"weights {weights} can't be used", "give five of at least 0, not all 0"),
    }


def test_per_cent_are_refused():
    with pytest.raises(UsageError, match="is not an error rate") as caught:
        vre({"a": {"snow": [28.7, 32.0]}})
    assert caught.value.hint == "give shares in [0, 1], not per cent"


def test_levels_keep_their_order_unless_sorting_is_asked_for():
    errors = {"a": {"saturation": [0.3, 0.4, 0.2, 0.5]}, "b": {"saturation": [0.1, 0.2, 0.3, 0.4]}}
    assert vre(errors).metrics["a"]["saturation"]["first_drop"] == pytest.approx(1 / 3)
    assert vre(errors, sort_levels=True).metrics["a"]["saturation"]["first_drop"] == pytest.approx(0.5)


@given(st.dictionaries(st.sampled_from("abc"), st.fixed_dictionaries({"snow": SERIES, "contrast": SERIES}), min_size=1))
def test_a_vre_is_in_0_to_1_and_does_not_depend_on_the_order_of_models(errors):
    found, turned = vre(errors), vre(dict(reversed(errors.items())))
    assert all(value is None or -1e-9 <= value <= 1 + 1e-9 for value in found.per_model.values())
    assert found.per_model == pytest.approx(turned.per_model)


@given(SERIES)
def test_the_slope_is_that_of_a_least_squares_line(errors):
    stats = pytest.importorskip("scipy.stats")
    slope = stats.linregress(range(6), errors).slope
    assert metrics_of(errors)[0]["error_rate"] == pytest.approx(slope, abs=1e-12)


def test_every_usual_spelling_of_a_corruption_has_its_class():
    assert [known_name(name) for name in ("Shot", "Shot-noise", "JPEG", "Splatter", "Bright")] == [
        *("shot_noise", "shot_noise", "jpeg_compression", "spatter", "brightness")
    ]
    assert (class_of("Zoom-Blur"), class_of("Saturate"), class_of("fog")) == ("Blur", "Image Attribute", "Other")


def test_the_published_figures_are_reproduced():
    if not GOLDEN.exists():
        pytest.skip("the published figures are not beside the repository")
    golden = json.loads(GOLDEN.read_text())
    expected = golden["expected"]
    errors = {
        model: {name: [1 - value / 100 for value in series] for name, series in row.items()}
        for model, row in golden["accuracy_percent"].items()
    }
    found = vre(errors)
    assert {k: round(v or 0, 3) for k, v in found.per_corruption.items()} == expected["vre_corruption_equal_weights"]
    assert found.per_model == pytest.approx(expected["vre_model_equal_weights"], abs=1e-6)
    raw = expected["raw_metric_matrix(metric x model x corruption)"]
    for index, metric in enumerate(METRICS):
        for model, row in zip(golden["models"], raw[index] if isinstance(raw, list) else raw[metric], strict=True):
            got = [found.metrics[model][name][metric] for name in golden["corruptions"]]
            assert got == pytest.approx(row, abs=5.1e-9)  # the file holds eight decimals


def test_it_can_be_imported_from_the_package() -> None:
    code = (
        "import vqa_client; print(vqa_client.scoring.robustness.vre({'m': {'snow': [0.2, 0.3]}}).metrics['m']['snow'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert "'average_error': 0.25" in done.stdout
