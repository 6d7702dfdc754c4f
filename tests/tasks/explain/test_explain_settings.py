from pathlib import Path
from typing import Any

import pytest

from vqa_client.cli.app import app
from vqa_client.errors import UsageError
from vqa_client.model_config import load_model
from vqa_client.settings.own_commands import ExplainSettings, McSettings
from vqa_client.tasks import explain, registry
from vqa_client.tasks.explain.prompts import EXAMPLES
from vqa_client.tasks.explain.vcr import VCR_TASKS


def test_the_defaults_are_the_published_ones() -> None:
    settings = ExplainSettings()
    assert (settings.task, settings.model, settings.split, settings.n_samples) == ("vqax", "llava", "val", 10)
    assert (settings.parser, settings.prompt_mode, settings.results_dir) == ("robust", None, Path("results"))


@pytest.mark.parametrize("given", [None, "None", "none", "all", " ALL "])
def test_all_samples_are_asked_for_in_several_ways(given: Any) -> None:
    assert ExplainSettings(n_samples=given).n_samples is None


@pytest.mark.parametrize("given", [-1, "ten", "1.5"])
def test_another_number_of_samples_is_refused(given: Any) -> None:
    with pytest.raises(UsageError, match="--n_samples"):
        ExplainSettings(n_samples=given)


@pytest.mark.parametrize(
    "given",
    [{"task": "vqa2"}, {"split": "dev"}, {"prompt_mode": "2shot"}, {"vcr_mode": "qa"}, {"parser": "head"}],
)
def test_an_unknown_choice_is_refused_with_the_known_ones(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="must be one of"):
        ExplainSettings(**given)


def test_settings_and_tasks_know_the_same_names() -> None:
    for task in explain.EXPLAIN_TASKS:
        assert ExplainSettings(task=task).task == task  # type: ignore[arg-type]
    for mode in VCR_TASKS:
        assert ExplainSettings(vcr_mode=mode).vcr_mode == mode  # type: ignore[arg-type]
    for mode in EXAMPLES:
        assert ExplainSettings(prompt_mode=mode).prompt_mode == mode  # type: ignore[arg-type]
    for parser in ("robust", "published", "published_latest"):
        assert ExplainSettings(parser=parser).parser == parser  # type: ignore[arg-type]


def test_readings_have_their_earlier_names_too_on_the_command_line_and_in_run_files(tmp_path: Path) -> None:
    for line in ("--parsing seed_head", "--parser seed_head", "--parsing published_latest"):
        _, bound, _ = app.parse_args(f"explain {line}", print_error=False, exit_on_error=False)
        assert bound.arguments["settings"].parser == "published_latest"
    assert registry.find("vqax").settings_from({"parsing": "seed"}, as_given=False).parser == "published"  # type: ignore[attr-defined]
    assert McSettings(data_json=tmp_path, parser="seed").parser == "published"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "conditions"),
    [
        ({}, ()),
        ({"prompt_mode": "3shot"}, ("3shot",)),
        ({"task": "esnlive"}, ()),
        ({"task": "esnlive", "prompt_mode": "3shot"}, ()),
        ({"task": "esnlive", "prompt_mode": "zero"}, ("zero",)),
        ({"task": "vcr", "vcr_mode": "q2a", "prompt_mode": "1shot"}, ("q2a", "1shot")),
    ],
)
def test_only_settings_that_differ_from_the_published_ones_are_conditions(
    given: dict[str, Any], conditions: tuple[str, ...]
) -> None:
    assert ExplainSettings(**given).conditions == conditions


@pytest.mark.parametrize(
    ("given", "recoding"),
    [
        ({}, {}),
        ({"image_quality": 80}, {}),
        ({"max_pixels": 9}, {"max_pixels": 9}),
        ({"white_value": 255.0}, {"white_value": 255.0}),
        ({"image_format": "png", "image_quality": 80}, {"image_format": "png"}),
        ({"image_format": "jpeg", "image_quality": 80}, {"image_format": "jpeg", "image_quality": 80}),
    ],
)
def test_only_options_that_change_images_are_reported_with_them(
    given: dict[str, Any], recoding: dict[str, Any]
) -> None:
    assert ExplainSettings(**given).recoding == recoding


def test_results_have_the_configs_name() -> None:
    assert ExplainSettings(model="qwen").model_label == "qwen"
    assert ExplainSettings(model="my/model-7b.json").model_label == "model-7b"
    assert ExplainSettings(model="my/model.json").configs == ("my/model.json",)
    assert ExplainSettings(data_root="data").data_root == Path("data")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "model_name"), [("llava", "llava-hf/llava-1.5-7b-hf"), ("qwen", "Qwen/Qwen3-VL-8B-Instruct")]
)
def test_the_two_published_models_are_shipped(name: str, model_name: str) -> None:
    model = load_model(name)
    assert (model.model_name, model.temperature) == (model_name, 0.0)
    assert model.max_tokens >= 40


VCR = {"train": "vcr_train.json vcr_train_split.json train.jsonl", "val": "vcr_val.json vcr_dev_split.json val.jsonl"}
CHOSEN = {
    "train": "train.jsonl vcr_train_split.json vcr_train.json",
    "val": "val.jsonl vcr_dev_split.json vcr_val.json",
}
TEST = {"test": "vcr_valtest.json vcr_test.json"}


@pytest.mark.parametrize(
    ("task", "mode", "folders", "files"),
    [
        ("vqax", "free", "VQA-X", {split: f"vqaX_{split}.json" for split in ("train", "val", "test")}),
        ("actx", "free", "ACT-X", {split: f"actX_{split}.json" for split in ("train", "test")}),
        ("esnlive", "free", "eSNLI-VE", {split: f"esnlive_{split}.json" for split in ("train", "test")}),
        ("vcr", "free", "VCR VCR_original", VCR | {"test": "vcr_test.json vcr_valtest.json"}),
        ("vcr", "qa2r", "VCR VCR_original", CHOSEN | TEST),
        ("vcr", "q2ar", "VCR VCR_original", CHOSEN | TEST),
    ],
)
def test_each_split_is_read_from_its_files_in_this_order(
    task: str, mode: str, folders: str, files: dict[str, str]
) -> None:
    dataset = explain.dataset_of(task, mode)
    assert " ".join(dataset.folders) == folders
    assert {split: " ".join(names) for split, names in dataset.files.items()} == files
