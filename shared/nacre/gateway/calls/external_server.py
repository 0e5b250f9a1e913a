"""Another server behind this one: its offer, and requests to it."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from nacre.core.errors import (
    LoginNeededError,
    NacreError,
    NewSessionError,
    RelayedError,
    UnknownResourceError,
    UpstreamError,
)
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import (
    OFFERED_TOOLS,
    UPSTREAM_FAILURES,
    UPSTREAM_LONGEST_PAUSE_SECONDS,
    UPSTREAM_PAUSE_SECONDS,
)
from nacre.gateway.calls.relayed_request import RequestRelay
from nacre.gateway.servers.config import ServerConfig
from nacre.ports.upstream import Definition, Offered, Upstream
from nacre.protocol import strict_json
from nacre.protocol.context import Context
from nacre.protocol.encoded_results import Spelled
from nacre.protocol.versions import META_SERVER

if TYPE_CHECKING:
    from nacre.gateway.login.bearer import LoginBearer


class CircuitBreaker:
    """Counts failures in a row; above the limit it lets one call through after each pause."""

    def __init__(self, server: str, tick: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._tick = tick
        self._guard = Lock()
        self._failures = 0
        self._pause = UPSTREAM_PAUSE_SECONDS
        self._until = 0.0
        self._reason = ""

    @property
    def is_open(self) -> bool:
        """True while the server is left alone."""
        return self._failures >= UPSTREAM_FAILURES and self._tick() < self._until

    def check(self) -> None:
        """Raise UpstreamError while the server is left alone."""
        with self._guard:
            if self._failures < UPSTREAM_FAILURES:
                return
            seconds = self._until - self._tick()
            if seconds > 0:
                raise UpstreamError(
                    self._server,
                    f"{self._reason or 'has failed'}; it is tried again in {seconds:.0f} s",
                )
            # This call goes through; calls that arrive while it runs are refused.
            self._until = self._tick() + self._pause

    def record_failure(self, reason: str) -> None:
        """Count a failure."""
        with self._guard:
            self._failures += 1
            self._reason = reason
            if self._failures > UPSTREAM_FAILURES:
                self._pause = min(2 * self._pause, UPSTREAM_LONGEST_PAUSE_SECONDS)
            self._until = self._tick() + self._pause

    def record_success(self) -> None:
        """Forget all failures."""
        if self._failures:
            with self._guard:
                self._failures = 0
                self._pause = UPSTREAM_PAUSE_SECONDS


_RESOURCE_NOT_FOUND = -32002  # the code of servers of the older generation


class ExternalServer:
    """One configured server; it is opened by the first request.

    `bearer` gives the tokens of the owner for whom it is opened. `login_needed` is set while the
    server wants its owner to log in.
    """

    def __init__(
        self,
        config: ServerConfig,
        connect: Callable[[ServerConfig], Upstream],
        relay: RequestRelay,
        breaker: CircuitBreaker | None = None,
        bearer: "LoginBearer | None" = None,
    ) -> None:
        self.config = config
        self.login_needed: LoginNeededError | None = None
        self._bearer = bearer
        self._upstream = connect(config)
        self._relay = relay
        self._breaker = breaker or CircuitBreaker(config.name)
        self._compared = 0  # the session whose offers were compared last

    def offered(self) -> Offered:
        """Return the server's offer without the tools that the configuration leaves out; blocks."""
        self._breaker.check()
        self.login_needed = None
        try:
            offered = sanitize(self._upstream.offered())
        except UpstreamError as error:
            raise self._failed(error) from error
        self._breaker.record_success()
        if self._bearer is not None and self._bearer.hides_resources():
            offered = replace(offered, resources=())
        takes = self.config.takes
        return replace(offered, tools=tuple(tool for tool in offered.tools if takes(tool["name"])))

    @property
    def is_compared(self) -> bool:
        """True if the offer of the open session was compared with the trusted one."""
        session = self._upstream.session
        return session != 0 and session == self._compared

    def compared(self, offered: Offered) -> None:
        """Mark an offer as compared, so that requests in its session may pass."""
        self._compared = offered.session

    async def request(
        self, method: str, params: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return the server's result, without its name and version.

        Raises NewSessionError if the offer of the open session was not compared yet.
        """
        self._breaker.check()
        if not self.is_compared:
            raise NewSessionError(self.config.name)
        try:
            result = await self._relay.run(
                self.config.name, self._upstream, method, params, context, session=self._compared
            )
        except UpstreamError as error:
            raise self._failed(error) from error
        except RelayedError as error:
            self._breaker.record_success()
            if method == "resources/read" and error.code == _RESOURCE_NOT_FOUND:
                raise UnknownResourceError(str(params.get("uri", ""))) from error
            raise
        self._breaker.record_success()
        return _plain(result)

    def close(self) -> None:
        """End the session."""
        self._upstream.close()

    def _failed(self, error: UpstreamError) -> UpstreamError:
        """Count the failure, and return the error to raise."""
        needed = None if self._bearer is None else self._bearer.take_need()
        if needed is not None:
            self.login_needed = needed
            return needed
        if error.is_fault:
            self._breaker.record_failure(error.reason)
        return error


class ExternalResult:
    """The result of a tool of another server, unchanged."""

    __slots__ = ("_result",)

    def __init__(self, result: Mapping[str, Any]) -> None:
        self._result = result

    def to_dict(self) -> Mapping[str, Any]:
        """Return the result as `tools/call` carries it."""
        return self._result


async def call_tool(
    server: ExternalServer, name: str, arguments: dict[str, Any], context: Context
) -> ExternalResult:
    """Call a tool; its server checks the arguments."""
    params = {"name": name, "arguments": arguments}
    return ExternalResult(await server.request("tools/call", params, context))


def _plain(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a result without the members that belong to its connection."""
    meta = result.get("_meta")
    members = meta if isinstance(meta, dict) else {}
    names_server = META_SERVER in members
    others = {name: value for name, value in members.items() if name != META_SERVER}
    if isinstance(result, Spelled):
        result = result.without("resultType")
        if not names_server:
            return result
        return result.joined({"_meta": others}) if others else result.without("_meta")
    plain = {name: value for name, value in result.items() if name != "resultType"}
    if names_server:
        plain["_meta"] = others
        if not others:
            del plain["_meta"]
    return plain


def sanitize(offered: Offered) -> Offered:
    """Return the offer without entries that have no name, no schema, or too much depth."""
    return Offered(
        tuple(tool for tool in _usable(offered.tools, "name") if _has_object_schema(tool)),
        tuple(_usable(offered.resources, "uri")),
        tuple(_usable(offered.templates, "uriTemplate")),
        tuple(_usable(offered.prompts, "name")),
        offered.version,
        offered.session,
    )


def _has_object_schema(tool: Definition) -> bool:
    schema = tool.get("inputSchema")
    return isinstance(schema, Mapping) and schema.get("type", "object") == "object"


def _usable(definitions: Iterable[Any], key: str) -> Iterable[Definition]:
    """Yield the definitions with a name under `key`, the first ones of each name."""
    names: set[str] = set()
    for definition in definitions:
        name = definition.get(key) if isinstance(definition, dict) else None
        if not isinstance(name, str) or not name or name in names or not _is_json(definition):
            continue
        names.add(name)
        if len(names) > OFFERED_TOOLS:
            return
        yield definition


def _is_json(value: Any) -> bool:
    """Tell whether every client can parse a definition: it is not too deep, its text is valid."""
    try:
        strict_json.parse(json.dumps(value, allow_nan=False).encode())
    except (NacreError, ValueError, RecursionError):
        return False
    return True
