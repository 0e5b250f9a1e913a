"""Decisions at the MCP entry: what a guard in front of another server would decide and record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nacre.errors import BlockedError, NacreError, RelayedError
from nacre.own_server import OWN
from nacre.policy.approver import Question
from nacre.policy.digests import arguments_sha256
from nacre.policy.judge import Allowed, Call, Denied, Judge, Pending, Ruling
from nacre.policy.mounts import Kind, Mounts, Place
from nacre.policy.replies import blocked_result
from nacre.policy.rule import Subject
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, WireResult
from nacre.protocol.versions import is_modern

if TYPE_CHECKING:
    from nacre.policy.mounted import MountedContent
    from nacre.policy.policy import Policy

_APPROVAL = "approval-"
_APPROVED = "approved"  # among what a call keeps between its rounds: which call it was
_MOST_JUDGES = 1024  # of Beings and servers, kept ready

_NAMED: Mapping[str, tuple[Kind, str]] = {
    "resources/read": ("resource", "uri"),
    "prompts/get": ("prompt", "name"),
}

Judges = Callable[[str], Judge]
"""From a Being's id, or "" for nobody in particular, to who decides for it."""


class _Blocked:
    """What a denied call gives back."""

    __slots__ = ("_denied", "_is_modern")

    def __init__(self, denied: Denied, *, is_modern: bool) -> None:
        self._denied = denied
        self._is_modern = is_modern

    def to_dict(self) -> dict[str, Any]:
        """Return the result as `tools/call` carries it."""
        return blocked_result(self._denied, is_modern=self._is_modern)


class _Changed:
    """A result without what may not be in it."""

    __slots__ = ("_value",)

    def __init__(self, value: dict[str, Any]) -> None:
        self._value = value

    def to_dict(self) -> dict[str, Any]:
        """Return the result as `tools/call` carries it."""
        return self._value


