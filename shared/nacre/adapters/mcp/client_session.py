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
from nacre.adapters.mcp.faults import LOST, NO_ROOTS, REJECTED
from nacre.adapters.mcp.http_client import UpstreamHttp
from nacre.adapters.mcp.large_answers import LargeAnswers
from nacre.adapters.mcp.remote_call import LiveCall
from nacre.adapters.mcp.transports import Transports
from nacre.gateway.servers.config import ServerConfig
from nacre.ports.upstream import Logged
from nacre.protocol.versions import META_LOG_LEVEL, is_modern

AS_IT_IS: TypeAdapter[Any] = TypeAdapter(dict[str, Any])
"""Results are checked by the client against the protocol, and passed on as they came."""

# After a call was given up, its questions may still come: they belong to nobody then.
_QUIET_SECONDS = 300.0
_CLOSE_SECONDS = 8.0  # a program gets some seconds to end by itself, and some after a signal
_CHANGES = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.PromptListChangedNotification,
)


class Session:
    """A session, the task that keeps it, and the calls that run on it."""

    def __init__(
        self,
        config: ServerConfig,
        transports: Transports,
        changed: Callable[[], None],
        *,
        number: int,
    ) -> None:
        self.number = number
        self.calls: set[LiveCall] = set()
        self.is_over = False
        self.reason: str | None = None  # why it ended, where the server is to blame
        self._large = LargeAnswers(config.name, transports.reading, self._version)
        self.http: UpstreamHttp = transports.new_http(self._large.shortened)
        self._config = config
        self._transports = transports
        self._changed = changed
        self._quiet_until = 0.0
        self._client: Client | None = None
        self._end = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None

    @property
    def client(self) -> Client:
        """The official client, once it is open."""
        assert self._client is not None
        return self._client

    @property
    def is_modern(self) -> bool:
        """Whether the server is of the stateless generation."""
        return is_modern(self.client.protocol_version or "")

    async def open(self) -> None:
        """Open the session; whatever the client raises is passed on."""
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep(opened))
        try:
            async with asyncio.timeout(self._config.open_timeout):
                await asyncio.shield(opened)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the session; calls that run on it are lost."""
        self.is_over = True
        self._end.set()
        keeper = self._keeper
        if keeper is None or keeper.done():
            return
        _, late = await asyncio.wait({keeper}, timeout=_CLOSE_SECONDS)
        if late:
            keeper.cancel()
            await asyncio.wait({keeper}, timeout=_CLOSE_SECONDS)

    def end_soon(self, reason: str | None = None) -> None:
        """Use it for no further call, and close it."""
        self.reason = self.reason or reason
        self.is_over = True
        self._end.set()

    def gave_up(self) -> None:
        """Note that a call was given up, whose server may not know it yet."""
        if not self.is_modern:
            self._quiet_until = time.monotonic() + _QUIET_SECONDS

    async def request(self, call: LiveCall) -> Mapping[str, Any]:
        """Send a call and return its result; a large one is Spelled."""
        meta = {META_LOG_LEVEL: call.log_level} if call.log_level and self.is_modern else None
        request = _request(call.method, call.params, meta)
        found: dict[str, Any] = await self.client.session.send_request(
            request, AS_IT_IS, progress_callback=call.progressed if call.wants_progress else None
        )
        return self._large.whole(found)

    def _version(self) -> str:
        return (self._client and self._client.protocol_version) or ""

    # The task that keeps it.

    async def _keep(self, opened: "asyncio.Future[None]") -> None:
        try:
            async with AsyncExitStack() as stack:
                streams = self._transports.opened(
                    self._config, self.http, self.end_soon, self._large
                )
                self._client = await stack.enter_async_context(self._new_client(streams))
                if not opened.done():
                    opened.set_result(None)
                await self._end.wait()
        except BaseException as error:  # noqa: BLE001 - whoever opens the session gets it
            if not opened.done():
                opened.set_exception(_outer(error))
                opened.exception()  # seen, also where nobody waits any more
        finally:
            self.is_over = True
            for call in list(self.calls):
                call.lose(self.reason or LOST)

    def _new_client(self, streams: Any) -> Client:
        offers = self._config.offers
        return Client(
            streams,
            client_info=types.Implementation(name="nacre", version=__version__),
            sampling_callback=self._sample if "sampling" in offers else None,
            elicitation_callback=self._elicit if "elicitation" in offers else None,
            list_roots_callback=self._list_roots if "roots" in offers else None,
            logging_callback=self._log,
            message_handler=self._heard,
            cache=None,
        )

    # What the server asks and says by itself.

    async def _sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> Any:
        kind = types.CreateMessageResultWithTools if params.tools else types.CreateMessageResult
        return await self._asked("sampling/createMessage", params, kind) or REJECTED

    async def _elicit(self, context: ClientRequestContext, params: Any) -> Any:
        given = await self._asked("elicitation/create", params, types.ElicitResult)
        return given or types.ElicitResult(action="decline")

    async def _list_roots(self, context: ClientRequestContext) -> Any:
        return await self._asked("roots/list", None, types.ListRootsResult) or NO_ROOTS

    async def _asked(self, method: str, params: BaseModel | None, kind: type[BaseModel]) -> Any:
        call = self._only_call()
        if call is None:
            return None
        shown = {} if params is None else _shown(params)
        given = await call.ask(method, shown)
        try:
            return None if given is None else kind.model_validate(dict(given), by_name=False)
        except ValidationError:
            return None

    async def _log(self, params: types.LoggingMessageNotificationParams) -> None:
        call = self._only_call()
        if call is not None:
            call.deliver(Logged(params.level, params.data, params.logger))

    async def _heard(self, message: Any) -> None:
        if isinstance(message, _CHANGES):
            self._changed()
        elif isinstance(message, Exception):
            self.end_soon()  # the stream is broken, and with it every answer to come

    def _only_call(self) -> LiveCall | None:
        """Return the call that the server speaks of, where there can be no other.

        One client's question must never reach another's.
        """
        if len(self.calls) != 1 or time.monotonic() < self._quiet_until:
            return None
        return next(iter(self.calls))


def _request(method: str, params: Mapping[str, Any], meta: Mapping[str, Any] | None) -> Any:
    given = dict(params) if meta is None else {**params, "_meta": dict(meta)}
    match method:
        case "tools/call":
            return types.CallToolRequest.model_validate({"params": given}, by_name=False)
        case "resources/read":
            return types.ReadResourceRequest.model_validate({"params": given}, by_name=False)
        case "prompts/get":
            return types.GetPromptRequest.model_validate({"params": given}, by_name=False)
        case _:
            return types.CompleteRequest.model_validate({"params": given}, by_name=False)


def _shown(params: BaseModel) -> dict[str, Any]:
    shown: dict[str, Any] = params.model_dump(by_alias=True, mode="json", exclude_unset=True)
    shown.pop("_meta", None)
    return shown


def _outer(error: BaseException) -> BaseException:
    """Return the error that is not about tasks: the first of a group's."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return ConnectionError() if isinstance(error, asyncio.CancelledError) else error
