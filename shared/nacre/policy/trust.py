"""Which tools of a server may be called at all: those that are as somebody trusted them."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from shlex import quote
from typing import Any

from nacre.errors import NacreError
from nacre.policy.conversation import Conversation
from nacre.policy.digests import shown_name
from nacre.policy.pins import Pin, State

_AGAIN_SECONDS = 1.0  # an approval counts for the next call, and a model calls again and again


class Trust:
    """The pins of one server, as one conversation sees them."""

    def __init__(self, talk: Conversation, tick: Callable[[], float] = time.monotonic) -> None:
        self._talk = talk
        self._tick = tick
        self._pins: dict[str, Pin] | None = None
        self._read_at = 0.0
        self._has_baseline = False
        self._first_list_runs = False
        self._flagged: set[str] = set()

    def objection(self, tool: str) -> str | None:
        """Return why the tool may not be called now."""
        if self.has_no_objection(tool):
            return None
        talk = self._talk
        if talk.pins is None or talk.judge.policy().settings.pins != "quarantine":
            if tool not in self._flagged:
                return None
            return refusal(tool, "flagged", talk.judge.server, talk.judge.place)
        try:
            problem = self._problem(tool)
            if problem is not None and self._tick() - self._read_at >= _AGAIN_SECONDS:
                self._pins = None
                problem = self._problem(tool)
        except NacreError as error:
            talk.judge.tell(f"the pins cannot be read: {error}")
            return "Blocked by policy (the pins of the tools cannot be read)"
        return problem

    def has_no_objection(self, tool: str) -> bool:
        """Tell whether it is known without a look at the pins that the tool may be called."""
        if tool in self._flagged:
            return False
        if self._talk.pins is None:
            return True
        if self._pins is None:
            return False
        pin = self._pins.get(tool)  # whatever the policy makes of others
        return not self._has_baseline if pin is None else pin.state == "trusted"

    def flag(self, tools: Iterable[str], listed: Iterable[str]) -> None:
        """Remember which of the listed tools have a definition that instructs."""
        self._flagged = (self._flagged - set(listed)) | set(tools)

    def observe(
        self,
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
        server = talk.judge.server
        known = self._known()
        if is_first_page:
            self._first_list_runs = not self._has_baseline
        found = talk.pins.observe(
            server, definitions, is_first=self._first_list_runs, flagged=flagged
        )
        self._has_baseline = True
        if is_last_page:
            self._first_list_runs = False
        known.update(found)
        return found

    def _known(self) -> dict[str, Pin]:
        talk = self._talk
        assert talk.pins is not None
        if self._pins is None:
            self._pins = talk.pins.of(talk.judge.server)
            self._has_baseline = talk.pins.has_baseline(talk.judge.server)
            self._read_at = self._tick()
        return self._pins

    def _problem(self, tool: str) -> str | None:
        pin = self._known().get(tool)
        server = self._talk.judge.server
        if pin is None:
            if not self._has_baseline:
                return None
            shown = shown_name(tool)[:80]
            return (
                f"Blocked by policy (the tool '{shown}' is not among those that '{server}'"
                " had when it was approved; list its tools again)"
            )
        if pin.state == "trusted":
            return None
        return refusal(tool, pin.state, server, self._talk.judge.place)


def refusal(tool: str, state: State, server: str, place: str = "") -> str:
    """Return why a tool may not be called, and what its owner can do.

    `place` are the options with which that command finds the pins.
    """
    what = {
        "trusted": "is trusted",
        "new": "is new since the server was approved",
        "changed": "has changed since it was approved",
        "flagged": "has a definition that tries to instruct the model",
    }[state]
    shown = shown_name(tool)[:80]
    return (
        f"Blocked by policy (the tool '{shown}' {what}; its owner can look at it with:"
        f" nacre approve{place} {quote(server)})"
    )
