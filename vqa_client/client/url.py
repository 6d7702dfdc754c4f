"""Where the endpoint is, from whatever form of its address people type."""

import json
import re
from collections.abc import Iterable
from itertools import pairwise
from urllib.parse import quote, unquote

import httpx2

from vqa_client.errors import UsageError

CHAT = "/chat/completions"
SECRET_CHARACTERS = 4
"""A shorter key keeps no secret, and would be found in any text."""
IS_AZURE = re.compile(r"\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us|cn)$")


def candidates(base_url: str, option: str = "--base_url") -> list[httpx2.URL]:
    """The bases that an address may mean, the likeliest first; each takes /models and /chat/completions.

    A path such as /api/v1 or /openai/deployments/x is kept; one without any is tried with /v1 first. `option` is what
    messages call it. Raises UsageError.
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
    """Whether there can be such a host, and such a port."""
    name = url.raw_host.decode("ascii").removesuffix(".")
    port_can = url.port is None or 0 < url.port < 65_536
    return port_can and (":" in name or all(0 < len(part) < 64 for part in name.split(".")))


def port_of(url: httpx2.URL) -> int:
    """The port, which an address may leave to its scheme."""
    return url.port or (443 if url.scheme == "https" else 80)


def join(base: httpx2.URL, path: str) -> httpx2.URL:
    """The address of a path under a base, its query kept."""
    return base.copy_with(path=_path(base).rstrip("/") + path)


def root_of(base: httpx2.URL) -> httpx2.URL:
    """What stands before /v1: there servers have /metrics, /health and the like."""
    return base.copy_with(path=_path(base).rstrip("/").removesuffix("/v1") or "/")


def _path(url: httpx2.URL) -> str:
    """The path as it is sent: its escapes may stand for what may not stand there itself."""
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
    """An address, or a text with one in it, without a user's name and password and without keys in path or query."""
    text = _PATH.sub(lambda match: match[1] + _redacted_path(match[2]), _PASSWORD.sub("://", str(address)))
    return _PARAMETER.sub(lambda match: f"{match[1]}{match[2]}={_redacted_value(match[2], match[3])}", text)


def secrets_in(address: httpx2.URL) -> set[str]:
    """What in an address is a key: a password, or a name without one, and what looks like a key in path or query."""
    path = _path(address)
    keys = {part for part, kept in zip(path.split("/"), _redacted_path(path).split("/"), strict=True) if part != kept}
    keys |= {value for name, value in address.params.multi_items() if _redacted_value(name, value) != value}
    return keys | {unquote(part) for part in keys} | {address.password or address.username}


def written_forms(secrets: Iterable[str]) -> list[str]:
    """Every form in which a server may echo what must not be shown, the longest first."""
    known = set(secrets)
    in_json = {json.dumps(secret)[1:-1] for secret in known}
    written = known | in_json | {text.replace("/", "\\/") for text in in_json}
    written |= {quote(secret, safe=safe) for secret in known for safe in ("", "/")}
    return sorted((secret for secret in written if len(secret) >= SECRET_CHARACTERS), key=len, reverse=True)


def _redacted_path(path: str) -> str:
    parts = path.split("/")
    keys = [
        bool(part) and (_looks_like_key(part) or _is_after_its_name(before, part))
        for before, part in pairwise(["", *parts])
    ]
    return "/".join("<key>" if key else part for key, part in zip(keys, parts, strict=True))


def _is_after_its_name(before: str, part: str) -> bool:
    return bool(_BEFORE_A_KEY.fullmatch(before)) and not re.fullmatch(r"v\d+", part)


def _redacted_value(name: str, value: str) -> str:
    return "<key>" if value and (_SECRET.fullmatch(name) or _looks_like_key(value)) else value


def _looks_like_key(text: str) -> bool:
    """Whether a part of an address is neither words nor versions nor a number, as far as anyone can see."""
    text = unquote(text)
    if text.isdigit():
        return False
    words = re.findall(r"[A-Za-z0-9]+", text)
    many = len(_CHANGES.findall("".join(words))) > MOST_CHANGES
    return bool(_BEGINS_A_KEY.match(text)) or many or not all(map(_ORDINARY.fullmatch, words))
