"""Decisions at the MCP entry: what a guard in front of another server would decide and record."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nacre.core.errors import NacreError
from nacre.core.own_server_name import OWN
from nacre.firewall.enforce.judge import Allowed, Denied, Judge
from nacre.firewall.entry.caller_content import EntryContent
from nacre.firewall.entry.mounted_servers import Kind, Mounts
from nacre.firewall.entry.tool_calls import NAMED, Blocked, EntryCalls, Judges, being_of, blocked
from nacre.firewall.rules.rule import NO_PATHS, Subject
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, WireResult
from nacre.protocol.versions import is_modern

if TYPE_CHECKING:
    from nacre.firewall.entry.mounted_content import MountedContent
    from nacre.firewall.rules.policy import Policy

_MOST_CHANGES = 3  # of a server's offers during one call
_NAMED_BY: Mapping[Kind, str] = {
    "tool": "name",
    "prompt": "name",
    "resource": "uri",
    "template": "uriTemplate",
}


class EntryJudge(EntryContent):
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
        super().__init__(EntryCalls(judges, server, mounts), content)
        self._judges = judges
        self._mounts = mounts
        self._shown: dict[Kind, tuple[object, str, Definitions]] = {}

    def shown(self, whole: Definitions, principal: Principal | None) -> Definitions:
        """Return the tools that the policy does not deny for every argument.

        Where no policy can be read these are all, and each call is denied.
        """
        return self._filtered("tool", whole, being_of(principal))

    def offered(self, kind: Kind, whole: Definitions) -> Definitions:
        """Return the prompts, resources or templates that do not wait for their owner."""
        return self._filtered(kind, whole, "")

    def _filtered(self, kind: Kind, whole: Definitions, being_id: str) -> Definitions:
        try:
            policy = self._judges(being_id).policy()
        except NacreError:
            return whole
        if policy.settings.mode == "monitor":
            return whole
        # Once: another thread may put another policy's list there.
        shown = self._shown.get(kind)
        if shown is None or shown[0] is not whole or shown[1] != policy.digest:
            kept = [each for each in whole if self._may_be_seen(kind, each, policy)]
            shown = (whole, policy.digest, whole if len(kept) == len(whole) else tuple(kept))
            self._shown[kind] = shown
        return shown[2]

    def _may_be_seen(self, kind: Kind, definition: Mapping[str, Any], policy: "Policy") -> bool:
        name = str(definition[_NAMED_BY[kind]])
        if kind == "tool":
            place = self._calls.place("tool", name)
            if not policy.engine().may_pass("tool", place.name, place.server):
                return False
        held = None if self._mounts is None else self._mounts.held(kind, name)
        return held is None or not held.holds(policy)

    def may_read(self, uri: str, principal: Principal | None) -> bool:
        """Tell whether a resource may be read without asking anybody; nothing is recorded."""
        place, named = self._calls.named("resources/read", {"uri": uri})
        judge = self._calls.judge_of(being_of(principal), place.server)
        try:
            policy = judge.policy()
        except NacreError:
            return False
        subject = Subject("method", "resources/read", place.server, named)
        is_allowed = policy.decide(subject, judge.where).action == "allow"
        return is_allowed or policy.settings.mode == "monitor"

    async def refused(
        self, tool: str, arguments: Mapping[str, Any], context: Context
    ) -> WireResult | None:
        """Return None for a call that may be made, else what its caller gets."""
        place = self._calls.place("tool", tool)
        paths = NO_PATHS if self._mounts is None else self._mounts.path_arguments(tool)
        subject = Subject("tool", place.name, place.server, arguments, paths)
        ruling = await self._ruled(subject, context, ("tool", tool))
        if isinstance(ruling, Allowed):
            return None
        if ruling.style == "error":
            raise blocked(ruling)
        return Blocked(ruling, is_modern=is_modern(context.version))

    async def permit(self, method: str, params: Mapping[str, Any], context: Context) -> None:
        """Raise BlockedError unless the request may be made."""
        place, named = self._calls.named(method, params)
        kind, key = NAMED[method]
        subject = Subject("method", method, place.server, named)
        ruling = await self._ruled(subject, context, (kind, str(params[key])))
        if isinstance(ruling, Denied):
            raise blocked(ruling)

    async def _ruled(
        self, subject: Subject, context: Context, what: tuple[Kind, str]
    ) -> Allowed | Denied:
        """Decide about the use of something, on what its server offers now.

        A server that announces other offers while somebody is asked is decided about again.
        """
        judge = self._calls.judge(context, subject.server)
        call = self._calls.call(subject, context)
        kind, name = what
        task = context.task
        if kind == "tool" and task is not None and task.makes(name, subject.arguments):
            # It was decided, and approved, when it was called; a rule that has come to deny it
            # since still counts.
            call = replace(call, granted=True)
        for _ in range(_MOST_CHANGES):
            objection = await self._stale(subject.server) or self._objection(what, subject, judge)
            current = call if objection is None else replace(call, objection=objection)
            ruling = await self._calls.settled(judge, current, judge.rule(current), context)
            if isinstance(ruling, Denied):
                return ruling
            if ruling.approval is not None:
                self._calls.mark_approved(subject, judge, context)
                call = replace(call, granted=True)
            if not self._is_stale(subject.server):
                return ruling
        late = replace(call, objection=_ever_changing(subject.server))
        return await self._calls.settled(judge, late, judge.rule(late), context)

    def _is_stale(self, server: str) -> bool:
        return (
            server != self._calls.server
            and self._mounts is not None
            and self._mounts.is_stale(server)
        )

    async def _stale(self, server: str) -> str | None:
        """Wait for the lists that a server has announced; return why they are not there."""
        if not self._is_stale(server):
            return None
        assert self._mounts is not None
        return None if await self._mounts.fresh(server) else _ever_changing(server)

    def _objection(self, what: tuple[Kind, str], subject: Subject, judge: Judge) -> str | None:
        """Return why something of another server may not be used, whatever the rules say."""
        held = None if self._mounts is None else self._mounts.held(*what)
        if held is None:
            return None
        try:
            if not held.holds(judge.policy()):
                return None
        except NacreError:
            return None  # without a policy the call is denied anyway
        # What a guard says; it is loaded where there is something to say.
        from nacre.firewall.enforce.pin_check import refusal  # noqa: PLC0415

        state = "flagged" if held.is_flagged else held.state
        return refusal(held.name, state, subject.server, judge.commands, held.kind)


def _ever_changing(server: str) -> str:
    return (
        f"Blocked by policy (the server '{server[:80]}' has announced that what it offers has"
        " changed, and has not listed it yet; try again)"
    )
