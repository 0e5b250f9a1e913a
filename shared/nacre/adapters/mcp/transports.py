"""How each kind of server is reached: a program, streamable HTTP, or the older SSE."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from nacre.adapters.http.public_addresses import Network, checked_addresses, resolved
from nacre.adapters.mcp.http_client import Addresses, UpstreamClient, UpstreamHttp
from nacre.adapters.mcp.large_answers import LargeAnswers, Reading, Shorten
from nacre.adapters.mcp.server_process import program
from nacre.core.errors import ConfigurationError
from nacre.core.limits import UPSTREAM_ANSWER_BYTES
from nacre.gateway.servers.config import ServerConfig
from nacre.gateway.servers.references import References

_SILENT_SECONDS = 3600.0  # a stream may say nothing for so long; each call has its own bound
Ended = Callable[[str | None], None]


class Transports:
    """Opens connections to servers; a stack starts no programs, and reaches public hosts only."""

    def __init__(
        self,
        references: References,
        *,
        is_stack: bool,
        allowed: tuple[Network, ...] = (),
        reading: Callable[[], Reading] | None = None,
    ) -> None:
        self.reading = reading
        self._references = references
        self._is_stack = is_stack
        self._addresses: Addresses = resolved
        if is_stack:
            self._addresses = lambda host, port: checked_addresses(host, port, allowed=allowed)

    def new_http(self, shorten: Shorten) -> UpstreamHttp:
        """Return what sends the requests of one session."""
        return UpstreamHttp(self._addresses, None if self.reading is None else shorten)

    @asynccontextmanager
    async def opened(
        self, config: ServerConfig, http: UpstreamHttp, ended: Ended, large: LargeAnswers
    ) -> AsyncIterator[tuple[Any, Any]]:
        """Give the streams of a new connection; `ended` hears when it is over."""
        async with self._opened(config, http, ended, large.shortened) as (reading, writing):
            yield reading, large.watching(writing)

    @asynccontextmanager
    async def _opened(
        self, config: ServerConfig, http: UpstreamHttp, ended: Ended, shorten: Shorten
    ) -> AsyncIterator[tuple[Any, Any]]:
        filled = self._references.filled
        if config.kind == "stdio":
            if self._is_stack:
                raise ConfigurationError("a stack starts no programs; give it a 'url'")
            environment = {name: filled(value) for name, value in config.env.items()}
            arguments = [filled(each) for each in config.args]
            async with program(
                filled(config.command), arguments, environment, filled(config.cwd), ended, shorten
            ) as streams:
                yield streams
            return
        url = filled(config.url)
        headers = {name: filled(value) for name, value in config.headers.items()}
        headers.setdefault("accept-encoding", "identity")
        if config.kind == "sse":
            async with self._events(url, headers, http, ended) as streams:
                yield streams
            return
        client = _client(http, headers, config.open_timeout)
        async with (
            client,
            streamable_http_client(
                url, http_client=client, max_sse_event_size=UPSTREAM_ANSWER_BYTES
            ) as streams,
        ):
            yield streams

    @asynccontextmanager
    async def _events(
        self, url: str, headers: dict[str, str], http: UpstreamHttp, ended: Ended
    ) -> AsyncIterator[tuple[Any, Any]]:
        def client(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            return httpx2.AsyncClient(
                transport=http, headers=headers, timeout=timeout, auth=auth, trust_env=False
            )

        async with sse_client(url, headers, 30.0, _SILENT_SECONDS, httpx_client_factory=client) as (
            reading,
            writing,
        ):
            yield _Watched(reading, ended), writing


def _client(http: UpstreamHttp, headers: dict[str, str], seconds: float) -> httpx2.AsyncClient:
    return UpstreamClient(
        transport=http,
        headers=headers,
        timeout=httpx2.Timeout(seconds, read=_SILENT_SECONDS),
        trust_env=False,
    )


class _Watched:
    """A stream of messages that tells when it is over."""

    def __init__(self, stream: Any, ended: Ended) -> None:
        self._stream = stream
        self._ended = ended

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> "_Watched":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *what: Any) -> Any:
        return await self._stream.__aexit__(*what)

    def __aiter__(self) -> "_Watched":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._ended(None)
            raise
