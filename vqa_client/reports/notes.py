"""Notes and tags that a reviewer gives to questions, in a file beside the run: no command writes them but `view`."""

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from vqa_client.errors import UNDECODABLE, DataError
from vqa_client.files import alone_in, write_json
from vqa_client.reports.log_reader import LOG_ENDING


class Note(Struct, frozen=True, kw_only=True):
    """What a reviewer says of a question in a variant; without note and tags it is deleted."""

    question_id: str
    variant: str = ""
    note: Annotated[str, Meta(max_length=20_000)] = ""
    tags: Annotated[tuple[Annotated[str, Meta(max_length=60)], ...], Meta(max_length=20)] = ()


def notes_path(log: Path) -> Path:
    """Where the notes of a run are."""
    return log.with_name(f"{log.name.removesuffix(LOG_ENDING)}.notes.json")


def read_notes(log: Path) -> list[Note]:
    """All notes of a run; raises DataError for a file that can't be read, which is then left as it is."""
    try:
        return msgspec.json.decode(notes_path(log).read_bytes(), type=list[Note])
    except FileNotFoundError:
        return []
    except (OSError, *UNDECODABLE) as error:
        raise DataError(f"{notes_path(log)} can't be read: {error}", hint="mend it, or move it away") from None


def put_note(log: Path, note: Note) -> None:
    """Put a note in the place of the question's last one; raises DataError or UsageError where it can't be kept."""
    with alone_in(log.parent):
        place = note.question_id, note.variant
        kept = {(each.question_id, each.variant): each for each in read_notes(log)}
        kept[place] = note
        if not (note.note or note.tags):
            del kept[place]
        write_json(notes_path(log), [kept[place] for place in sorted(kept)])
