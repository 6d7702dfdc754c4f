"""The metric loaded by Hugging Face `evaluate`, in a separate process, as its imports warn and write files."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "vqa_client" / "metrics" / "vqa_accuracy"
SCRIPT = f"""
import json, evaluate
metric = evaluate.load({str(FOLDER)!r})
given = dict(predictions=["yes", "2", "blue"], references=[["yes", "yeah", "yep"], ["2", "two"], ["blue", "bluish"]])
types = dict(answer_types=["yes/no", "number", "other"])
found = [metric.compute(**given), metric.compute(**given, **types), metric.compute(**given, mode="raw")]
metric.add_batch(**given)
found.append(metric.compute())
metric.add(prediction="Yes.", reference=["yes"] * 10)
found.append(metric.compute(mode="official"))
print(json.dumps(found))
"""


def test_it_loads_from_its_path_and_computes_the_published_example(tmp_path: Path) -> None:
    if importlib.util.find_spec("evaluate") is None:
        pytest.skip("evaluate is not installed")
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(FOLDER.parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300, check=True, env=environment
    )
    types = {"yes/no": 22.22, "number": 33.33, "other": 16.67}
    assert json.loads(done.stdout.splitlines()[-1]) == [
        {"overall": 24.07},
        {"overall": 24.07, "perAnswerType": types},
        {"overall": 18.52},
        {"overall": 24.07},
        {"overall": 0.0},
    ]
