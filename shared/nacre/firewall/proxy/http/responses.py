"""What a reverse proxy makes of a server's HTTP answer: a message, a stream, or an explanation."""

from collections.abc import Callable

from nacre.core.limits import MAX_ERROR_BODY_BYTES
from nacre.firewall.proxy.http.conversations import Talks, new_session
from nacre.firewall.proxy.http.forwarded_headers import SESSION, STREAMED, downwards
from nacre.firewall.proxy.http.response_relay import Exchange, Relay
from nacre.firewall.proxy.upstream.connection import UpstreamAnswer, UpstreamError
from nacre.firewall.proxy.upstream.http_errors import status_text
from nacre.firewall.proxy.upstream.message_ids import (
    addressed,
    id_of,
    is_response,
    opens,
    waiting_ids,
)
from nacre.firewall.proxy.upstream.upstream_client import Upstream
from nacre.protocol.http.http_messages import JSON, STREAM


class Answers:
    """Lets a server's answers through as far as they are messages."""

    def __init__(
        self,
        upstream: Upstream,
        talks: Talks,
        relay: Relay,
        say: Callable[[str], None],
        *,
        with_credentials: bool,
    ) -> None:
        self._upstream = upstream
        self._talks = talks
        self._relay = relay
        self._say = say
        self._with_credentials = with_credentials

    async def pass_on(self, exchange: Exchange, answer: UpstreamAnswer) -> None:
        """Answer a client's message with what the server answers."""
        self._name_session(exchange, answer)
        if answer.status != 200 or answer.kind not in (JSON, STREAM):
            await self.explain(exchange, answer)
            return
        exchange.headers.update(downwards(answer.headers, with_credentials=self._with_credentials))
        if answer.kind == JSON:
            await self._relay.body(exchange, 200, await answer.whole())
            return
        if not exchange.reply.is_open:
            await exchange.reply.begin(200, {**exchange.headers, **STREAMED})
        await self._relay.stream(exchange, answer)

    def _name_session(self, exchange: Exchange, answer: UpstreamAnswer) -> None:
        """Know the conversation by the server's session, or by one of ours if it has none."""
        talk, session = exchange.talk, answer.headers.get(SESSION)
        if talk.address is not None:
            return
        if session is None and talk.session is None and answer.status == 200:
            session = new_session() if opens(exchange.raw) else None
        if session is None:
            return
        if session != talk.session:
            self._talks.keep(exchange.caller, session, talk)
        exchange.headers[SESSION] = session

    async def explain(self, exchange: Exchange, answer: UpstreamAnswer) -> None:
        """Answer with what is neither a message nor a stream of them."""
        status, authority = answer.status, self._upstream.address.authority
        said = downwards(answer.headers, with_credentials=self._with_credentials)
        exchange.headers.update(said)
        if status in (401, 403) and not self._with_credentials:
            raise UpstreamError(status_text(authority, status))
        is_note = bool(exchange.raw) and not waiting_ids(exchange.raw)
        if status in (202, 204) or (status == 200 and is_note):
            if exchange.talk.address is None:  # else the answer comes on the stream
                self._relay.lost(exchange, "the server has only taken note of it")
            await self._relay.nothing(exchange, 202 if status == 200 else status)
        elif status >= 400 and answer.kind == JSON and exchange.raw:
            body = addressed(await answer.whole(MAX_ERROR_BODY_BYTES), id_of(exchange.raw))
            if is_response(body):
                await self._relay.body(exchange, status, body)
            else:
                await self._status(exchange, answer)
        elif status == 200 and answer.kind:
            raise UpstreamError(
                f"{authority} answers with {answer.kind[:60]}, which is not MCP; look at --url"
            )
        else:
            await self._status(exchange, answer)

    async def _status(self, exchange: Exchange, answer: UpstreamAnswer) -> None:
        """Answer with a server's HTTP error, in our own words: its own nobody has judged."""
        status = answer.status
        text = status_text(self._upstream.address.authority, status)
        self._say(text)
        self._relay.lost(exchange, text)
        if exchange.reply.is_open:
            exchange.reply.break_off()
            return
        plain = {**exchange.headers, "content-type": "text/plain; charset=utf-8"}
        await exchange.reply.whole(status if status >= 400 else 502, plain, text.encode())
