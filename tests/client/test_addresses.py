"""Addresses of servers, secrets in them, and proxies."""

import asyncio

import httpx2
import pytest

from vqa_client.client.endpoint import Endpoint, headers_for, is_signed, proxy_for
from vqa_client.client.url import CHAT, candidates, join, port_of, root_of, without_secrets, written_forms
from vqa_client.errors import UsageError
from vqa_client.version import __version__

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
        "HTTP://h:1/v1",
        "h:1",
        "h:1/v1",
        f"  {BASE}  ",
    ],
)
def test_every_form_of_an_address_means_the_same_places(typed: str) -> None:
    places = [str(join(base, CHAT)) for base in candidates(typed)]
    assert places == ["http://h:1/v1/chat/completions", "http://h:1/chat/completions"]


@pytest.mark.parametrize("prefix", ["/api/v1", "/openai/deployments/x", "/proxy/8000/v1", "/v1/gateway"])
@pytest.mark.parametrize("ending", ["", "/", CHAT])
def test_a_custom_prefix_is_kept(prefix: str, ending: str) -> None:
    assert str(candidates(f"https://host{prefix}{ending}")[0]) == f"https://host{prefix}"


@pytest.mark.parametrize(
    ("path", "tried"),
    [("", ["/v1", "/"]), ("/v1", ["/v1", "/"]), ("/api/v1/", ["/api/v1", "/api"]), ("/api", ["/api", "/api/v1"])],
)
def test_an_address_is_tried_as_typed_and_then_with_or_without_v1(path: str, tried: list[str]) -> None:
    assert [str(base) for base in candidates(f"http://h:1{path}")] == [f"http://h:1{each}" for each in tried]


def test_an_address_without_a_port_has_that_of_its_scheme() -> None:
    assert [port_of(httpx2.URL(f"{each}/v1")) for each in ("http://h", "https://h", "https://h:8")] == [80, 443, 8]


def test_a_query_of_the_address_is_kept() -> None:
    base = candidates("https://host/openai/deployments/x?api-version=2026-01-01")[0]
    assert str(join(base, CHAT)) == f"https://host/openai/deployments/x{CHAT}?api-version=2026-01-01"


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("https://x.openai.azure.com", "/openai/v1/chat/completions"),
        ("https://x.openai.azure.com/openai/v1/", "/openai/v1/chat/completions"),
        ("https://x.services.ai.azure.com/", "/openai/v1/chat/completions"),
        (
            "https://x.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
            "/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
        ),
        (
            "https://x.cognitiveservices.azure.com/openai/deployments/gpt?api-version=2024-10-21",
            "/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
        ),
        ("https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1", "/openai/v1/chat/completions"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "/v1beta/openai/chat/completions"),
        (
            "https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi",
            "/v1/projects/p/locations/global/endpoints/openapi/chat/completions",
        ),
        ("https://x.cloud.databricks.com/serving-endpoints", "/serving-endpoints/chat/completions"),
    ],
)
def test_the_address_forms_of_clouds_are_accepted(typed: str, asked: str) -> None:
    assert join(candidates(typed)[0], CHAT).raw_path.decode() == asked


def test_a_deployment_at_azure_needs_an_api_version() -> None:
    with pytest.raises(UsageError, match="needs an api-version") as caught:
        candidates("https://x.openai.azure.com/openai/deployments/gpt?key=SECRET12")
    assert "SECRET12" not in str(caught.value)


def test_ipv6_addresses_are_accepted() -> None:
    base = candidates("http://[::1]:8000/v1")[0]
    assert (base.host, base.port) == ("::1", 8000)


@pytest.mark.parametrize("typed", ["", "ftp://h/v1", "http://", "http://h:port/v1"])
def test_an_invalid_address_is_named(typed: str) -> None:
    with pytest.raises(UsageError, match="--base_url"):
        candidates(typed)


