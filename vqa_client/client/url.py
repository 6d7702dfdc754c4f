"""Where the endpoint is, from whatever form of its address people type."""

import httpx2

from vqa_client.errors import UsageError

CHAT = "/chat/completions"


def candidates(base_url: str) -> list[httpx2.URL]:
    """The bases that an address may mean, the likeliest first; each takes /models and /chat/completions.

    A path such as /api/v1 or /openai/deployments/x is kept; one without any is tried with /v1 first.
    """
    text = base_url.strip()
    if "://" not in text:
        text = f"http://{text}"
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise UsageError(f"--base_url {base_url!r} is no address: {error}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise UsageError(
            f"--base_url {base_url!r} is no http or https address", hint="such as http://localhost:8000/v1"
        )
    path = url.path.rstrip("/").removesuffix(CHAT).rstrip("/")
    if not path:
        paths = ["/v1", ""]
    elif path.endswith("/v1"):
        paths = [path, path.removesuffix("/v1")]
    else:
        paths = [path, f"{path}/v1"]
    return [url.copy_with(path=p or "/", fragment=None) for p in paths]


def join(base: httpx2.URL, path: str) -> httpx2.URL:
    """The address of a path under a base, its query kept."""
    return base.copy_with(path=base.path.rstrip("/") + path)


def without_secrets(url: httpx2.URL) -> str:
    """The address without a user's name and password."""
    return str(url.copy_with(username=None, password=None)) if url.userinfo else str(url)
