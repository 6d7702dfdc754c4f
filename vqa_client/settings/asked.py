"""Which of the options that say what is asked can't be given together."""

from typing import TYPE_CHECKING

from vqa_client.errors import UsageError

if TYPE_CHECKING:
    from vqa_client.settings.run import RunSettings


def check_asked(settings: "RunSettings") -> None:
    """Raise UsageError where two options contradict each other."""
    if len(settings.variations) > 1:
        raise UsageError(
            f"{' and '.join(settings.variations)} can't be combined", hint="one run each, with an --output each"
        )
    if settings.sample is not None and settings.draws:
        raise UsageError(
            f"--sample and {settings.draws[0]} both say which questions are asked", hint="give one of them"
        )
    if settings.by and settings.sample is None:
        raise UsageError("--by says how --sample draws, and there is no --sample", hint="--sample 500 --by FIELD")
    if settings.rate is not None and not settings.dry_run:
        raise UsageError("--rate is of a dry run", hint="add --dry_run")
