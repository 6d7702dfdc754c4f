"""The commands accept the configs and arguments that the recipes in serve/ show."""

import json
import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from vqa_client.cli.benchmark import parse_options, settings_command
from vqa_client.model_config import ServeBlock, parse_model
from vqa_client.servers.by_config import mlx, vllm
from vqa_client.settings.divided import Shard
from vqa_client.settings.own_commands import NiahSettings
from vqa_client.shipped import shipped

RECIPES = sorted(shipped("serve").glob("*.md"))


def blocks(recipe: Path) -> list[str]:
    return re.findall(r"```json\n(.*?)```", recipe.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)
def test_every_config_in_a_recipe_is_valid(recipe: Path) -> None:
    for shown in blocks(recipe):
        model = parse_model(json.loads(shown), recipe.name)
        for launch in (vllm, mlx):
            assert launch(model, host="127.0.0.1", port=8000, images=None, dry_run=True, note=print).command[1:]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)
def test_every_serve_block_in_a_recipe_is_valid(recipe: Path) -> None:
    for shown in re.findall(r'^ {4}"serve": (\{.*\})$', recipe.read_text("utf-8"), re.MULTILINE):
        parse_model({"model_name": "any", "max_tokens": 1, "serve": json.loads(shown)}, recipe.name)


def test_the_recipes_contain_configs() -> None:
    assert sum(len(blocks(recipe)) for recipe in RECIPES) >= 3


def test_every_key_of_the_block_is_explained() -> None:
    readme = (shipped("serve") / "README.md").read_text("utf-8")
    assert all(f"| `{key}` |" in readme for key in [each.name for each in fields(ServeBlock)])


def test_every_file_that_the_readme_names_exists() -> None:
    readme = (shipped("serve") / "README.md").read_text("utf-8")
    named = re.findall(r"\]\(([^)]+)\)", readme)
    assert "vllm.sbatch" in named
    assert all((shipped("serve") / name).exists() for name in named)


def test_the_slurm_script_has_valid_syntax() -> None:
    checked = subprocess.run(["bash", "-n", str(shipped("serve") / "vllm.sbatch")], capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, b"")


def test_the_kubernetes_job_asks_the_shard_of_its_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "63")
    args = re.findall(r"^ {12}- (\S+)$", (shipped("serve") / "kubernetes-job.yaml").read_text("utf-8"), re.MULTILINE)
    assert args[0] == "niah"
    settings = parse_options(settings_command("niah", NiahSettings), args[1:])
    assert settings is not None
    assert (settings.part, settings.ok_with_failures) == (Shard(64, 64), True)
