"""The connections to servers: to a program, over streamable HTTP, or over the older SSE."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Self

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from nacre.adapters.mcp.http_transport import HttpTransport, PlainClient
from nacre.adapters.mcp.large_answers import LargeAnswers, Reading, WrappedStream
from nacre.adapters.mcp.stdio_transport import Confine, program
from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import UPSTREAM_ANSWER_BYTES
from nacre.gateway.servers.config import ServerConfig
from nacre.gateway.servers.references import References, client_certificate
from nacre.http_client.bearer import Bearer
from nacre.http_client.outgoing import DIRECT, Outgoing
from nacre.http_client.public_addresses import Network, Resolve, checked_addresses, resolved

_SILENT_SECONDS = 3600.0  # for a silent stream; each call has a shorter limit
Ended = Callable[[str | None], None]


class Transports:
    """Opens connections. A stack starts no programs, and connects to public addresses only."""

    def __init__(
        self,
        references: References,
        *,
        is_stack: bool,
        allowed: tuple[Network, ...] = (),
        reading: Callable[[], Reading] | None = None,
        bearer: Bearer | None = None,
        confine: Callable[[ServerConfig], Confine] | None = None,
        outgoing: Outgoing = DIRECT,
    ) -> None:
        self.reading = reading
        self._outgoing = outgoing
        self._bearer = bearer
        self._confine = confine
        self._references = references
        self._is_stack = is_stack
        self._resolve: Resolve = resolved
        if is_stack:
            self._resolve = lambda host, port: checked_addresses(host, port, allowed=allowed)

    def new_http(self, config: ServerConfig, large: LargeAnswers) -> HttpTransport:
        """Return the HTTP transport of one session."""
        return HttpTransport(
            self._resolve,
            connect_seconds=config.open_timeout,
            outgoing=replace(self._outgoing, client=client_certificate(config, self._references)),
            shorten=None if self.reading is None else large.shortened,
            fill=large.filled,
            bearer=self._bearer,
            url="" if self._bearer is None else self._references.filled(config.url),
        )

    @asynccontextmanager
    async def opened(
        self, config: ServerConfig, http: HttpTransport, ended: Ended, large: LargeAnswers
    ) -> AsyncIterator[tuple[Any, Any]]:
        """Yield the streams of a new connection; `ended` is called at its end."""
        async with self._opened(config, http, ended, large) as (reading, writing):
            yield reading, large.watching(writing)

    @asynccontextmanager
    async def _opened(
        self, config: ServerConfig, http: HttpTransport, ended: Ended, large: LargeAnswers
    ) -> AsyncIterator[tuple[Any, Any]]:
        filled = self._references.filled
        if config.kind == "stdio":
            if self._is_stack:
                raise ConfigurationError("a stack starts no programs; give it a 'url'")
            environment = {name: filled(value) for name, value in config.env.items()}
            arguments = [filled(argument) for argument in config.args]
            confine = None
            if config.confine is not None:
                assert self._confine is not None
                confine = self._confine(config)
            async with program(
                *(filled(config.command), arguments, environment, filled(config.cwd)),
                *(ended, large, confine),
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
        client = PlainClient(
            transport=http,
            headers=headers,
            timeout=httpx2.Timeout(config.open_timeout, read=_SILENT_SECONDS),
            trust_env=False,
        )
        async with (
            client,
            streamable_http_client(
                url, http_client=client, max_sse_event_size=UPSTREAM_ANSWER_BYTES
            ) as streams,
        ):
            yield streams

    @asynccontextmanager
    async def _events(
        self, url: str, headers: dict[str, str], http: HttpTransport, ended: Ended
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
            yield _EndingStream(reading, ended), writing


class _EndingStream(WrappedStream):
    """A stream of messages that calls `ended` at its end."""

    def __init__(self, stream: Any, ended: Ended) -> None:
        super().__init__(stream)
        self._ended = ended

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._ended(None)
            raise
