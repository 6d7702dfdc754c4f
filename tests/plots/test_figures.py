"""Figures are drawn for any pool, are the same each time, and say why if there is nothing to draw.

`python -m tests.plots.test_figures` writes again what they show.
"""

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from tests.reports.robustness_records import FOURTEEN, curves, on_disk, pairs_of, run_of
from vqa_client import plots
from vqa_client.cli.main import run_command
from vqa_client.errors import DataError, OutputError, UsageError
from vqa_client.plots import CONTACT_SHEET, FIGURES, contact_sheet, draw
from vqa_client.plots.accuracy import accuracy_by_level, relative_drop, vre_by_weighting
from vqa_client.plots.style import NothingToDraw, look, save, shown, styled, titled
from vqa_client.reports.robustness.evaluation import write_results
from vqa_client.scoring.corrupted_scores import CorruptedScores, Curves, Evaluation, evaluate
from vqa_client.types import SentImage

pytest.importorskip("matplotlib")
KEPT = Path(__file__).with_name("figures.json")
ONE = {"accuracy_by_level": accuracy_by_level}
"""A few of the figures, for tests that don't need all: those take seconds."""


def model(accuracies: dict[str, Sequence[float | None]], seed: int = 0) -> Curves:
    found = CorruptedScores()
    for question, record in pairs_of(accuracies, questions=30, seed=seed):
        corruption, _, level = record.variant.partition("/")
        place = (corruption, int(level)) if level else ("", 0)
        type_ = question.groups["question_type"]
        found.add(question.id, *place, score=record.score, status="ok", cluster=question.cluster, type_=type_)
    return found.curves()


def pool(*names: str, corruptions: Sequence[str] = ("snow", "contrast")) -> Evaluation:
    return evaluate(
        {name: model(dict(curves(0.9 - 0.05 * n, 0.6 + n / 5, corruptions)), n) for n, name in enumerate(names)}
    )


def texts(drawn: Any) -> list[str]:
    from matplotlib.text import Text

    return [text.get_text() for text in drawn.findobj(Text) if text.get_text() and text.get_visible()]


