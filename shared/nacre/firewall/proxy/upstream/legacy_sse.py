"""A conversation with a remote server over the older transport: one stream, one address."""

import asyncio
from collections.abc import Sequence

from nacre.core.errors import InvalidInputError, NacreError
from nacre.core.limits import MAX_WIRE_BYTES, UPSTREAM_CONNECT_SECONDS
from nacre.firewall.enforce.message import Id
from nacre.firewall.proxy.upstream.address import Address
from nacre.firewall.proxy.upstream.connection import UpstreamAnswer, UpstreamError
from nacre.firewall.proxy.upstream.event_stream import Event, EventReader
from nacre.firewall.proxy.upstream.http_errors import status_text
from nacre.firewall.proxy.upstream.message_ids import answered_by, name_of
from nacre.firewall.proxy.upstream.streamable_http import Deliver
from nacre.firewall.proxy.upstream.upstream_client import Upstream
from nacre.protocol.http.http_messages import JSON, STREAM


class SseRemote:
    """One conversation. `deliver` gets what the server says, message by message."""

    def __init__(self, upstream: Upstream, deliver: Deliver) -> None:
        self._upstream = upstream
        self._deliver = deliver
        self._address: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._reader: asyncio.Task[None] | None = None
        self._lost: UpstreamError | None = None

    async def open(self) -> None:
        """Open the stream; raises UpstreamError where the server has none."""
        authority = self._upstream.address.authority
        answer = await self._upstream.send("GET", {"accept": STREAM})
        if answer.status != 200 or answer.kind != STREAM:
            answer.close()
            raise UpstreamError(status_text(authority, answer.status))
        answer.wait_for_ever()
        self._reader = asyncio.get_running_loop().create_task(self._read(answer))
        try:
            async with asyncio.timeout(UPSTREAM_CONNECT_SECONDS):
                await asyncio.shield(self._address)
        except TimeoutError as error:
            await self.close()
            raise UpstreamError(f"{authority} does not say where it takes messages") from error

    async def post(self, raw: bytes, ids: Sequence[Id]) -> None:
        """Send a message, and wait until its answers are delivered; raises UpstreamError.

        `ids` are those of its requests: one, none, or several of a batch.
        """
        if self._lost is not None:
            raise self._lost
        loop = asyncio.get_running_loop()
        answered: dict[str, asyncio.Future[None]] = {
            name_of(each): loop.create_future() for each in ids
        }
        self._waiting.update(answered)
        try:
            answer = await self._upstream.send(
                "POST", {"content-type": JSON}, raw, address=self._address.result()
            )
            status = answer.status
            answer.close()
            if status >= 300:
                raise UpstreamError(status_text(self._upstream.address.authority, status))
            for each in answered.values():
                await each
        finally:
            for name, each in answered.items():
                self._waiting.pop(name, None)
                if each.done() and not each.cancelled():
                    each.exception()  # seen, also where the sending failed first

    async def close(self) -> None:
        """End the conversation."""
        if self._reader is not None:
            self._reader.cancel()
        if self._address.done() and not self._address.cancelled():
            self._address.exception()

    @property
    def has_ended(self) -> bool:
        """Whether the stream is gone, and the conversation with it."""
        return self._lost is not None

    async def _read(self, answer: UpstreamAnswer) -> None:
        reader = EventReader(MAX_WIRE_BYTES)
        authority = self._upstream.address.authority
        ended = UpstreamError(f"{authority} ended the stream, and the conversation with it")
        try:
            while piece := await answer.piece():
                for event in reader.feed(piece):
                    await self._take(event)
        except NacreError as error:
            ended = UpstreamError(str(error))
        finally:
            answer.close()
            self._end(ended)

    async def _take(self, event: Event) -> None:
        if event.too_long:
            raise UpstreamError(f"the server's message is longer than {MAX_WIRE_BYTES} bytes")
        if event.name == b"endpoint" and not self._address.done():
            said = (event.data or b"").decode("latin-1").strip()
            try:
                self._address.set_result(self._upstream.address.resolve(said))
            except InvalidInputError as error:
                raise UpstreamError(
                    f"{self._upstream.address.authority} names another server for its messages"
                ) from error
        elif event.is_message and event.data:
            await self._deliver(event.data)
            for id_ in await answered_by(event.data):
                waiting = self._waiting.get(name_of(id_))
                if waiting is not None and not waiting.done():
                    waiting.set_result(None)

    def _end(self, error: UpstreamError) -> None:
        self._lost = error
        if not self._address.done():
            self._address.set_exception(error)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error)
