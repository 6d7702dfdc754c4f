"""Small finished runs of four benchmarks, made by earlier versions: later versions must read them without asking again.

`python -m tests.kept_runs NAME` makes another set, `NAME/`, with today's version from the questions and drawings in
`data/`; existing folders stay unchanged.
"""

import shutil
from pathlib import Path

from vqa_client.settings.own_commands import ExplainSettings, McSettings, NiahSettings, Vqa2Settings
from vqa_client.settings.run import RunSettings

HERE = Path(__file__).parent
RUNS = ("mc", "niah", "vqa2", "explain")
"""Each has a folder in results/."""


def lay_out(kept: Path, place: Path) -> None:
    """Copy the data and the results to a folder where commands can run."""
    shutil.copytree(HERE / "data", place / "data")
    if kept.exists():
        shutil.copytree(kept, place / "results")


def settings(name: str, base_url: str) -> RunSettings:
    """The command of a run, with relative paths for the folder with data/ and results/."""
    given = {"base_url": base_url, "api_key": None, "check": False, "max_workers": 1, "max_retries": 0}
    data, output = Path("data"), Path("results", name)
    config = "data/model.json"
    match name:
        case "mc":
            return McSettings(data=data / "mc/data.json", images=data / "pages", output=output, config=config, **given)
        case "niah":
            return NiahSettings(
                data=data / "niah/data.json",
                images=data / "pages/clean/images",
                output=output / "clean_niah_eval.json",
                config=config,
                **given,
            )
        case "vqa2":
            return Vqa2Settings(data_dir=data / "vqa2", results_dir=output, num_questions=0, model=config, **given)
        case _:
            return ExplainSettings(
                task="vqax", n_samples=None, data_root=data / "explain", results_dir=output, model=config, **given
            )
