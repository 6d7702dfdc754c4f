"""`--engine openai`: the openai SDK's clients send the requests and sign them for their cloud.

Bodies, retries, limits and the reading of replies are the same as with the other engines.
"""

import os
import re
from contextlib import AsyncExitStack
from functools import lru_cache
from typing import Any

import httpx2

from vqa_client.client.direct import connect_limit_s
from vqa_client.client.url import IS_AZURE, written_forms
from vqa_client.errors import UsageError
from vqa_client.shipped import importing

SCOPE = "https://cognitiveservices.azure.com/.default"
_IS_BEDROCK = re.compile(r"bedrock-(mantle|runtime|runtime-fips)\.")
_SIGNATURES = ("authorization", "api-key", "x-amz-security-token")
_OF_THE_CONTENT = ("content-length", "content-encoding")
_NO_KEY = "none"


class SdkTransport(httpx2.AsyncBaseTransport):
    """Sends requests over `wire` with the SDK's client for the address; raises httpx2.TransportError.

    With `signed`, the user's own headers contain the key and the client adds none. Tokens that the client gets itself
    are removed from replies here, because only it knows them. Raises UsageError without the SDK or a login.
    """

    def __init__(self, base: httpx2.URL, wire: httpx2.AsyncBaseTransport, api_key: str | None, *, signed: bool) -> None:
        with importing("openai", "--engine openai needs the openai package"):
            import openai
        self._openai, self._stack = openai, AsyncExitStack()
        self._http = httpx2.AsyncClient(transport=wire, follow_redirects=False, trust_env=False)
        self._signed, self._whole_bodies = signed, False
        key = None if signed else (api_key or "").strip() or None
        try:
            self._client = self._client_for(base, key)
        except openai.OpenAIError as error:
            raise UsageError(f"--engine openai: {error}", hint="--api_key, or the cloud's own login") from None
        except ValueError as error:  # a gateway's address without the version that Azure's has
            raise UsageError(f"--engine openai: {error}", hint="add ?api-version=2024-10-21 to it, quoted") from None
        self._adds_none = signed or self._client.api_key == _NO_KEY

    def _client_for(self, base: httpx2.URL, key: str | None) -> Any:
        openai = self._openai
        options: dict[str, Any] = {"http_client": self._http, "max_retries": 0}
        options["base_url"] = str(base.copy_with(query=None))
        if self._signed:
            return openai.AsyncOpenAI(api_key=_NO_KEY, **options)
        if _IS_BEDROCK.match(base.host):
            from openai.providers import bedrock

            self._whole_bodies = True  # the signature contains the body's digest
            signs: dict[str, Any] = {"api_key": key} if key else {}
            return openai.AsyncOpenAI(provider=bedrock(base_url=options.pop("base_url"), **signs), **options)
        if "/openai/deployments/" in base.path:
            known = key or os.environ.get("AZURE_OPENAI_API_KEY") or os.environ.get("AZURE_OPENAI_AD_TOKEN")
            signs = {"api_key": key} if known else {"azure_ad_token_provider": self._login()}
            return openai.AsyncAzureOpenAI(api_version=base.params.get("api-version"), **signs, **options)
        if IS_AZURE.search(base.host):
            key = key or os.environ.get("AZURE_OPENAI_API_KEY")
            return openai.AsyncOpenAI(api_key=key or self._login(), **options)
        return openai.AsyncOpenAI(api_key=key or _NO_KEY, **options)

    def _login(self) -> Any:
        """Gives a token of the user logged in on this machine, or of the machine itself."""
        try:
            from azure.identity.aio import DefaultAzureCredential, get_bearer_token_provider
        except ImportError:
            hint = "--api_key, or a login: pip install azure-identity aiohttp"
            raise UsageError("--engine openai: the address needs a key or a login", hint=hint) from None
        credential = DefaultAzureCredential()
        self._stack.push_async_callback(credential.close)
        provider = get_bearer_token_provider(credential, SCOPE)

        async def token() -> str:
            try:
                return str(await provider())
            except Exception as error:
                raise httpx2.ConnectError(f"the login gave no token: {str(error).strip().splitlines()[0]}") from None

        return token

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request and read its reply whole; raises httpx2.TransportError."""
        openai = self._openai
        ours = ("host",) if self._signed else ("host", "authorization")
        headers: dict[str, Any] = {name: value for name, value in request.headers.items() if name not in ours}
        if self._adds_none and "authorization" not in headers:
            headers["Authorization"] = openai.Omit()
        limits = httpx2.Timeout(None, connect=connect_limit_s(request))
        options: Any = {"headers": headers, "timeout": limits, "follow_redirects": False}
        url, kind = str(request.url), httpx2.Response
        try:
            if request.method == "GET":
                return self._redact(await self._client.get(url, cast_to=kind, options=options))
            assert isinstance(request.stream, httpx2.AsyncByteStream)
            content: Any = request.stream
            if self._whole_bodies or isinstance(content, httpx2.ByteStream):
                content = b"".join([piece async for piece in request.stream])
            return self._redact(await self._client.post(url, cast_to=kind, content=content, options=options))
        except openai.APIStatusError as error:
            return self._redact(error.response)
        except openai.APIConnectionError as error:
            cause = error.__cause__
            raise cause if isinstance(cause, httpx2.TransportError) else httpx2.ConnectError(str(cause)) from None
        except openai.OpenAIError as error:
            raise httpx2.ConnectError(str(error)) from None

    def _redact(self, response: httpx2.Response) -> httpx2.Response:
        sent = tuple(response.request.headers.get(name, "").rpartition(" ")[2] for name in _SIGNATURES)
        content, location = response.content, response.headers.get("location", "").encode()
        for secret in _forms(sent):
            content, location = content.replace(secret, b"<key>"), location.replace(secret, b"<key>")
        if content == response.content and location == response.headers.get("location", "").encode():
            return response
        headers = {name: value for name, value in response.headers.items() if name not in _OF_THE_CONTENT}
        if location:
            headers["location"] = location.decode()
        return httpx2.Response(response.status_code, headers=headers, content=content, extensions=response.extensions)

    async def aclose(self) -> None:
        """Close the connections, and the login's credential."""
        await self._http.aclose()
        await self._stack.aclose()


@lru_cache(maxsize=8)
def _forms(sent: tuple[str, ...]) -> list[bytes]:
    return [form.encode() for form in written_forms(sent)]
