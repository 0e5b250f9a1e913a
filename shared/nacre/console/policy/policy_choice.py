"""The rules in force for a scope, and the version that an owner edits."""

from collections.abc import Callable
from itertools import islice
from typing import Literal

from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.packs import text_of
from nacre.firewall.policies.stored_policy import GLOBAL
from nacre.firewall.policies.version_store import PolicyVersions, Version
from nacre.firewall.rules.policy import Policy
from nacre.ports.items.table import Table

Source = Literal["file", "being", "all", "built-in"]
_SHOWN = 50


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """The text of the rules in force for a scope, and its source."""

    source: Source
    text: str
    version: Version | None = None
    file: str = ""

    def policy(self) -> Policy:
        """Return the rules; raises PolicyError if the file does not load."""
        return load_policy(self.text, source=self.file or "policy")


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The policies of one scope: a Being's id, or `global` for all Beings.

    `policy_file` returns the file that overrides pushed policies, or None.
    """

    table: Table
    scope: str
    clock: Clock
    policy_file: Callable[[], tuple[str, str] | None]

    @property
    def documents(self) -> PolicyVersions:
        """Return the store of the versions."""
        return PolicyVersions(self.table, clock=self.clock)

    def own(self) -> Version | None:
        """Return the version that was pushed for this scope, if any was."""
        return self.documents.current(self.scope)

    def in_force(self) -> PolicyInForce:
        """Return the rules in force for the scope."""
        if (file := self.policy_file()) is not None:
            name, text = file
            return PolicyInForce("file", text, file=name)
        if (pushed := self.own()) is not None:
            return PolicyInForce("all" if self.scope == GLOBAL else "being", pushed.text, pushed)
        if self.scope != GLOBAL and (shared := self.documents.current(GLOBAL)) is not None:
            return PolicyInForce("all", shared.text, shared)
        return PolicyInForce("built-in", text_of("default"))

    def versions(self) -> list[Version]:
        """Return the newest versions, newest first."""
        return list(islice(self.documents.history(self.scope), _SHOWN))
