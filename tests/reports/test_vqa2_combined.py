import json
from pathlib import Path
from typing import Any

import pytest

from tests.reports.vqa2_records import BOAT, DAY, GULLS, SETUP, THREE, Pair, lost, replied, run_of
from vqa_client.errors import DataError
from vqa_client.tasks.vqa2.report import combine, write


def model(folder: Path, name: str, pairs: list[Pair]) -> Path:
    path = folder / f"{name}.json"
    write(path, run_of(config=name, model=f"org/{name}"), lambda: pairs, SETUP)
    return path


def combined(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_bytes(), parse_constant=pytest.fail)
    return content


def test_the_models_have_the_figures_of_their_own_files(tmp_path: Path) -> None:
    paths = [model(tmp_path, "small", THREE), model(tmp_path, "large", THREE[::-1])]
    combine(paths, tmp_path / "all.json")
    content = combined(tmp_path / "all.json")
    alone = [json.loads(path.read_bytes()) for path in paths]
    assert list(content)[:4] == list(alone[0])
    assert content["model_configuration"]["models_tested"] == list(content["results"]) == ["small", "large"]
    assert set(content["model_configuration"]["models"]) == {"small", "large"}
    for own in alone:
        for name, result in own["results"].items():
            assert content["results"][name] == result
            assert list(content["results"][name]) == list(result)


def test_the_comparison_is_ranked_and_has_intervals(tmp_path: Path) -> None:
    good = [replied(DAY, "yes"), replied(BOAT, "red"), replied(GULLS, "3")]
    bad = [replied(DAY, "no"), replied(BOAT, "blue"), lost(GULLS)]
    combine([model(tmp_path, "bad", bad), model(tmp_path, "good", good)], tmp_path / "all.json")
    first, second = combined(tmp_path / "all.json")["comparison"]
    assert (first["model"], first["correct_answers"], first["normalised_accuracy"]) == ("good", 3, 1.0)
    assert (second["model"], second["success_rate"]) == ("bad", pytest.approx(2 / 3))
    assert first["interval"]["low"] > 0


def test_a_model_that_could_not_be_asked_is_an_error_in_its_place(tmp_path: Path) -> None:
    combine([model(tmp_path, "small", THREE)], tmp_path / "all.json", errors={"gone": "no answer from localhost"})
    content = combined(tmp_path / "all.json")
    assert content["results"]["gone"] == {"error": "no answer from localhost"}
    assert content["model_configuration"]["models_tested"] == ["small", "gone"]


def test_the_combined_report_may_replace_a_models_report(tmp_path: Path) -> None:
    paths = [model(tmp_path, "small", THREE), model(tmp_path, "large", THREE)]
    combine(paths, paths[0])
    assert list(combined(paths[0])["results"]) == ["small", "large"]


def test_another_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"results": []}')
    with pytest.raises(DataError, match=r"x\.json"):
        combine([tmp_path / "x.json"], tmp_path / "all.json")
    (tmp_path / "x.json").write_text("")
    with pytest.raises(DataError, match=r"x\.json"):
        combine([tmp_path / "x.json"], tmp_path / "all.json")
    assert not (tmp_path / "all.json").exists()
