"""Where the endpoint is, from whatever form of its address people type."""

import re

import httpx2

from vqa_client.errors import UsageError

CHAT = "/chat/completions"


def candidates(base_url: str, option: str = "--base_url") -> list[httpx2.URL]:
    """The bases that an address may mean, the likeliest first; each takes /models and /chat/completions.

    A path such as /api/v1 or /openai/deployments/x is kept; one without any is tried with /v1 first. `option` is what
    messages call it. Raises UsageError.
    """
    text = base_url.strip()
    if "://" not in text:
        text = f"http://{text}"
    shown = without_secrets(text)
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise UsageError(f"{option} {shown!r} is no address: {without_secrets(str(error))}") from None
    if (url.port is not None and url.port > 65_535) or not all(0 < len(part) < 64 for part in url.host.split(".")):
        raise UsageError(f"{option} {shown!r} has no such host or port")
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(f"{option} {shown!r} is no http or https address", hint="such as http://localhost:8000/v1")
    path = _path(url).rstrip("/").removesuffix(CHAT).rstrip("/")
    if not path:
        paths = ["/v1", ""]
    elif path.endswith("/v1"):
        paths = [path, path.removesuffix("/v1")]
    else:
        paths = [path, f"{path}/v1"]
    return [url.copy_with(path=p or "/", fragment=None) for p in paths]


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
_SECRET = r"[^=&\s]*(?:key|token|secret|sig|passw|pwd|auth|cred)[^=&\s]*|code"
_KEY_IN_QUERY = re.compile(rf"([?&](?:{_SECRET})=)[^&\s]*", re.IGNORECASE)


def without_secrets(address: httpx2.URL | str) -> str:
    """An address, or a text with one in it, without a user's name and password and without keys in its query."""
    return _KEY_IN_QUERY.sub(r"\1<key>", _PASSWORD.sub("://", str(address)))


def secrets_in_query(address: httpx2.URL) -> list[str]:
    """The values in an address's query that are keys, by their names."""
    return [value for name, value in address.params.multi_items() if re.fullmatch(_SECRET, name, re.IGNORECASE)]
