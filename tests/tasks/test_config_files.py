import json
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.declared import template_of
from vqa_client import prompt as template

CONFIG = Path(__file__).parents[2] / "config"
PUBLISHED = Path(__file__).parents[3] / "shared/data/seed002_longbench/config_vqa"
FILES = [CONFIG / f"{name}.json" for name in ("glm", "internvl-3.5", "kimi-vl", "qwen3-vl")]
"""Those of the long-document benchmarks; tests/tasks/test_vqa2_configs.py has the others."""
KEYS = {
    "model_name",
    "prompt_template",
    "max_tokens",
    "temperature",
    "timeout",
    "extra_body",
    "presence_penalty",
}


def read(path: Path) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return config


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_config_has_the_required_keys_and_only_known_ones(path: Path) -> None:
    assert {"model_name", "max_tokens"} <= read(path).keys() <= KEYS


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_values_are_the_published_ones(path: Path) -> None:
    if not PUBLISHED.is_dir():
        pytest.skip("the published configs are not here")
    published = read(PUBLISHED / path.name)
    for key in ("model_name", "max_tokens", "temperature", "timeout", "extra_body"):
        assert read(path)[key] == published[key]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_template_asks_for_the_official_sentence_without_a_sample_to_repeat(path: Path) -> None:
    text = read(path)["prompt_template"]
    template.check(text)
    assert template.placeholders(text) == {"question", "choices"}
    assert '"The correct answer is"' in text
    assert "(" not in text.replace("{question}", "").replace("{choices}", "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_one_config_serves_niah_too(path: Path) -> None:
    assert template_of("niah", read(path)["prompt_template"])[0] == "{question}"
