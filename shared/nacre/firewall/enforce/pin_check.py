"""What a server offers that may be used at all: what is as somebody trusted it."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import Any

from nacre.core.errors import NacreError
from nacre.firewall.content.digests import shown_name
from nacre.firewall.enforce.conversation import Conversation
from nacre.firewall.pins import Pin, PinKind, State, may_name, pin_name
from nacre.firewall.suggested_commands import Commands

_AGAIN_SECONDS = 1.0  # an approval counts for the next call, and a model calls again and again
_WHAT: Mapping[PinKind, str] = {
    "tool": "tool",
    "prompt": "prompt",
    "resource": "resource",
    "template": "resource template",
    "instructions": "server's instructions",
}


@dataclass(slots=True)
class _Known:
    """The pins of one kind as they were last read, and what its lists said since."""

    pins: dict[str, Pin] | None = None
    read_at: float = 0.0
    has_baseline: bool = False
    first_list_runs: bool = False
    flagged: set[str] = field(default_factory=set)


class Trust:
    """The pins of one server, as one conversation sees them."""

    def __init__(self, talk: Conversation, tick: Callable[[], float] = time.monotonic) -> None:
        self._talk = talk
        self._tick = tick
        self._kinds: dict[PinKind, _Known] = {}
        self._tools = self._of("tool")

    # May it be used?

    def objection(self, kind: PinKind, name: str) -> str | None:
        """Return why a tool may not be called, a prompt not used or a resource not read now."""
        if kind == "resource":
            return self._objection("resource", name) or self._template_objection(name)
        if kind == "tool" and self.has_no_objection(name):
            return None
        return self._objection(kind, name)

    def has_no_objection(self, tool: str) -> bool:
        """Tell whether it is known without a look at the pins that the tool may be called."""
        known = self._tools
        if tool in known.flagged:
            return False
        if self._talk.pins is None:
            return True
        if known.pins is None:
            return False
        pin = known.pins.get(tool)  # whatever the policy makes of others
        return not known.has_baseline if pin is None else pin.state == "trusted"

    def _objection(self, kind: PinKind, name: str) -> str | None:
        talk, known = self._talk, self._of(kind)
        if talk.pins is None or talk.judge.policy().settings.pins != "quarantine":
            if name not in known.flagged:
                return None
            return refusal(name, "flagged", talk.judge.server, talk.judge.commands, kind)
        try:
            problem = self._problem(kind, name)
            if problem is not None and self._tick() - known.read_at >= _AGAIN_SECONDS:
                known.pins = None
                problem = self._problem(kind, name)
        except NacreError as error:
            talk.judge.tell(f"the pins cannot be read: {error}")
            return f"Blocked by policy (the pins of the {_WHAT[kind]}s cannot be read)"
        return problem

    def _template_objection(self, uri: str) -> str | None:
        """Return why a resource may not be read that a waiting template names."""
        talk = self._talk
        if talk.pins is None:
            waiting: Collection[str] = self._of("template").flagged
        else:
            try:
                pins = self._known("template")
            except NacreError:
                return "Blocked by policy (the pins of the resource templates cannot be read)"
            waiting = [name for name, pin in pins.items() if pin.state != "trusted"]
            if waiting and uri in self._known("resource"):
                return None  # it was listed, and so looked at, by itself
        for template in waiting:
            if may_name(template, uri):
                return self._objection("template", template)
        return None

    # What the lists say.

    def flag(self, kind: PinKind, names: Iterable[str], listed: Iterable[str]) -> None:
        """Remember which of the listed definitions instruct."""
        known = self._of(kind)
        known.flagged = (known.flagged - set(listed)) | set(names)

    def observe(
        self,
        kind: PinKind,
        definitions: Sequence[Mapping[str, Any]],
        flagged: Mapping[str, str],
        *,
        is_first_page: bool,
        is_last_page: bool,
    ) -> dict[str, Pin]:
        """Compare a page of a list with the pins and keep what is new in it."""
        talk = self._talk
        if talk.pins is None or talk.judge.policy().settings.pins == "off":
            return {}
        pins, known = self._known(kind), self._of(kind)
        if is_first_page:
            known.first_list_runs = not known.has_baseline
        found = talk.pins.observe(
            talk.judge.server,
            definitions,
            is_first=known.first_list_runs,
            flagged=flagged,
            kind=kind,
        )
        known.has_baseline = True
        if is_last_page:
            known.first_list_runs = False
        pins.update(found)
        return found

    def refused(
        self,
        kind: PinKind,
        definitions: Sequence[Mapping[str, Any]],
        flagged: Mapping[str, str],
        *,
        is_first_page: bool = True,
        is_last_page: bool = True,
    ) -> set[str]:
        """Observe a page, and return the names that wait for the server's owner."""
        talk = self._talk
        settings = talk.judge.policy().settings
        names = [pin_name(each, kind) for each in definitions]
        try:
            pins = self.observe(
                kind,
                definitions,
                flagged,
                is_first_page=is_first_page,
                is_last_page=is_last_page,
            )
        except NacreError as error:
            talk.judge.tell(f"the pins cannot be kept: {error}")
            waiting = set(names) if settings.pins == "quarantine" else set()
        else:
            if talk.pins is None or settings.pins == "off":
                waiting = set(flagged)
            elif settings.pins == "record":
                waiting = {name for name in flagged if pins[name].state != "trusted"}
            else:
                waiting = {name for name, pin in pins.items() if pin.state != "trusted"}
        self.flag(kind, waiting & set(flagged), names)
        return waiting

    def is_known(self, kind: PinKind) -> bool:
        """Tell whether a list of this kind was ever seen; False where that cannot be read."""
        if self._talk.pins is None:
            return False
        try:
            self._known(kind)
        except NacreError:
            return False
        return self._of(kind).has_baseline

    def _of(self, kind: PinKind) -> _Known:
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = _Known()
        return known

    def _known(self, kind: PinKind) -> dict[str, Pin]:
        talk, known = self._talk, self._of(kind)
        assert talk.pins is not None
        if known.pins is None:
            known.pins = talk.pins.of(talk.judge.server, kind)
            known.has_baseline = talk.pins.has_baseline(talk.judge.server, kind)
            known.read_at = self._tick()
        return known.pins

    def _problem(self, kind: PinKind, name: str) -> str | None:
        pin = self._known(kind).get(name)
        server = self._talk.judge.server
        if pin is None:
            # Resources come and go, and many are in no list.
            if kind == "resource" or not self._of(kind).has_baseline:
                return None
            shown = shown_name(name)[:80]
            return (
                f"Blocked by policy (the {_WHAT[kind]} '{shown}' is not among those that"
                f" '{server}' had when it was approved; list its {_WHAT[kind]}s again)"
            )
        if pin.state == "trusted":
            return None
        return refusal(name, pin.state, server, self._talk.judge.commands, kind)


def refusal(name: str, state: State, server: str, commands: Commands, kind: PinKind) -> str:
    """Return why a tool or the like may not be used, and the command that its owner can run."""
    what = {
        "trusted": "is trusted",
        "new": "is new since the server was approved",
        "changed": "has changed since it was approved",
        "flagged": "has a definition that tries to instruct the model",
    }[state]
    shown = shown_name(name)[:80]
    return (
        f"Blocked by policy (the {_WHAT[kind]} '{shown}' {what}; its owner can look at it with:"
        f" {commands.line('approve', quote(server))})"
    )
