from pathlib import Path

import pytest

from vqa_client.errors import UsageError
from vqa_client.settings.own_commands import Vqa2Settings


def test_the_defaults_are_the_published_ones() -> None:
    settings = Vqa2Settings()
    assert (settings.mode, settings.num_questions, settings.seed) == ("coco", 20, 42)
    assert (settings.data_dir, settings.results_dir) == (Path("materials/vqa2"), Path("results"))
    assert settings.configs == (None,)


def test_each_model_is_a_config_in_the_order_given() -> None:
    assert Vqa2Settings(model=("moondream2", "llava_mlx")).configs == ("moondream2", "llava_mlx")
    assert Vqa2Settings(model="moondream2").configs == ("moondream2",)  # type: ignore[arg-type]


def test_paths_given_as_text_are_paths() -> None:
    assert Vqa2Settings(data_dir="d").data_dir == Path("d")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"mode": "photos"}, "--mode is 'photos'.*coco, sample"),
        ({"num_questions": -1}, "--num_questions is -1"),
        ({"model": ("a", "b", "a")}, "'a' twice"),
        ({"model": ("a", "configs/a.json")}, "'a' twice"),
        ({"max_workers": 0}, "--max_workers is 0"),
    ],
)
def test_an_impossible_setting_is_reported(given: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Vqa2Settings(**given)  # type: ignore[arg-type]
