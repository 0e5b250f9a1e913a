"""Calls whose server asked something, while their client goes to get the answer."""

import time
from collections.abc import Callable
from random import Random
from threading import Lock
from typing import NamedTuple

from nacre.core.ids import short_id
from nacre.core.limits import PARKED_CALLS, PARKED_SECONDS
from nacre.ports.upstream import Asked, UpstreamCall


class Parked(NamedTuple):
    """A call that runs on, and what its server waits for."""

    call: UpstreamCall
    asked: Asked
    until: float


class ParkedCalls:
    """The waiting calls of this process, by tickets that only their clients get, sealed."""

    def __init__(self, rng: Random, tick: Callable[[], float] = time.monotonic) -> None:
        self._rng = rng
        self._tick = tick
        self._guard = Lock()
        self._waiting: dict[str, Parked] = {}

    def new_ticket(self) -> str:
        """Return a name that nobody guesses."""
        return short_id(self._rng) + short_id(self._rng)

    def park(self, ticket: str, call: UpstreamCall, asked: Asked) -> None:
        """Keep a call until its client comes back; the oldest ones are given up for it."""
        with self._guard:
            self._waiting[ticket] = Parked(call, asked, self._tick() + PARKED_SECONDS)
            ended = [name for name, each in self._waiting.items() if each.until <= self._tick()]
            ended += list(self._waiting)[: max(0, len(self._waiting) - len(ended) - PARKED_CALLS)]
            given_up = [self._waiting.pop(name) for name in dict.fromkeys(ended)]
        for each in given_up:
            each.call.cancel()

    def take(self, ticket: str) -> Parked | None:
        """Return the call, once; None when it waits no longer."""
        with self._guard:
            found = self._waiting.pop(ticket, None)
        if found is not None and found.until <= self._tick():
            found.call.cancel()
            return None
        return found