async def test_a_reply_that_is_late_is_named_by_its_path() -> None:
    async def hang(request: httpx2.Request) -> httpx2.Response:
        await asyncio.sleep(60)
        raise AssertionError

    endpoint = Endpoint(httpx2.URL("http://h/v1?key=abc"), httpx2.MockTransport(hang), {})
    with pytest.raises(httpx2.ReadTimeout, match=r"^no reply to GET /v1/models within 0 s$"):
        await endpoint.get("/models", timeout_s=0.01)


def test_a_password_in_the_address_is_never_shown() -> None:
    assert "SECRET" not in without_secrets(httpx2.URL("http://user:SECRET@h/v1"))


@pytest.mark.parametrize(
    "key",
    [
        *("sk-abcdef", "hf_abcdef", "AIzaSyAbcdef", "my-secret-one", "abcDEF123456ghiJKL", "a1b2-c3d4-e5f6-a7b8"),
        *("550e8400-e29b-41d4-a716-446655440000", "9f86d081884c7d659a2feaa0c55ad015", "abcdefghijklmnopqrstuvwx"),
    ],
)
def test_a_probable_key_in_a_path_or_a_query_is_not_shown(key: str) -> None:
    assert without_secrets(f"no answer from http://h/{key}/v1?k={key}&v=1: refused") == (
        "no answer from http://h/<key>/v1?k=<key>&v=1: refused"
    )
    assert without_secrets(f"http://h/token/{key[:6]}/v1") == "http://h/token/<key>/v1"


@pytest.mark.parametrize("name", ["key", "token", "secret", "sig", "passw", "pwd", "auth", "cred", "MyToken2", "code"])
def test_a_short_key_is_known_by_its_name(name: str) -> None:
    assert without_secrets(f"http://h/v1?{name}=abc&v=abc") == f"http://h/v1?{name}=<key>&v=abc"


@pytest.mark.parametrize(
    ("path", "shown"),
    [("key/abc", "key/<key>"), ("token/abc", "token/<key>"), ("secret/abc", "<key>/<key>"), ("code/abc", "code/abc")],
)
def test_a_short_key_is_known_by_the_part_before_it(path: str, shown: str) -> None:
    assert without_secrets(f"http://h/{path}") == f"http://h/{shown}"


@pytest.mark.parametrize(
    ("ordinary", "like_a_key"),
    [
        ("a1-b2-c3-d4-e5", "a1-b2-c3-d4-e5-f6"),
        ("1a-2b-3c-4d-5e", "1a-2b-3c-4d-5e-6f"),
        ("1abcdef", "1abcdefg"),
        ("abc1234", "abc12345"),
        ("abcdefghijklmnopqrst1234", "abcdefghijklmnopqrstu"),
        ("x-12345678", "x-123456789"),
        ("123456789", "123456789x"),
    ],
)
def test_ordinary_words_in_a_path_are_shown(ordinary: str, like_a_key: str) -> None:
    assert without_secrets(f"http://h/{ordinary}/v1") == f"http://h/{ordinary}/v1"
    assert without_secrets(f"http://h/{like_a_key}/v1") == "http://h/<key>/v1"


def test_a_secret_of_four_characters_is_removed_in_every_form_and_a_shorter_one_is_not() -> None:
    assert written_forms(["abc", "wxyz", ""]) == ["wxyz"]
    forms = written_forms(['a/"c'])
    assert set(forms) == {'a/"c', 'a/\\"c', 'a\\/\\"c', "a/%22c", "a%2F%22c"}
    assert forms == sorted(forms, key=len, reverse=True)


