"""Other servers through the official client: opened when needed, kept, opened again."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types

from nacre.adapters.mcp.client_session import AS_IT_IS, Session
from nacre.adapters.mcp.event_loop import UpstreamLoop
from nacre.adapters.mcp.faults import (
    call_fault,
    is_session_gone,
    needs_listing,
    opening_fault,
)
from nacre.adapters.mcp.remote_call import LiveCall
from nacre.adapters.mcp.transports import Transports
from nacre.core.errors import NacreError, UncomparedError, UpstreamError
from nacre.core.limits import (
    OFFERED_BYTES,
    OFFERED_PAGES,
    UPSTREAM_CLOSE_SECONDS,
    UPSTREAM_WAITING_CALLS,
)
from nacre.gateway.servers.config import ServerConfig
from nacre.ports.upstream import Done, Offered
from nacre.protocol import strict_json
from nacre.protocol.http.headers import annotated

_LISTS: Mapping[str, tuple[Any, str, str]] = {
    "tools": (types.ListToolsRequest, "tools", "tools"),
    "resources": (types.ListResourcesRequest, "resources", "resources"),
    "templates": (types.ListResourceTemplatesRequest, "resources", "resourceTemplates"),
    "prompts": (types.ListPromptsRequest, "prompts", "prompts"),
}


class McpUpstream:
    """One server."""

    def __init__(
        self,
        config: ServerConfig,
        loop: UpstreamLoop,
        transports: Transports,
        *,
        seconds: float,
        changed: Callable[[], None],
    ) -> None:
        self._config = config
        self._loop = loop
        self._transports = transports
        self._seconds = seconds
        self._tell_changed = changed
        self._changes = 0  # how often the server said that it offers something else
        # What only the loop touches.
        self._session: Session | None = None
        self._sessions = 0  # how many were opened
        self._opening: asyncio.Lock | None = None
        self._slots: asyncio.Semaphore | None = None
        self._waiting = 0

    # Whoever uses the server.

    def offered(self) -> Offered:
        """Return what the server lists now; blocks."""
        asked = self._loop.run(self._listed())
        try:
            return asked.result(self._config.open_timeout + self._seconds)
        except TimeoutError as error:
            asked.cancel()
            raise UpstreamError(self._config.name, "did not answer in time") from error

    @property
    def session(self) -> int:
        """The number of the session that is open; 0 without one."""
        session = self._session
        return 0 if session is None or session.is_over else session.number

    def start(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        session: int,
        wants_progress: bool = False,
        log_level: str | None = None,
    ) -> LiveCall:
        """Start a request; it ends with UncomparedError when its session is not open any more."""
        call = LiveCall(
            self._loop,
            self._config.name,
            self._seconds,
            method,
            params,
            wants_progress=wants_progress,
            log_level=log_level,
            changes=self._changes,
            session=session,
        )
        self._loop.soon(self._begin, call)
        return call

    def close(self) -> None:
        """End the session."""
        with contextlib.suppress(Exception):
            self._loop.run(self._closed()).result(UPSTREAM_CLOSE_SECONDS)

    # The loop.

    def _begin(self, call: LiveCall) -> None:
        call.task = asyncio.create_task(self._run(call))

    async def _run(self, call: LiveCall) -> None:
        try:
            call.start_clock()
            call.deliver(Done(await self._in_turn(call)))
        except asyncio.CancelledError:
            call.deliver(call.ending())
        except NacreError as error:
            call.deliver(error)
        except Exception as error:  # noqa: BLE001 - whoever waits for the call must hear of it
            call.deliver(call_fault(self._config.name, error, self._refused()))
        finally:
            call.over()

    async def _in_turn(self, call: LiveCall) -> Mapping[str, Any]:
        self._slots = self._slots or asyncio.Semaphore(self._config.concurrency)
        if self._waiting >= UPSTREAM_WAITING_CALLS:
            raise UpstreamError(
                self._config.name, "has too many calls waiting; try again", is_fault=False
            )
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            self._refuse_outdated(call)
            return await self._requested(call)
        finally:
            self._slots.release()

    def _refuse_outdated(self, call: LiveCall) -> None:
        """Refuse a call that was decided before the server said that it offers something else."""
        if call.changes != self._changes:
            raise UpstreamError(
                self._config.name,
                "changed what it offers while the call waited; make the call again",
                is_fault=False,
            )

    def _changed(self) -> None:
        self._changes += 1
        self._tell_changed()

    async def _requested(self, call: LiveCall) -> Mapping[str, Any]:
        for attempt in (1, 2):
            session = self._session
            if session is None or session.is_over or session.number != call.session:
                raise UncomparedError(self._config.name)
            session.calls.add(call)
            try:
                return await session.request(call)
            except asyncio.CancelledError:
                if call.was_cancelled:
                    session.gave_up()
                raise
            except Exception as error:
                if attempt == 1 and needs_listing(error):
                    await _relist(session)
                elif is_session_gone(error):
                    session.calls.discard(call)  # it goes on in the next session
                    await self._dropped(session)
                    raise UncomparedError(self._config.name) from error
                else:
                    if session.is_over:
                        self._forget(session)
                    if session.reason is not None:
                        raise UpstreamError(self._config.name, session.reason) from error
                    raise call_fault(self._config.name, error, session.http.refused) from error
            finally:
                session.calls.discard(call)
        raise AssertionError

    async def _listed(self) -> Offered:
        for attempt in (1, 2):
            session = await self._opened()
            try:
                return await self._all_lists(session)
            except NacreError:
                raise
            except Exception as error:
                if session.is_over or is_session_gone(error):
                    await self._dropped(session)
                    if attempt == 1:
                        continue
                raise call_fault(self._config.name, error, session.http.refused) from error
        raise AssertionError

    async def _all_lists(self, session: Session) -> Offered:
        offers = session.client.server_capabilities
        room = OFFERED_BYTES
        lists: dict[str, tuple[Any, ...]] = {}
        for name, (request, capability, key) in _LISTS.items():
            if getattr(offers, capability, None) is None:
                continue
            found, size = await self._pages(session, request, key, room)
            room -= size
            lists[name] = tuple(found)
        if session.is_modern and any(_mirrors(tool) for tool in lists.get("tools", ())):
            await _relist(session)
        version = session.client.protocol_version or ""
        return Offered(**lists, version=version, session=session.number)

    async def _pages(
        self, session: Session, request: Any, key: str, room: int
    ) -> tuple[list[Any], int]:
        """Return what a list holds, and its size; each page is weighed before the next."""
        found: list[Any] = []
        size = 0
        cursor: str | None = None
        for _ in range(OFFERED_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            async with asyncio.timeout(self._seconds):
                page = await session.client.session.send_request(request(params=params), AS_IT_IS)
            listed = page.get(key)
            if isinstance(listed, list):
                size += len(strict_json.encode(listed))
                if size > room:
                    raise UpstreamError(self._config.name, "offers more than can be listed")
                found += listed
            following = page.get("nextCursor")
            if not isinstance(following, str) or following == cursor:
                break
            cursor = following
        return found, size

    async def _opened(self) -> Session:
        session = self._session
        if session is not None and not session.is_over:
            return session
        self._opening = self._opening or asyncio.Lock()
        async with self._opening:
            session = self._session
            if session is not None and not session.is_over:
                return session
            if session is not None:
                await session.close()
            self._sessions += 1
            session = Session(self._config, self._transports, self._changed, number=self._sessions)
            try:
                await session.open()
            except asyncio.CancelledError:
                raise
            except Exception as error:
                refused = session.http.refused
                raise opening_fault(self._config.name, error, refused) from error
            self._session = session
            return session

    async def _dropped(self, session: Session) -> None:
        self._forget(session)
        await session.close()

    def _forget(self, session: Session) -> None:
        if self._session is session:
            self._session = None
        session.end_soon()

    def _refused(self) -> int | None:
        return None if self._session is None else self._session.http.refused

    async def _closed(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _relist(session: Session) -> None:
    """Let the client see all tools: it takes from them which arguments are headers too."""
    cursor: str | None = None
    for _ in range(OFFERED_PAGES):
        page = await session.client.list_tools(cursor=cursor, cache_mode="bypass")
        cursor = page.next_cursor
        if cursor is None:
            return


def _mirrors(tool: Any) -> bool:
    schema = tool.get("inputSchema") if isinstance(tool, dict) else None
    return isinstance(schema, dict) and any(annotated(schema))
