"""One open session with another server, through the official client."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.client.session import ClientRequestContext
from pydantic import BaseModel, TypeAdapter, ValidationError

from nacre import __version__
from nacre.adapters.mcp.http_transport import HttpTransport
from nacre.adapters.mcp.large_answers import LargeAnswers
from nacre.adapters.mcp.remote_call import RemoteCall
from nacre.adapters.mcp.transports import Transports
from nacre.adapters.mcp.upstream_errors import LOST, NO_ROOTS, REJECTED, is_answer
from nacre.core.limits import UPSTREAM_PING_SECONDS, UPSTREAM_UNUSED_SECONDS
from nacre.gateway.servers.config import ServerConfig
from nacre.ports.other_programs.upstream import Logged
from nacre.protocol.versions import META_LOG_LEVEL, MODERN

ANY_OBJECT: TypeAdapter[Any] = TypeAdapter(dict[str, Any])
"""The type of results: the client checks them against the protocol and passes them on unchanged."""

# The questions of a cancelled call may still arrive for so long, and must be ignored.
_QUIET_SECONDS = 300.0
_CLOSE_SECONDS = 8.0  # for a program to end by itself, and again after a signal
_CHANGES = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.PromptListChangedNotification,
)


class UpstreamSession:
    """A session, the task that keeps it open, and the calls that run in it."""

    def __init__(
        self,
        config: ServerConfig,
        transports: Transports,
        changed: Callable[[], None],
        *,
        number: int,
    ) -> None:
        self.number = number
        self.calls: set[RemoteCall] = set()
        self.is_over = False
        self.reason: str | None = None  # why it ended, if it is the server's fault
        self._large = LargeAnswers(config.name, transports.reading, self._version)
        self.http: HttpTransport = transports.new_http(config, self._large)
        self._config = config
        self._transports = transports
        self._changed = changed
        self._quiet_until = 0.0
        self._used_at = time.monotonic()
        self._client: Client | None = None
        self._is_open = False
        self._end = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    @property
    def client(self) -> Client:
        """The official client; the session must be open."""
        assert self._client is not None
        return self._client

    @property
    def is_modern(self) -> bool:
        """True if the server speaks the stateless version of the protocol."""
        return self.client.protocol_version == MODERN

    async def open(self) -> None:
        """Open the session; raises any error of the client."""
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep(opened))
        try:
            async with asyncio.timeout(self._config.open_timeout):
                await asyncio.shield(opened)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the session; the calls that run in it are lost."""
        self.is_over = True
        self._end.set()
        keeper = self._keeper
        if keeper is None or keeper.done():
            return
        if self._is_open:
            await asyncio.wait({keeper}, timeout=_CLOSE_SECONDS)
        if not keeper.done():
            keeper.cancel()
            await asyncio.wait({keeper}, timeout=_CLOSE_SECONDS)

    def end_soon(self, reason: str | None = None) -> None:
        """Close the session soon, and let it take no more calls."""
        self.reason = self.reason or reason
        self.is_over = True
        self._end.set()

    def ignore_questions(self) -> None:
        """Ignore questions for a while: a call was cancelled, and the server may not know yet."""
        if not self.is_modern:
            self._quiet_until = time.monotonic() + _QUIET_SECONDS

    async def answers(self) -> bool:
        """Ask the server for a sign of life; return False if none comes, or the session is over.

        An error of the server is one, too. Without a session nothing tells whether there is one.
        """
        if self.is_over:
            return False
        if self.is_modern and self._config.kind == "http":
            return True
        session = self.client.session
        asking = session.send_discover(MODERN) if self.is_modern else session.send_ping()
        try:
            async with asyncio.timeout(min(UPSTREAM_PING_SECONDS, self._config.timeout)):
                await asking
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever else fails, the session is of no use
            return is_answer(error, self.http.refused)
        return not self.is_over

    async def _keep_alive(self) -> None:
        """Ask an unused session for a sign of life now and then, and end it if there is none."""
        while not self.is_over:
            await asyncio.sleep(self._config.keep_alive)
            is_wanted = time.monotonic() - self._used_at < UPSTREAM_UNUSED_SECONDS
            if is_wanted and not self.calls and not await self.answers() and not self.calls:
                self.end_soon()

    async def request(self, call: RemoteCall) -> Mapping[str, Any]:
        """Send a call and return its result; a large one is Spelled."""
        self._used_at = time.monotonic()
        meta = {META_LOG_LEVEL: call.log_level} if call.log_level and self.is_modern else None
        with self._large.sending(call.params) as params:
            result: dict[str, Any] = await self.client.session.send_request(
                _request(call.method, params, meta),
                ANY_OBJECT,
                progress_callback=call.progressed if call.wants_progress else None,
            )
        return self._large.whole(result)

    def _version(self) -> str:
        return (self._client and self._client.protocol_version) or ""

    # The task that keeps it open.

    async def _keep(self, opened: "asyncio.Future[None]") -> None:
        try:
            async with AsyncExitStack() as stack:
                streams = self._transports.opened(
                    self._config, self.http, self.end_soon, self._large
                )
                self._client = await stack.enter_async_context(self._new_client(streams))
                self._is_open = True
                if not opened.done():
                    opened.set_result(None)
                await self._until_end()
        except BaseException as error:  # noqa: BLE001 - raised in `open`
            if not opened.done():
                opened.set_exception(_first_error(error))
                opened.exception()  # retrieved even if the caller has stopped waiting
        finally:
            self.is_over = True
            for call in list(self.calls):
                call.lose(self.reason or LOST)

    async def _until_end(self) -> None:
        is_stateless = self.is_modern and self._config.kind == "http"
        if self._config.kind == "stdio" or is_stateless or not self._config.keep_alive:
            await self._end.wait()
            return
        keeping = asyncio.create_task(self._keep_alive())
        try:
            await self._end.wait()
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)

    def _new_client(self, streams: Any) -> Client:
        offers = self._config.offers
        return Client(
            streams,
            client_info=types.Implementation(name="nacre", version=__version__),
            sampling_callback=self._sample if "sampling" in offers else None,
            elicitation_callback=self._elicit if "elicitation" in offers else None,
            list_roots_callback=self._list_roots if "roots" in offers else None,
            logging_callback=self._log,
            message_handler=self._on_message,
            cache=None,
        )

    # Questions and notifications of the server.

    async def _sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> Any:
        kind = types.CreateMessageResultWithTools if params.tools else types.CreateMessageResult
        return await self._ask("sampling/createMessage", params, kind) or REJECTED

    async def _elicit(self, context: ClientRequestContext, params: Any) -> Any:
        answer = await self._ask("elicitation/create", params, types.ElicitResult)
        return answer or types.ElicitResult(action="decline")

    async def _list_roots(self, context: ClientRequestContext) -> Any:
        return await self._ask("roots/list", None, types.ListRootsResult) or NO_ROOTS

    async def _ask(self, method: str, params: BaseModel | None, kind: type[BaseModel]) -> Any:
        call = self._only_call()
        if call is None:
            return None
        answer = await call.ask(method, {} if params is None else _without_meta(params))
        try:
            return None if answer is None else kind.model_validate(dict(answer), by_name=False)
        except ValidationError:
            return None

    async def _log(self, params: types.LoggingMessageNotificationParams) -> None:
        call = self._only_call()
        if call is not None:
            call.deliver(Logged(params.level, params.data, params.logger))

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, _CHANGES):
            self._changed()
        elif isinstance(message, Exception):
            self.end_soon()  # the stream is broken, and no more answers will arrive

    def _only_call(self) -> RemoteCall | None:
        """Return the only running call, to which a question must belong; None if there are several.

        A question that belongs to one client must never reach another.
        """
        if len(self.calls) != 1 or time.monotonic() < self._quiet_until:
            return None
        return next(iter(self.calls))


def _request(method: str, params: Mapping[str, Any], meta: Mapping[str, Any] | None) -> Any:
    members = dict(params)
    if meta is not None:
        members["_meta"] = {**params.get("_meta", {}), **meta}
    match method:
        case "tools/call":
            return types.CallToolRequest.model_validate({"params": members}, by_name=False)
        case "resources/read":
            return types.ReadResourceRequest.model_validate({"params": members}, by_name=False)
        case "prompts/get":
            return types.GetPromptRequest.model_validate({"params": members}, by_name=False)
        case _:
            return types.CompleteRequest.model_validate({"params": members}, by_name=False)


def _without_meta(params: BaseModel) -> dict[str, Any]:
    members: dict[str, Any] = params.model_dump(by_alias=True, mode="json", exclude_unset=True)
    members.pop("_meta", None)
    return members


def _first_error(error: BaseException) -> BaseException:
    """Return the first error of a group; a lost connection for a cancellation."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return ConnectionError() if isinstance(error, asyncio.CancelledError) else error
