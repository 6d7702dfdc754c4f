"""`vqa-client batch`: the command line of a run with the step of its batches."""

from typing import Annotated

from cyclopts import Parameter

from vqa_client.cli.app import OptionWords
from vqa_client.cli.commands import ASKING, BatchStep
from vqa_client.errors import UsageError

_HELP = "write and read need no server; a benchmark's command with its options follows."


def batch(step: Annotated[BatchStep, Parameter(help=_HELP)], /, *command: OptionWords) -> int:
    """Run one step of a benchmark's command line."""
    from vqa_client.cli.main import run_command

    asking = (*ASKING, "judge") if step in ("status", "cancel") else ASKING
    if not command or command[0] not in asking:
        instead = f", not {command[0]!r}" if command else ""
        raise UsageError(
            f"batch {step} takes the command that asks, with its options{instead}",
            hint=f"for example: vqa-client batch {step} ask questions.csv --images pictures --model some-vlm",
        )
    return run_command([*(word for word in command if word != "--batch"), "--batch", "--batch_step", step])
