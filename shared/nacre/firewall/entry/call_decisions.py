"""Decisions about calls, based on what the server offers now and what the caller has received.

If a person has to approve a call, it waits for the answer.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import replace
from nacre.core.traces import recorder, span
from nacre.firewall.content.digests import arguments_sha256
from nacre.firewall.enforce.judge import Allowed, Call, Denied, Judge, Pending, Ruling
from nacre.firewall.entry.caller_judges import CallerJudges, call_by
from nacre.firewall.entry.mounted_servers import NAMED_BY, Kind, Mounts, Place
from nacre.firewall.rules.rule import NO_PATHS, Subject
from nacre.protocol.context import Context
from nacre.protocol.large_calls import LargeArguments
from nacre.protocol.versions import MODERN

if TYPE_CHECKING:
    from nacre.firewall.entry.received_results import ReceivedResults
    from nacre.firewall.rules.policy import Policy

_APPROVED = "approved"  # the key under which a call stores its approval between its rounds
_MAX_CHANGES = 3  # of a server's offers during one call


class CallDecisions:
    """Decides about calls, for the judges of their callers.

    `received` is called when a rule depends on what callers have received.
    """

    def __init__(
        self,
        judges: CallerJudges,
        *,
        own_server: str,
        mounts: Mounts | None,
        received: "Callable[[], ReceivedResults] | None",
    ) -> None:
        self._judges = judges
        self._own_server = own_server
        self._mounts = mounts
        self._received = received

    def tool_subject(self, tool: str, place: Place, arguments: Mapping[str, Any]) -> Subject:
        """Return a call of a tool as rules see it; `tool` is its name for callers."""
        mounts = self._mounts
        is_own = mounts is None or place.server == self._own_server
        paths = NO_PATHS if mounts is None or is_own else mounts.path_arguments(tool)
        return Subject("tool", place.name, place.server, arguments, paths)

    def with_received(self, subject: Subject, context: Context, judge: Judge) -> Subject:
        """Return a subject with what its caller has received, if a rule depends on that."""
        received = self._received
        if received is None:
            return subject
        return judge.with_received(
            subject,
            lambda windows: received().before(context, windows),
            # Large arguments are read in another process.
            reads_arguments=type(subject.arguments) is not LargeArguments,
        )

    async def ruled(
        self,
        subject: Subject,
        context: Context,
        kind: Kind,
        name: str,
        *,
        needs_name: bool = False,
        earlier: Allowed | None = None,
    ) -> Allowed | Denied:
        """Decide about the use of something, on what its server offers now.

        `name` is its name for callers. An `earlier` decision about the same call has counted it
        for its limits.
        """
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

    def call(self, subject: Subject, context: Context) -> Call:
        """Return a call as the judge decides about it."""
        call = call_by(context, subject)
        call.can_elicit = _can_elicit(context)
        call.granted = self._was_approved(subject, context)
        return call

    async def settled(
        self, judge: Judge, call: Call, ruling: Ruling, context: Context
    ) -> Allowed | Denied:
        """Return the final ruling; a pending one waits for a person's approval."""
        if not isinstance(ruling, Pending):
            return ruling
        # Few calls wait.
        from nacre.firewall.entry.approval_wait import decided  # noqa: PLC0415

        return await decided(judge, call, ruling, context)

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
        judge = self._judges.of(context.principal, subject.server)
        call = self.call(subject, context)
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
        mounts = None if subject.server == self._own_server else self._mounts
        for _ in range(_MAX_CHANGES):
            current = call
            if mounts is not None:
                objection = await _unlisted(mounts, subject.server) or _objection(
                    mounts, kind, name, judge
                )
                current = call if objection is None else replace(call, objection=objection)
            ruling = await self.settled(judge, current, judge.rule(current), context)
            if isinstance(ruling, Denied):
                return ruling
            if ruling.approval is not None:
                # The answer to a later question brings the call here again.
                context.handler_state[_APPROVED] = approval_mark(subject, judge.policy())
                call = replace(call, granted=True)
            if mounts is None or not mounts.is_stale(subject.server):
                return ruling
        late_call = replace(call, objection=_ever_changing(subject.server))
        return await self.settled(judge, late_call, judge.rule(late_call), context)

    def _was_approved(self, subject: Subject, context: Context) -> bool:
        approved = context.handler_state.get(_APPROVED)
        if approved is None:
            return False
        try:
            policy = self._judges.of(context.principal, self._own_server).policy()
            return bool(approved == approval_mark(subject, policy))
        except NacreError:
            return False


def request_subject(kind: Kind, method: str, params: Mapping[str, Any], place: Place) -> Subject:
    """Return a request for a resource or a prompt as rules see it."""
    return Subject("method", method, place.server, {**params, NAMED_BY[kind]: place.name})


def approval_mark(subject: Subject, policy: "Policy") -> str:
    """Return a key for the approval of this call; calls that its handler makes have others."""
    arguments = arguments_sha256(subject.arguments)
    return f"{policy.digest} {subject.server} {subject.name} {arguments}"


async def _unlisted(mounts: Mounts, server: str) -> str | None:
    """Wait for the lists that a server has announced; return why they are not there."""
    if not mounts.is_stale(server) or await mounts.fresh(server):
        return None
    return _ever_changing(server)


def _objection(mounts: Mounts, kind: Kind, name: str, judge: Judge) -> str | None:
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


def _ever_changing(server: str) -> str:
    return (
        f"Blocked by policy (the server '{server[:80]}' has announced that what it offers has"
        " changed, and has not listed it yet; try again)"
    )


def _can_elicit(context: Context) -> bool:
    elicitation = context.capabilities.get("elicitation")
    if not isinstance(elicitation, Mapping) or (elicitation and "form" not in elicitation):
        return False
    return context.version == MODERN or context.channel.can_ask
