"""The run's own file beside its records: its identity, which resume checks, and what it was like."""

import dataclasses
import platform
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from vqa_client.errors import UNDECODABLE, IdentityError, UsageError, forbidden
from vqa_client.files import checked_nesting, write_json
from vqa_client.model_config import ModelSettings, parse_model
from vqa_client.reports.log_reader import JUDGED_BY
from vqa_client.reports.names import flat
from vqa_client.settings.batch import without_keys
from vqa_client.settings.run import RunSettings
from vqa_client.version import __version__

NOT_GENERATION = frozenset({"timeout", "base_url", "serve", "prices", "system_prompt"})
"""Model settings that change when a question fails, or what it costs, not what a model answers; and the system message,
which the command line may replace: the identity has what is sent."""

SERVER = "server."
"""How the fields of an identity begin that the check before a run has found."""
FRESH = ", or --fresh to move the old records aside"
ASIDE = f"give another --output{FRESH}"
_OVER = "the run's own command with --fresh moves it and its records aside and starts over"


class RunFile(msgspec.Struct, kw_only=True):
    """What stands in `*.run.json`.

    `identity` is everything that decides what is sent; `scoring` what decides how replies are read and scored;
    `described` where and with what it ran; `sessions` holds, for each start, times, tokens and retries, which no
    report repeats.
    """

    identity: dict[str, Any]
    scoring: dict[str, str]
    described: dict[str, Any] = {}
    sessions: list[dict[str, Any]] = []

    @classmethod
    def read(cls, path: Path) -> "RunFile | None":
        """The file's content, or None when there is none; raises UsageError when it is no run file.

        Raises DataError when this user may not read it.
        """
        try:
            if path.exists() and not path.is_file():  # a pipe would be waited for without end
                raise OSError("it is not a file")
            return cls.parsed(path.read_bytes())
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise forbidden(error) from None
        except (OSError, *UNDECODABLE) as error:
            raise UsageError(f"{path} is not a run file: {error}", hint=_OVER) from None

    @classmethod
    def parsed(cls, content: bytes) -> "RunFile":
        """Read a file's content; raises one of UNDECODABLE."""
        return msgspec.convert(checked_nesting(msgspec.json.decode(content)), cls)

    def model(self) -> ModelSettings:
        """The model that the records are of."""
        return parse_model(self.identity.get("model"), "in the run file")

    @property
    def started(self) -> datetime | None:
        """When the run was first started; None when it never was."""
        return datetime.fromisoformat(self.sessions[0]["started"]) if self.sessions else None

    @property
    def first_start_ns(self) -> int:
        """The same in nanoseconds since the epoch; 0 when it never was."""
        return int(self.started.timestamp() * 1e9) if self.started else 0

    def start(self, figures: dict[str, Any]) -> None:
        """Open a new session in the list."""
        self.sessions = [*self.sessions, figures]

    def write(self, path: Path) -> None:
        """Replace the file at once; raises UsageError."""
        write_json(path, msgspec.to_builtins(self))


def identity(model: ModelSettings, settings: RunSettings) -> dict[str, Any]:
    """What of the model and the images must be equal for records to belong to the same run."""
    sent = msgspec.to_builtins(model)
    quality = settings.image_quality if settings.image_format in ("jpeg", "webp") else None
    return {
        "model": {key: value for key, value in sent.items() if key not in NOT_GENERATION},
        "images": {
            "max_pixels": settings.max_pixels,
            **({"max_side": settings.max_side} if settings.max_side else {}),
            **({"white_value": settings.white_value} if settings.white_value else {}),
            "image_format": settings.image_format,
            "image_quality": quality,
            "max_pages": settings.max_pages,
        },
    }


def check_identity(on_disk: dict[str, Any], now: dict[str, Any], path: Path) -> None:
    """Raise IdentityError, with every field that differs, unless both are the same run."""
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
    """The fields by which two identities differ, with both values; what no check has found doesn't count."""
    old, new = flat(first), flat(second)
    pairs = {key: (old.get(key), new.get(key)) for key in sorted(old.keys() | new.keys())}
    return {
        key: pair for key, pair in pairs.items() if pair[0] != pair[1] and not (key.startswith(SERVER) and None in pair)
    }


def described_settings(settings: RunSettings) -> dict[str, Any]:
    """The settings as they were given, without keys, the headers and the addresses (which may contain one).

    Corruptions are in the run file by themselves.
    """
    values = dataclasses.asdict(settings) | {"batch_command": without_keys(settings.batch_command)}
    return {
        key: str(value) if isinstance(value, Path) else value
        for key, value in values.items()
        if key not in ("api_key", "base_url", "endpoint", "header", "corrupted")
    }


def versions() -> dict[str, str]:
    """What ran, for whoever wants to run it again."""
    import PIL

    return {
        "vqa_client": __version__,
        "python": platform.python_version(),
        "pillow": PIL.__version__,
        "platform": platform.platform(terse=True),
    }
