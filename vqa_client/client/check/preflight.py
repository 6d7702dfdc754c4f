"""The check before a run: it refuses a server that sees no images, and keeps the server's fingerprint."""

import asyncio
from http import HTTPStatus
from typing import Any

import httpx2
import msgspec

from vqa_client.client.probing.findings import Sight
from vqa_client.client.probing.identity import TIMEOUT_S, ShortCheck, short_check
from vqa_client.client.session import Session
from vqa_client.errors import ServerUnusable
from vqa_client.types import Note

STABLE = ("kind", "version", "picture_tokens")
"""The fields of a fingerprint that must not change between starts of a run; a weak model's sight may."""
LATE_S = 2.0
"""A check that takes longer is noted."""
WAY_OUT = "`vqa-client check` shows details; --no_check runs anyway"
DOUBTS: dict[Sight, str] = {
    "same": "gave the same answer for a red and a blue image; does it see images? run `vqa-client check`",
    "differs": "named the colours of a red and a blue test image wrongly; does it see images? run `vqa-client check`",
    "unknown": "gave no usable reply to two small images",
}


async def check_before(session: Session, note: Note) -> Session:
    """The session with the server's fingerprint, from a few small requests; sessions with the same routes share them.

    Raises ServerUnusable if the server sees no images, because every score would be that of a blind model, or if it
    neither lists nor knows the model. Anything else is at most a note.
    """
    check = session.chat.routes.check = session.chat.routes.check or await _check_announced(session, note)
    fingerprint = check.fingerprint
    if session.model.thinking:
        session.chat.switch_thinking(fingerprint.kind)
    name = f"{session.model.model_name} at {session.server['base_url']}"
    if fingerprint.sight == "blind":
        raise ServerUnusable(f"{name} answers without seeing the images that are sent", hint=WAY_OUT)
    listed = session.server.get("models", [])
    if check.http_status == HTTPStatus.NOT_FOUND and listed and session.model.model_name not in listed:
        raise ServerUnusable(f"{name}: {check.error}", hint=f"choose one that it lists: {', '.join(listed[:5])}")
    if check.http_status == HTTPStatus.NOT_FOUND:
        raise ServerUnusable(
            f"there is no chat/completions under {session.server['base_url']} ({check.error})",
            hint=f"{await _usual_address_hint(session)}give the right --base_url; --no_check runs anyway",
        )
    if doubt := DOUBTS.get(fingerprint.sight):
        reason = f": {check.error}" if check.error else ""
        note(f"warning: {name} {doubt}{reason}")
    if fingerprint.sight in ("colours", "text"):
        session.chat.doubts.trust_sight()
    kept = {"fingerprint": msgspec.to_builtins(fingerprint)}
    return msgspec.structs.replace(session, server=session.server | kept)


async def _usual_address_hint(session: Session) -> str:
    """The start of a hint: the server's usual address, if it lists models."""
    root = session.endpoint.at_root()
    usual = root.at(root.base.copy_with(raw_path=b"/v1"))
    try:
        is_there = usual.base != session.endpoint.base and (await usual.get("/models")).status_code == HTTPStatus.OK
    except httpx2.TransportError:
        is_there = False
    return f"{usual.address} answers; " if is_there else ""


async def _check_announced(session: Session, note: Note) -> ShortCheck:
    timeout_s = min(TIMEOUT_S, session.model.timeout_s)
    message = f"testing the server (up to {timeout_s:.0f} s per request)"
    late = asyncio.get_running_loop().call_later(LATE_S, note, message)
    try:
        served = session.chat.routes.all[0].served
        return await short_check(session.endpoint, served, session.model, timeout_s=timeout_s)
    finally:
        late.cancel()


def identity_of(server: dict[str, Any]) -> dict[str, Any]:
    """The part of a session's `server` that belongs to a run's identity; {} if the server was not checked."""
    fingerprint = server.get("fingerprint", {})
    return {name: fingerprint[name] for name in STABLE if fingerprint.get(name) is not None}
