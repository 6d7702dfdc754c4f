"""The run file, beside the records: the identity of the run, which resume checks, and what each start measured."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from vqa_client.errors import UNDECODABLE, DataError, IdentityError, UsageError, forbidden
from vqa_client.files import checked_nesting, write_json
from vqa_client.model_config import ModelSettings, parse_model
from vqa_client.reports.log_reader import JUDGED_BY
from vqa_client.reports.names import flat

SERVER = "server."
"""The beginning of the identity's fields that the check before a run finds out."""
FRESH = ", or --fresh to move the old records aside"
ASIDE = f"give another --output{FRESH}"
_OVER = "the run's own command, with the same settings, writes it again; --fresh moves the records aside"


class RunFile(msgspec.Struct, kw_only=True):
    """The content of `*.run.json`.

    `identity` is everything that decides what is sent; `scoring` is what decides how replies are read and scored.
    `described` says where and with which settings the run took place. `sessions` has the times, tokens and retries of
    each start, which no report repeats.
    """

    identity: dict[str, Any]
    scoring: dict[str, str]
    described: dict[str, Any] = {}
    sessions: list[dict[str, Any]] = []

    @classmethod
    def read(cls, path: Path) -> "RunFile | None":
        """The file's content, or None if there is no file.

        Raises UsageError if it is not a run file, DataError if it can't be read.
        """
        try:
            if path.exists() and not path.is_file():  # reading a pipe would never end
                raise OSError("it is not a file")
            return cls.parsed(path.read_bytes())
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise forbidden(error) from None
        except OSError as error:
            raise DataError(
                f"{path} can't be read: {error.strerror or error}", hint="the same command reads it again"
            ) from None
        except UNDECODABLE as error:
            raise UsageError(f"{path} is not a run file: {error}", hint=_OVER) from None

    @classmethod
    def parsed(cls, content: bytes) -> "RunFile":
        """Read a file's content; raises one of UNDECODABLE."""
        return msgspec.convert(checked_nesting(msgspec.json.decode(content)), cls)

    def model(self) -> ModelSettings:
        """The model that gave the replies."""
        return parse_model(self.identity.get("model"), "in the run file")

    @property
    def started(self) -> datetime | None:
        """When the run was first started; None before the first start."""
        return datetime.fromisoformat(self.sessions[0]["started"]) if self.sessions else None

    def start(self, figures: dict[str, Any]) -> None:
        """Add the entry of a new start."""
        self.sessions = [*self.sessions, figures]

    def write(self, path: Path) -> None:
        """Replace the file in one step; raises OutputError."""
        write_json(path, msgspec.to_builtins(self))


def check_identity(on_disk: dict[str, Any], now: dict[str, Any], path: Path) -> None:
    """Raise IdentityError, which lists every field that differs, unless both are of the same run."""
    changed = differing(on_disk, now)
    if changed:
        hint = "--fresh moves the earlier verdicts of this judge aside" if JUDGED_BY in path.name else ASIDE
        if all(key.startswith(SERVER) for key in changed):
            hint += "; --no_check continues with the server as it is"
        lines = as_lines(changed, path.name)
        raise IdentityError(f"the records next to {path} belong to a different run:\n{lines}", hint=hint)


def as_lines(changed: Mapping[str, tuple[Any, Any]], place: str, other: str = "now") -> str:
    """A line for each field by which two runs differ, with both values."""
    return "\n".join(f"  {key}: {old!r} in {place}, {new!r} {other}" for key, (old, new) in changed.items())


def differing(first: dict[str, Any], second: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The fields that differ, with both values; a field of the server that one check did not find is not compared."""
    old, new = flat(first), flat(second)
    pairs = {key: (old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())}
    return {
        key: pair for key, pair in pairs.items() if pair[0] != pair[1] and not (key.startswith(SERVER) and None in pair)
    }
