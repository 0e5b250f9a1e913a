"""Decisions at the MCP entry: those that a guard in front of another server would make."""

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from operator import is_not
from typing import TYPE_CHECKING, Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.coroutines import is_in_loop, is_stepping
from nacre.core.errors import (
    BlockedError,
    InvalidParamsError,
    LoginNeededError,
    NacreError,
    NewSessionError,
    NotFoundError,
    OffersChangedError,
    RelayedError,
    UnknownResourceError,
    UnlistedToolError,
    UpstreamError,
)
from nacre.core.lazy_dataclasses import replace
from nacre.core.own_server_name import OWN
from nacre.core.traces import recorder, span
from nacre.firewall.approvals.approver import Question, Waiting
from nacre.firewall.content.digests import arguments_sha256
from nacre.firewall.enforce.judge import Allowed, Call, Denied, Judge, Pending, Ruling
from nacre.firewall.enforce.large_calls import Deciding, judged_elsewhere
from nacre.firewall.enforce.refusals import blocked_result
from nacre.firewall.entry.mounted_servers import (
    NAMED_BY,
    RESULTS,
    Kind,
    Mounts,
    Place,
    is_in_profile,
    place_of,
)
from nacre.firewall.policies.live_policy import PolicySource
from nacre.firewall.rules.arguments.base_folders import roots_in, with_roots
from nacre.firewall.rules.rule import NO_PATHS, Subject, Surroundings
from nacre.protocol.context import Context
from nacre.protocol.large_calls import LargeArguments, in_full
from nacre.protocol.principal import Principal
from nacre.protocol.surface import WireResult, WireTool
from nacre.protocol.versions import MODERN

if TYPE_CHECKING:
    from nacre.firewall.enforce.large_calls import CallReading
    from nacre.firewall.entry.cut_results import CutResults
    from nacre.firewall.entry.mounted_content import MountedContent
    from nacre.firewall.entry.mounted_servers import CheckedOffer
    from nacre.firewall.entry.received_results import ReceivedResults
    from nacre.firewall.rules.policy import Policy
    from nacre.ports.upstream import Offered

_APPROVAL = "approval-"
_APPROVED = "approved"  # the key under which a call stores its approval between its rounds
_ASKED = "asked"  # and the one for its server's questions that the client may be asked
_LOOK_SECONDS = 0.5  # between checks whether a held call was decided
_MAX_JUDGES = 1024  # of Beings and servers, kept ready
_MAX_CHANGES = 3  # of a server's offers during one call
_NAMED_IN: Mapping[str, tuple[Kind, str]] = {
    "resources/read": ("resource", "uri"),
    "prompts/get": ("prompt", "name"),
}

_WITHOUT_CONTENT = (LoginNeededError, NewSessionError, OffersChangedError, UnlistedToolError)

_Facts = tuple[Judge, Surroundings, tuple[str, ...]]

Judges = Callable[[str], Judge]
"""From a Being's id, or "" for nobody in particular, to the judge that decides for it."""


class _Result:
    """The result of a tool call that was denied or changed."""

    __slots__ = ("_value",)

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value = value

    def to_dict(self) -> Mapping[str, Any]:
        """Return the result as `tools/call` carries it."""
        return self._value


class _ProfilePolicy:
    """The policy of a profile, as a PolicySource."""

    __slots__ = ("_profile", "_whole")

    def __init__(self, whole: PolicySource, profile: str) -> None:
        self._whole = whole
        self._profile = profile

    def current(self) -> "Policy":
        """Return the policy in force; raises UnknownProfileError if it has no such profile."""
        return self._whole.current().profile(self._profile).policy


