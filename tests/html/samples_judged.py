"""The invented result of a judge on a run of ten questions."""

from vqa_client.reports.judged import JudgeLog, Judges, Verdicts
from vqa_client.scoring.agreement import cohens_kappa


def sample_judged(*, raised: tuple[str, ...] = (), lowered: tuple[str, ...] = (), name: str = "<b>judge</b>") -> Judges:
    """Eight judged questions; judge and rule both call four of them right."""
    kappa = cohens_kappa([("a", "a", ""), ("a", "b", ""), ("b", "b", ""), ("b", "b", "")])
    controls = {"right": (20, 20), "injected": (18, 20)}
    return Judges(
        log="clean_mc_eval.records.jsonl",
        task="mc",
        model="org/model-7b",
        headline="robust",
        kind="correct",
        notes=(f"{name}: note",),
        verdicts=(
            Verdicts(
                judge=JudgeLog(name=name, scores={}, undecided={"unclear": 1}, controls=controls),
                total=10,
                judged=8,
                undecided=1,
                no_reply=1,
                not_asked=0,
                accuracy=0.75,
                interval=None,
                rule=0.5,
                rule_interval=None,
                low=0.6,
                high=0.7,
                table=((4, len(lowered)), (len(raised), 8 - 4 - len(raised) - len(lowered))),
                agreement=None,
                kappa=kappa,
                difference=None,
                longer=(),
                raised=tuple((one, "") for one in raised),
                lowered=tuple((one, "") for one in lowered),
            ),
        ),
    )
