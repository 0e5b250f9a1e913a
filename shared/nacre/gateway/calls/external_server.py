"""Another server behind this one: its offer, and requests to it."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from nacre.core.backoff import Chance, even, pause
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
from nacre.ports.other_programs.upstream import Definition, Offered, Upstream
from nacre.protocol import strict_json
from nacre.protocol.context import Context, InputRequired
from nacre.protocol.encoded_results import Spelled
from nacre.protocol.surface import ReadyResult
from nacre.protocol.versions import META_SERVER

if TYPE_CHECKING:
    from nacre.gateway.login.bearer import LoginBearer


class CircuitBreaker:
    """Counts failures in a row; above the limit it lets one call through after each pause."""

    def __init__(
        self, server: str, tick: Callable[[], float] = time.monotonic, chance: Chance = even
    ) -> None:
        self._server = server
        self._tick = tick
        self._chance = chance
        self._guard = Lock()
        self._failures = 0
        self._is_call = False  # whether a call was among them
        self._is_trial = False  # whether one is let through after a pause
        self._until = 0.0
        self._reason = ""

    @property
    def seconds_left(self) -> float:
        """Seconds for which the server is left alone; 0 if it may be called."""
        if self._failures < UPSTREAM_FAILURES:
            return 0.0
        return max(0.0, self._until - self._tick())

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
                    is_fault=False,
                )
            # This call goes through; calls that arrive while it runs are refused.
            self._until = self._tick() + self._pause()
            self._is_trial = True

    def record_failure(self, reason: str, *, is_call: bool = False) -> None:
        """Count a failure, of a call or of a list."""
        with self._guard:
            self._failures += 1
            self._is_call = self._is_call or is_call
            self._is_trial = False
            self._reason = reason
            self._until = self._tick() + self._pause()

    def record_list(self) -> None:
        """Forget the failures to list, but not those of calls."""
        with self._guard:
            if not self._is_call:
                self._failures = 0
            elif self._is_trial:
                # The list belonged to the call that was let through, which follows now. A server
                # that ends with each call must not start again for every one.
                self._until = 0.0

    def record_success(self) -> None:
        """Forget all failures, because a call has succeeded."""
        if self._failures:
            with self._guard:
                self._failures = 0
                self._is_call = self._is_trial = False

    def _pause(self) -> float:
        return pause(
            self._failures - UPSTREAM_FAILURES + 1,
            first=UPSTREAM_PAUSE_SECONDS,
            longest=UPSTREAM_LONGEST_PAUSE_SECONDS,
            chance=self._chance,
        )


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
        """Return the server's offer without the tools that the configuration leaves out; blocks.

        It is asked even while calls are refused, because only lists can end a pause by themselves.
        """
        self.login_needed = None
        try:
            offered = sanitize(self._upstream.offered())
        except UpstreamError as error:
            raise self._failed(error) from error
        self._breaker.record_list()
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

        Raises UpstreamError while the server is left alone, and NewSessionError if the offer of the
        open session was not compared yet.
        """
        self._breaker.check()
        if not self.is_compared:
            raise NewSessionError(self.config.name)
        try:
            result = await self._relay.run(
                self.config.name, self._upstream, method, params, context, session=self._compared
            )
        except InputRequired:  # the server has answered, with a question
            self._breaker.record_success()
            raise
        except UpstreamError as error:
            raise self._failed(error, is_call=True) from error
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

    @property
    def seconds_left(self) -> float:
        """Seconds for which calls are refused, because several have failed."""
        return self._breaker.seconds_left

    def _failed(self, error: UpstreamError, *, is_call: bool = False) -> UpstreamError:
        """Count the failure, and return the error to raise."""
        needed = None if self._bearer is None else self._bearer.take_need()
        if needed is not None:
            self.login_needed = needed
            return needed
        if error.is_fault:
            self._breaker.record_failure(error.reason, is_call=is_call)
        return error


async def call_tool(
    server: ExternalServer, name: str, arguments: dict[str, Any], context: Context
) -> ReadyResult:
    """Call a tool; its server checks the arguments."""
    params = {"name": name, "arguments": arguments}
    return ReadyResult(await server.request("tools/call", params, context))


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
    return replace(
        offered,
        tools=tuple(tool for tool in _usable(offered.tools, "name") if _has_object_schema(tool)),
        resources=tuple(_usable(offered.resources, "uri")),
        templates=tuple(_usable(offered.templates, "uriTemplate")),
        prompts=tuple(_usable(offered.prompts, "name")),
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
