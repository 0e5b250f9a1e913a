"""Other servers through the official client: sessions are opened when needed, and reused."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from nacre.adapters.mcp.event_loop import UpstreamLoop
from nacre.adapters.mcp.remote_call import RemoteCall
from nacre.adapters.mcp.transports import Transports
from nacre.adapters.mcp.upstream_errors import (
    call_fault,
    is_session_gone,
    is_unknown_method,
    listing_fault,
    needs_listing,
    opening_fault,
)
from nacre.adapters.mcp.upstream_session import ANY_OBJECT, UpstreamSession
from nacre.core.errors import NacreError, NewSessionError, UpstreamError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import (
    OFFERED_BYTES,
    OFFERED_PAGES,
    UPSTREAM_CLOSE_SECONDS,
    UPSTREAM_WAITING_CALLS,
)
from nacre.gateway.servers.config import ServerConfig
from nacre.ports.other_programs.upstream import Done, Offered
from nacre.protocol import strict_json
from nacre.protocol.http.headers import annotated

_LISTS: Mapping[str, tuple[Any, str, str]] = {
    "tools": (types.ListToolsRequest, "tools", "tools"),
    "resources": (types.ListResourcesRequest, "resources", "resources"),
    "templates": (types.ListResourceTemplatesRequest, "resources", "resourceTemplates"),
    "prompts": (types.ListPromptsRequest, "prompts", "prompts"),
}


class McpUpstream:
    """One server, as the port `Upstream`."""

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
        self._on_change = changed
        self._changes = 0  # how often the server announced changed lists
        # Used in the sessions' loop only.
        self._session: UpstreamSession | None = None
        self._being_opened: UpstreamSession | None = None
        self._checks: set[asyncio.Task[None]] = set()
        self._sessions_opened = 0
        self._opening: asyncio.Lock | None = None
        self._slots: asyncio.Semaphore | None = None
        self._waiting = 0

    # Called from the caller's thread.

    def offered(self) -> Offered:
        """Return the server's lists; blocks."""
        listing = self._loop.run(self._list())
        try:
            return listing.result(self._config.open_timeout + self._seconds)
        except TimeoutError as error:
            listing.cancel()
            raise UpstreamError(self._config.name, "did not answer in time") from error

    @property
    def session(self) -> int:
        """The number of the open session, 0 without one."""
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
    ) -> RemoteCall:
        """Start a request; it ends with NewSessionError if its session is no longer open."""
        call = RemoteCall(
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
            self._loop.run(self._close()).result(UPSTREAM_CLOSE_SECONDS)

    # Runs in the sessions' event loop.

    def _begin(self, call: RemoteCall) -> None:
        call.task = asyncio.create_task(self._run(call))

    async def _run(self, call: RemoteCall) -> None:
        try:
            call.start_clock()
            call.deliver(Done(await self._run_in_slot(call)))
        except asyncio.CancelledError:
            call.deliver(call.ending())
        except NacreError as error:
            call.deliver(error)
        except Exception as error:  # noqa: BLE001 - delivered to the caller
            call.deliver(call_fault(self._config.name, error, self._refused()))
        finally:
            call.over()

    async def _run_in_slot(self, call: RemoteCall) -> Mapping[str, Any]:
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
            return await self._request(call)
        finally:
            self._slots.release()

    def _refuse_outdated(self, call: RemoteCall) -> None:
        """Refuse a call that was decided before the server announced changed lists."""
        if call.changes != self._changes:
            raise UpstreamError(
                self._config.name,
                "changed what it offers while the call waited; make the call again",
                is_fault=False,
            )

    def _announce_change(self) -> None:
        self._changes += 1
        self._on_change()

    async def _request(self, call: RemoteCall) -> Mapping[str, Any]:
        for attempt in (1, 2):
            session = self._session
            if session is None or session.is_over or session.number != call.session:
                raise NewSessionError(self._config.name)
            session.calls.add(call)
            try:
                return await session.request(call)
            except asyncio.CancelledError:
                self._given_up(session, call)
                raise
            except Exception as error:
                if attempt == 1 and needs_listing(error):
                    await _relist(session)
                elif is_session_gone(error):
                    session.calls.discard(call)  # it is made again in the next session
                    await self._drop(session)
                    raise NewSessionError(self._config.name) from error
                else:
                    if session.is_over:
                        self._forget(session)
                    if session.reason is not None:
                        raise UpstreamError(self._config.name, session.reason) from error
                    raise call_fault(self._config.name, error, session.http.refused) from error
            finally:
                session.calls.discard(call)
        raise AssertionError

    def _given_up(self, session: UpstreamSession, call: RemoteCall) -> None:
        if call.was_cancelled:
            session.ignore_questions()
        if call.has_expired:
            self._check_soon(session)

    def _check_soon(self, session: UpstreamSession) -> None:
        """Find out whether a server that did not answer in time answers at all."""
        check = asyncio.create_task(self._check(session))
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)

    async def _check(self, session: UpstreamSession) -> None:
        """End a session that does not answer; the next request opens another one.

        A program that works on another call may answer later, so it is left alone.
        """
        if not session.calls and not await session.answers() and not session.calls:
            await self._drop(session)

    async def _list(self) -> Offered:
        for attempt in (1, 2):
            began, number = time.monotonic(), self.session
            session = await self._open_session()
            opened = time.monotonic()
            try:
                offered = await self._all_lists(session)
                opening = 0.0 if session.number == number else opened - began
                return replace(offered, opening=opening)
            except NacreError:
                raise
            except TimeoutError as error:
                self._check_soon(session)
                reason = f"did not list what it offers within {self._seconds:g} s"
                raise UpstreamError(self._config.name, reason) from error
            except Exception as error:
                if session.is_over or is_session_gone(error):
                    await self._drop(session)
                    if attempt == 1:
                        continue
                raise listing_fault(self._config.name, error, session.http.refused) from error
        raise AssertionError

    async def _all_lists(self, session: UpstreamSession) -> Offered:
        offers = session.client.server_capabilities
        bytes_left = OFFERED_BYTES
        lists: dict[str, tuple[Any, ...]] = {}
        latency = 0.0
        for name, (request, capability, key) in _LISTS.items():
            if getattr(offers, capability, None) is None:
                continue
            began = time.monotonic()
            try:
                entries, size = await self._pages(session, request, key, bytes_left)
            except MCPError as error:
                # Many servers announce resources without templates, or prompts that they lack.
                # Without its tools a server would look well and be of no use.
                if name != "tools" and is_unknown_method(error, session.http.refused):
                    continue
                raise
            latency = latency or time.monotonic() - began
            bytes_left -= size
            lists[name] = tuple(entries)
        if session.is_modern and any(
            _has_header_arguments(tool) for tool in lists.get("tools", ())
        ):
            await _relist(session)
        version = session.client.protocol_version or ""
        return Offered(
            **lists, version=version, session=session.number, opening=0.0, latency=latency
        )

    async def _pages(
        self, session: UpstreamSession, request: Any, key: str, bytes_left: int
    ) -> tuple[list[Any], int]:
        """Return the entries of a list, and their size, which is checked after each page."""
        entries: list[Any] = []
        size = 0
        cursor: str | None = None
        for _ in range(OFFERED_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            async with asyncio.timeout(self._seconds):
                page = await session.client.session.send_request(request(params=params), ANY_OBJECT)
            listed = page.get(key)
            if isinstance(listed, list):
                size += len(strict_json.encode(listed))
                if size > bytes_left:
                    raise UpstreamError(self._config.name, "lists more than this gateway accepts")
                entries += listed
            following = page.get("nextCursor")
            if not isinstance(following, str) or following == cursor:
                break
            cursor = following
        return entries, size

    async def _open_session(self) -> UpstreamSession:
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
            self._sessions_opened += 1
            session = UpstreamSession(
                self._config, self._transports, self._announce_change, number=self._sessions_opened
            )
            self._being_opened = session
            try:
                await session.open()
            except asyncio.CancelledError:
                raise
            except Exception as error:
                refused = session.http.refused
                raise opening_fault(self._config.name, error, refused) from error
            finally:
                self._being_opened = None
            self._session = session
            return session

    async def _drop(self, session: UpstreamSession) -> None:
        self._forget(session)
        await session.close()

    def _forget(self, session: UpstreamSession) -> None:
        if self._session is session:
            self._session = None
        session.end_soon()

    def _refused(self) -> int | None:
        return None if self._session is None else self._session.http.refused

    async def _close(self) -> None:
        # A program that never answers a request to open would outlive this one.
        sessions, self._session = (self._session, self._being_opened), None
        for session in sessions:
            if session is not None:
                await session.close()


async def _relist(session: UpstreamSession) -> None:
    """Let the client list all tools, because their schemas say which arguments become headers."""
    cursor: str | None = None
    for _ in range(OFFERED_PAGES):
        page = await session.client.list_tools(cursor=cursor, cache_mode="bypass")
        cursor = page.next_cursor
        if cursor is None:
            return


def _has_header_arguments(tool: Any) -> bool:
    schema = tool.get("inputSchema") if isinstance(tool, dict) else None
    return isinstance(schema, dict) and any(annotated(schema))
