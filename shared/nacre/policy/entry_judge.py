"""Decisions at the MCP entry: what a guard in front of another server would decide and record."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nacre.errors import NacreError
from nacre.own_server import OWN
from nacre.policy.entry_calls import Blocked, EntryCalls, Judges, being_of, blocked
from nacre.policy.entry_content import EntryContent
from nacre.policy.judge import Allowed, Denied, Judge
from nacre.policy.mounts import Mounts
from nacre.policy.rule import Subject
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, WireResult
from nacre.protocol.versions import is_modern

if TYPE_CHECKING:
    from nacre.policy.mounted import MountedContent
    from nacre.policy.policy import Policy


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
        self._shown: tuple[object, str, Definitions] | None = None

    def shown(self, whole: Definitions, principal: Principal | None) -> Definitions:
        """Return the tools that the policy does not deny for every argument.

        Where no policy can be read these are all, and each call is denied.
        """
        try:
            policy = self._judges(being_of(principal)).policy()
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
        place = self._calls.place("tool", tool)
        if not policy.engine().may_pass("tool", place.name, place.server):
            return False
        held = None if self._mounts is None else self._mounts.held(tool)
        return held is None or not held.holds(policy)

    async def refused(
        self, tool: str, arguments: Mapping[str, Any], context: Context
    ) -> WireResult | None:
        """Return None for a call that may be made, else what its caller gets."""
        place = self._calls.place("tool", tool)
        subject = Subject("tool", place.name, place.server, arguments)
        ruling = await self._ruled(subject, context, tool=tool)
        if isinstance(ruling, Allowed):
            return None
        if ruling.style == "error":
            raise blocked(ruling)
        return Blocked(ruling, is_modern=is_modern(context.version))

    async def permit(self, method: str, params: Mapping[str, Any], context: Context) -> None:
        """Raise BlockedError unless the request may be made."""
        place, named = self._calls.named(method, params)
        ruling = await self._ruled(Subject("method", method, place.server, named), context)
        if isinstance(ruling, Denied):
            raise blocked(ruling)

    async def _ruled(
        self, subject: Subject, context: Context, *, tool: str | None = None
    ) -> Allowed | Denied:
        judge = self._calls.judge(context, subject.server)
        call = self._calls.call(subject, context)
        task = context.task
        if tool is not None and task is not None and task.makes(tool, subject.arguments):
            # It was decided, and approved, when it was called; a rule that has come to deny it
            # since still counts.
            call = replace(call, granted=True)
        if tool is not None and (objection := self._objection(tool, subject, judge)) is not None:
            call = replace(call, objection=objection)
        ruling = await self._calls.settled(judge, call, judge.rule(call), context)
        if isinstance(ruling, Allowed) and ruling.approval is not None:
            self._calls.mark_approved(subject, judge, context)
        return ruling

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
