"""Which policy counts on a laptop: a file, or what was pushed, or the built-in one."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from nacre.core.errors import PolicyError
from nacre.core.limits import POLICY_CHECK_SECONDS
from nacre.firewall.policies.live_policy import PolicyFile
from nacre.firewall.policies.loader import read_policy
from nacre.firewall.policies.stored_policy import InForce, StoredPolicies
from nacre.firewall.rules.policy import Policy

Tell = Callable[[str], None]


class LaptopPolicies:
    """The policy file where there is one, else what was pushed, else the built-in policy.

    A file that is wrong when the process starts is an error; one that becomes wrong
    later leaves the last good policy in force.
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
        self._looked = tick()
        self._known: InForce | None = None

    def of(self, being_id: str | None) -> InForce:
        """Return what counts for a Being; version 0 is a file."""
        if self._file is None:
            self._look()
        if self._file is None:
            return self._stored.of(being_id)
        policy = self._file.current()
        known = self._known
        if known is None or known.policy is not policy:
            # The name alone: who asks the evaluator need not know the folders of this machine.
            known = self._known = InForce(policy, self._path.name, 0)
        return known

    def current(self) -> Policy:
        """Return what counts for nobody in particular."""
        file = self._file
        return self.of(None).policy if file is None else file.current()

    def _look(self) -> None:
        with self._lock:
            if self._file is not None or self._tick() - self._looked < POLICY_CHECK_SECONDS:
                return
            self._looked = self._tick()
            if not self._path.exists():
                return
            try:
                self._file = self._opened()
            except PolicyError as error:
                self._tell(f"{error}; the policy before it stays in force")
            else:
                self._tell(f"{self._path}: the policy was read")

    def _opened(self) -> PolicyFile:
        return PolicyFile(self._path, read_policy, tell=self._tell, tick=self._tick)
