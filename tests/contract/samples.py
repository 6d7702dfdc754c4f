"""A tiny sample of each declared benchmark's data, of our own making; every question has a mark such as [[q0]]."""

from pathlib import Path

from tests.contract import samples_choices, samples_documents, samples_open
from tests.contract.forms import Sample, draw, write
from vqa_client.tasks import registry

_CHARTS = [
    ("human", "How many bars?", "3"),
    ("human", "Which is highest?", "Blue"),
    ("augmented", "Peak?", "62%"),
    ("augmented", "Low?", "0"),
]
_PHOTOGRAPHS = [
    (kind, photograph, label)
    for kind in ("random", "adversarial")
    for photograph in range(2)
    for label in ("yes", "no")
]

SAMPLES: dict[str, Sample] = {
    "chartqa": Sample(
        rows=[
            {
                "at": f"test_{half}",
                "query": f"[[q{number}]] {text}",
                "label": label,
                "image": draw(number),
                "1:half": f"{half}_test",
                "2:half": f"test_{half}",
            }
            for number, (half, text, label) in enumerate(_CHARTS)
        ],
        same_ids=False,
    ),
    "pope": Sample(
        rows=[
            {
                "at": f"coco_pope_{kind}",
                "question_id": number,
                "image": draw(photograph),
                "text": f"[[q{number}]] Is there a bird in the image?",
                "label": label,
                "0:photograph": f"photo_{photograph}.png",
                "1:photograph": f"photo_{photograph}",
                "1:kinds": kind,
                "2:kinds": kind,
                "2:label": label.capitalize(),
            }
            for number, (kind, photograph, label) in enumerate(_PHOTOGRAPHS)
        ]
    ),
    **samples_documents.SAMPLES,
    **samples_choices.SAMPLES,
    **samples_open.SAMPLES,
}
"""The sample of each benchmark."""


def write_sample(name: str, folder: Path, form: int = 0) -> None:
    """Write a benchmark's sample in one of its forms."""
    write(registry.find(name).make(registry.find(name).settings()), SAMPLES[name], form, folder)