class EntryJudge:
    """Decides about the calls of every Being of this server; `server` is its name in rules.

    `mounts` tells what belongs to other servers behind it, and `content` looks at what
    those hand back; it is called when they do.
    """

    def __init__(
        self,
        judges: Judges,
        *,
        server: str = OWN,
        mounts: Mounts | None = None,
        content: "Callable[[], MountedContent] | None" = None,
    ) -> None:
        self._judges = judges
        self._server = server
        self._mounts = mounts
        self._content = content
        self._shown: tuple[object, str, Definitions] | None = None
        self._of_servers: dict[tuple[str, str], tuple[Judge, Judge]] = {}

    def shown(self, whole: Definitions, principal: Principal | None) -> Definitions:
        """Return the tools that the policy does not deny for every argument.

        Where no policy can be read these are all, and each call is denied.
        """
        try:
            policy = self._judges(_being(principal)).policy()
        except NacreError:
            return whole
        if policy.settings.mode == "monitor":
            return whole
        shown = self._shown  # once: another thread may put another policy's list there
        if shown is None or shown[0] is not whole or shown[1] != policy.digest:
            kept = [each for each in whole if self._may_be_seen(str(each["name"]), policy)]
            shown = (whole, policy.digest, whole if len(kept) == len(whole) else tuple(kept))
            self._shown = shown
        return shown[2]

    def _may_be_seen(self, tool: str, policy: "Policy") -> bool:
        place = self._place("tool", tool)
        if not policy.engine().may_pass("tool", place.name, place.server):
            return False
        held = None if self._mounts is None else self._mounts.held(tool)
        return held is None or not held.holds(policy)

    async def refused(
        self, tool: str, arguments: Mapping[str, Any], context: Context
    ) -> WireResult | None:
        """Return None for a call that may be made, else what its caller gets."""
        place = self._place("tool", tool)
        subject = Subject("tool", place.name, place.server, arguments)
        ruling = await self._ruled(subject, context, tool=tool)
        if isinstance(ruling, Allowed):
            return None
        if ruling.style == "error":
            raise _blocked(ruling)
        return _Blocked(ruling, is_modern=is_modern(context.version))

    async def permit(self, method: str, params: Mapping[str, Any], context: Context) -> None:
        """Raise BlockedError unless the request may be made."""
        place, named = self._named(method, params)
        ruling = await self._ruled(Subject("method", method, place.server, named), context)
        if isinstance(ruling, Denied):
            raise _blocked(ruling)

    # What comes back.

    def screened(self, tool: str, result: WireResult, context: Context) -> WireResult:
        """Return the result of a tool as its caller may have it."""
        server = self._place("tool", tool).server
        if server == self._server or self._content is None:
            return result
        value = result.to_dict()
        try:
            passed = self._content().result(
                self.judge(context, server), "tools/call", value, context
            )
        except BlockedError as error:
            denied = Denied(str(error), None, "")
            return _Blocked(denied, is_modern=is_modern(context.version))
        return result if passed is value else _Changed(passed)

    def screened_value(
        self, method: str, params: Mapping[str, Any], value: dict[str, Any], context: Context
    ) -> dict[str, Any]:
        """Return a resource or a prompt as its caller may have it; raises BlockedError."""
        server = self._named(method, params)[0].server
        if server == self._server or self._content is None:
            return value
        passed: dict[str, Any] = self._content().result(
            self.judge(context, server), method, value, context
        )
        return passed

    def screened_error(
        self, method: str, name: str, error: RelayedError, context: Context
    ) -> RelayedError:
        """Return another server's error as its caller may have it; raises BlockedError."""
        kind: Kind = "tool" if method == "tools/call" else _NAMED[method][0]
        server = self._place(kind, name).server
        if server == self._server or self._content is None:
            return error
        value = {"message": str(error), "data": error.data}
        passed = self._content().result(self.judge(context, server), method, value, context)
        if passed is value:
            return error
        return RelayedError(error.code, str(passed["message"]), passed["data"])

    # What other servers ask of the client.

    async def decide(
        self, server: str, method: str, params: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return the params as the client may be asked; raises BlockedError."""
        assert self._content is not None, "there are no other servers"
        judge = self.judge(context, server)
        screened = self._content().asked(judge, method, params)
        call = replace(
            self._call(Subject("method", method, server, params), context),
            sender="server",
            granted=False,
            objection=screened.objection,
            doubt=screened.doubt,
            note=screened.note,
        )
        ruling = await self._settled(judge, call, judge.rule(call), context)
        if isinstance(ruling, Denied):
            raise _blocked(ruling)
        changed: Mapping[str, Any] = screened.value
        return changed if judge.policy().settings.mode == "enforce" else params

    def answer(
        self, server: str, method: str, result: Mapping[str, Any], context: Context
    ) -> Mapping[str, Any]:
        """Return the client's answer as the server may have it; raises BlockedError."""
        assert self._content is not None, "there are no other servers"
        judge = self.judge(context, server)
        given: Mapping[str, Any] = self._content().answer(judge, method, result, context)
        return given

    def logged(self, server: str, data: Any, context: Context) -> Any:
        """Return what a server logs as the client may have it; raises BlockedError."""
        assert self._content is not None, "there are no other servers"
        judge = self.judge(context, server)
        return self._content().result(judge, "notifications/message", data, context)

    def listed(
        self, server: str, tools: Sequence[Mapping[str, Any]]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return which tools of a list wait for their owner, and which instruct, and why."""
        assert self._content is not None, "there are no other servers"
        return self._content().listed(self._judge_of("", server), tools)

    # Who decides about what.

    def judge(self, context: Context, server: str) -> Judge:
        """Return who decides for the caller about a server."""
        return self._judge_of(_being(context.principal), server)

    def _judge_of(self, being_id: str, server: str) -> Judge:
        own = self._judges(being_id)
        if server == self._server or self._mounts is None:
            return own
        known = self._of_servers.get((being_id, server))
        if known is None or known[0] is not own:
            if len(self._of_servers) >= _MOST_JUDGES:
                self._of_servers.clear()
            where = self._mounts.where(server)
            known = (own, replace(own, server=server, where=where))
            self._of_servers[being_id, server] = known
        return known[1]

    def _place(self, kind: Kind, name: str) -> Place:
        found = None if self._mounts is None else self._mounts.place(kind, name)
        return found or Place(self._server, name)

    def _named(self, method: str, params: Mapping[str, Any]) -> tuple[Place, Mapping[str, Any]]:
        """Return where a resource or prompt lives, and the request as it is made there."""
        kind, key = _NAMED[method]
        place = self._place(kind, str(params[key]))
        return place, {**params, key: place.name}

    async def _ruled(
        self, subject: Subject, context: Context, *, tool: str | None = None
    ) -> Allowed | Denied:
        judge = self.judge(context, subject.server)
        call = self._call(subject, context)
        task = context.task
        if tool is not None and task is not None and task.makes(tool, subject.arguments):
            # It was decided, and approved, when it was called; a rule that has come to deny it
            # since still counts.
            call = replace(call, granted=True)
        if tool is not None and (objection := self._objection(tool, subject, judge)) is not None:
            call = replace(call, objection=objection)
        ruling = await self._settled(judge, call, judge.rule(call), context)
        if isinstance(ruling, Allowed) and ruling.approval is not None:
            # The answer to a later question brings this very call here again.
            context.kept[_APPROVED] = _mark(subject, judge.policy())
        return ruling

    def _call(self, subject: Subject, context: Context) -> Call:
        principal = context.principal
        return Call(
            subject=subject,
            principal=principal.subject if principal else "local",
            being=_being(principal),
            request=None if context.request_id is None else str(context.request_id),
            can_elicit=_can_elicit(context),
            granted=self._was_approved(subject, context),
        )

    def _was_approved(self, subject: Subject, context: Context) -> bool:
        approved = context.kept.get(_APPROVED)
        if approved is None:
            return False
        try:
            policy = self._judges(_being(context.principal)).policy()
            return bool(approved == _mark(subject, policy))
        except NacreError:
            return False

    def _objection(self, tool: str, subject: Subject, judge: Judge) -> str | None:
        """Return why a tool of another server may not be called, whatever the rules say."""
        held = None if self._mounts is None else self._mounts.held(tool)
        if held is None:
            return None
        try:
            if not held.holds(judge.policy()):
                return None
        except NacreError:
            return None  # without a policy the call is denied anyway
        # What a guard says; it is loaded where there is something to say.
        from nacre.policy.trust import refusal  # noqa: PLC0415

        state = "flagged" if held.is_flagged else held.state
        return refusal(subject.name, state, subject.server)

    async def _settled(
        self, judge: Judge, call: Call, ruling: Ruling, context: Context
    ) -> Allowed | Denied:
        if not isinstance(ruling, Pending):
            return ruling
        by, request = ruling.by, ruling.request
        if isinstance(by, Question):
            # The ticket is in the name, so that an answer counts for no later question.
            name = f"{_APPROVAL}{by.ticket}"
            wanted = {name: {"method": "elicitation/create", "params": dict(by.params)}}
            try:
                given = (await context.ask(wanted))[name]
            except NacreError as error:
                text = f"{request.decision.text}: nobody answered ({error})"
                refused = judge.refuse(call, request, text)
            else:
                refused = judge.answered(call, request, by.ticket, given)
        else:
            refused = judge.refuse(call, request, by.text)
        assert not isinstance(refused, Pending)
        return refused


def _mark(subject: Subject, policy: "Policy") -> str:
    """Return what an approval was about: this call, and none that its handler makes."""
    arguments = arguments_sha256(subject.arguments)
    return f"{policy.digest} {subject.server} {subject.name} {arguments}"


def _being(principal: Principal | None) -> str:
    return principal.being_id if principal else ""


def _can_elicit(context: Context) -> bool:
    offered = context.capabilities.get("elicitation")
    if not isinstance(offered, Mapping) or (offered and "form" not in offered):
        return False
    return is_modern(context.version) or context.channel.can_ask


def _blocked(denied: Denied) -> BlockedError:
    return BlockedError(denied.text, rule=denied.rule, audit=denied.audit)
