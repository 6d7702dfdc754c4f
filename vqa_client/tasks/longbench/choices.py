"""How the choices were taken; where labels were weighed, how sure the model was and whether rightly so."""

from typing import Any

from msgspec.structs import asdict

from vqa_client.reports.run import Pairs, Run
from vqa_client.scoring.calibration import Calibrating
from vqa_client.scoring.choices.logprob import weights

WEIGHED = "logprob"


def choices_taken(run: Run, pairs: Pairs) -> dict[str, Any]:
    """The mode, and the calibration over all questions whose labels have probabilities (in shares, not in per cent)."""
    mode = run.scoring.get("choice_mode", "text")
    return {"choice_mode": mode} | ({"calibration": _calibration(pairs)} if mode == WEIGHED else {})


def _calibration(pairs: Pairs) -> dict[str, Any]:
    """An answer that is ambiguous counts as wrong, with the share that its labels have."""
    calibrating = Calibrating()
    for question, record in pairs():
        found = weights(record.probabilities or {}, question.references[0], tuple(question.choices))
        if found is not None:
            calibrating.add(found.top, record.score >= 1.0, found.brier)
    return asdict(calibrating.calibration())
