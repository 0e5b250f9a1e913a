"""Another server behind ours: what it offers, and requests to it."""

from collections.abc import Callable, Mapping
from typing import Any

from nacre.core.errors import RelayedError, UncomparedError, UnknownResourceError, UpstreamError
from nacre.gateway.calls.circuit_breaker import Breaker
from nacre.gateway.calls.exchange import Exchanges
from nacre.gateway.calls.sanitize import sound
from nacre.gateway.servers.config import ServerConfig
from nacre.ports.upstream import Offered, Upstream
from nacre.protocol.context import Context
from nacre.protocol.encoded_results import Spelled
from nacre.protocol.versions import META_SERVER

_RESOURCE_NOT_FOUND = -32002  # as servers of the older generation say it


class External:
    """One configured server; it is opened by the first request."""

    def __init__(
        self,
        config: ServerConfig,
        connect: Callable[[ServerConfig], Upstream],
        exchanges: Exchanges,
        breaker: Breaker | None = None,
    ) -> None:
        self.config = config
        self._upstream = connect(config)
        self._exchanges = exchanges
        self._breaker = breaker or Breaker(config.name)
        self._compared = 0  # the session whose offers were compared last

    def offered(self) -> Offered:
        """Ask the server what it offers, and return what of it is offered here; blocks."""
        self._breaker.check()
        try:
            found = sound(self._upstream.offered())
        except UpstreamError as error:
            self._failed(error)
            raise
        self._breaker.succeeded()
        takes = self.config.takes
        return Offered(
            tuple(each for each in found.tools if takes(each["name"])),
            found.resources,
            found.templates,
            found.prompts,
            found.version,
            found.session,
        )

    @property
    def is_compared(self) -> bool:
        """Whether what the server offers in its open session was compared."""
        session = self._upstream.session
        return session != 0 and session == self._compared

    def compared(self, offered: Offered) -> None:
        """Note that an offer was compared, so that requests in its session may pass."""
        self._compared = offered.session

    async def request(
        self, method: str, params: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return the server's result, without what it says of itself.

        UncomparedError where nobody has compared what the server offers in its session.
        """
        self._breaker.check()
        if not self.is_compared:
            raise UncomparedError(self.config.name)
        try:
            result = await self._exchanges.run(
                self.config.name, self._upstream, method, params, context, session=self._compared
            )
        except UpstreamError as error:
            self._failed(error)
            raise
        except RelayedError as error:
            self._breaker.succeeded()
            if method == "resources/read" and error.code == _RESOURCE_NOT_FOUND:
                raise UnknownResourceError(str(params.get("uri", ""))) from error
            raise
        self._breaker.succeeded()
        return _plain(result)

    def close(self) -> None:
        """End the session."""
        self._upstream.close()

    def _failed(self, error: UpstreamError) -> None:
        if error.is_fault:
            self._breaker.failed(error.reason)


class ExternalResult:
    """What a tool of another server gave back, as it is."""

    __slots__ = ("_result",)

    def __init__(self, result: Mapping[str, Any]) -> None:
        self._result = result

    def to_dict(self) -> Mapping[str, Any]:
        """Return the result as `tools/call` carries it."""
        return self._result


class ExternalTool:
    """A tool of another server."""

    blocking = False

    def __init__(self, server: External, name: str) -> None:
        self._server = server
        self._name = name
        self.read_only = server.config.reads(name)

    async def call(self, arguments: dict[str, Any], context: Context) -> ExternalResult:
        """Call the tool there; its server checks the arguments."""
        params = {"name": self._name, "arguments": arguments}
        return ExternalResult(await self._server.request("tools/call", params, context))


def _plain(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a result without what belongs to the connection it came by."""
    if isinstance(result, Spelled):
        meta = result.get("_meta")
        result = result.without("resultType")
        if not isinstance(meta, dict) or META_SERVER not in meta:
            return result
        rest = {name: value for name, value in meta.items() if name != META_SERVER}
        return result.joined({"_meta": rest}) if rest else result.without("_meta")
    plain = {name: value for name, value in result.items() if name != "resultType"}
    meta = plain.get("_meta")
    if isinstance(meta, dict) and META_SERVER in meta:
        rest = {name: value for name, value in meta.items() if name != META_SERVER}
        if rest:
            plain["_meta"] = rest
        else:
            del plain["_meta"]
    return plain
