"""File names from folder and model names: safe on every system, stable, and different for different names."""

import hashlib
import re
import unicodedata

_MOST_BYTES = 120
_OTHERS_ALLOWED = frozenset(" ._-+=@,()")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices, with any extension."""
_TAGGED = re.compile(r".*-[0-9a-f]{10}", re.DOTALL)


def safe_name(name: str) -> str:
    """Give `name` itself where every system takes it, else a likeness that ends in ten digits of its digest.

    Two names that differ in case only stay different in case only.
    """
    likeness = "".join(character if _is_allowed(character) else "_" for character in name)
    likeness = _cut(likeness.strip(" .") or "_")
    if likeness == name and unicodedata.is_normalized("NFC", name) and not _RESERVED.fullmatch(name):
        return f"{name}-{_digest(name)}" if _TAGGED.fullmatch(name) else name
    return f"{likeness}-{_digest(name)}"


def report_name(subdirectory: str, task: str) -> str:
    """Name the report of one page folder, if any: `{subdirectory}_{task}_eval.json`."""
    return f"{safe_name(subdirectory)}_{task}_eval.json" if subdirectory else f"{task}_eval.json"


def _is_allowed(character: str) -> bool:
    return character.isalnum() or character in _OTHERS_ALLOWED


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def _cut(name: str) -> str:
    return name.encode()[:_MOST_BYTES].decode("utf-8", "ignore").rstrip(" .")
