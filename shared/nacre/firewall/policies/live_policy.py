"""The policy that counts now, which its owner may change while it is in force."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from nacre.core.errors import PolicyError
from nacre.core.limits import POLICY_CHECK_SECONDS
from nacre.firewall.rules.policy import Policy

_SETTLED_SECONDS = 0.2  # a file that was written just now may be half written


class PolicySource(Protocol):
    """Gives the policy that counts now."""

    def current(self) -> Policy:
        """Return the policy; raises UnavailableError when none is known."""
        ...


class FixedPolicy:
    """A policy that stays."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def current(self) -> Policy:
        """Return the policy."""
        return self._policy


class PolicyFile:
    """A policy file, read again within a second of a change.

    A file that became wrong, or went away, leaves the last good policy in force, and
    `tell` hears of it. Without a file the policy is `otherwise`; without that, the
    file must be there and right from the start.
    """

    def __init__(
        self,
        path: Path,
        load: Callable[[Path], Policy],
        *,
        otherwise: Callable[[], Policy] | None = None,
        tell: Callable[[str], None],
        tick: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._load = load
        self._tell = tell
        self._tick = tick
        self._now = now
        self._lock = threading.Lock()
        self._seen = self._look()
        self._checked = tick()
        missing = self._seen is None and otherwise is not None
        self._policy = otherwise() if missing and otherwise is not None else load(path)

    def current(self) -> Policy:
        """Return the policy, after a look at the file when the last one is long ago."""
        if self._tick() - self._checked >= POLICY_CHECK_SECONDS and self._lock.acquire(
            blocking=False
        ):
            try:
                self._checked = self._tick()
                self._refresh()
            finally:
                self._lock.release()
        return self._policy

    def _refresh(self) -> None:
        seen = self._look()
        if seen == self._seen:
            return
        if seen is None:
            self._seen = None
            self._tell(f"{self._path}: is gone; the last good policy stays in force")
            return
        if 0 <= self._now() - seen[0] / 1e9 < _SETTLED_SECONDS:
            return
        self._seen = seen
        try:
            self._policy = self._load(self._path)
        except PolicyError as error:
            self._tell(f"{error}; the last good policy stays in force")
        else:
            self._tell(f"{self._path}: the policy was read again")

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino
