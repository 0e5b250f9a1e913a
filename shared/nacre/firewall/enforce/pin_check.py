"""Checks that tools, prompts and resources have not changed since their owner approved them."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from shlex import quote
from typing import Any

from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.firewall.content.digests import masked_name
from nacre.firewall.enforce.conversation import Conversation
from nacre.firewall.pins import Pin, PinKind, State, may_name, pin_name
from nacre.firewall.suggested_commands import Commands

_REREAD_SECONDS = 1.0  # between reads of the pins, because a model may repeat a refused call often
_KIND_NAMES: Mapping[PinKind, str] = {
    "tool": "tool",
    "prompt": "prompt",
    "resource": "resource",
    "template": "resource template",
    "instructions": "server's instructions",
}


@dataclass(slots=True)
class _PinsOfKind:
    """The pins of one kind as last read, and the definitions flagged since."""

    pins: dict[str, Pin] | None = None
    read_at: float = 0.0
    has_baseline: bool = False
    first_list_runs: bool = False
    flagged: set[str] = field(default_factory=set)


class PinCheck:
    """The pins of one server, as one conversation sees them."""

    def __init__(
        self, conversation: Conversation, tick: Callable[[], float] = time.monotonic
    ) -> None:
        self._conversation = conversation
        self._tick = tick
        self._kinds: dict[PinKind, _PinsOfKind] = {}
        self._tools = self._of("tool")

    # Checks of a call.

    def objection(self, kind: PinKind, name: str) -> str | None:
        """Return the reason why a tool, prompt or resource may not be used, or None."""
        if kind == "resource":
            return self._objection("resource", name) or self._template_objection(name)
        if kind == "tool" and self.has_no_objection(name):
            return None
        return self._objection(kind, name)

    def has_no_objection(self, tool: str) -> bool:
        """Tell whether the cached pins allow the tool; if unknown, return False."""
        tools = self._tools
        if tool in tools.flagged:
            return False
        if self._conversation.pins is None:
            return True
        if tools.pins is None:
            return False
        pin = tools.pins.get(tool)  # whatever the policy says about others
        return not tools.has_baseline if pin is None else pin.state == "trusted"

    def _objection(self, kind: PinKind, name: str) -> str | None:
        conversation, cached = self._conversation, self._of(kind)
        if conversation.pins is None or conversation.judge.policy().settings.pins != "quarantine":
            if name not in cached.flagged:
                return None
            return refusal(
                name, "flagged", conversation.judge.server, conversation.judge.commands, kind
            )
        try:
            problem = self._problem(kind, name)
            if problem is not None and self._tick() - cached.read_at >= _REREAD_SECONDS:
                cached.pins = None
                problem = self._problem(kind, name)
        except NacreError as error:
            conversation.judge.tell(f"the pins cannot be read: {error}")
            return f"Blocked by policy (the pins of the {_KIND_NAMES[kind]}s cannot be read)"
        return problem

    def _template_objection(self, uri: str) -> str | None:
        """Return why a resource of a waiting template may not be read."""
        conversation = self._conversation
        if conversation.pins is None:
            waiting: Collection[str] = self._of("template").flagged
        else:
            try:
                pins = self._pins("template")
            except NacreError:
                return "Blocked by policy (the pins of the resource templates cannot be read)"
            waiting = [name for name, pin in pins.items() if pin.state != "trusted"]
            if waiting and uri in self._pins("resource"):
                return None  # it was listed and checked itself
        for template in waiting:
            if may_name(template, uri):
                return self._objection("template", template)
        return None

    # Checks of a list.

    def flag(self, kind: PinKind, names: Iterable[str], listed: Iterable[str]) -> None:
        """Remember which of the listed definitions try to instruct the model."""
        cached = self._of(kind)
        cached.flagged = (cached.flagged - set(listed)) | set(names)

    def observe(
        self,
        kind: PinKind,
        definitions: Sequence[Mapping[str, Any]],
        flagged: Mapping[str, str],
        *,
        is_first_page: bool,
        is_last_page: bool,
    ) -> dict[str, Pin]:
        """Compare a page of a list with the pins, and store new pins."""
        conversation = self._conversation
        if conversation.pins is None or conversation.judge.policy().settings.pins == "off":
            return {}
        pins, cached = self._pins(kind), self._of(kind)
        if is_first_page:
            cached.first_list_runs = not cached.has_baseline
        observed = conversation.pins.observe(
            conversation.judge.server,
            definitions,
            is_first=cached.first_list_runs,
            flagged=flagged,
            kind=kind,
        )
        cached.has_baseline = True
        if is_last_page:
            cached.first_list_runs = False
        pins.update(observed)
        return observed

    def refused(
        self,
        kind: PinKind,
        definitions: Sequence[Mapping[str, Any]],
        flagged: Mapping[str, str],
        *,
        is_first_page: bool = True,
        is_last_page: bool = True,
    ) -> set[str]:
        """Compare a page, and return the names that wait for the server's owner."""
        conversation = self._conversation
        settings = conversation.judge.policy().settings
        names = [pin_name(definition, kind) for definition in definitions]
        try:
            pins = self.observe(
                kind,
                definitions,
                flagged,
                is_first_page=is_first_page,
                is_last_page=is_last_page,
            )
        except NacreError as error:
            conversation.judge.tell(f"the pins cannot be kept: {error}")
            waiting = set(names) if settings.pins == "quarantine" else set()
        else:
            if conversation.pins is None or settings.pins == "off":
                waiting = set(flagged)
            elif settings.pins == "record":
                waiting = {name for name in flagged if pins[name].state != "trusted"}
            else:
                waiting = {name for name, pin in pins.items() if pin.state != "trusted"}
        self.flag(kind, waiting & set(flagged), names)
        return waiting

    def is_known(self, kind: PinKind) -> bool:
        """Tell whether a list of this kind is known to have been seen."""
        if self._conversation.pins is None:
            return False
        try:
            self._pins(kind)
        except NacreError:
            return False
        return self._of(kind).has_baseline

    def _of(self, kind: PinKind) -> _PinsOfKind:
        cached = self._kinds.get(kind)
        if cached is None:
            cached = self._kinds[kind] = _PinsOfKind()
        return cached

    def _pins(self, kind: PinKind) -> dict[str, Pin]:
        conversation, cached = self._conversation, self._of(kind)
        assert conversation.pins is not None
        if cached.pins is None:
            cached.pins = conversation.pins.of(conversation.judge.server, kind)
            cached.has_baseline = conversation.pins.has_baseline(conversation.judge.server, kind)
            cached.read_at = self._tick()
        return cached.pins

    def _problem(self, kind: PinKind, name: str) -> str | None:
        pin = self._pins(kind).get(name)
        server = self._conversation.judge.server
        if pin is None:
            # Resources come and go, and many are in no list.
            if kind == "resource" or not self._of(kind).has_baseline:
                return None
            label = masked_name(name)[:80]
            return (
                f"Blocked by policy (the {_KIND_NAMES[kind]} '{label}' is not among those that"
                f" '{server}' had when it was approved; list its {_KIND_NAMES[kind]}s again)"
            )
        if pin.state == "trusted":
            return None
        return refusal(name, pin.state, server, self._conversation.judge.commands, kind)


def refusal(name: str, state: State, server: str, commands: Commands, kind: PinKind) -> str:
    """Return the refusal of an item: the reason, and the command that shows it to its owner."""
    reason = {
        "trusted": "is trusted",
        "new": "is new since the server was approved",
        "changed": "has changed since it was approved",
        "flagged": "has a definition that tries to instruct the model",
    }[state]
    label = masked_name(name)[:80]
    return (
        f"Blocked by policy (the {_KIND_NAMES[kind]} '{label}' {reason}; its owner can look at it"
        f" with: {commands.line('approve', quote(server))})"
    )
