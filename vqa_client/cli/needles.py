"""`vqa-client needles`: a data file with secrets hidden in its documents."""

from vqa_client.cli.files_progress import files_progress, resumable
from vqa_client.cli.streams import emit, say
from vqa_client.cli.text import count
from vqa_client.pages.needles import Hidden, write_needles
from vqa_client.settings.perturb import NeedlesSettings
from vqa_client.tables.data_file import read_index

SHOWN_IDS = 5


def needles(settings: NeedlesSettings) -> int:
    """Write the file, say what is in it and which documents are not."""
    return resumable(lambda: _needles(settings))


def _needles(settings: NeedlesSettings) -> int:
    with files_progress("needles", len(read_index(settings.data_json)), noun="documents") as advance:
        hidden = write_needles(
            settings.data_json,
            settings.output,
            num_secrets=settings.num_secrets,
            seed=settings.seed,
            dry_run=settings.dry_run,
            advance=advance,
        )
    _say_left_out(hidden)
    would = "would contain" if settings.dry_run else "contains"
    emit(f"{settings.output} {would} {count(hidden.documents, 'document')}, {count(hidden.needles, 'question')}\n")
    return 0


def _say_left_out(hidden: Hidden) -> None:
    for reason, ids in hidden.left_out.items():
        named = ", ".join(ids[:SHOWN_IDS]) + (" ..." if len(ids) > SHOWN_IDS else "")
        say(f"{count(len(ids), 'document')} left out, {reason.replace('_', ' ')}: {named}")
