"""What the accuracies of a run measure, in words: a bare name says it to nobody but its author."""

from collections.abc import Mapping
from typing import Any, Final

from vqa_client.reports.summary import Part

TEN_ANSWERS: Final = "VQA accuracy (ten answers)"
"""As against the published framework's partial credit, which it calls VQA accuracy too."""
NORMALISED: Final = "normalised"
"""The score by ten answers, among the parts of a record of vqa2."""
WHOLE_REPLY: Final = "1"
"""The version of niah's scoring that looked for needles in thoughts too."""
MEANINGS: Final[Mapping[str, str]] = {
    NORMALISED: f"{TEN_ANSWERS}, all normalised",
    "official": "the same as the official evaluator has it",
    "simple": "published framework: right or wrong",
    "enhanced": "published framework: partial credit",
    "simple_whole_word": "right or wrong, by whole words",
    "enhanced_whole_word": "partial credit, by whole words",
    "containment": "the reference is in the answer, without thoughts",
    "published": "the reference is in the whole reply, as published",
    "strict": "as a word of its own that the reply stands by",
    "robust": "answers as our parser reads them",
    "longbench": "as LongBench-v2's own script reads them",
    "seed": "as the published script reads them",
    "seed_head": "as that script's last version reads them",
    "soft_vqa": "by how many of ten people say so",
    "any_of_ten": "as one of ten people says",
    "explained": "replies with an explanation",
    "probability": "what the right letter was given",
    "margin": "how far the best letter is ahead",
    "mass": "what all letters were given",
}
"""In few words; metrics that are not here speak for themselves."""


def measure_of(task: str, scoring: Mapping[str, Any]) -> str:
    """What the headline's accuracy is by, from a run's benchmark and the facts of its scoring."""
    if task == "vqa2":
        return TEN_ANSWERS
    if "choice_mode" in scoring:
        return f"accuracy by --choice_mode {scoring['choice_mode']}"
    parser = scoring.get("parser") or scoring.get("parsing")
    if parser:
        return f"accuracy by the {parser} parser"
    if task != "niah":
        return "accuracy"
    return "accuracy by containment" + (" in the answer" if scoring.get("version", WHOLE_REPLY) != WHOLE_REPLY else "")


def gap_words(parts: Mapping[str, Part]) -> str:
    """How far the published count of needles is from the headline, and why; "" where they are the same."""
    if not {"containment", "published"} <= parts.keys():
        return ""
    found, published = parts["containment"].overall.value, parts["published"].overall.value
    if found is None or published is None or found == published:
        return ""
    where = "thoughts and refusals" if published > found else "the field of the reasoning"
    return f"published - containment = {100 * (published - found):+.2f} points: references that are only in {where}"
