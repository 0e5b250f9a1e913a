"""The policy in force on a laptop: a file, else a pushed version, else the built-in one."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from nacre.core.errors import PolicyError
from nacre.core.limits import POLICY_CHECK_SECONDS
from nacre.firewall.policies.live_policy import PolicyFile
from nacre.firewall.policies.stored_policy import PolicyInForce, StoredPolicies
from nacre.firewall.rules.policy import Policy

Tell = Callable[[str], None]


class LaptopPolicies:
    """The policy file if there is one, else the pushed policy, else the built-in one.

    A file that is wrong when the process starts is an error. If it becomes wrong later,
    the last good policy stays in force.
    """

    def __init__(
        self,
        path: Path,
        stored: StoredPolicies,
        *,
        must_exist: bool,
        tell: Tell,
        tick: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._stored = stored
        self._tell = tell
        self._tick = tick
        self._lock = threading.Lock()
        self._file = self._opened() if must_exist or path.exists() else None
        self._checked = tick()
        self._in_force: PolicyInForce | None = None

    def of(self, being_id: str | None) -> PolicyInForce:
        """Return the policy in force for a Being; version 0 is a file."""
        if self._file is None:
            self._check_file()
        if self._file is None:
            return self._stored.of(being_id)
        policy = self._file.current()
        in_force = self._in_force
        if in_force is None or in_force.policy is not policy:
            # The name alone: clients of the evaluator must not learn the folders of this machine.
            in_force = self._in_force = PolicyInForce(policy, self._path.name, 0)
        return in_force

    def current(self) -> Policy:
        """Return the policy in force without a Being."""
        file = self._file
        return self.of(None).policy if file is None else file.current()

    def _check_file(self) -> None:
        with self._lock:
            if self._file is not None or self._tick() - self._checked < POLICY_CHECK_SECONDS:
                return
            self._checked = self._tick()
            if not self._path.exists():
                return
            try:
                self._file = self._opened()
            except PolicyError as error:
                self._tell(f"{error}; the policy before it stays in force")
            else:
                self._tell(f"{self._path}: the policy was read")

    def _opened(self) -> PolicyFile:
        # Most machines have no file, and their starts do not wait for its parser.
        from nacre.firewall.policies.loader import read_policy  # noqa: PLC0415

        return PolicyFile(self._path, read_policy, tell=self._tell, tick=self._tick)
