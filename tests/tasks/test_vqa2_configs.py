from pathlib import Path

import pytest

from tests.tasks.declared import template_of
from vqa_client.errors import UsageError
from vqa_client.model_config import load_model

SMALL = ("moondream2", "smolvlm_instruct", "smolvlm_v2_instruct")
LARGE = ("llava-1.5-7b", "llava_mlx", "phi35_vision", "qwen3-vl-8b")


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_a_model_is_asked_as_published(name: str) -> None:
    model = load_model(name)
    assert (model.max_tokens, model.temperature, model.prompt_template) == (100, 0.0, None)
    assert model.timeout == (60 if name in SMALL else 180)
    assert model.model_name.count("/") == 1


def test_names_are_those_of_files() -> None:
    folder = Path(__file__).parents[2] / "config"
    assert {*SMALL, *LARGE} <= {path.stem for path in folder.glob("*.json")}


def test_a_config_of_mc_and_niah_works_for_vqa2() -> None:
    chosen, note = template_of("vqa2", load_model("qwen3-vl").prompt_template)
    assert chosen == "{question}"
    assert note


def test_a_file_name_without_its_suffix_finds_the_file(tmp_path: Path) -> None:
    (tmp_path / "toy-a.json").write_text("{}")
    with pytest.raises(UsageError, match="there is no config") as caught:
        load_model(str(tmp_path / "toy-a"))
    assert caught.value.hint.startswith(f"did you mean {tmp_path / 'toy-a.json'}? ")
