from pathlib import Path

import pytest

from tests.pages.sheets_of_paper import WORDS, paper
from vqa_client.pages.estimate import SAMPLED_PAGES, estimate_forms
from vqa_client.pages.page_files import PageFiles
from vqa_client.pages.perturb import perturb_pages
from vqa_client.pages.perturbations import parse_all

PAGES = 3 * SAMPLED_PAGES


@pytest.fixture
def clean(tmp_path: Path) -> PageFiles:
    images = tmp_path / "clean" / "images"
    images.mkdir(parents=True)
    for number in range(PAGES):
        paper(WORDS * (1 + number % 4), size=(280, 560)).save(images / f"d_page_{number:03d}.png")
    return PageFiles.of(tmp_path / "clean")


def test_nearly_as_many_bytes_are_expected_as_are_made(clean: PageFiles, tmp_path: Path) -> None:
    wanted = parse_all(("jpeg:10", "noise", "binary"))
    expected = estimate_forms(clean, wanted, seed=0)
    made = perturb_pages(clean, tmp_path, wanted, seed=0, workers=1, advance=lambda _: None)
    for form, folder in zip(expected, made, strict=True):
        assert (form.pages, form.sampled) == (folder.pages, SAMPLED_PAGES)
        assert form.size_bytes == pytest.approx(folder.size_bytes, rel=0.2)
        assert form.tokens["qwen2.5-vl"] == PAGES * 10 * 20
