"""Which proxy, if any, stands between us and a server: never one for this machine."""

import ipaddress
import os
import re
import sys
import urllib.request
from importlib.util import find_spec

import httpx2

from vqa_client.client.url import can_exist, without_secrets
from vqa_client.errors import UsageError


def proxy_for(url: httpx2.URL) -> str | None:
    """The proxy that the environment names for this address; loopback addresses and NO_PROXY have none."""
    if is_loopback(url.host) or _excepted(url):
        return None
    proxies = urllib.request.getproxies_environment()
    scheme = url.scheme if url.scheme in proxies else "all"
    proxy = proxies.get(scheme)
    if proxy and "://" not in proxy:  # as curl takes it
        proxy = f"http://{proxy}"
    if proxy and proxy.startswith("socks") and find_spec("socksio") is None:
        raise UsageError(
            f"{scheme.upper()}_PROXY names a SOCKS proxy, {without_secrets(proxy)}",
            hint=f"{sys.executable} -m pip install 'httpx2[socks]', or add the server's host to NO_PROXY",
        )
    if proxy and not _usable(proxy):
        raise UsageError(
            f"{scheme.upper()}_PROXY is not a proxy's address: {without_secrets(proxy)}",
            hint="such as http://proxy.example:3128; or add the server's host to NO_PROXY",
        )
    return proxy or None


def _usable(proxy: str) -> bool:
    try:
        url = httpx2.URL(proxy)
    except httpx2.InvalidURL:
        return False
    return can_exist(url) and url.scheme in ("http", "https", "socks5", "socks5h")


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host.strip("[]"))
    return address is not None and (address.is_loopback or address.is_unspecified)  # servers print 0.0.0.0 as theirs


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


_ENTRY = re.compile(r"(?:(\w+)://)?(?P<name>\[[^]]+\](?:/\d+)?|[^:]*|.*:.*:.*?)(?::(?P<port>\d+))?/?")
"""An entry of NO_PROXY: [v6] or [v6]/bits, anything without a colon, or a bare v6 address; and a port."""


def _excepted(url: httpx2.URL) -> bool:
    """Whether NO_PROXY names the address, in any form that curl, Python's urllib or httpx2 reads."""
    listed = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    return any(_matches(url, entry) for entry in re.split(r"[,\s]+", listed) if entry)


def _matches(url: httpx2.URL, entry: str) -> bool:
    found = _ENTRY.fullmatch(entry)
    if found is None or found[1] not in (None, "all", url.scheme):
        return False
    if found["port"] and int(found["port"]) != (url.port or (443 if url.scheme == "https" else 80)):
        return False
    name, address = found["name"].lower().rstrip("/"), _address(url.host)
    if address is not None and name != "*":
        try:
            return address in ipaddress.ip_network(re.sub(r"[][]", "", name), strict=False)
        except ValueError:
            return False
    name = name.removeprefix("*").strip(".")
    hosts = {host.lower().rstrip(".") for host in (url.host, url.raw_host.decode("ascii"))}
    return found["name"] == "*" or any(f".{host}".endswith(f".{name}") for host in hosts if name)
