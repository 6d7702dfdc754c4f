"""Where a server is and what stands in between."""

import httpx2
import pytest

from vqa_client.client.proxy import proxy_for
from vqa_client.client.url import CHAT, candidates, join, root_of, without_secrets
from vqa_client.errors import UsageError

BASE = "http://h:1/v1"


@pytest.mark.parametrize(
    "typed",
    [
        "http://h:1",
        "http://h:1/",
        BASE,
        BASE + "/",
        BASE + "//",
        BASE + CHAT,
        BASE + CHAT + "/",
        "h:1",
        "h:1/v1",
        f" {BASE} ",
    ],
)
def test_every_form_of_an_address_means_the_same_place(typed: str) -> None:
    assert str(join(candidates(typed)[0], CHAT)) == "http://h:1/v1/chat/completions"


@pytest.mark.parametrize("prefix", ["/api/v1", "/openai/deployments/x", "/proxy/8000/v1"])
def test_a_custom_prefix_is_kept(prefix: str) -> None:
    assert str(candidates(f"https://host{prefix}/")[0]) == f"https://host{prefix}"


def test_a_query_survives_the_joining() -> None:
    base = candidates("https://host/openai/deployments/x?api-version=2026-01-01")[0]
    assert str(join(base, CHAT)) == f"https://host/openai/deployments/x{CHAT}?api-version=2026-01-01"


def test_ipv6_addresses_are_taken() -> None:
    base = candidates("http://[::1]:8000/v1")[0]
    assert (base.host, base.port) == ("::1", 8000)


@pytest.mark.parametrize("typed", ["", "ftp://h/v1", "http://", "http://h:port/v1"])
def test_what_is_no_address_is_named(typed: str) -> None:
    with pytest.raises(UsageError, match="--base_url"):
        candidates(typed)


def test_a_password_in_the_address_is_never_shown() -> None:
    assert "SECRET" not in without_secrets(httpx2.URL("http://user:SECRET@h/v1"))


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.9.1", "[::1]", "x.localhost"])
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY", "http_proxy"])
def test_no_proxy_ever_stands_before_this_machine(host: str, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "socks5://127.0.0.1:9")
    assert proxy_for(httpx2.URL(f"http://{host}:8000/v1")) is None


@pytest.mark.parametrize(
    ("no_proxy", "host", "proxied"),
    [
        ("", "gpu7", True),
        ("gpu7", "gpu7", False),
        ("gpu7", "gpu77", True),
        (".cluster.example", "gpu7.cluster.example", False),
        ("cluster.example", "gpu7.cluster.example", False),
        ("10.0.0.0/8", "10.1.2.3", False),
        ("10.0.0.0/8", "11.1.2.3", True),
        ("localhost, 10.1.2.3", "10.1.2.3", False),
        ("*", "gpu7", False),
    ],
)
def test_no_proxy_is_read_in_all_its_forms(
    no_proxy: str, host: str, proxied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert (proxy_for(httpx2.URL(f"http://{host}/v1")) is not None) == proxied


def test_a_socks_proxy_without_support_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://10.0.0.1:9")
    with pytest.raises(UsageError, match="ALL_PROXY"):
        proxy_for(httpx2.URL("https://host.example/v1"))


@pytest.mark.parametrize(
    ("base", "root"),
    [
        ("http://h:1/v1", "http://h:1/"),
        ("http://h:1/api/v1/?k=1", "http://h:1/api?k=1"),
        ("http://h:1/a%3Fb/v1", "http://h:1/a%3Fb"),
        ("http://h:1/other", "http://h:1/other"),
    ],
)
def test_the_root_of_a_server_is_what_stands_before_v1(base: str, root: str) -> None:
    assert str(root_of(httpx2.URL(base))) == root


@pytest.mark.parametrize(
    ("host", "proxy"),
    [
        ("0.0.0.0", None),
        ("[::ffff:127.0.0.1]", None),
        ("[::]", None),
        ("127.0.0.1", None),
        ("example.invalid", "http://user:pw@proxy:3128"),
    ],
)
def test_this_machine_has_no_proxy_and_a_proxy_needs_no_scheme(
    host: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "user:pw@proxy:3128")
    assert proxy_for(httpx2.URL(f"http://{host}:8000/v1")) == proxy


@pytest.mark.parametrize("junk", ["htp://user:SECRET@proxy", "http://user:SECRET@proxy:notaport", "http://"])
def test_a_proxy_that_is_none_is_named_without_its_password(junk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", junk)
    with pytest.raises(UsageError, match="HTTP_PROXY is no proxy's address") as refused:
        proxy_for(httpx2.URL("http://example.invalid/v1"))
    assert "SECRET" not in str(refused.value)
