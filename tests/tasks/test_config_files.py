import json
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.declared import template_of
from vqa_client import prompt as template
from vqa_client.errors import UsageError
from vqa_client.model_config import load_model, parse_model

CONFIG = Path(__file__).parents[2] / "config"
PUBLISHED = Path(__file__).parents[3] / "shared/data/seed002_longbench/config_vqa"
FILES = [CONFIG / f"{name}.json" for name in ("glm", "internvl-3.5", "kimi-vl", "qwen3-vl")]
"""The configs of the long-document benchmarks."""
SMALL = ("moondream2", "smolvlm_instruct", "smolvlm_v2_instruct")
LARGE = ("llava-1.5-7b", "llava_mlx", "phi35_vision", "qwen3-vl-8b")
"""The configs of VQA 2.0."""
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
def test_one_config_works_for_niah_too(path: Path) -> None:
    assert template_of("niah", read(path)["prompt_template"])[0] == "{question}"


WRONG = [
    ({"max_tokens": 0}, "has max_tokens = 0: expected a whole number >= 1"),
    ({"max_tokens": 5.5}, "has max_tokens = 5.5: expected a whole number, got a number"),
    ({"max_tokens": True}, "has max_tokens = True: expected a whole number, got true or false"),
    ({"model_name": ""}, "has model_name = '': expected text of length >= 1"),
    ({"model_name": "\ud800"}, "has text that can't be sent"),
    ({"temperature": float("nan")}, "has temperature = nan: expected a number >= 0.0"),
    ({"temperature": float("inf")}, "has temperature = inf: numbers in JSON are finite"),
    ({"presence_penalty": float("nan")}, "has presence_penalty = nan: numbers in JSON are finite"),
    ({"extra_body": {"a": [1, float("-inf")]}}, "has extra_body.a.1 = -inf: numbers in JSON are finite"),
    ({"prices": {"input": float("inf"), "output": 1}}, "has prices.input = inf: numbers in JSON are finite"),
    ({"extra_body": {"a": "\udfff"}}, "has text that can't be sent"),
    ({"extra_body": []}, r"has extra_body = \[\]: expected an object or null, got a list"),
    ({"thinking": "yes"}, "has thinking = 'yes': expected on or off"),
    ({"serve": {"dtype": "a\0"}}, r"has serve.dtype = 'a\\x00': no command line can contain a NUL"),
    ({"temperature": "null"}, "has temperature = 'null': null has no quotes"),
    ({"serve": {"max_model_len": "null"}}, "has serve.max_model_len = 'null': null has no quotes"),
    ({"prices": "null"}, "has prices = 'null': null has no quotes"),
    ({"prices": {"input": 1}}, "lacks 'prices.output'"),
    ({"prices": {"input": 1, "output": -1}}, "has prices.output = -1: expected a number >= 0.0"),
]


@pytest.mark.parametrize(("given", "words"), WRONG)
def test_a_value_that_a_config_cant_have_is_named_with_what_it_should_be(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"the config own.json {words}"):
        parse_model({"model_name": "m", "max_tokens": 5} | given, "own.json")


KNOWN = (
    "base_url, extra_body, max_tokens, model_name, presence_penalty, prices, prompt_template, serve, system_prompt, "
    "temperature, thinking, timeout"
)
REFUSED = [
    ([], "is not a JSON object", "see the files in config/"),
    ({"max_token": 5}, "has an unknown key 'max_token'", f"did you mean max_tokens? known keys: {KNOWN}"),
    ({"xyz": 5}, "has an unknown key 'xyz'", f"known keys: {KNOWN}"),
    (
        {"prices": {"inputs": 1}},
        "has an unknown key 'prices.inputs'",
        "did you mean input? known keys: batch, input, output",
    ),
    ({"extra_body": {"stream": True, "model": "x"}}, "sets model, stream in extra_body", "the run sets it: remove it"),
]


@pytest.mark.parametrize(("given", "said", "hint"), REFUSED)
def test_what_a_config_can_not_have_is_named_with_the_way_out(given: Any, said: str, hint: str) -> None:
    raw = {"model_name": "m", "max_tokens": 5} | given if isinstance(given, dict) else given
    with pytest.raises(UsageError) as caught:
        parse_model(raw, "own.json")
    assert (str(caught.value), caught.value.hint) == (f"the config own.json {said}", hint)


def test_a_config_that_can_not_be_read_is_named_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    names = "give a JSON file or one of: "
    for text, said, hint in (
        (None, f"there is no config '{path}'", names),
        ("{", f"the config {path} is not JSON: ", "a config is a JSON object"),
        (
            "[" * 200 + "]" * 200,
            f"the config {path} is not JSON: it is nested more than 100 levels deep",
            "a config is",
        ),
    ):
        if text is not None:
            path.write_text(text)
        with pytest.raises(UsageError) as caught:
            load_model(str(path))
        assert str(caught.value).startswith(said)
        assert caught.value.hint.startswith(hint)
    with pytest.raises(UsageError, match=r"^there is no config 'qwen3-v'$") as near:
        load_model("qwen3-v")
    assert near.value.hint.startswith(f"did you mean qwen3-vl? {names}")


def test_what_a_config_lacks_is_named_with_what_is_needed() -> None:
    with pytest.raises(UsageError, match="lacks 'max_tokens'") as caught:
        parse_model({"model_name": "m"}, "own.json")
    assert caught.value.hint == "model_name and max_tokens are required"


def test_numbers_in_quotes_are_read_and_an_address_is_not_shown(tmp_path: Path) -> None:
    own = {"model_name": "m", "max_tokens": "5", "temperature": "0.5", "base_url": "http://u:secret@host/v1"}
    (tmp_path / "own.json").write_text(json.dumps(own))
    model = load_model(str(tmp_path / "own.json"))
    assert (model.max_tokens, model.temperature, model.base_url) == (5, 0.5, own["base_url"])
    assert "secret" not in repr(model)


@pytest.mark.parametrize("name", [*SMALL, *LARGE])
def test_a_model_is_asked_as_published(name: str) -> None:
    model = load_model(name)
    assert (model.max_tokens, model.temperature, model.prompt_template) == (100, 0.0, None)
    assert model.timeout == (60 if name in SMALL else 180)
    assert model.model_name.count("/") == 1


def test_names_are_those_of_files() -> None:
    assert {*SMALL, *LARGE} <= {path.stem for path in CONFIG.glob("*.json")}


def test_a_config_of_mc_and_niah_works_for_vqa2() -> None:
    chosen, note = template_of("vqa2", load_model("qwen3-vl").prompt_template)
    assert chosen == "{question}"
    assert note


def test_a_file_name_without_its_suffix_finds_the_file(tmp_path: Path) -> None:
    (tmp_path / "toy-a.json").write_text("{}")
    with pytest.raises(UsageError, match="there is no config") as caught:
        load_model(str(tmp_path / "toy-a"))
    assert caught.value.hint.startswith(f"did you mean {tmp_path / 'toy-a.json'}? ")
