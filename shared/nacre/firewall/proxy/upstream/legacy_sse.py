"""A session with a remote server over the older transport: one stream, one URL for messages."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from nacre.core.errors import InvalidInputError, NacreError
from nacre.core.limits import MAX_WIRE_BYTES, UPSTREAM_CONNECT_SECONDS
from nacre.firewall.enforce.message import Id
from nacre.firewall.proxy.upstream.message_ids import find_response_ids, id_key
from nacre.firewall.proxy.upstream.remote_server import RemoteServer, status_text
from nacre.http_client.address import Address
from nacre.http_client.connection import Response
from nacre.http_client.errors import HttpError
from nacre.http_client.server_sent_events import Event, ResponseEvents
from nacre.protocol.http.http_messages import JSON, STREAM

Deliver: TypeAlias = Callable[[bytes], Awaitable[None]]


class SseSession:
    """One session; `deliver` is called with each message of the server."""

    def __init__(self, server: RemoteServer, deliver: Deliver) -> None:
        self._server = server
        self._deliver = deliver
        self._address: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
        self._pending: dict[str, asyncio.Future[None]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._failure: HttpError | None = None

    async def open(self) -> None:
        """Open the stream; raises HttpError if the server offers none."""
        authority = self._server.address.authority
        response = await self._server.send("GET", {"accept": STREAM})
        if response.status != 200 or response.content_type != STREAM:
            response.close()
            raise HttpError(status_text(authority, response.status))
        response.remove_timeout()
        self._reader = asyncio.get_running_loop().create_task(self._read(response))
        try:
            async with asyncio.timeout(UPSTREAM_CONNECT_SECONDS):
                await asyncio.shield(self._address)
        except TimeoutError as error:
            await self.close()
            raise HttpError(f"{authority} does not send the URL for messages") from error

    async def post(self, raw: bytes, ids: Sequence[Id]) -> None:
        """Send a message, and wait until its responses are delivered; raises HttpError.

        `ids` are those of its requests: one, none, or several of a batch.
        """
        if self._failure is not None:
            raise self._failure
        loop = asyncio.get_running_loop()
        responses: dict[str, asyncio.Future[None]] = {
            id_key(id_): loop.create_future() for id_ in ids
        }
        self._pending.update(responses)
        try:
            receipt = await self._server.send(
                "POST", {"content-type": JSON}, raw, address=self._address.result()
            )
            status = receipt.status
            receipt.close()
            if status >= 300:
                raise HttpError(status_text(self._server.address.authority, status))
            for response in responses.values():
                await response
        finally:
            for key, response in responses.items():
                self._pending.pop(key, None)
                if response.done() and not response.cancelled():
                    response.exception()  # retrieved even if sending failed first

    async def close(self) -> None:
        """End the session."""
        if self._reader is not None:
            self._reader.cancel()
        if self._address.done() and not self._address.cancelled():
            self._address.exception()

    @property
    def has_ended(self) -> bool:
        """True after the stream has ended, which also ends the session."""
        return self._failure is not None

    async def _read(self, response: Response) -> None:
        authority = self._server.address.authority
        failure = HttpError(f"{authority} ended the stream, and the conversation with it")
        try:
            async for event in ResponseEvents(response):
                await self._handle(event)
        except NacreError as error:
            failure = HttpError(str(error))
        finally:
            response.close()
            self._end(failure)

    async def _handle(self, event: Event) -> None:
        if event.too_long:
            raise HttpError(f"the server's message is longer than {MAX_WIRE_BYTES} bytes")
        if event.name == b"endpoint" and not self._address.done():
            self._address.set_result(endpoint_address(self._server, event))
        elif event.is_message and event.data:
            await self._deliver(event.data)
            for id_ in await find_response_ids(event.data):
                response = self._pending.get(id_key(id_))
                if response is not None and not response.done():
                    response.set_result(None)

    def _end(self, failure: HttpError) -> None:
        self._failure = failure
        if not self._address.done():
            self._address.set_exception(failure)
        for response in self._pending.values():
            if not response.done():
                response.set_exception(failure)


def endpoint_address(server: RemoteServer, event: Event) -> Address:
    """Return the URL for messages from an `endpoint` event, the first event of a stream.

    Raises HttpError if it belongs to another server.
    """
    url = (event.data or b"").decode("latin-1").strip()
    try:
        return server.address.resolve(url)
    except InvalidInputError as error:
        raise HttpError(
            f"{server.address.authority} sends a URL for messages on another server"
        ) from error
