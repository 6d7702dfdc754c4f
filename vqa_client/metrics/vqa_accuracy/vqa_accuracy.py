"""VQA accuracy as a metric of Hugging Face `evaluate`, in per cent.

    folder = importlib.resources.files("vqa_client.metrics") / "vqa_accuracy"
    vqa_accuracy = evaluate.load(str(folder))
    vqa_accuracy.compute(predictions=["2"], references=[["two", "2", "2", "2"]])

`answer_types` and `question_types` are optional everywhere; `compute` also takes the `mode` and `precision` of
`vqa_client.vqa_accuracy`.
"""

from typing import Any

import datasets  # type: ignore[import-not-found, import-untyped, unused-ignore]
import evaluate  # type: ignore[import-not-found, import-untyped, unused-ignore]

from vqa_client.scoring.vqa_accuracy import vqa_accuracy

_TYPES = ("answer_types", "question_types")
_INPUTS = """
    predictions: a list of texts, one per question.
    references: for each question the list of the annotators' answers.
    answer_types, question_types: for each question a text; optional.
"""


class VQAAccuracy(evaluate.Metric):  # type: ignore[misc, unused-ignore]
    """The share of annotators who gave the answer, full marks from three on, mean over all sets of all but one."""

    def compute(self, **inputs: Any) -> Any:
        """The accuracies of these inputs, or of those added before: `overall` and, with types, one for each."""
        return super().compute(**_with_types(inputs))

    def add_batch(self, **inputs: Any) -> None:
        """Add lists of predictions and references, with or without types."""
        super().add_batch(**_with_types(inputs))

    def add(self, **inputs: Any) -> None:
        """Add one prediction and its references, with or without types."""
        super().add(**{**dict.fromkeys(_TYPES, ""), **inputs})

    def _info(self) -> Any:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=self.__doc__,
            citation="Antol et al., VQA: Visual Question Answering, ICCV 2015",
            inputs_description=_INPUTS,
            features=datasets.Features(
                {
                    "predictions": text,
                    "references": datasets.Sequence(text),
                    "answer_types": text,
                    "question_types": text,
                }
            ),
            reference_urls=["https://visualqa.org/evaluation.html"],
        )

    def _compute(self, **inputs: Any) -> dict[str, Any]:
        return vqa_accuracy(**{**inputs, **{name: [value or None for value in inputs[name]] for name in _TYPES}})


def _with_types(inputs: dict[str, Any]) -> dict[str, Any]:
    """Add empty types where none are given, as `evaluate` expects every column of its features."""
    predictions = inputs.get("predictions")
    if predictions is None:
        return inputs
    return {**inputs, **{name: [""] * len(predictions) for name in _TYPES if inputs.get(name) is None}}
