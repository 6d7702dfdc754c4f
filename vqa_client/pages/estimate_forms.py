"""What perturbing would make: megabytes and image tokens by a sample of the clean pages."""

from collections.abc import Sequence
from statistics import fmean

from vqa_client.pages.estimate import TOKEN_SIDES, Expected, tokens
from vqa_client.pages.folders import PageFiles, page_bytes
from vqa_client.pages.perturb_page import form
from vqa_client.pages.perturbations import Perturbation, parse
from vqa_client.pages.pixels import png, read_page

SAMPLED_PAGES = 8


def estimate_forms(source: PageFiles, perturbations: Sequence[Perturbation], *, seed: int) -> list[Expected]:
    """Perturb a few pages of a folder in memory; raises what perturbing them raises."""
    names = source.names[:: max(1, len(source.names) // SAMPLED_PAGES)][:SAMPLED_PAGES]
    paths = [source.path / name for name in names]
    sampled = [(path, read_page(page_bytes(path), str(path))) for path in paths]
    expected = []
    for perturbation in map(_on_clean_pages, perturbations):
        made = [form(pixels, perturbation, seed, path) for path, pixels in sampled]
        expected.append(
            Expected(
                pages=len(source.names),
                size_bytes=round(len(source.names) * fmean(len(png(pixels)) for pixels in made)),
                sampled=len(made),
                tokens={
                    rule: round(len(source.names) * fmean(tokens(*pixels.size, side) for pixels in made))
                    for rule, side in TOKEN_SIDES.items()
                },
            )
        )
    return expected


def _on_clean_pages(perturbation: Perturbation) -> Perturbation:
    """Enlarged pages are made of ones that aren't drawn yet; clean pages shrunk and enlarged are about the same."""
    if perturbation.kind != "upscale":
        return perturbation
    low, high = int(perturbation.values["dpi"]), int(perturbation.values["to_dpi"])
    return parse(f"resample:bilinear:{min(0.99, max(0.01, low / high))}")