class EntryJudge:
    """Decides about the calls of every Being of this server; `server` is its name in rules.

    `mounts` knows the servers behind this one. `content` is called when one of them sends
    something, and checks its texts. `results` is called when a limit may be about the size
    of a result. `received` is called for what callers have received from those
    servers.
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
        self._judges = judges
        self._server = server
        self._mounts = mounts
        self._content = content
        self._reading = reading
        self._results = results
        self._received = received
        self._of_servers: BoundedCache[tuple[str, str, str], tuple[_Facts, Judge]] = BoundedCache(
            _MAX_JUDGES
        )
        self._of_profiles: BoundedCache[tuple[str, str], tuple[Judge, Judge]] = BoundedCache(
            _MAX_JUDGES
        )
        self._roots: dict[str, tuple[str, ...]] = {}

    def may_read(self, uri: str, principal: Principal | None) -> bool:
        """Tell whether a resource may be read without asking anybody; nothing is recorded."""
        place = self._place("resource", uri)
        judge = self._judge_of(_being_of(principal), place.server, _profile_of(principal))
        try:
            self._check_profile("resource", uri, place, principal)
            policy = judge.policy()
        except NacreError:
            return False
        subject = self._with_received(
            Subject("method", "resources/read", place.server, {"uri": place.name}),
            Context(principal=principal),
            judge,
        )
        is_allowed = policy.decide(subject, judge.where).action == "allow"
        return is_allowed or policy.settings.mode == "monitor"

    # Calls of clients.

    async def call_tool(
        self, name: str, tool: WireTool, arguments: dict[str, Any], context: Context
    ) -> WireResult:
        """Run a tool if the policy allows it, and return its result, possibly redacted.

        A denied call returns a result with the reason. Raises BlockedError if the policy makes
        denials errors.
        """
        place = self._place("tool", name)
        self._check_profile("tool", name, place, context.principal)
        needs_name = context.via is not None and not tool.read_only
        allowed = await self._allowed(name, place, arguments, context, needs_name=needs_name)
        if not isinstance(allowed, Allowed):
            return allowed
        try:
            if place.server == self._server:
                arguments = in_full(arguments)
            try:
                result = await tool.call(arguments, context)
            except OffersChangedError:  # the decision was about an older offer
                place = self._place("tool", name)
                self._check_profile("tool", name, place, context.principal)
                again = await self._allowed(
                    name, place, arguments, context, needs_name=needs_name, earlier=allowed
                )
                if not isinstance(again, Allowed):
                    return again
                allowed = again
                result = await tool.call(arguments, context)
            result = await self._checked(name, place, arguments, result, context)
        except RelayedError as error:
            raise self._screened_error("tools/call", place.server, error, context) from None
        except UpstreamError as error:
            self._note_fault(error, place.server, context)
            raise
        else:
            if allowed.counts_bytes:
                allowed.end(_size(result.to_dict()))
            return result
        finally:
            allowed.end()

    async def _checked(
        self,
        name: str,
        place: Place,
        arguments: dict[str, Any],
        result: WireResult,
        context: Context,
    ) -> WireResult:
        """Return a tool's result as its caller may get it."""
        judge = self._judge(context, place.server)
        limits_result = self._limits_result(judge)
        is_own = place.server == self._server or self._content is None
        self._note(place.server, judge, context)
        if is_own and not limits_result:
            return result
        value = changed = result.to_dict()
        try:
            if self._content is not None and not is_own:
                changed = await self._content().large(judge, "tools/call", value, context)
            if limits_result:
                subject = self._tool_subject(name, place, arguments)
                changed = await self._fitted(judge, subject, "tools/call", changed, context)
        except BlockedError as error:
            return _denied(Denied(str(error)), context)
        return result if changed is value else _Result(changed)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        context: Context,
        send: Callable[[], Awaitable[Mapping[str, Any]]],
    ) -> Mapping[str, Any]:
        """Read a resource or get a prompt if that is allowed; raises BlockedError."""
        allowed = await self._permit(method, params, context)
        kind, key = _NAMED_IN[method]
        uri = str(params[key]) if kind == "resource" else ""
        try:
            if self._results is not None and uri.startswith(RESULTS):
                value = await self._results().read(uri, context)
                if self._received is not None:
                    self._received().note_again(context)
            else:
                try:
                    value = await send()
                except OffersChangedError:  # the decision was about an older offer
                    allowed = await self._permit(method, params, context, earlier=allowed)
                    value = await send()
                value = await self._checked_contents(method, params, value, context)
        except RelayedError as error:
            server = self._place(kind, str(params[key])).server
            raise self._screened_error(method, server, error, context) from None
        except UpstreamError as error:
            self._note_fault(error, self._place(kind, str(params[key])).server, context)
            raise
        else:
            if allowed.counts_bytes:
                allowed.end(_size(value))
            return value
        finally:
            allowed.end()

    async def _checked_contents(
        self,
        method: str,
        params: Mapping[str, Any],
        value: Mapping[str, Any],
        context: Context,
    ) -> Mapping[str, Any]:
        """Return a resource or a prompt as its caller may get it; raises BlockedError."""
        kind, key = _NAMED_IN[method]
        place = self._place(kind, str(params[key]))
        judge = self._judge(context, place.server)
        self._note(place.server, judge, context)
        if place.server != self._server and self._content is not None:
            value = await self._content().large(judge, method, value, context)
        if self._limits_result(judge):
            subject = Subject("method", method, place.server, {**params, key: place.name})
            value = await self._fitted(judge, subject, method, value, context)
        return value

    def _limits_result(self, judge: Judge) -> bool:
        return self._results is not None and bool(judge.policy().limits)

    async def _fitted(
        self,
        judge: Judge,
        subject: Subject,
        method: str,
        value: Mapping[str, Any],
        context: Context,
    ) -> Mapping[str, Any]:
        """Return a result within the limits of its size; raises BlockedError."""
        assert self._results is not None
        return await self._results().fitted(judge, subject, method, value, context)

    def _note(self, server: str, judge: Judge, context: Context) -> None:
        """Note that the caller receives content of a server; raises UnavailableError."""
        if self._received is None or self._mounts is None or server == self._server:
            return
        if self._mounts.is_external(server):
            self._received().note(server, judge.policy(), context)

    def _note_fault(self, error: UpstreamError, server: str, context: Context) -> None:
        """Note an error of Nacre about a server, which may quote what the server has answered."""
        if not isinstance(error, _WITHOUT_CONTENT):
            self._note(server, self._judge(context, server), context)

    def _with_received(self, subject: Subject, context: Context, judge: Judge) -> Subject:
        """Return a subject with what its caller has received, if a rule depends on that."""
        try:
            engine = judge.policy().engine(judge.where)
            reads = engine.reads_origins(subject.kind, subject.name, subject.server)
        except Exception:  # noqa: BLE001 - the decision itself fails too, and the call is denied
            return subject
        if not reads or self._received is None:
            return subject
        return subject._replace(received=self._received().before(context))

    def _tool_subject(self, tool: str, place: Place, arguments: Mapping[str, Any]) -> Subject:
        mounts = self._mounts
        is_own = mounts is None or place.server == self._server
        paths = NO_PATHS if mounts is None or is_own else mounts.path_arguments(tool)
        return Subject("tool", place.name, place.server, arguments, paths)

    def screened_completion(
        self, ref: Mapping[str, Any], completion: dict[str, Any]
    ) -> dict[str, Any]:
        """Return suggestions that may go to the caller; raises BlockedError."""
        kind: Kind = "prompt" if ref.get("type") == "ref/prompt" else "resource"
        server = self._place(kind, str(ref.get(NAMED_BY[kind], ""))).server
        if server == self._server or self._content is None:
            return completion
        context = Context.detached()
        judge = self._judge(context, server)
        screened: dict[str, Any] = self._content().result(
            judge, "completion/complete", completion, context
        )
        return screened

    def _screened_error(
        self, method: str, server: str, error: RelayedError, context: Context
    ) -> RelayedError:
        """Return another server's error that may go to the caller; raises BlockedError."""
        self._note(server, self._judge(context, server), context)
        if server == self._server or self._content is None:
            return error
        value = {"message": str(error), "data": error.data}
        screened = self._content().result(self._judge(context, server), method, value, context)
        if screened is value:
            return error
        return RelayedError(error.code, str(screened["message"]), screened["data"])

    async def _allowed(
        self,
        tool: str,
        place: Place,
        arguments: Mapping[str, Any],
        context: Context,
        *,
        needs_name: bool,
        earlier: Allowed | None = None,
    ) -> Allowed | WireResult:
        """Return Allowed for a call that may be made, else the result that its caller gets.

        An `earlier` decision about the same call has counted it for its limits.
        """
        is_own = self._mounts is None or place.server == self._server
        subject = self._tool_subject(tool, place, arguments)
        subject = self._with_received(subject, context, self._judge(context, place.server))
        if type(arguments) is LargeArguments and self._reading is not None:
            await self._read_elsewhere(
                arguments, subject, self._reading, context, encodes=not is_own
            )
        needs_name = needs_name and not is_own
        ruling = await self._ruled(
            subject, context, "tool", tool, needs_name=needs_name, earlier=earlier
        )
        if isinstance(ruling, Allowed):
            return ruling
        if ruling.style == "error":
            raise _blocked(ruling)
        return _denied(ruling, context)

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
        import asyncio  # noqa: PLC0415 - a function on AWS never loads it

        judge = self._judge(context, subject.server)
        try:
            policy = judge.policy()
        except NacreError:
            return  # the judge denies the call, and says why
        paths = {subject.name: subject.paths}
        deciding = Deciding(
            policy, judge.where, subject.server, paths, subject.name, subject.received
        )
        work = partial(judged_elsewhere, arguments, reading, deciding, encodes=encodes)
        if is_in_loop():
            await asyncio.to_thread(work)
        else:  # a blocking tool already has its own thread
            work()

    async def _permit(
        self,
        method: str,
        params: Mapping[str, Any],
        context: Context,
        *,
        earlier: Allowed | None = None,
    ) -> Allowed:
        """Return Allowed for a request that may be made; raises BlockedError."""
        kind, key = _NAMED_IN[method]
        name = str(params[key])
        place = self._place(kind, name)
        self._check_profile(kind, name, place, context.principal)
        subject = self._with_received(
            Subject("method", method, place.server, {**params, key: place.name}),
            context,
            self._judge(context, place.server),
        )
        ruling = await self._ruled(subject, context, kind, name, earlier=earlier)
        if isinstance(ruling, Denied):
            raise _blocked(ruling)
        return ruling

    # Decisions.

    async def _ruled(
        self,
        subject: Subject,
        context: Context,
        kind: Kind,
        name: str,
        *,
        needs_name: bool = False,
        earlier: Allowed | None = None,
    ) -> Allowed | Denied:
        """Decide about the use of something, on what its server offers now."""
        decide = partial(
            self._decided, subject, context, kind, name, needs_name=needs_name, earlier=earlier
        )
        if recorder() is None:
            return await decide()
        # Only a tool is known to be listed; else a caller may have made its server up.
        attributes = {"nacre.server": subject.server} if kind == "tool" else {}
        with span("policy.decide", attributes, trace=context.trace) as recorded:
            ruling = await decide()
            is_denied = isinstance(ruling, Denied)
            recorded.set("nacre.policy.decision", "deny" if is_denied else "allow")
            if isinstance(ruling, Denied) and ruling.rule is not None:
                recorded.set("nacre.policy.rule", ruling.rule)
            return ruling

    async def _decided(
        self,
        subject: Subject,
        context: Context,
        kind: Kind,
        name: str,
        *,
        needs_name: bool,
        earlier: Allowed | None,
    ) -> Allowed | Denied:
        """Decide; when a server announces other offers while somebody is asked, decide again."""
        judge = self._judge(context, subject.server)
        call = self._call(subject, context)
        call.needs_name = needs_name
        task = context.task
        if kind == "tool" and task is not None and task.makes(name, subject.arguments):
            # It was decided, and approved, when it was called; a rule that has come to deny it
            # since still counts.
            call = replace(call, granted=True, counted=True)
        if earlier is not None:
            call = replace(call, counted=True, running=earlier.running)
        try:
            return await self._on_current_offers(judge, call, subject, context, kind, name)
        except BaseException:  # a place that a call has got belongs to a call that is made
            call.end()
            raise

    async def _on_current_offers(
        self,
        judge: Judge,
        call: Call,
        subject: Subject,
        context: Context,
        kind: Kind,
        name: str,
    ) -> Allowed | Denied:
        mounts = None if subject.server == self._server else self._mounts
        for _ in range(_MAX_CHANGES):
            current = call
            if mounts is not None:
                objection = await self._unlisted(mounts, subject.server) or self._objection(
                    mounts, kind, name, judge
                )
                current = call if objection is None else replace(call, objection=objection)
            ruling = await self._settled(judge, current, judge.rule(current), context)
            if isinstance(ruling, Denied):
                return ruling
            if ruling.approval is not None:
                # The answer to a later question brings the call here again.
                context.handler_state[_APPROVED] = _mark(subject, judge.policy())
                call = replace(call, granted=True)
            if mounts is None or not mounts.is_stale(subject.server):
                return ruling
        late_call = replace(call, objection=_ever_changing(subject.server))
        return await self._settled(judge, late_call, judge.rule(late_call), context)

    async def _unlisted(self, mounts: Mounts, server: str) -> str | None:
        """Wait for the lists that a server has announced; return why they are not there."""
        if not mounts.is_stale(server) or await mounts.fresh(server):
            return None
        return _ever_changing(server)

    def _objection(self, mounts: Mounts, kind: Kind, name: str, judge: Judge) -> str | None:
        """Return the reason why an item must wait even if a rule allows it, or None."""
        hold = mounts.held(kind, name)
        if hold is None:
            return None
        try:
            if not hold.applies(judge.policy()):
                return None
        except NacreError:
            return None  # without a policy the call is denied anyway
        # Loaded only for a refusal.
        from nacre.firewall.enforce.pin_check import refusal  # noqa: PLC0415

        state = "flagged" if hold.is_flagged else hold.state
        return refusal(hold.name, state, judge.server, judge.commands, hold.kind)

    async def _settled(
        self, judge: Judge, call: Call, ruling: Ruling, context: Context
    ) -> Allowed | Denied:
        """Return the final ruling; a pending one waits for a person's approval."""
        if not isinstance(ruling, Pending):
            return ruling
        by, request = ruling.by, ruling.request
        if isinstance(by, Question):
            # The ticket is in the name, so that an answer counts for no later question.
            name = f"{_APPROVAL}{by.ticket}"
            question = {name: {"method": "elicitation/create", "params": dict(by.params)}}
            try:
                answer = (await context.ask(question))[name]
            except NacreError as error:
                decided = judge.look(call, ruling)  # the owner may have used the command
                if isinstance(decided, Pending):
                    text = f"{request.decision.text}: nobody answered ({error})"
                    decided = judge.refuse(call, request, text)
            else:
                decided = judge.answered(call, request, by.ticket, answer)
        else:
            decided = await _held(judge, call, ruling, by, context)
        assert not isinstance(decided, Pending)
        return decided

    def _call(self, subject: Subject, context: Context) -> Call:
        """Return a call as the judge decides about it."""
        principal = context.principal
        return Call(
            subject=subject,
            principal=principal.subject if principal else "local",
            being=_being_of(principal),
            request=None if context.request_id is None else str(context.request_id),
            can_elicit=_can_elicit(context),
            granted=self._was_approved(subject, context),
            profile=_profile_of(principal),
        )

    def _was_approved(self, subject: Subject, context: Context) -> bool:
        approved = context.handler_state.get(_APPROVED)
        if approved is None:
            return False
        try:
            policy = self._judge(context, self._server).policy()
            return bool(approved == _mark(subject, policy))
        except NacreError:
            return False

    # The servers behind this one.

    async def decide(
        self, server: str, method: str, params: Mapping[str, Any], context: Context, *, key: str
    ) -> Mapping[str, Any]:
        """Return the params with which a server may ask the client; raises BlockedError.

        The key names the question among those of its call. A later round of the call decides about
        it again: it is then neither counted nor put to its owner once more.
        """
        judge = self._judge(context, server)
        screened = self._check().asked(judge, method, params)
        subject = Subject("method", method, server, params)
        mark = _mark(subject, judge.policy())
        was_allowed = context.handler_state.get(_ASKED, {}).get(key) == mark
        subject = self._with_received(subject, context, judge)
        call = replace(
            self._call(subject, context),
            sender="server",
            granted=was_allowed,
            counted=was_allowed,
            objection=screened.objection,
            doubt=screened.doubt,
            note=screened.note,
        )
        try:
            ruling = await self._settled(judge, call, judge.rule(call), context)
        finally:
            call.end()
        if isinstance(ruling, Denied):
            raise _blocked(ruling)
        if context.version == MODERN:  # an older client is asked within one round
            context.handler_state.setdefault(_ASKED, {})[key] = mark
        changed: Mapping[str, Any] = screened.value
        return changed if judge.policy().settings.mode == "enforce" else params

    def answer(
        self, server: str, method: str, result: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return the client's answer that may go to the server; raises BlockedError."""
        judge = self._judge(context, server)
        if method == "roots/list":
            self._learn_roots(server, result)
        screened: Mapping[str, Any] = self._check().answer(judge, method, result, context)
        return screened

    def passing(self, server: str, method: str, params: Any, context: Context) -> Any:
        """Return a server's notification that may go to the client; raises BlockedError."""
        return self._check().result(self._judge(context, server), method, params, context)

    def listed(self, server: str, offered: "Offered") -> "CheckedOffer":
        """Return which parts of an offer wait for the server's owner, and the offer to show."""
        return self._check().listed(self._judge_of("", server), offered)

    def _check(self) -> "MountedContent":
        assert self._content is not None, "there are no other servers"
        return self._content()

    def _judge(self, context: Context, server: str) -> Judge:
        """Return the judge that decides for the caller about a server."""
        principal = context.principal
        return self._judge_of(_being_of(principal), server, _profile_of(principal))

    def _judge_of(self, being_id: str, server: str, profile: str = "") -> Judge:
        own_judge = self._judges(being_id)
        if profile:
            own_judge = self._judge_in(being_id, profile, own_judge)
        if server == self._server or self._mounts is None:
            return own_judge
        cached = self._of_servers.get((being_id, server, profile))
        where = self._mounts.where(server)
        roots = self._roots.get(server, ())
        facts = (own_judge, where, roots)
        if cached is None or any(map(is_not, cached[0], facts)):
            where = with_roots(where, roots) if roots else where
            judge = replace(own_judge, server=server, where=where)
            cached = self._of_servers[being_id, server, profile] = (facts, judge)
        return cached[1]

    def _judge_in(self, being_id: str, profile: str, whole: Judge) -> Judge:
        """Return the judge that decides by the policy of a profile."""
        cached = self._of_profiles.get((being_id, profile))
        if cached is None or cached[0] is not whole:
            judge = replace(whole, source=_ProfilePolicy(whole.source, profile))
            cached = self._of_profiles[being_id, profile] = (whole, judge)
        return cached[1]

    def _check_profile(
        self, kind: Kind, name: str, place: Place, principal: Principal | None
    ) -> None:
        """Raise the error of an unknown name for one that is not in the caller's profile.

        Lists and names are narrowed before; this holds wherever a call comes from.
        """
        profile = _profile_of(principal)
        if not profile:
            return
        policy = self._judges(_being_of(principal)).policy()
        if is_in_profile(policy.profile(profile), place, kind, name):
            return
        if kind == "resource":
            raise UnknownResourceError(name)
        if kind == "prompt":
            raise NotFoundError(f"Prompt not found: {name[:200]}")
        raise InvalidParamsError(f"Unknown tool: {name[:200]}")

    def _learn_roots(self, server: str, answer: Mapping[str, Any]) -> None:
        """Remember the roots that a client gives a server, before the server has them.

        Several clients share a server, so that the roots of each may be its bases.
        """
        roots = self._roots.get(server, ())
        joined = tuple(dict.fromkeys([*roots, *roots_in(answer)]))
        if joined != roots:
            self._roots[server] = joined

    def _place(self, kind: Kind, name: str) -> Place:
        return place_of(self._mounts, kind, name, self._server)


async def _held(
    judge: Judge, call: Call, pending: Pending, by: Waiting, context: Context
) -> Ruling:
    """Hold a call until somebody has decided elsewhere, or its time or its caller is gone."""
    end = time.monotonic() + by.seconds
    while (remaining := end - time.monotonic()) > 0 and not context.cancelled:
        await _pause(min(_LOOK_SECONDS, remaining))
        ruling = judge.look(call, pending)
        if not isinstance(ruling, Pending):
            return ruling
    return judge.refuse(call, pending.request, by.text)


async def _pause(seconds: float) -> None:
    if is_stepping():  # a handler that blocks, in its own thread
        time.sleep(seconds)
        return
    import asyncio  # noqa: PLC0415 - a function on AWS holds nothing, and does not load it

    await asyncio.sleep(seconds)


def _mark(subject: Subject, policy: "Policy") -> str:
    """Return a key for the approval of this call; calls that its handler makes have others."""
    arguments = arguments_sha256(subject.arguments)
    return f"{policy.digest} {subject.server} {subject.name} {arguments}"


def _size(value: Mapping[str, Any]) -> int:
    """Return the size of a result that limits of bytes count."""
    from nacre.firewall.limits.result_cut import size_of  # noqa: PLC0415 - few policies do

    return size_of(value)


def _being_of(principal: Principal | None) -> str:
    """Return the id of a caller's Being, "" for nobody."""
    return principal.being_id if principal else ""


def _profile_of(principal: Principal | None) -> str:
    """Return the profile that a caller is in, "" for none."""
    return principal.profile if principal else ""


def _can_elicit(context: Context) -> bool:
    elicitation = context.capabilities.get("elicitation")
    if not isinstance(elicitation, Mapping) or (elicitation and "form" not in elicitation):
        return False
    return context.version == MODERN or context.channel.can_ask


def _denied(denied: Denied, context: Context) -> _Result:
    """Return the result of a tool call that was denied."""
    return _Result(blocked_result(denied, is_modern=context.version == MODERN))


def _blocked(denied: Denied) -> BlockedError:
    """Return the error for a denial that no result can carry."""
    return BlockedError(denied.text, rule=denied.rule, audit=denied.audit)


def _ever_changing(server: str) -> str:
    return (
        f"Blocked by policy (the server '{server[:80]}' has announced that what it offers has"
        " changed, and has not listed it yet; try again)"
    )
