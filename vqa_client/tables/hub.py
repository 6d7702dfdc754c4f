"""Datasets of the hub by their addresses, such as hf://owner/name@revision:config/test, read from the hub's own cache.

What isn't in the cache is fetched once, after its size and licence were reported.
"""

import errno
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final, NamedTuple

from vqa_client.errors import DataError, UsageError
from vqa_client.shipped import importing
from vqa_client.tables.rows import DATA_ENDINGS
from vqa_client.types import Note

SCHEME: Final = "hf:/"
"""The beginning of an address that was read as a path, which turns two slashes into one."""
_ADDRESS: Final = re.compile(
    r"hf:/{1,2}(?P<name>[\w.-]+/[\w.-]+?)(?:@(?P<revision>[\w./-]+?))?(?::(?P<inside>[\w./*-]+))?"
)
_SHARD: Final = re.compile(r"-\d{5}-of|\.")
MEGABYTE: Final = 1_000_000
_ROOM: Final = "make room there, or name another folder by HF_HUB_CACHE; the same command fetches what is missing"


class Address(NamedTuple):
    """A dataset, its revision ("" for the newest), and what of it: a config and split, or a split; "" for all."""

    name: str
    revision: str
    inside: str


class Fetched(NamedTuple):
    """The folder of a dataset, its files that were asked for, and their commit."""

    folder: Path
    files: tuple[str, ...]
    commit: str

    @property
    def glob(self) -> str:
        """The one file, or a glob of all files of the split."""
        first = self.files[0]
        return first if len(self.files) == 1 else f"{_SHARD.split(first)[0]}*{Path(first).suffix}"


def address_of(data: Path | None) -> Address | None:
    """The dataset that an address names, None for a path; raises UsageError for an address of another form."""
    text = str(data)
    if data is None or not text.startswith(SCHEME):
        return None
    match = _ADDRESS.fullmatch(text)
    if match is None:
        hint = "hf://owner/name@revision:config/split, the last two if needed"
        raise UsageError(f"hf://{text.removeprefix(SCHEME)} is not a dataset", hint=hint)
    return Address(match["name"], match["revision"] or "", match["inside"] or "")


def fetch(address: Address, globs: Sequence[Sequence[str]], *, yes: bool, note: Note) -> Fetched:
    """The files of the first form in `globs` that the dataset has; without globs, the data files of the named split.

    Raises UsageError if the user has to decide, DataError if the files can't be fetched.
    """
    with importing("hub", "datasets of the hub need huggingface_hub"):
        from huggingface_hub import HfApi
        from huggingface_hub.utils.tqdm import disable_progress_bars
    try:
        info = HfApi().dataset_info(address.name, revision=address.revision or None, files_metadata=True)
    except Exception as error:
        return _from_cache(address, globs, error)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    files = _choose_files(address, tuple(sizes), globs)
    missing = [name for name in files if not _is_cached(address.name, info.sha, name)]
    if not sys.stderr.isatty():
        disable_progress_bars()
    if missing:
        size_bytes = sum(sizes[name] for name in missing)
        megabytes = size_bytes / MEGABYTE
        licence = getattr(info.card_data, "license", None) or "not stated"
        fetched = f"{len(missing):,} file{'s' * (len(missing) != 1)}"
        offer = f"{address.name}: {fetched} of {megabytes:,.0f} MB to fetch; licence: {licence}"
        if info.gated:
            offer += "; access has to be granted on its page"
        note(offer)
        _ask_consent(offer, yes=yes)
        _check_room(address.name, size_bytes)
    folder = _snapshot(address, files)
    return Fetched(folder, files, folder.name)


