"""The gate of the MCP entry: each call of a client is decided first, and its result is checked."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from nacre.core.coroutines import is_in_loop
from nacre.core.errors import NacreError, OffersChangedError, RelayedError, UpstreamError
from nacre.core.own_server_name import OWN
from nacre.firewall.enforce.judge import Allowed, Denied
from nacre.firewall.enforce.large_calls import Deciding, as_large, judged_elsewhere
from nacre.firewall.enforce.refusals import blocked_error
from nacre.firewall.entry.call_decisions import CallDecisions, request_subject
from nacre.firewall.entry.caller_judges import CallerJudges, Judges
from nacre.firewall.entry.mounted_servers import NAMED_BY, Kind, Mounts, Place, place_of
from nacre.firewall.entry.result_checks import ResultChecks, denied_result
from nacre.firewall.rules.rule import Subject
from nacre.protocol.context import Context
from nacre.protocol.large_calls import LargeArguments, read_in_full
from nacre.protocol.principal import Principal
from nacre.protocol.surface import WireResult, WireTool

if TYPE_CHECKING:
    from nacre.firewall.enforce.large_calls import CallReading
    from nacre.firewall.entry.cut_results import CutResults
    from nacre.firewall.entry.mounted_content import MountedContent
    from nacre.firewall.entry.received_results import ReceivedResults
    from nacre.firewall.entry.server_messages import ServerMessages

T = TypeVar("T")
_KINDS: Mapping[str, Kind] = {"resources/read": "resource", "prompts/get": "prompt"}


class EntryJudge:
    """Decides about the calls of every Being of this server; `server` is its name in rules.

    `mounts` knows the servers behind this one. `content` is called when one of them sends
    something, and checks its texts. `results` is called when a limit may be about the size
    of a result. `received` is called for what callers have received from those servers.
    """

    def __init__(
        self,
        judges: Judges,
        *,
        server: str = OWN,
        mounts: Mounts | None = None,
        content: "Callable[[], MountedContent] | None" = None,
        reading: "CallReading | None" = None,
        results: "Callable[[], CutResults] | None" = None,
        received: "Callable[[], ReceivedResults] | None" = None,
    ) -> None:
        self._server = server
        self._mounts = mounts
        self._content = content
        self._reading = reading
        self._judges = CallerJudges(judges, own_server=server, mounts=mounts)
        self._decisions = CallDecisions(
            self._judges, own_server=server, mounts=mounts, received=received
        )
        self._checks = ResultChecks(
            self._judges,
            self._decisions,
            own_server=server,
            mounts=mounts,
            content=content,
            results=results,
            received=received,
        )

    def server_messages(self) -> "ServerMessages":
        """Return the part that decides about messages of the servers behind this one."""
        # Only those servers need it.
        from nacre.firewall.entry.server_messages import ServerMessages  # noqa: PLC0415

        assert self._content is not None, "there are no other servers"
        return ServerMessages(self._judges, self._decisions, self._content)

    def may_read(self, uri: str, principal: Principal | None) -> bool:
        """Tell whether a resource may be read without asking anybody; nothing is recorded."""
        place = self._place("resource", uri)
        judge = self._judges.of(principal, place.server)
        try:
            self._judges.check_profile("resource", uri, place, principal)
            policy = judge.policy()
        except NacreError:
            return False
        subject = self._decisions.with_received(
            request_subject("resource", "resources/read", {"uri": uri}, place),
            Context(principal=principal),
            judge,
        )
        is_allowed = policy.decide(subject, judge.where).action == "allow"
        return is_allowed or policy.settings.mode == "monitor"

    async def call_tool(
        self, name: str, tool: WireTool, arguments: dict[str, Any], context: Context
    ) -> WireResult:
        """Run a tool if the policy allows it, and return its result, possibly redacted.

        A denied call returns a result with the reason. Raises BlockedError if the policy makes
        denials errors.
        """
        needs_name = context.via is not None and not tool.read_only
        if (place := self._place("tool", name)).server != self._server:
            arguments = await self._passed_on(place.name, arguments)
        place, allowed = await self._allowed(name, arguments, context, needs_name=needs_name)
        if not isinstance(allowed, Allowed):
            return allowed
        try:
            if place.server == self._server:
                arguments = await read_in_full(arguments)
            try:
                result = await tool.call(arguments, context)
            except OffersChangedError:  # the decision was about an older offer
                place, again = await self._allowed(
                    name, arguments, context, needs_name=needs_name, earlier=allowed
                )
                if not isinstance(again, Allowed):
                    return again
                allowed = again
                result = await tool.call(arguments, context)
            result = await self._checks.tool_result(name, place, arguments, result, context)
        except RelayedError as error:
            raise self._checks.error("tools/call", place.server, error, context) from None
        except UpstreamError as error:
            self._checks.note_fault(error, place.server, context)
            raise
        else:
            if allowed.counts_bytes:
                allowed.end(_size(result.to_dict()))
            return result
        finally:
            allowed.end()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        context: Context,
        send: Callable[[], Awaitable[Mapping[str, Any]]],
    ) -> Mapping[str, Any]:
        """Read a resource or get a prompt if that is allowed; raises BlockedError."""
        allowed = await self._permit(method, params, context)
        kind = _KINDS[method]
        name = str(params[NAMED_BY[kind]])
        try:
            if kind == "resource" and self._checks.has_whole(name):
                value = await self._checks.whole(name, context)
            else:
                try:
                    value = await send()
                except OffersChangedError:  # the decision was about an older offer
                    allowed = await self._permit(method, params, context, earlier=allowed)
                    value = await send()
                place = self._place(kind, name)
                value = await self._checks.contents(kind, place, method, params, value, context)
        except RelayedError as error:
            server = self._place(kind, name).server
            raise self._checks.error(method, server, error, context) from None
        except UpstreamError as error:
            self._checks.note_fault(error, self._place(kind, name).server, context)
            raise
        else:
            if allowed.counts_bytes:
                allowed.end(_size(value))
            return value
        finally:
            allowed.end()

    def screened_completion(
        self, ref: Mapping[str, Any], completion: dict[str, Any]
    ) -> dict[str, Any]:
        """Return suggestions that may go to the caller; raises BlockedError."""
        kind: Kind = "prompt" if ref.get("type") == "ref/prompt" else "resource"
        server = self._place(kind, str(ref.get(NAMED_BY[kind], ""))).server
        return self._checks.completion(server, completion)

    async def _allowed(
        self,
        name: str,
        arguments: Mapping[str, Any],
        context: Context,
        *,
        needs_name: bool,
        earlier: Allowed | None = None,
    ) -> tuple[Place, Allowed | WireResult]:
        """Return a tool's place, and Allowed, or the result that the caller of a denied call gets.

        An `earlier` decision about the same call has counted it for its limits.
        """
        place = self._place("tool", name)
        self._judges.check_profile("tool", name, place, context.principal)
        is_own = self._mounts is None or place.server == self._server
        judge = self._judges.of(context.principal, place.server)
        subject = self._decisions.tool_subject(name, place, arguments)
        subject = self._decisions.with_received(subject, context, judge)
        if type(arguments) is LargeArguments and self._reading is not None:
            await self._read_elsewhere(
                arguments, subject, self._reading, context, encodes=not is_own
            )
        needs_name = needs_name and not is_own
        ruling = await self._decisions.ruled(
            subject, context, "tool", name, needs_name=needs_name, earlier=earlier
        )
        if isinstance(ruling, Allowed):
            return place, ruling
        if ruling.style == "error":
            raise blocked_error(ruling)
        return place, denied_result(ruling, context)

    async def _passed_on(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments for another server, large ones as those of a large call."""
        if self._reading is None or type(arguments) is not dict:
            return arguments
        from nacre.firewall.enforce.large_results import is_large  # noqa: PLC0415 - not on AWS

        if not is_large(arguments):
            return arguments
        large = await _in_thread(partial(as_large, tool, arguments, self._reading))
        return arguments if large is None else cast("dict[str, Any]", large)

    async def _read_elsewhere(
        self,
        arguments: LargeArguments,
        subject: Subject,
        reading: "CallReading",
        context: Context,
        *,
        encodes: bool,
    ) -> None:
        """Let another process decide about a large call, and encode its arguments for a server."""
        judge = self._judges.of(context.principal, subject.server)
        try:
            policy = judge.policy()
        except NacreError:
            return  # the judge denies the call, and says why
        paths = {subject.name: subject.paths}
        deciding = Deciding(
            policy, judge.where, subject.server, paths, subject.name, subject.received
        )
        await _in_thread(partial(judged_elsewhere, arguments, reading, deciding, encodes=encodes))

    async def _permit(
        self,
        method: str,
        params: Mapping[str, Any],
        context: Context,
        *,
        earlier: Allowed | None = None,
    ) -> Allowed:
        """Return Allowed for a request that may be made; raises BlockedError."""
        kind = _KINDS[method]
        name = str(params[NAMED_BY[kind]])
        place = self._place(kind, name)
        self._judges.check_profile(kind, name, place, context.principal)
        judge = self._judges.of(context.principal, place.server)
        subject = request_subject(kind, method, params, place)
        subject = self._decisions.with_received(subject, context, judge)
        ruling = await self._decisions.ruled(subject, context, kind, name, earlier=earlier)
        if isinstance(ruling, Denied):
            raise blocked_error(ruling)
        return ruling

    def _place(self, kind: Kind, name: str) -> Place:
        return place_of(self._mounts, kind, name, self._server)


async def _in_thread(work: Callable[[], T]) -> T:
    """Do blocking work and return its result, without holding up an event loop."""
    if not is_in_loop():
        return work()  # a blocking tool already has its own thread
    import asyncio  # noqa: PLC0415 - a function on AWS never loads it

    return await asyncio.to_thread(work)


def _size(value: Mapping[str, Any]) -> int:
    """Return the size of a result that limits of bytes count."""
    from nacre.firewall.limits.result_cut import size_of  # noqa: PLC0415 - few policies do

    return size_of(value)
