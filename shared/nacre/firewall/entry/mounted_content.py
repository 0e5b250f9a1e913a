"""Results, questions and lists of the servers behind the entry, checked as a guard would."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nacre.core.coroutines import is_in_loop
from nacre.core.errors import BlockedError
from nacre.core.lazy_dataclasses import replace
from nacre.firewall.audit.entry import Direction
from nacre.firewall.content.digests import digest
from nacre.firewall.enforce.content_check import Screen, Screened
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.enforce.large_results import Screening, is_large, screened_elsewhere
from nacre.firewall.entry.caller_judges import call_by
from nacre.firewall.entry.mounted_servers import CheckedOffer
from nacre.firewall.pins import Pin, PinKind, Pins, label, pin_name
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Subject
from nacre.ports.other_programs.upstream import Offered
from nacre.protocol.context import Context

Note = Callable[..., object]

_LISTS: tuple[tuple[str, PinKind, str], ...] = (
    ("tools", "tool", "tools/list"),
    ("prompts", "prompt", "prompts/list"),
    ("resources", "resource", "resources/list"),
    ("templates", "template", "resources/templates/list"),
)


class MountedContent:
    """Checks contents of the servers behind the entry, and stores their pins."""

    def __init__(
        self,
        pins: Callable[[], Pins],
        screen: Screen | None = None,
        screening: Screening | None = None,
    ) -> None:
        self._pins = pins
        self._screen = screen or Screen()
        self._screening = screening

    def result(self, judge: Judge, method: str, value: Any, context: Context) -> Any:
        """Return a result that may go to the caller, possibly redacted; raises BlockedError."""
        screened = self._screen.result(value, judge.policy(), method)
        return self._passed(judge, method, screened, value, context, sender="server")

    async def large(self, judge: Judge, method: str, value: Any, context: Context) -> Any:
        """Return the same as `result`, but screen a large result without delaying other calls."""
        screening = self._screening
        if screening is None or not is_large(value):
            return self.result(judge, method, value, context)
        import asyncio  # noqa: PLC0415 - a function without other servers never loads it

        policy = judge.policy()
        if is_in_loop():
            screened = await asyncio.to_thread(screened_elsewhere, value, method, policy, screening)
        else:  # a blocking tool already has its own thread
            screened = screened_elsewhere(value, method, policy, screening)
        if screened is None:
            return self.result(judge, method, dict(value), context)
        if screened.doubt is not None and screened.objection is None:
            screened = screened._replace(objection=screened.doubt)
        return self._passed(judge, method, screened, value, context, sender="server")

    def answer(self, judge: Judge, method: str, value: Any, context: Context) -> Any:
        """Return a client's answer that may go to the server; raises BlockedError."""
        screened = self._screen.answer(value, judge.policy())
        return self._passed(judge, method, screened, value, context, sender="client")

    def asked(self, judge: Judge, method: str, params: Mapping[str, Any]) -> Screened:
        """Check a server's question to the client."""
        return self._screen.asked(method, params, judge.policy())

    def listed(self, judge: Judge, offered: Offered) -> CheckedOffer:
        """Record a server's offer; return its waiting parts, and the offer to show."""
        policy, server = judge.policy(), judge.server
        return compared(offered, server, policy, self._pins, self._screen, judge.note)

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
        call = call_by(context, Subject("method", method, "", {}))
        recorded = judge.note(
            "deny" if denies else "note",
            method,
            sender=sender,
            call=call,
            request=call.request,
            note=screened.note or screened.objection,
        )
        if judge.policy().settings.mode != "enforce":
            return value
        if denies or not recorded:
            raise BlockedError(
                screened.objection or "Blocked by policy (the audit cannot be written)",
                rule=None,
                audit="",
            )
        return screened.value


def compared(
    offered: Offered,
    server: str,
    policy: Policy,
    pins: Callable[[], Pins],
    screen: Screen | None = None,
    note: Note | None = None,
) -> CheckedOffer:
    """Compare a server's offer with its pins, and pin new parts.

    Return the parts that wait for the server's owner, and the offer to show. `note` records the
    lists in the audit.
    """
    screen = screen or Screen()
    note = note or _unrecorded
    waiting: dict[str, str] = {}
    flagged: dict[str, str] = {}
    filtered: dict[str, Any] = {}
    for member, kind, method in _LISTS:
        items: Sequence[Mapping[str, Any]] = getattr(offered, member)
        problems = {
            pin_name(item, kind): problem
            for item in items
            if (problem := screen.definition(item, policy)) is not None
        }
        if policy.settings.pins == "off":
            untrusted: dict[str, str] = {}
            flagged |= {label(kind, name): problem for name, problem in problems.items()}
        else:
            listed = _pinned(pins(), server, kind, items, problems)
            untrusted = {pin.label: pin.state for pin in listed.values() if pin.state != "trusted"}
            # A flagged part that its owner approved is trusted.
            flagged |= {
                listed[name].label: problem
                for name, problem in problems.items()
                if listed[name].state != "trusted"
            }
        waiting |= untrusted
        filtered[member] = _without_secrets(screen, policy, method, items, note)
        if items or kind == "tool":
            note(
                "note",
                method,
                sender="server",
                fields={
                    "listed": len(items),
                    "sha256": digest(list(items)),
                    "waiting": sorted(untrusted)[:20],
                },
            )
    return CheckedOffer(replace(offered, **filtered), waiting, flagged)


def _pinned(
    pins: Pins,
    server: str,
    kind: PinKind,
    items: Sequence[Mapping[str, Any]],
    problems: Mapping[str, str],
) -> dict[str, Pin]:
    is_first = not pins.has_baseline(server, kind)
    return pins.observe(server, items, is_first=is_first, flagged=problems, kind=kind)


def _without_secrets(
    screen: Screen,
    policy: Policy,
    method: str,
    items: Sequence[Mapping[str, Any]],
    note: Note,
) -> tuple[Mapping[str, Any], ...]:
    screened = screen.listed({"items": list(items)}, policy)
    if screened.note is None or policy.settings.mode != "enforce":
        return tuple(items)
    note("note", method, sender="server", note=screened.note)
    if screened.objection is None:
        return tuple(screened.value["items"])
    return tuple(item for item in items if screen.listed({"items": [item]}, policy).note is None)


def _unrecorded(*_args: Any, **_fields: Any) -> None:
    """Record nothing, because the server's owner asked and sees the answer."""
