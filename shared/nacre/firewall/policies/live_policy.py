"""Policy sources: a fixed policy, and a policy file that may change at any time."""

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
    """A source of the policy in force."""

    def current(self) -> Policy:
        """Return the policy in force; raise UnavailableError if none can be read."""
        ...


class FixedPolicy:
    """A policy that never changes."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def current(self) -> Policy:
        """Return the policy."""
        return self._policy


class PolicyFile:
    """A policy file, read again within a second of a change.

    If the file becomes wrong or is deleted, the last good policy stays in force, and `tell`
    gets a message. Without a file the policy is `otherwise`; without `otherwise`, the file
    must exist and be valid from the start.
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
        self._version = self._file_version()
        self._checked = tick()
        if self._version is None and otherwise is not None:
            self._policy = otherwise()
        else:
            self._policy = load(path)

    def current(self) -> Policy:
        """Return the policy; check the file first if the last check is too old."""
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
        version = self._file_version()
        if version == self._version:
            return
        if version is None:
            self._version = None
            self._tell(f"{self._path}: is gone; the last good policy stays in force")
            return
        if 0 <= self._now() - version[0] / 1e9 < _SETTLED_SECONDS:
            return
        self._version = version
        try:
            self._policy = self._load(self._path)
        except PolicyError as error:
            self._tell(f"{error}; the last good policy stays in force")
        else:
            self._tell(f"{self._path}: the policy was read again")

    def _file_version(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino
