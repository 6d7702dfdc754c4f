"""Shards of a run in an object store: leases, by conditional writes, and the shards' files.

    PREFIX/leases/3-of-64                         {"worker", "token", "renewals"}; empty: free
    PREFIX/shards/3-of-64/NAME                    a run file, or the whole log of a finished shard
    PREFIX/shards/3-of-64/NAME.new/NUMBER-TOKEN   new lines of a log, in order
    PREFIX/done/3-of-64                           it is finished

Clocks of other machines are not trusted: a worker takes a lease over if it has not seen it change for EXPIRED_S.
"""

import os
import platform
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from vqa_client.errors import UsageError
from vqa_client.settings.divided import Shard
from vqa_client.tables.objects import WAY_OUT, as_os_errors, checked_address, place_of

EXPIRED_S = 120.0
LOOKED_S = 2.0
"""The listing of the leases is read again after this time; a write based on an old listing fails."""
STEP = 1_000_000
"""The pieces of a later lease have higher numbers than all pieces of an earlier one, even late ones."""
_WITHOUT = "--shard K/N for each worker and then `vqa-client merge`, or another store"


class Lease(Struct, kw_only=True):
    """A shard that this worker has while the lease in the store has `tag`; `piece` is the number of its next piece.

    `tag` has the `e_tag` that S3 and Azure compare before a write, and the `version` that Google compares.
    """

    shard: Shard
    token: str
    tag: Any
    piece: int
    renewals: int = 0