def test_a_pool_is_drawn_as_png_and_svg_and_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "save", partial(save, dpi=40))
    found = pool("org/one", "org/two")
    paths, missing = draw(found, tmp_path / "a")
    assert missing == []
    assert [path.name for path in paths] == [f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")]
    draw(found, tmp_path / "b")
    for path in paths:
        assert path.stat().st_size > 1_000
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    for path in paths[1::2]:
        svg = path.read_text()
        assert ElementTree.fromstring(svg).tag.endswith("svg")
        assert "dc:date" not in svg


@pytest.mark.parametrize("names", [("one",), tuple("abcdefghi")])
def test_up_to_nine_models_have_distinct_looks(names: tuple[str, ...], tmp_path: Path) -> None:
    looks = [(one.colour, one.marker, str(one.line), one.hatch) for one in map(look, range(len(names)))]
    assert len(set(looks)) == len(names)
    with styled():
        drawn = accuracy_by_level(pool(*names, corruptions=("snow",)))
        (legend,) = drawn.legends
    assert [text.get_text() for text in legend.get_texts()] == [*names, "clean (level 0)"]


def test_every_corruption_has_a_panel_and_every_cell_its_number() -> None:
    found = pool("one", corruptions=FOURTEEN)
    with styled():
        panels = [panel for panel in accuracy_by_level(found).axes if panel.get_visible()]
        cells = texts(relative_drop(found).axes[0])
    assert [panel.get_title() for panel in panels] == [titled(name) for name in FOURTEEN]
    assert sum(text.replace("−", "").replace(".", "").isdigit() and "." in text for text in cells) == 14 * 5


@pytest.mark.parametrize(
    ("found", "inches"),
    [
        (
            pool("one", "two"),
            "7.20x3.41 7.20x1.41 4.80x2.80 7.20x3.10 5.76x1.74 5.04x3.70 7.20x2.05",
        ),
        (
            pool("one", "two", "three", "four", corruptions=("snow",)),
            "3.60x3.61 7.20x1.96 3.40x3.00 7.20x3.30 5.76x1.52 5.04x3.90 7.20x3.00",
        ),
    ],
    ids=["two models", "four models"],
)
def test_a_figure_is_as_wide_as_a_page_and_high_enough_for_its_panels_and_legend(
    found: Evaluation, inches: str
) -> None:
    with styled():
        sizes = [drawer(found).get_size_inches() for drawer in FIGURES.values()]
    assert " ".join(f"{width:.2f}x{height:.2f}" for width, height in sizes) == inches


def uneven() -> Evaluation:
    """Three models: one lacks a corruption, one lacks a level and a question type."""
    fewer = CorruptedScores()
    for n in range(40):
        for level in (0, 1, 2, 4, 5):
            name, type_ = ("snow", level) if level else ("", 0), "is this a" if n % 2 else "how many"
            score = float(n % (level + 3) != 0)
            fewer.add(str(n), *name, score=score, status="ok", cluster=str(n // 2), type_=type_)
    models = {
        "one": model(dict(curves(0.9, 0.6, ("snow", "zoom_blur")))),
        "org/three": model({"snow": [0.5, 0.4, 0.4]}, 3),
    }
    return evaluate({**models, "two": fewer.curves()})


def plain(value: Any) -> Any:
    """A value as in JSON, with numbers of three digits."""
    import numpy as np

    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    if isinstance(value, float):
        return None if value != value else round(value, 3)
    return value


def look_of(drawn: Any) -> list[Any]:
    """The visible properties of a line, an area, a map or a text."""
    from matplotlib import collections, image, lines, patches, text

    if isinstance(drawn, lines.Line2D):
        dashes, ends = drawn._unscaled_dash_pattern, (drawn.get_marker(), drawn.get_markersize())  # type: ignore[attr-defined]
        return [drawn.get_xydata(), drawn.get_color(), dashes, drawn.get_linewidth(), *ends, drawn.get_zorder()]
    if isinstance(drawn, text.Text):
        place = drawn.get_position(), drawn.get_ha(), drawn.get_va()
        return [drawn.get_text(), *place, drawn.get_color(), drawn.get_fontsize()]
    if isinstance(drawn, image.AxesImage):
        return [drawn.get_array(), drawn.get_clim(), drawn.get_cmap().name]
    filling = [
        drawn.get_facecolor(),
        drawn.get_edgecolor(),
        drawn.get_linewidth(),
        drawn.get_hatch(),
        drawn.get_zorder(),
    ]
    if isinstance(drawn, patches.Patch):
        return [drawn.get_path().transformed(drawn.get_patch_transform()).vertices, *filling]
    assert isinstance(drawn, collections.Collection), drawn
    return [[path.vertices for path in drawn.get_paths()], *filling]


def axis_of(axis: Any) -> list[Any]:
    locations = getattr(axis.get_major_locator(), "locs", None)
    marks = locations, [] if locations is None else [label.get_text() for label in axis.get_ticklabels()]
    return [axis.get_label_text(), *marks, axis.get_view_interval(), sorted(axis.get_tick_params().items())]


def panel_of(panel: Any) -> Any:
    if not panel.get_visible():
        return "hidden"
    polar = [panel.get_theta_offset(), panel.get_theta_direction()] if panel.name == "polar" else []
    seen = [spine.get_edgecolor() for spine in panel.spines.values() if spine.get_visible()]
    artists = [*panel.lines, *panel.patches, *panel.collections, *panel.images, *panel.texts]
    axes = axis_of(panel.xaxis), axis_of(panel.yaxis)
    return [panel.get_title(), *axes, polar, seen, *([type(each).__name__, *look_of(each)] for each in artists)]


def described(drawn: Any) -> list[Any]:
    """Everything that a figure shows, except the places of its panels."""
    legends = []
    for legend in drawn.legends:
        handles = [look_of(handle)[1:] for handle in legend.legend_handles]
        legends.append([legend._ncols, [text.get_text() for text in legend.get_texts()], handles])
    return plain(
        [drawn.get_size_inches(), [look_of(text) for text in drawn.texts], legends, *map(panel_of, drawn.axes)]
    )


def all_described() -> dict[str, Any]:
    found = {"even": pool("org/one", "org/two"), "nine": pool(*"abcdefghi", corruptions=("snow",)), "uneven": uneven()}
    with styled():
        return {
            f"{name}, {key}": described(drawer(each)) for key, each in found.items() for name, drawer in FIGURES.items()
        }


def test_every_figure_is_unchanged() -> None:
    kept, now = json.loads(KEPT.read_text()), json.loads(json.dumps(all_described()))
    assert list(now) == list(kept)
    for name, drawn in now.items():
        assert drawn == kept[name], name


def test_the_numbers_drawn_are_those_of_the_evaluation() -> None:
    found = pool("one", "two")
    with styled():
        (panel,) = vre_by_weighting(found).axes
    heights = [bar.get_height() for bars in panel.containers for bar in bars]
    assert heights == [row[name] for name in ("one", "two") for row in found.weightings.values()]


def test_a_level_that_was_not_run_leaves_a_gap() -> None:
    found = evaluate({"m": model({"snow": [0.9, 0.8, None, 0.6]})})
    with styled():
        panel = accuracy_by_level(found).axes[0]
    line = next(line for line in panel.lines if line.get_marker() == "o")
    assert [value == value for value in line.get_ydata()] == [True, True, False, True]


def test_a_figure_that_can_not_be_drawn_says_why_and_the_others_are_drawn(tmp_path: Path) -> None:
    found = CorruptedScores()
    for level in (1, 2):
        found.add("1", "snow", level, score=1.0, status="ok", cluster="", type_="")
    paths, missing = draw(evaluate({"m": found.curves()}), tmp_path)
    assert {path.stem for path in paths} == {"accuracy_by_level"}
    two = "no metric has two different values in the pool"
    assert missing == [
        "no relative_drop: no model has an accuracy above 0 on clean images and a level above 0",
        *(f"no {name}: {two}" for name in ("metrics_by_class", "vre_by_weighting", "vre_by_corruption")),
        "no vre_against_accuracy: no model has both a clean accuracy and a VRE",
        "no question_types: the questions have no types, or clean and corrupted images no question in common",
    ]
    with pytest.raises(NothingToDraw, match=r"^no corruption was run$"):
        accuracy_by_level(evaluate({"m": CorruptedScores().curves()}))


def test_any_name_can_be_drawn(tmp_path: Path) -> None:
    seen = {
        "a$b$c": "a$b$c",
        "_hidden": " _hidden",
        "tab\there": "tab?here",
        "x" * 60: "x" * 15 + " … " + "x" * 15,
        "Qwen/Qwen3-VL-8B": "Qwen/Qwen3-VL-8B",
    }
    assert {name: shown(name) for name in seen} == seen
    with styled():
        drawn = accuracy_by_level(pool(*seen, "模型", corruptions=("snow",)))
        assert {*seen.values()} <= {*texts(drawn)}
        drops = pool("x" * 26, "x" * 27, corruptions=("snow",))
        assert {"x" * 26, "x" * 11 + " … " + "x" * 11} <= {*texts(relative_drop(drops))}
        save(drawn, tmp_path, "figure", dpi=20)


def test_the_callers_own_settings_do_not_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib

    monkeypatch.setattr(plots, "FIGURES", ONE)
    with matplotlib.rc_context({"font.size": 21.0, "svg.hashsalt": None}):
        draw(pool("one", corruptions=("snow",)), tmp_path)
        assert (matplotlib.rcParams["font.size"], matplotlib.rcParams["svg.hashsalt"]) == (21.0, None)
    assert "matplotlib.pyplot" not in sys.modules


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError) as raised:
        draw(pool("one"), tmp_path)
    assert raised.value.hint.endswith("pip install 'vqa-client[plots]'")
    assert run_command(["robustness", "plot", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    assert "pip install 'vqa-client[plots]'" in capsys.readouterr().err


def test_figures_are_not_half_written(tmp_path: Path) -> None:
    (tmp_path / "accuracy_by_level.svg").mkdir()
    with pytest.raises(OutputError, match=r"accuracy_by_level\.svg"):
        draw(pool("one"), tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    pytest.importorskip("cv2")
    from PIL import Image

    from tests.images.corruptions.drawings import drawn

    path = tmp_path / "images" / "COCO_val2014_000000000000.png"
    path.parent.mkdir()
    Image.fromarray(drawn(64, 48)).save(path)
    return path


def test_the_seed_decides_what_the_sheet_shows(picture: Path) -> None:
    from vqa_client.plots.contact_sheet import _sheet

    data = picture.read_bytes()
    one, again, other = (_sheet(data, profile="vqa-vrb", seed=seed, path="it")[0].tobytes() for seed in (1, 1, 2))
    assert one == again != other


def test_the_sheet_shows_what_a_run_sends(picture: Path) -> None:
    from io import BytesIO

    import numpy as np
    from PIL import Image

    from tests.images.corruptions.drawings import corrupted_png
    from vqa_client.plots.contact_sheet import GAP_PX, _resized, _sheet

    data = picture.read_bytes()
    sheet, (height, width) = _sheet(data, profile="vqa-vrb", seed=4, path="it")
    sent = np.asarray(Image.open(BytesIO(corrupted_png(data, name="shot_noise", level=3, seed=4))))
    left = 3 * (width + GAP_PX)
    assert (sheet[:height, left : left + width] == _resized(sent, (height, width))).all()
    assert (sheet[:height, :width] == _resized(np.asarray(Image.open(picture)), (height, width))).all()


def test_the_sheet_names_its_levels_and_corruptions(picture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[Any] = []
    sheets = sys.modules[contact_sheet.__module__]
    monkeypatch.setattr(sheets, "save", lambda drawn, *_, dpi: saved.append((drawn, dpi)))
    contact_sheet(picture, picture.parent, profile="vqa-vrb", seed=0)
    ((drawn, dpi),) = saved
    (panel,) = drawn.axes
    across, down = plain(axis_of(panel.xaxis)), plain(axis_of(panel.yaxis))
    assert (across[1][:2], across[2]) == ([120.0, 366.0], ["clean", *"12345"])
    assert (down[1][:2], down[2]) == ([90.0, 276.0], [titled(name) for name in FOURTEEN])
    place = plain(panel.get_position().bounds)
    assert (plain(drawn.get_size_inches()), place, dpi) == ([7.2, 10.866], [0.167, 0.005, 0.826, 0.968], 247)


def test_a_missing_image_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.png does not exist") as raised:
        contact_sheet(tmp_path / "gone.png", tmp_path, profile="vqa-vrb", seed=0)
    assert raised.value.hint == "give another --image"


def plot(*words: object) -> int:
    return run_command(["robustness", "plot", *map(str, words)])


def test_the_command_draws_runs_and_their_first_image_under_all_seventy(
    picture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import numpy as np
    from PIL import Image

    monkeypatch.setattr(plots, "FIGURES", ONE)
    sent = SentImage(name=picture.name, sha256="ab" * 32, size_bytes=picture.stat().st_size)
    pairs = pairs_of(curves(0.8, 1.0, ("snow", "elastic")))
    on_disk(tmp_path, "org/m", [(question, replace(record, images=(sent,))) for question, record in pairs])
    assert plot(tmp_path, "-o", tmp_path / "out") == 0
    streams = capsys.readouterr()
    drawn = [Path(line) for line in streams.out.splitlines()]
    assert {path.name for path in drawn} == {
        f"{name}.{kind}" for name in (*ONE, CONTACT_SHEET) for kind in ("png", "svg")
    }
    assert all(path.stat().st_size > 1_000 for path in drawn)
    with Image.open(tmp_path / "out" / f"{CONTACT_SHEET}.png") as sheet:
        assert sheet.width > 6 * 240
        assert sheet.height > 14 * 180
        dark = np.asarray(sheet.convert("L")) < 250
    (down, across), (rows, columns) = dark.shape, (dark.any(1).nonzero()[0], dark.any(0).nonzero()[0])
    assert 0.97 * across < columns[-1] < across - 1, "the tiles end shortly before the edge"
    assert 0.97 * down < rows[-1] < down - 1
    assert columns[0] < 0.1 * across
    assert rows[0] < 0.02 * down
    assert streams.err == "published levels that are not in order of severity: elastic 3 is milder than 2\n"


@pytest.mark.parametrize("has_log", [True, False])
def test_without_the_image_the_other_figures_are_drawn(
    has_log: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "FIGURES", ONE)
    pairs = pairs_of(curves(0.8, 1.0, ("snow",)))
    if has_log:
        on_disk(tmp_path, "org/m", pairs)
    else:
        write_results(tmp_path, run_of("org/m"), lambda: pairs)
    assert plot(tmp_path, "-o", tmp_path / "out") == 0
    streams = capsys.readouterr()
    assert [Path(line).stem for line in streams.out.splitlines()] == [*ONE] * 2
    assert CONTACT_SHEET not in streams.out
    assert "no contact_sheet: the runs' first image was not found; --image names one" in streams.err
    assert plot(tmp_path, "-o", tmp_path / "out", "--image", tmp_path / "no.png") == 2
    assert "no.png does not exist" in capsys.readouterr().err


if __name__ == "__main__":
    figures = (f"{json.dumps(name)}: {json.dumps(drawn)}" for name, drawn in all_described().items())
    KEPT.write_text("{\n" + ",\n".join(figures) + "\n}\n")
