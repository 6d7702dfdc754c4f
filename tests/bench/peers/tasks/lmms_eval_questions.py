"""The questions' images and text for lmms-eval; imported by its task, in its environment."""


def pages(row):
    """The paths of the pages in order."""
    return list(row["pages"])


def text(row, lmms_eval_specific_kwargs=None):
    """The prompt alone."""
    return row["prompt"]


def messages(row, lmms_eval_specific_kwargs=None):
    """One user message: the pages, then the prompt."""
    content = [{"type": "image", "url": page} for page in row["pages"]]
    return [{"role": "user", "content": [*content, {"type": "text", "text": row["prompt"]}]}]


def scored(row, results):
    """Whether the reply holds the answer."""
    return {"exact_match": float(row["target"] in results[0])}