class Leases:
    """The leases and files of a run's shards below an address; each call raises OSError if the store fails."""

    def __init__(self, address: str, of: int) -> None:
        self._address, self._of = checked_address(Path(address)), of
        self._store, self._root = place_of(self._address)
        self._known: dict[str, Any] = {}
        self._since: dict[str, tuple[str, float]] = {}
        self._looked_s = float("-inf")

    def check(self) -> None:
        """Raise UsageError if two workers could get one shard, or if the address has shards of another division."""
        name = f"check/{secrets.token_hex(8)}"
        words = f"{self._address} has no conditional writes: two workers could get one shard"
        try:
            tag = self._put(name, b"1", "create")
            if (
                not tag
                or self._put(name, b"2", "create")
                or not self._put(name, b"3", tag)
                or self._put(name, b"4", tag)
            ):
                raise UsageError(words, hint=_WITHOUT)
            self._delete([name])
            others = {int(of) for of in re.findall(r"-of-(\d+)", " ".join(self._list("leases")))} - {self._of}
        except NotImplementedError:
            raise UsageError(words, hint=_WITHOUT) from None
        except OSError as error:
            raise UsageError(f"{self._address}: {error.strerror}", hint=WAY_OUT) from None
        if others:
            raise UsageError(
                f"{self._address} has shards of {others.pop()}, not of {self._of}",
                hint="the same N, or another --share",
            )

    def finished(self, shard: Shard) -> str:
        """A tag that changes whenever a worker finishes the shard; "" before the first time."""
        self._refresh()
        return str(self._known.get(f"done/{_name(shard)}", {}).get("e_tag", ""))

    def take(self, shard: Shard) -> Lease | None:
        """Take the shard's lease; None if another worker that is alive has it."""
        self._refresh()
        name = f"leases/{_name(shard)}"
        meta, mode = self._known.get(name), cast(Any, "create")
        if meta is not None:
            if meta["size"] and time.monotonic() - self._since[name][1] < EXPIRED_S:
                return None
            mode = self._tag_of(name, meta["e_tag"])
        self._looked_s = float("-inf")
        lease = Lease(shard=shard, token=secrets.token_hex(8), tag=None, piece=0)
        lease.tag = self._put(name, _body(lease), mode)
        if not lease.tag:
            return None
        lease.piece = (max(map(_number, self._list(f"shards/{_name(shard)}")), default=-STEP) // STEP + 1) * STEP
        return lease

    def renew(self, lease: Lease) -> bool:
        """Extend the lease; False if another worker has taken it."""
        lease.renewals += 1
        try:
            lease.tag = self._put(f"leases/{_name(lease.shard)}", _body(lease), lease.tag)
        except OSError:
            lease.renewals -= 1  # this write may have arrived, so the next attempt writes the same
            raise
        return bool(lease.tag)

    def release(self, lease: Lease) -> None:
        """Give the lease back, whether the shard is finished or not."""
        self._put(f"leases/{_name(lease.shard)}", b"", lease.tag)

    def keep(self, lease: Lease, files: Mapping[str, bytes], lines: Mapping[str, bytes]) -> None:
        """Write files of a shard: whole files first, then new lines of logs."""
        for name, content in files.items():
            self._put(f"shards/{_name(lease.shard)}/{name}", content, "overwrite")
        for name, content in lines.items():
            piece = f"{lease.piece:012}-{lease.token}"
            self._put(f"shards/{_name(lease.shard)}/{name}.new/{piece}", content, "overwrite")
            lease.piece += 1

    def finish(self, lease: Lease, files: Mapping[str, bytes]) -> None:
        """Replace the pieces of a finished shard by its whole files."""
        self.keep(lease, files, {})
        self._put(f"done/{_name(lease.shard)}", lease.token.encode(), "overwrite")
        self._delete([name for name in self._list(f"shards/{_name(lease.shard)}") if _number(name) >= 0])

    def begun(self) -> Shard | None:
        """A shard that has files, if possible a finished one."""
        self._refresh()
        done = [name for name in self._known if name.startswith("done/")]
        for name in done or self._list("shards"):
            return Shard(int(name.split("/")[1].partition("-")[0]), self._of)
        return None

    def files(self, shard: Shard, ending: str = "") -> dict[str, bytes]:
        """The files of a shard by name, as far as they are written; only those with this ending."""
        contents: dict[str, bytes] = {}
        for name in sorted(self._list(f"shards/{_name(shard)}")):
            inside = name.removeprefix(f"shards/{_name(shard)}/")
            log = inside.rpartition(".new/")[0] if _number(name) >= 0 else inside
            if not log.endswith(ending):
                continue
            with as_os_errors(self._address) as obstore:
                content = bytes(obstore.get(self._store, self._key(name)).bytes())
            contents[log] = contents.get(log, b"") + content
        return contents

    def _refresh(self) -> None:
        if time.monotonic() - self._looked_s < LOOKED_S:
            return
        self._looked_s = now = time.monotonic()
        self._known = {**self._list("leases"), **self._list("done")}
        for name, meta in self._known.items():
            if name not in self._since or self._since[name][0] != meta["e_tag"]:
                self._since[name] = meta["e_tag"], now

    def _list(self, name: str) -> dict[str, Any]:
        with as_os_errors(self._address) as obstore:
            batches = obstore.list(self._store, prefix=self._key(name))
            return {entry["path"][len(self._key("")) :]: entry for batch in batches for entry in batch}

    def _tag_of(self, name: str, listed: str) -> Any:
        """The tag of an object, with the version that Google's listings lack; None if it has changed since `listed`."""
        with as_os_errors(self._address) as obstore:
            meta = obstore.head(self._store, self._key(name))
        return _tag(meta) if (meta["e_tag"] or "").strip('"') == listed.strip('"') else None

    def _put(self, name: str, content: bytes, mode: Any) -> Any:
        """Write an object and return its tag; None if the condition fails or there is none."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        if not mode:  # a lost lease has no tag: without a condition obstore would overwrite the lease of another worker
            return None
        with as_os_errors(self._address) as obstore:
            try:
                return _tag(obstore.put(self._store, self._key(name), content, mode=mode))
            except (AlreadyExistsError, PreconditionError):  # an earlier attempt may have written it
                kept = obstore.get(self._store, self._key(name))
                return _tag(kept.meta) if content and bytes(kept.bytes()) == content else None

    def _delete(self, names: list[str]) -> None:
        """Delete objects; those that can't be deleted do no harm."""
        with suppress(OSError), as_os_errors(self._address) as obstore:
            obstore.delete(self._store, list(map(self._key, names)))

    def _key(self, name: str) -> str:
        return f"{self._root}/{name}" if self._root else name


def _name(shard: Shard) -> str:
    return f"{shard.number}-of-{shard.of}"


def _number(name: str) -> int:
    """The number of a piece of a log; -1 for another object."""
    match = re.search(r"/(\d{12})-[0-9a-f]{16}$", name)
    return int(match[1]) if match else -1


def _tag(meta: Mapping[str, Any]) -> Any:
    """What a store compares before it replaces an object in this state; None if the store says nothing of the kind."""
    return {part: meta[part] for part in ("e_tag", "version") if meta[part]} or None


def _body(lease: Lease) -> bytes:
    worker = f"{platform.node()} {os.getpid()}"
    return msgspec.json.encode({"worker": worker, "token": lease.token, "renewals": lease.renewals})