def _ask_consent(offer: str, *, yes: bool) -> None:
    """Raise UsageError unless the user agrees."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"fetching needs your consent: {offer}", hint="--yes fetches it")
    sys.stderr.write("fetch it? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was fetched", hint="--yes fetches it")


def _check_room(name: str, size_bytes: int) -> None:
    """Raise DataError if the disk of the cache has less space than this."""
    cache = _cache()
    folder = next(folder for folder in (cache, *cache.parents) if folder.is_dir())
    if (free_bytes := shutil.disk_usage(folder).free) < size_bytes:
        needs, left = (f"{number / MEGABYTE:,.1f} MB" for number in (size_bytes, free_bytes))
        raise DataError(f"{name} needs {needs} in {cache}, which has {left} left", hint=_ROOM)


def _cache() -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE).expanduser().absolute()


def _choose_files(address: Address, names: Sequence[str], globs: Sequence[Sequence[str]]) -> tuple[str, ...]:
    for form in globs:
        files = tuple(name for name in names if any(_fits(name, glob) for glob in form))
        if any(_fits(name, form[0]) for name in files):
            return files
    if globs:
        known = "; ".join(form[0] for form in globs)
        raise DataError(f"{address.name} has no data of this benchmark", hint=f"known forms are {known}")
    data = [name for name in names if name.endswith(DATA_ENDINGS)]
    splits = sorted({_SHARD.split(name.removeprefix("data/"))[0] for name in data})
    chosen = [name for name in data if not address.inside or _is_of(name, address.inside)]
    if not chosen or (not address.inside and len(splits) > 1):
        raise UsageError(
            f"{address.name} has {len(splits)} splits: {', '.join(splits[:12])}",
            hint=f"name one: hf://{address.name}:{splits[0] if splits else 'test'}",
        )
    return tuple(chosen)


def _fits(name: str, glob: str) -> bool:
    return fnmatch(name, glob) or (not glob.startswith("*") and fnmatch(name, f"*/{glob}"))


def _is_of(name: str, inside: str) -> bool:
    """Whether a file is of a split: data/test-00000-of-00003.parquet is of `test` and of `default/test`."""
    stem = _SHARD.split(name)[0]
    return stem in (inside, f"data/{inside}", f"data/{inside.removeprefix('default/')}") or fnmatch(name, inside)


def _is_cached(name: str, commit: str | None, file: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return isinstance(try_to_load_from_cache(name, file, repo_type="dataset", revision=commit), str)


def _snapshot(address: Address, files: Iterable[str], *, local: bool = False) -> Path:
    """The folder with these files, which are fetched unless `local`; the cache knows the commit of a revision."""
    from huggingface_hub import snapshot_download

    name, revision = address.name, address.revision or None
    try:
        folder = snapshot_download(
            name, repo_type="dataset", revision=revision, allow_patterns=list(files), local_files_only=local
        )
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DataError(f"{name} can't be fetched: {_cache()} is full", hint=_ROOM) from None
        raise DataError(f"{name} can't be fetched: {error}", hint="the same command resumes the download") from None
    except Exception as error:
        raise _hub_error(name, error) from None
    return Path(folder)


def _from_cache(address: Address, globs: Sequence[Sequence[str]], error: Exception) -> Fetched:
    """The files that an earlier run has fetched, if the hub can't be reached; else raises DataError with the reason."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    if isinstance(error, RepositoryNotFoundError | GatedRepoError | RevisionNotFoundError):
        raise _hub_error(address.name, error) from None
    try:
        folder = _snapshot(address, (), local=True)
    except DataError:
        raise _hub_error(address.name, error) from None
    files = _choose_files(address, _file_names(address, folder), globs)
    return Fetched(_snapshot(address, files, local=True), files, folder.name)


def _file_names(address: Address, folder: Path) -> tuple[str, ...]:
    """The names of all files of a dataset when it was fetched, or of those that were fetched."""
    try:
        from huggingface_hub import get_cached_repo_tree

        tree = get_cached_repo_tree(address.name, repo_type="dataset", revision=folder.name)
        return tuple(entry.path for entry in tree)
    except Exception:  # an older version of the package has fetched them
        return tuple(str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file())


def _hub_error(name: str, error: Any) -> DataError:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403):
        hint = "ask for access on its page, then set HF_TOKEN"
        return DataError(f"{name} is gated, or doesn't exist for this user (HTTP {status})", hint=hint)
    if status == 404:
        return DataError(f"the hub has no dataset {name}, or not this revision", hint="hf://owner/name@revision")
    return DataError(
        f"{name} can't be fetched: {error}", hint="without a network, only what was fetched before is read"
    )
