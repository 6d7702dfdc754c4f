"""Which proxy, if any, stands between us and a server: never one for this machine."""

import ipaddress
import os
import urllib.request
from importlib.util import find_spec

import httpx2

from vqa_client.client.url import without_secrets
from vqa_client.errors import UsageError


def proxy_for(url: httpx2.URL) -> str | None:
    """The proxy that the environment names for this address; loopback addresses and NO_PROXY have none."""
    if is_loopback(url.host) or _excepted(url.host):
        return None
    proxies = urllib.request.getproxies_environment()
    scheme = url.scheme if url.scheme in proxies else "all"
    proxy = proxies.get(scheme)
    if proxy and "://" not in proxy:  # as curl takes it
        proxy = f"http://{proxy}"
    if proxy and proxy.startswith("socks") and find_spec("socksio") is None:
        raise UsageError(
            f"{scheme.upper()}_PROXY names a SOCKS proxy, {without_secrets(proxy)}",
            hint="pip install 'httpx2[socks]', or add the server's host to NO_PROXY",
        )
    if proxy and not _usable(proxy):
        raise UsageError(
            f"{scheme.upper()}_PROXY is no proxy's address: {without_secrets(proxy)}",
            hint="such as http://proxy.example:3128; or add the server's host to NO_PROXY",
        )
    return proxy or None


def _usable(proxy: str) -> bool:
    try:
        url = httpx2.URL(proxy)
    except httpx2.InvalidURL:
        return False
    return bool(url.host) and url.scheme in ("http", "https", "socks5", "socks5h")


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)  # 0.0.0.0 is what servers print as their address


def _excepted(host: str) -> bool:
    listed = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    return any(_matches(host, entry.strip()) for entry in listed.split(",") if entry.strip())


def _matches(host: str, entry: str) -> bool:
    if entry == "*":
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        name = entry.removeprefix("*").removeprefix(".").lower()
        return host.lower() == name or host.lower().endswith("." + name)
