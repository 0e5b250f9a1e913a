"""Whether a server that failed is tried again: after a pause, which grows."""

import time
from collections.abc import Callable
from threading import Lock

from nacre.core.errors import UpstreamError
from nacre.core.limits import (
    UPSTREAM_FAILURES,
    UPSTREAM_LONGEST_PAUSE_SECONDS,
    UPSTREAM_PAUSE_SECONDS,
)


class Breaker:
    """Counts failures in a row; when there are too many, one call after each pause is let by."""

    def __init__(self, server: str, tick: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._tick = tick
        self._guard = Lock()
        self._failures = 0
        self._pause = UPSTREAM_PAUSE_SECONDS
        self._until = 0.0
        self._reason = ""

    @property
    def is_open(self) -> bool:
        """Whether the server is left alone now."""
        return self._failures >= UPSTREAM_FAILURES and self._tick() < self._until

    def check(self) -> None:
        """Raise UpstreamError while the server is left alone."""
        with self._guard:
            if self._failures < UPSTREAM_FAILURES:
                return
            left = self._until - self._tick()
            if left > 0:
                raise UpstreamError(
                    self._server,
                    f"{self._reason or 'has failed'}; it is tried again in {left:.0f} s",
                )
            # This one goes; what comes while it runs waits for how it ends.
            self._until = self._tick() + self._pause

    def failed(self, reason: str) -> None:
        """Count a failure."""
        with self._guard:
            self._failures += 1
            self._reason = reason
            if self._failures > UPSTREAM_FAILURES:
                self._pause = min(2 * self._pause, UPSTREAM_LONGEST_PAUSE_SECONDS)
            self._until = self._tick() + self._pause

    def succeeded(self) -> None:
        """Forget all failures."""
        if self._failures:
            with self._guard:
                self._failures = 0
                self._pause = UPSTREAM_PAUSE_SECONDS