@pytest.mark.parametrize(
    "address",
    [
        "http://h:8000/proxy/8000/v1",
        "https://x.example/openai/deployments/gpt-4o-2024-08-06/?api-version=2024-02-15-preview",
        "https://router.example/hf-inference/models/meta-llama/Llama-3.2-11B-Vision-Instruct/v1",
        "https://us-central1-ai.example/v1beta1/projects/my-project-123456/locations/northamerica-northeast2/openapi",
        "https://h/v1/endpoints/1234567890123456789/InternVL3_5-241B-A28B-Instruct-AWQ/gemini-2.5-flash-lite-preview-09-2025",
        "https://h/tokenize/token/v1",
    ],
)
def test_names_versions_and_numbers_in_an_address_are_shown(address: str) -> None:
    assert without_secrets(address) == address


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.8.9.1", "[::1]", "x.localhost"])
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY", "http_proxy"])
@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "socks5://127.0.0.1:9"])
def test_this_machine_is_reached_without_a_proxy(
    host: str, variable: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, proxy)
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
        ("*", "10.1.2.3", False),
        ("gpu7:8000", "gpu7:8000", False),
        ("gpu7:8000", "gpu7:8001", True),
        ("gpu7:80", "gpu7", False),
        ("gpu7:443", "gpu7", True),
        ("other.example gpu7", "gpu7", False),
        ("other.example,\tgpu7 , ", "gpu7", False),
        ("gpu7.example.", "gpu7.example", False),
        ("gpu7.example", "gpu7.example.", False),
        ("GPU7.Example", "gpu7.example", False),
        ("gpu7.example", "GPU7.EXAMPLE", False),
        (".example", "example", False),
        ("*.cluster.example", "gpu7.cluster.example", False),
        ("*.cluster.example", "cluster.example.org", True),
        ("ample", "gpu7.example", True),
        (",, ,.", "gpu7", True),
        ("http://gpu7", "gpu7", False),
        ("http://gpu7:8000/", "gpu7:8000", False),
        ("https://gpu7", "gpu7", True),
        ("10.1.2.3:8000", "10.1.2.3:8000", False),
        ("10.1.2.3:8000", "10.1.2.3", True),
        ("10.1.2.3/32", "10.1.2.4", True),
        ("10.1.2.9/24", "10.1.2.3", False),
        (".3", "10.1.2.3", True),
        ("[fd00::5]", "[fd00::5]:8000", False),
        ("fd00::5", "[fd00:0:0::5]:8000", False),
        ("[fd00::5]:8000", "[fd00::5]:8000", False),
        ("[fd00::5]:8001", "[fd00::5]:8000", True),
        ("[fd00::]/8", "[fd00::5]", False),
        ("fd00::/8", "[fe00::5]", True),
        ("10.0.0.0/8", "[::ffff:10.1.2.3]", False),
        ("b\u00fccher.example", "xn--bcher-kva.example", False),
        ("xn--bcher-kva.example", "b\u00fccher.example", False),
        ("[", "gpu7", True),
        *((listed, "127.0.0.1", False) for listed in ("localhost", "127.0.0.0/8", "127.0.0.1", "*", "example.org", "")),
    ],
)
def test_every_form_of_no_proxy_is_read(
    no_proxy: str, host: str, proxied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert (proxy_for(httpx2.URL(f"http://{host}/v1")) is not None) == proxied


def test_no_proxy_in_lower_case_overrides_the_one_in_upper_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "gpu7")
    monkeypatch.setenv("no_proxy", "gpu8")
    assert [proxy_for(httpx2.URL(f"http://{host}/v1")) for host in ("gpu7", "gpu8")] == ["http://proxy:3128", None]


def test_a_socks_proxy_without_support_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.endpoint.find_spec", lambda name: None)
    monkeypatch.setenv("ALL_PROXY", "socks5://10.0.0.1:9")
    with pytest.raises(UsageError, match=r"^ALL_PROXY[^\n]*$"):
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
def test_the_root_of_a_server_is_the_address_before_v1(base: str, root: str) -> None:
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


