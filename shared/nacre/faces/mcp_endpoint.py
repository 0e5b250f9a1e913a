"""The parts that all MCP faces share: the endpoint and its rules, and one log line a call."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

from nacre.access.scopes import authorize
from nacre.access.tokens.authentication import Gate, is_being_id
from nacre.being.application import Application
from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import ForbiddenError, NacreError, UnauthorizedError, UnavailableError
from nacre.core.logs import Level, Log, where
from nacre.core.traces import recorder
from nacre.protocol.dispatch.methods import Dispatcher
from nacre.protocol.http import error_map
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.challenge import metadata_url, www_authenticate
from nacre.protocol.http.endpoint_rules import Admit, Endpoint, part_in
from nacre.protocol.http.headers import annotated
from nacre.protocol.http.http_messages import HttpReply, HttpRequest
from nacre.protocol.http.legacy_clients import Peers
from nacre.protocol.http.server_address import base_of
from nacre.protocol.principal import Principal, is_profile_name
from nacre.protocol.surface import Definitions, Surface, part_of

if TYPE_CHECKING:
    from nacre.protocol.changes import Changes

_MAX_LISTS = 64  # of tools, as callers in profiles see them
_NAME = 200  # characters of a tool's name, as in the audit
BaseOf = Callable[[HttpRequest], str | None]
"""From a request to the address it was sent to; None if its Host header is not a name."""


class Rules:
    """The application's rules for the wire."""

    explain = staticmethod(error_map.explain)
    tool_error = staticmethod(error_map.tool_error)
    permit = staticmethod(authorize)


def dispatcher(
    app: Application, *, logging: bool = False, changes: "Changes | None" = None
) -> Dispatcher:
    """Return the dispatcher of an application.

    `logging` tells whether the face knows which level a client of an older revision has chosen.
    `changes` notifies clients of changes, if the face can reach them.
    """
    kind = Dispatcher
    if recorder() is not None:
        from nacre.faces.traced_dispatcher import TracedDispatcher  # noqa: PLC0415 - mostly off

        kind = TracedDispatcher
    return kind(
        app.surface,
        rules=Rules(),
        states=app.states,
        logging=logging,
        changes=changes,
        tasks=app.tasks,
    )


def endpoint(
    app: Application,
    *,
    admit: Admit,
    fences: Fences | None = None,
    peers: Peers | None = None,
    changes: "Changes | None" = None,
    base: BaseOf | None = None,
) -> Endpoint:
    """Return the HTTP endpoint of an application.

    `base` says under which address a request came, where clients can log in there.
    """

    def challenge(error: Exception, request: HttpRequest) -> str | None:
        if not isinstance(error, (UnauthorizedError, ForbiddenError)):
            return None
        address = None if base is None else base(request)
        if address is None:
            return www_authenticate(error)
        named = part_in(request.path)
        is_part = named is not None and (is_being_id(named) or is_profile_name(named))
        metadata = metadata_url(address, part=named if is_part else None)
        return www_authenticate(error, resource_metadata=metadata)

    return Endpoint(
        dispatcher(app, logging=peers is not None, changes=changes),
        rules=Rules(),
        admit=admit,
        challenge=challenge,
        schema_of=MirroredSchemas(app.surface).of,
        fences=fences,
        peers=peers,
        call_bytes=app.call_bytes,
    )


def called_address(public_url: str, *, scheme: str) -> BaseOf:
    """Return the function that finds the address of a request, from the name it used."""

    def base(request: HttpRequest) -> str | None:
        host = request.headers.get("host", "")
        return base_of(host, public_url=public_url, scheme=scheme)

    return base


def bearer_admission(gate: Gate, base: BaseOf) -> Admit:
    """Return the function that admits callers by the token in their Authorization header."""

    def admit(request: HttpRequest, path_being: str | None, query_being: str | None) -> Principal:
        return gate.admit(
            authorization=request.headers.get("authorization"),
            path_being=path_being,
            query_being=query_being,
            base=base(request),
        )

    return admit


_Mirrored: TypeAlias = tuple[Definitions, dict[str, Mapping[str, Any]]]
"""The tools of a list, and by their names the schemas of those that have such parameters."""


class MirroredSchemas:
    """The input schemas of tools that have parameters in headers; most servers have none."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._known: BoundedCache[int, _Mirrored] = BoundedCache(_MAX_LISTS)
        self._latest: _Mirrored = ((), {})

    def of(self, tool: str, principal: Principal | None = None) -> Mapping[str, Any] | None:
        """Return the tool's schema if it mirrors parameters in headers, else None."""
        definitions = part_of(self._surface, principal).tools()
        latest = self._latest
        if latest[0] is not definitions:
            latest = self._latest = self._mirrored(definitions)
        return latest[1].get(tool)

    def _mirrored(self, definitions: Definitions) -> _Mirrored:
        mirrored = self._known.get(id(definitions))
        if mirrored is None or mirrored[0] is not definitions:
            schemas = {
                str(definition["name"]): definition["inputSchema"]
                for definition in definitions
                if any(annotated(definition["inputSchema"]))
            }
            mirrored = self._known[id(definitions)] = (definitions, schemas)
        return mirrored


class CallLog:
    """Times calls and writes one line for each, with ids and without content."""

    def __init__(self, log: Log) -> None:
        self._log = log

    start = staticmethod(perf_counter)
    """Return the time at which a call began."""

    def end(
        self,
        started: float,
        answer: HttpReply,
        *,
        method: str | None = None,
        tool: str | None = None,
        being: str | None = None,
        token: str | None = None,
        request: str | None = None,
    ) -> None:
        """Write the line; a fault of ours is an error, a refusal is a warning."""
        fault = answer.cause is not None and not error_map.is_expected(answer.cause)
        private = isinstance(answer.cause, NacreError) and answer.cause.public is not None
        level: Level = "error" if fault else "warning" if answer.status >= 400 else "info"
        milliseconds = round((perf_counter() - started) * 1000, 2)
        self._log.count(
            level,
            "mcp",
            _counted(milliseconds, answer, fault=fault),
            method=method,
            tool=None if tool is None else _shown(tool),
            being=being,
            token=token,
            request=request,
            status=answer.status,
            ms=milliseconds,
            error=None if answer.cause is None else where(answer.cause, trace=fault),
            # What the caller was not told; such messages are about the machine, not its data.
            said=str(answer.cause) if private else None,
        )


def _shown(tool: str) -> str:
    """Return the name of a tool for a log, masked because the caller chooses it."""
    from nacre.firewall.content.digests import masked_name  # noqa: PLC0415 - a cold start does not wait for it

    return masked_name(tool)[:_NAME]


def _counted(milliseconds: float, answer: HttpReply, *, fault: bool) -> dict[str, float]:
    """Return the values that a call adds to the metrics, by their names in `nacre.core.metrics`."""
    values = {"Latency": milliseconds}
    if answer.status in (401, 403, 429):
        values["Refusals"] = 1
    if fault or isinstance(answer.cause, UnavailableError):
        values["Faults"] = 1
    return values
