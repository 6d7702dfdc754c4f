"""Settings of `vqa-client judge`: another model's verdicts on the replies of a finished run."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

from cyclopts import Group, Parameter

from vqa_client.errors import UsageError
from vqa_client.settings.run import ConfiguredSettings
from vqa_client.settings.validation import AtLeast, CheckedSettings, Several, Switch, check
from vqa_client.types import STATUSES, ChoiceMode

JUDGEMENT = Parameter(group=Group("Judgement", sort_key=0))
PEOPLE = Parameter(group=Group("People", sort_key=1))
JudgeKind = Literal["match", "extract", "correct", "grade", "pair"]
ALL, WRONG = "all", "wrong"
MOST_GRADES = 100
_SCALE = re.compile(r"(?:(\d{1,3})-)?(\d{1,3})")
_NAME = re.compile(r"\w[\w .-]{0,39}")
_REFUSED: Final = {
    "blind": (
        "a judge sees the reply, and the question's images only with --with_images",
        "judge a run that was asked with --blind: each of its forms is judged",
    ),
    "shard": (
        "its log must be one, beside the run's",
        "join a sharded run by vqa-client merge; for more speed give --max_workers, or several servers by --endpoint",
    ),
    **dict.fromkeys(
        ("processes", "ray"),
        ("its log has one writer", "for more speed give --max_workers, or several servers by --endpoint"),
    ),
}
"""Settings of a run that a judge doesn't take, the reason, and the way out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeSettings(ConfiguredSettings):
    """Settings of `vqa-client judge`: `results` is a finished run's log or report, or a folder of runs.

    The judged run stays as it is, and needs no server.
    """

    results: Annotated[Path, Parameter(parse=False)] = Path()
    judge: Annotated[Several[str], JUDGEMENT] = ()
    """The judge: a config, as of `run`, or the name of a served model; repeat for several judges and their majority.
    Default: the model that the server serves."""
    kind: Annotated[JudgeKind | None, JUDGEMENT] = None
    """match: which choice does a reply commit to? extract: what is its final answer? Both leave the score to the rule.
    correct: does it give the reference answer? grade: how good is it? pair: which of two runs' replies is better?
    Default: as the benchmark declares, else match with choices, else correct."""
    which: Annotated[str, JUDGEMENT] = ALL
    """Which replies to judge: all; those with these statuses, such as unparsed,ambiguous; or wrong: those that the rule
    scored below 1, which can only raise the score."""
    rubric: Annotated[Path | None, JUDGEMENT] = None
    """A text file that says when a reply is right, or how good it is; the judge follows it."""
    scale: Annotated[str | int | None, JUDGEMENT] = None
    """The whole numbers that --kind grade takes, such as 1-5; 5 alone is 0-5. Default: 0-10; of people's grades, as the
    sheet has it, else as the judges have it."""
    with_images: Annotated[Switch, JUDGEMENT] = False
    """Show the judge the question's images too."""
    other: Annotated[Path | None, JUDGEMENT, Parameter(name="--with")] = None
    """The other run of --kind pair."""
    choice_mode: Annotated[ChoiceMode, JUDGEMENT] = "text"
    """text: the judge may reason, and its last line is the verdict; structured: constrain the reply to a verdict;
    logprob: take the verdict with the highest first-token probability, and keep how sure it is."""
    for_people: Annotated[int | None, AtLeast(1), PEOPLE] = None
    """Write a sheet of N judged replies for people to label, without verdicts, drawn by --seed in equal parts from what
    judge and rule call right and wrong. Sends nothing."""
    output: Annotated[Path, PEOPLE, Parameter(alias="-o")] = Path("labels.csv")
    """Where the sheet of --for_people is written."""
    labels: Annotated[Path | None, PEOPLE] = None
    """A sheet that people have filled in: compare the run's judges with them. Sends nothing."""

    def __post_init__(self) -> None:
        super(JudgeSettings, self).__post_init__()
        unknown = [word for word in self.statuses if word not in STATUSES]
        if unknown:
            raise UsageError(f"--which names {unknown[0]!r}", hint=f"{ALL}, {WRONG}, or any of {', '.join(STATUSES)}")
        if len(self.grades) < 2 or self.grades[-1] > MOST_GRADES:
            raise UsageError(
                f"--scale is {self.scale}", hint=f"give the lowest and the highest grade, up to {MOST_GRADES}: 0-10"
            )
        if self.choice_mode != "text" and (self.kind == "extract" or (self.kind == "grade" and self.grades[-1] > 9)):
            way_out = "--scale 0-9" if self.kind == "grade" else "--choice_mode text"
            raise UsageError(
                f"--choice_mode {self.choice_mode} takes verdicts of one character, and --kind {self.kind} has others",
                hint=f"give {way_out}",
            )
        if (self.kind == "pair") != (self.other is not None):
            raise UsageError("--kind pair compares two runs", hint="--kind pair --with OTHER_RUN")
        for name, (why, way_out) in _REFUSED.items():
            if getattr(self, name) not in (False, "", "1"):
                raise UsageError(f"judge doesn't take --{name}: {why}", hint=way_out)

    benchmark: ClassVar = "judge"
    own_forms: ClassVar[frozenset[str]] = frozenset({"repeat"})

    @property
    def variations(self) -> tuple[str, ...]:
        """None: --repeat repeats the judge's own questions."""
        return ()

    @property
    def grades(self) -> range:
        """The grades of the scale; empty if --scale is not a scale."""
        match = _SCALE.fullmatch("0-10" if self.scale is None else str(self.scale))
        return range(int(match[1] or 0), int(match[2]) + 1) if match else range(0)

    @property
    def statuses(self) -> frozenset[str]:
        """The statuses of the replies to judge; empty for all."""
        if self.which in (ALL, WRONG):
            return frozenset()
        return frozenset(word.strip() for word in self.which.split(",") if word.strip())

    @property
    def title(self) -> str:
        """The name of these settings, with the run that is judged."""
        return f"judge {self.results}"

    @property
    def configs(self) -> tuple[str | None, ...]:
        """The judges, asked one after the other."""
        return self.judge or (None,)

    @property
    def shows_images(self) -> bool:
        return self.with_images


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelSettings(CheckedSettings):
    """Settings of `vqa-client label`: a page on this machine on which a person labels drawn replies of a run."""

    results: Annotated[Path, Parameter(parse=False)] = Path()

    labels: Path | None = None
    """The sheet to fill in; drawn if it isn't there. Default: NAME.labels.csv beside the run."""
    name: str = ""
    """Your name: each person has a column of the sheet, and doesn't see the others'."""
    number: Annotated[int, AtLeast(1)] = 100
    """Replies to draw, in equal parts from what judge and rule call right and wrong."""
    kind: Literal["match", "extract", "correct", "grade"] | None = None
    """Draw by the verdicts of judges of this kind. Default: as `judge` chooses it."""
    seed: int = 0
    """Random seed of the draw."""
    port: Annotated[int, AtLeast(0, most=65535)] = 0
    """The port to listen on; 0: any that is free."""

    def __post_init__(self) -> None:
        check(self)
        if self.name and not _NAME.fullmatch(self.name):
            raise UsageError(f"--name is {self.name!r}", hint="give 1 to 40 letters, digits, '-', '_', '.' and blanks")
