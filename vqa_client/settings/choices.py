"""Settings of benchmarks with choices, which `mc` and declared benchmarks share."""

from dataclasses import dataclass
from typing import Annotated

from vqa_client.settings.run import ASKED, RunSettings
from vqa_client.settings.validation import Switch
from vqa_client.types import ChoiceMode


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions(RunSettings):
    """Options of benchmarks with choices: the order of the choices, and how an answer is obtained."""

    choice_mode: Annotated[ChoiceMode, ASKED] = "text"
    """text: read the letter from the reply; structured: constrain the reply to one letter; logprob: pick the letter
    with the highest first-token probability."""
    shuffle_choices: Annotated[Switch, ASKED] = False
    """Shuffle each question's choices by --seed."""
    circular: Annotated[Switch, ASKED] = False
    """Ask each question in all rotations of its choices; right if right in every one."""

    @property
    def variations(self) -> tuple[str, ...]:
        """The options of every benchmark, and those that change the order of the choices."""
        options = {"--shuffle_choices": self.shuffle_choices, "--circular": self.circular}
        return (*super().variations, *(option for option, is_given in options.items() if is_given))