@pytest.mark.parametrize(
    "junk",
    [
        "htp://user:SECRET@proxy",
        "http://user:SECRET@proxy:notaport",
        "http://",
        "user:SECRET@proxy:99999",
        "http://user:SECRET@proxy:0",
        "http://user:SECRET@proxy..example",
        f"http://user:SECRET@{'x' * 64}.example",
    ],
)
def test_an_invalid_proxy_is_named_without_its_password(junk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", junk)
    with pytest.raises(UsageError, match="HTTP_PROXY is not a proxy's address") as refused:
        proxy_for(httpx2.URL("http://example.invalid/v1"))
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("scheme", ["http", "https", "socks5", "socks5h"])
def test_a_proxy_of_any_scheme_is_accepted(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqa_client.client.endpoint.find_spec", lambda name: True)
    monkeypatch.setenv("https_proxy", f"{scheme}://proxy.example:1080")
    assert proxy_for(httpx2.URL("https://example.invalid/v1")) == f"{scheme}://proxy.example:1080"


@pytest.mark.parametrize("name", ["Authorization", "api-key", "X-API-Key", "apikey", "x-team"])
def test_a_key_in_ones_own_header_is_the_only_one(name: str) -> None:
    base = httpx2.URL("http://host:1/v1")
    ours = {"Host": "host:1", "Accept": "application/json", "Accept-Encoding": "identity"}
    headers = ours | {"User-Agent": f"vqa-client/{__version__}"}
    signed = name != "x-team"
    key = {} if signed else {"Authorization": "Bearer sk-secret"}
    assert headers_for(base, " sk-secret\n", {name: "mine"}) == {**headers, **key, name: "mine"}
    assert is_signed(base, "sk-secret", {name: "mine"}) == signed


@pytest.mark.parametrize(
    ("address", "said", "shown"),
    [
        (
            "http://me:SECRET@h/sk-a%2Bb/v1?key=abcd&v=1234",
            "SECRET sk-a+b abcd me 1234 v1",
            "<key> <key> <key> me 1234 v1",
        ),
        ("http://USERNAME@h/box/v1", "USERNAME h box v1", "<key> h box v1"),
    ],
)
def test_the_secrets_of_an_address_are_removed_from_what_a_server_says(address: str, said: str, shown: str) -> None:
    endpoint = Endpoint(httpx2.URL(address), httpx2.MockTransport(lambda _: httpx2.Response(200)), {})
    assert endpoint.redacted(said) == shown
    roots = [str(root_of(httpx2.URL(f"http://h/box{end}"))) for end in ("", "/", "/v1", "/v1/")]
    assert roots == ["http://h/box"] * 4


@pytest.mark.parametrize(
    ("address", "key", "sent"),
    [
        ("http://h/v1", None, None),
        ("http://h/v1", "k", "Bearer k"),
        ("http://me:pass@h/v1", None, "Basic bWU6cGFzcw=="),
        ("http://me:pass@h/v1", "k", "Bearer k"),
    ],
)
def test_the_name_in_an_address_signs_requests_without_a_key(address: str, key: str | None, sent: str | None) -> None:
    base = httpx2.URL(address)
    assert headers_for(base, key).get("Authorization") == sent
    assert is_signed(base, key, {}) == (sent is not None and sent.startswith("Basic"))


@pytest.mark.parametrize(("status", "there"), [(200, True), (401, True), (499, True), (500, False), (0, False)])
async def test_a_server_that_lists_its_models_or_refuses_to_is_running(status: int, there: bool) -> None:
    def reply(request: httpx2.Request) -> httpx2.Response:
        if not status or request.url.path != "/v1/models":
            raise httpx2.ConnectError("refused")
        return httpx2.Response(status)

    endpoint = Endpoint(httpx2.URL("http://h/v1"), httpx2.MockTransport(reply), {})
    assert await endpoint.answers() is there


def test_own_headers_replace_ours_in_any_case_and_only_possible_keys_are_redacted() -> None:
    base = httpx2.URL("http://host/v1")
    own = {"host": "other.example", "USER-AGENT": "curious", "accept": "text/plain", "x-team": "team-blue"}
    headers = headers_for(base, "sk-secret", own)
    assert headers == {
        "Host": "other.example",
        "Accept": "text/plain",
        "Accept-Encoding": "identity",
        "User-Agent": "curious",
        "Authorization": "Bearer sk-secret",
        "x-team": "team-blue",
    }
    endpoint = Endpoint(base, httpx2.MockTransport(lambda _: httpx2.Response(200)), headers)
    said = "other.example curious text/plain identity {} {}"
    assert endpoint.redacted(said.format("sk-secret", "team-blue")) == said.format("<key>", "<key>")
