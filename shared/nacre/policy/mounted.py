"""What other servers behind our entry hand back, ask and list, as a guard would judge it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nacre.errors import BlockedError
from nacre.policy.audit_entry import Direction
from nacre.policy.digests import digest
from nacre.policy.judge import Call, Judge
from nacre.policy.pins import Pins
from nacre.policy.rule import Subject
from nacre.policy.screen import Screen, Screened
from nacre.protocol.context import Context


class MountedContent:
    """Looks at content of one server after another, and keeps their pins."""

    def __init__(self, pins: Callable[[], Pins], screen: Screen | None = None) -> None:
        self._pins = pins
        self._screen = screen or Screen()

    def result(self, judge: Judge, method: str, value: Any, context: Context) -> Any:
        """Return a result as its caller may have it; raises BlockedError."""
        screened = self._screen.result(value, judge.policy())
        return self._passed(judge, method, screened, value, context, sender="server")

    def answer(self, judge: Judge, method: str, value: Any, context: Context) -> Any:
        """Return a client's answer as the server may have it; raises BlockedError."""
        screened = self._screen.answer(value, judge.policy())
        return self._passed(judge, method, screened, value, context, sender="client")

    def asked(self, judge: Judge, method: str, params: Mapping[str, Any]) -> Screened:
        """Look at what a server asks of the client."""
        return self._screen.asked(method, params, judge.policy())

    def listed(
        self, judge: Judge, tools: Sequence[Mapping[str, Any]]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Record a server's list; return which tools wait for their owner, and which instruct.

        Both say why, by the tool's name.
        """
        policy = judge.policy()
        flagged = {
            str(tool["name"]): problem
            for tool in tools
            if (problem := self._screen.definition(tool, policy)) is not None
        }
        waiting: dict[str, str] = {}
        if policy.settings.pins != "off":
            pins = self._pins()
            is_first = not pins.has_baseline(judge.server)
            found = pins.observe(judge.server, tools, is_first=is_first, flagged=flagged)
            waiting = {name: pin.state for name, pin in found.items() if pin.state != "trusted"}
            # What was approved all the same is trusted.
            flagged = {name: said for name, said in flagged.items() if name in waiting}
        judge.note(
            "note",
            "tools/list",
            sender="server",
            fields={
                "listed": len(tools),
                "sha256": digest(list(tools)),
                "waiting": sorted(name[:80] for name in waiting)[:20],
            },
        )
        return waiting, flagged

    def _passed(
        self,
        judge: Judge,
        method: str,
        screened: Screened,
        value: Any,
        context: Context,
        *,
        sender: Direction,
    ) -> Any:
        if screened.note is None and screened.objection is None:
            return value
        denies = screened.objection is not None
        kept = judge.note(
            "deny" if denies else "note",
            method,
            sender=sender,
            call=_caller(method, context),
            request=None if context.request_id is None else str(context.request_id),
            note=screened.note or screened.objection,
        )
        if judge.policy().settings.mode != "enforce":
            return value
        if denies or not kept:
            raise BlockedError(
                screened.objection or "Blocked by policy (the audit cannot be written)",
                rule=None,
                audit="",
            )
        return screened.value


def _caller(method: str, context: Context) -> Call:
    principal = context.principal
    return Call(
        subject=Subject("method", method, "", {}),
        principal=principal.subject if principal else "local",
        being=principal.being_id if principal else "",
    )
