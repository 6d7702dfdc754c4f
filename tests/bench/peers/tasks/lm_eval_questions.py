"""The questions' images and text for lm-eval; imported by its task, in its environment."""

from PIL import Image


def images(row):
    """The pages in order, read as they are needed."""
    return [Image.open(page) for page in row["pages"]]


def text(row):
    """The prompt after one mark for each page."""
    return "<image>" * len(row["pages"]) + row["prompt"]
