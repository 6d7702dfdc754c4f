"""Find a server's base address in any form that users type, and remove secrets from addresses."""

import json
import re
from collections.abc import Iterable
from itertools import pairwise
from urllib.parse import quote, unquote

import httpx2

from vqa_client.errors import UsageError

CHAT = "/chat/completions"
SECRET_CHARACTERS = 4
"""A shorter key is not replaced in texts: it would match ordinary words."""
IS_AZURE = re.compile(r"\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)$")


def candidates(base_url: str, option: str = "--base_url") -> list[httpx2.URL]:
    """The possible base addresses, the likeliest first; /models and /chat/completions are under each.

    A path such as /api/v1 or /openai/deployments/x is kept; an address without a path is tried with /v1 first. `option`
    is its name in messages. Raises UsageError.
    """
    text = base_url.strip()
    if "://" not in text:
        text = f"http://{text}"
    safe = without_secrets(text)
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise UsageError(f"{option} {safe!r} is not an address: {without_secrets(str(error))}") from None
    if not can_exist(url):
        raise UsageError(f"{option} {safe!r} has no such host or port", hint="such as http://localhost:8000/v1")
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(f"{option} {safe!r} is not an http or https address", hint="such as http://localhost:8000/v1")
    path = _path(url).rstrip("/").removesuffix(CHAT).rstrip("/")
    if not path:
        paths = ["/openai/v1"] if IS_AZURE.search(url.host) else ["/v1", ""]
    elif path.endswith("/v1"):
        paths = [path, path.removesuffix("/v1")]
    else:
        paths = [path, f"{path}/v1"]
    if IS_AZURE.search(url.host) and "/deployments/" in path and "api-version" not in url.params:
        raise UsageError(f"{option} {safe} needs an api-version", hint="add ?api-version=2024-10-21 to it, quoted")
    return [url.copy_with(path=p or "/", fragment=None) for p in paths]


def can_exist(url: httpx2.URL) -> bool:
    """Whether the host name and the port are valid."""
    name = url.raw_host.decode("ascii").removesuffix(".")
    port_can = url.port is None or 0 < url.port < 65_536
    return port_can and (":" in name or all(0 < len(part) < 64 for part in name.split(".")))


def port_of(url: httpx2.URL) -> int:
    """The port of the address, or the default port of its scheme."""
    return url.port or (443 if url.scheme == "https" else 80)


def join(base: httpx2.URL, path: str) -> httpx2.URL:
    """The address of a path under a base; keeps the base's query."""
    return base.copy_with(path=_path(base).rstrip("/") + path)


def root_of(base: httpx2.URL) -> httpx2.URL:
    """The address before /v1, where servers have /metrics, /health and others."""
    return base.copy_with(path=_path(base).rstrip("/").removesuffix("/v1") or "/")


def _path(url: httpx2.URL) -> str:
    """The path as it is sent, with its escapes: unescaped it may be invalid."""
    return url.raw_path.partition(b"?")[0].decode("ascii")


_PASSWORD = re.compile(r"://[^/?#\s]*@")
_PATH = re.compile(r"(?<=://)([^/?#\s]*)(/[^?#\s]*)")
_PARAMETER = re.compile(r"([?&])([^=&\s]*)=([^&#\s]*)")
_SECRET = re.compile(r"[^=&\s]*(?:key|token|secret|sig|passw|pwd|auth|cred)[^=&\s]*|code", re.IGNORECASE)
_BEFORE_A_KEY = re.compile(r"(?:api[-_]?)?key|token|secret", re.IGNORECASE)
_BEGINS_A_KEY = re.compile(r"(?:[spr]k|gsk|xai|nvapi|ghp|glpat)[-_]|hf_|AIza|eyJ|.*(?:secret|passw|api[-_]?key)", re.I)
_ORDINARY = re.compile(r"[a-z0-9]{0,7}|[a-z]{1,20}\d{0,4}|\d{1,8}", re.IGNORECASE)
_CHANGES = re.compile(r"[a-z]\d|\d(?=[a-z])", re.IGNORECASE)
MOST_CHANGES = 5


def without_secrets(address: httpx2.URL | str) -> str:
    """An address, or a text that contains one, without user name, password, and keys in path or query."""
    text = _PATH.sub(lambda match: match[1] + _redacted_path(match[2]), _PASSWORD.sub("://", str(address)))
    return _PARAMETER.sub(lambda match: f"{match[1]}{match[2]}={_redacted_value(match[2], match[3])}", text)


def secrets_in(address: httpx2.URL) -> set[str]:
    """The secrets of an address: its password (or its user name if it has none) and keys in path or query."""
    path = _path(address)
    keys = {part for part, kept in zip(path.split("/"), _redacted_path(path).split("/"), strict=True) if part != kept}
    keys |= {value for name, value in address.params.multi_items() if _redacted_value(name, value) != value}
    return keys | {unquote(part) for part in keys} | {address.password or address.username}


def written_forms(secrets: Iterable[str]) -> list[str]:
    """All forms in which a server may echo these secrets, the longest first."""
    known = set(secrets)
    in_json = {json.dumps(secret)[1:-1] for secret in known}
    written = known | in_json | {text.replace("/", "\\/") for text in in_json}
    written |= {quote(secret, safe=safe) for secret in known for safe in ("", "/")}
    return sorted((secret for secret in written if len(secret) >= SECRET_CHARACTERS), key=len, reverse=True)


def _redacted_path(path: str) -> str:
    parts = path.split("/")
    keys = [
        part and (_looks_like_key(part) or (_BEFORE_A_KEY.fullmatch(before) and not re.fullmatch(r"v\d+", part)))
        for before, part in pairwise(["", *parts])
    ]
    return "/".join("<key>" if key else part for key, part in zip(keys, parts, strict=True))


def _redacted_value(name: str, value: str) -> str:
    return "<key>" if value and (_SECRET.fullmatch(name) or _looks_like_key(value)) else value


def _looks_like_key(text: str) -> bool:
    """Whether a part of an address is probably a key: not words, not a version, not a number."""
    text = unquote(text)
    if text.isdigit():
        return False
    words = re.findall(r"[A-Za-z0-9]+", text)
    many = len(_CHANGES.findall("".join(words))) > MOST_CHANGES
    return bool(_BEGINS_A_KEY.match(text)) or many or not all(map(_ORDINARY.fullmatch, words))
