"""What comes from a server on its way to a client of the reverse proxy, message by message."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nacre.core.errors import InvalidInputError, NacreError
from nacre.core.limits import MAX_WIRE_BYTES, PROXY_REPLIES
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold, Release
from nacre.firewall.proxy.http.conversations import OWN, Talk, Talks, new_session
from nacre.firewall.proxy.http.forwarded_headers import SESSION
from nacre.firewall.proxy.http.http_server import Reply
from nacre.firewall.proxy.http.screening import decided
from nacre.firewall.proxy.upstream.connection import UpstreamAnswer, UpstreamError
from nacre.firewall.proxy.upstream.event_stream import Event, EventReader
from nacre.firewall.proxy.upstream.message_ids import UNAVAILABLE, id_of, name_of, waiting_ids
from nacre.firewall.proxy.upstream.upstream_client import Upstream
from nacre.protocol.http.http_messages import JSON

NAMED = "nacre"  # the parameter that names a conversation of the older transport
_REFUSED = "the server's answer was refused: it answers nothing that was asked"
_TOO_LONG = f"the server's answer is longer than {MAX_WIRE_BYTES} bytes"


@dataclass(slots=True)
class Exchange:
    """One request of a client. `raw` is what went on; `resumable` that its stream can go on."""

    talk: Talk
    caller: str
    path: str
    reply: Reply
    headers: dict[str, str]
    raw: bytes = b""
    resumable: bool = False


class Relay:
    """Lets a server's messages through to clients as far as their guards allow."""

    def __init__(self, upstream: Upstream, talks: Talks, say: Callable[[str], None]) -> None:
        self._upstream = upstream
        self._talks = talks
        self._say = say
        self._tasks: set[asyncio.Task[None]] = set()

    async def body(self, exchange: Exchange, status: int, body: bytes) -> None:
        """Answer with one message, which the server gave as a whole body."""
        if not body.strip():
            await self.nothing(exchange, status)
            return
        verdict = await decided(exchange.talk.guard, body)
        match verdict:
            case Forward(raw, back):
                self._back(exchange.talk, back)
                await self.answer(exchange, status, raw)
            case Answer(raw):
                self._back(exchange.talk, raw)
                await self.fail(exchange, _REFUSED)
            case Drop() | Hold():
                if status < 300 and not waiting_ids(exchange.raw):
                    await self.nothing(exchange, 202)  # nobody waits for what was said
                else:
                    await self.fail(exchange, _REFUSED)

    async def answer(self, exchange: Exchange, status: int, raw: bytes) -> None:
        """Send the client one message: whole, or on the stream that waits for it."""
        reply, stream = exchange.reply, exchange.talk.stream
        said = Event(b"message").encode(raw.replace(b"\r", b" "))
        if reply.is_open:
            await reply.send(said)
            await reply.end()
        elif exchange.talk.address is not None and stream is not None and stream.is_open:
            await stream.send(said)
            await reply.whole(202, exchange.headers)
        else:
            await reply.whole(status, {**exchange.headers, "content-type": JSON}, raw)

    async def nothing(self, exchange: Exchange, status: int) -> None:
        """Answer without a message."""
        if exchange.reply.is_open:
            await exchange.reply.end()
        else:
            await exchange.reply.whole(status, exchange.headers)

    async def fail(self, exchange: Exchange, text: str, *, status: int = 503) -> None:
        """Tell the client that no answer comes, if it still waits for one."""
        raw = self.lost(exchange, text)
        if raw is not None:
            await self.answer(exchange, status, raw)
        elif exchange.reply.is_open:
            await exchange.reply.end()
        else:
            said = {**exchange.headers, "content-type": "text/plain; charset=utf-8"}
            await exchange.reply.whole(status, said, text.encode())

    def lost(self, exchange: Exchange, text: str) -> bytes | None:
        """Let the guard wait no longer, and return what the client gets in an answer's place."""
        guard = exchange.talk.guard
        ids = waiting_ids(exchange.raw)
        told = [guard.lost(each, text, code=UNAVAILABLE) for each in ids]
        errors = [each for each in told if each is not None]
        if len(ids) < 2:
            return errors[0] if errors else None
        return b"[%b]" % b",".join(errors) if errors else None

    async def stream(self, exchange: Exchange, answer: UpstreamAnswer) -> None:
        """Send on what comes, event by event; the reply has begun."""
        reader = EventReader(MAX_WIRE_BYTES)
        try:
            while piece := await answer.piece():
                for event in reader.feed(piece):
                    await self._event(exchange, event)
                    while len(self._tasks) >= PROXY_REPLIES:
                        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        except UpstreamError as error:
            self._say(str(error))
            if not exchange.resumable:
                await self.fail(exchange, str(error))
                return
            exchange.reply.break_off()
            return
        if exchange.resumable:
            await exchange.reply.end()
        else:
            await self.fail(exchange, "the server ended the stream without an answer")

    async def release(self, talk: Talk, release: Release) -> None:
        """Let go of what was held."""
        if talk.settle(release.to, release.raw):
            return
        if release.to == "client":
            await talk.tell(release.raw)
        else:
            self._back(talk, release.raw)

    def close(self) -> None:
        """Give up what is on its way."""
        for task in list(self._tasks):
            task.cancel()

    # Events.

    async def _event(self, exchange: Exchange, event: Event) -> None:
        if event.too_long:
            self._too_long(exchange)
        elif event.name == b"endpoint" and not exchange.raw:
            await self._endpoint(exchange, event)
        elif not event.is_message:
            return  # no client acts on it, and nobody has decided about it
        else:
            exchange.resumable |= bool(event.id)
            if event.data:
                await self._message(exchange, event, event.data)
            else:
                await exchange.reply.send(event.encode())

    async def _message(self, exchange: Exchange, event: Event, data: bytes) -> None:
        reply, talk = exchange.reply, exchange.talk
        verdict = await decided(talk.guard, data)
        match verdict:
            case Forward(raw, back):
                self._back(talk, back)
                await reply.send(event.encode(raw))
            case Answer(raw):
                self._back(talk, raw)
            case Hold(ask):
                id_ = id_of(data)
                if id_ is not None:
                    talk.asked_on[name_of(id_)] = reply
                self._talks.watch(talk)
                if ask is not None:
                    await reply.send(event.encode(ask))
            case Drop():
                pass

    def _too_long(self, exchange: Exchange) -> None:
        if exchange.raw:
            exchange.resumable = False
            raise UpstreamError(_TOO_LONG)
        self._say(_TOO_LONG)

    async def _endpoint(self, exchange: Exchange, event: Event) -> None:
        """Take the older transport's address for messages, and give one of our own."""
        talk = exchange.talk
        said = (event.data or b"").decode("latin-1")
        try:
            talk.address = self._upstream.address.resolve(said.strip())
        except InvalidInputError as error:
            raise UpstreamError(
                f"{self._upstream.address.authority} names another server for its messages"
            ) from error
        if talk.session is None:
            self._talks.keep(exchange.caller, new_session(), talk)
        own = f"{exchange.path}?{NAMED}={talk.session}"
        await exchange.reply.send(Event(b"endpoint").encode(own.encode()))

    # To the server.

    def ask(self, talk: Talk, raw: bytes) -> None:
        """Send a request of our own, whose answer no client gets."""
        self._back(talk, raw)

    def _back(self, talk: Talk, raw: bytes | None) -> None:
        if raw is None:
            return
        task = asyncio.get_running_loop().create_task(self._tell_server(talk, raw))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell_server(self, talk: Talk, raw: bytes) -> None:
        headers: Mapping[str, str] = {**talk.headers, **talk.guard.mirrors(raw)}
        if talk.session is not None and talk.address is None and not talk.session.startswith(OWN):
            headers = {**headers, SESSION: talk.session}
        try:
            answer = await self._upstream.send("POST", headers, raw, address=talk.address)
            try:
                # What we asked for ourselves; on the older transport it comes on the stream.
                if waiting_ids(raw) and talk.address is None:
                    if answer.status != 200:
                        raise UpstreamError(f"a list was refused with HTTP {answer.status}")
                    await self._heard(talk, answer)
            finally:
                answer.close()
        except NacreError as error:
            self._say(str(error))
            for id_ in waiting_ids(raw):
                talk.guard.lost(id_, str(error), code=UNAVAILABLE)

    async def _heard(self, talk: Talk, answer: UpstreamAnswer) -> None:
        """Take the answer to a request of our own."""
        if answer.kind == JSON:
            self._taken(talk, await answer.whole())
            return
        reader = EventReader(MAX_WIRE_BYTES)
        while piece := await answer.piece():
            for event in reader.feed(piece):
                if event.is_message and event.data:
                    self._taken(talk, event.data)

    def _taken(self, talk: Talk, data: bytes) -> None:
        verdict = talk.guard.from_server(data)
        if isinstance(verdict, Answer):
            self._back(talk, verdict.raw)
