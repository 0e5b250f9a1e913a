"""Decisions at the MCP entry: what a guard in front of another server would decide and record."""

from collections.abc import Callable, Mapping
from typing import Any

from nacre.errors import BlockedError, NacreError
from nacre.policy.approver import Question
from nacre.policy.judge import Allowed, Call, Denied, Judge, Pending, Ruling
from nacre.policy.replies import blocked_result
from nacre.policy.rule import Subject
from nacre.protocol.context import Context
from nacre.protocol.principal import Principal
from nacre.protocol.surface import Definitions, WireResult
from nacre.protocol.versions import is_modern

OWN = "nacre"  # the name under which rules know our own server
_APPROVAL = "approval-"

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


class EntryJudge:
    """Decides about the calls of every Being of this server; `server` is its name in rules."""

    def __init__(self, judges: Judges, *, server: str = OWN) -> None:
        self._judges = judges
        self._server = server
        self._shown: tuple[object, str, Definitions] | None = None

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
        if shown is None or shown[:2] != (whole, policy.digest):
            engine = policy.engine()
            kept = [
                each for each in whole if engine.may_pass("tool", str(each["name"]), self._server)
            ]
            shown = (whole, policy.digest, whole if len(kept) == len(whole) else tuple(kept))
            self._shown = shown
        return shown[2]

    async def refused(
        self, tool: str, arguments: Mapping[str, Any], context: Context
    ) -> WireResult | None:
        """Return None for a call that may be made, else what its caller gets."""
        ruling = await self._ruled(Subject("tool", tool, self._server, arguments), context)
        if isinstance(ruling, Allowed):
            return None
        if ruling.style == "error":
            raise _blocked(ruling)
        return _Blocked(ruling, is_modern=is_modern(context.version))

    async def permit(self, method: str, params: Mapping[str, Any], context: Context) -> None:
        """Raise BlockedError unless the request may be made."""
        ruling = await self._ruled(Subject("method", method, self._server, params), context)
        if isinstance(ruling, Denied):
            raise _blocked(ruling)

    async def _ruled(self, subject: Subject, context: Context) -> Allowed | Denied:
        principal = context.principal
        judge = self._judges(_being(principal))
        call = Call(
            subject=subject,
            principal=principal.subject if principal else "local",
            being=_being(principal),
            request=None if context.request_id is None else str(context.request_id),
            can_elicit=_can_elicit(context),
            # What runs as a task was decided, and approved, when it was called; a rule that
            # has come to deny it since still counts.
            granted=context.task is not None,
        )
        return await self._settled(judge, call, judge.rule(call), context)

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


def _being(principal: Principal | None) -> str:
    return principal.being_id if principal else ""


def _can_elicit(context: Context) -> bool:
    offered = context.capabilities.get("elicitation")
    if not isinstance(offered, Mapping) or (offered and "form" not in offered):
        return False
    return is_modern(context.version) or context.channel.can_ask


def _blocked(denied: Denied) -> BlockedError:
    return BlockedError(denied.text, rule=denied.rule, audit=denied.audit)
