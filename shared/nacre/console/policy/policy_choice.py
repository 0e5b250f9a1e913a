"""Which rules count for a Being, and which ones an owner edits."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from nacre.core.clock import Clock
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.packs import text_of
from nacre.firewall.policies.stored_policy import GLOBAL
from nacre.firewall.policies.version_store import Documents, Version
from nacre.firewall.rules.policy import Policy
from nacre.ports.items.table import Table

Source = Literal["file", "being", "all", "built-in"]
_SHOWN = 50


@dataclass(frozen=True, slots=True)
class InForce:
    """The rules that count for a scope, as somebody wrote them, and where they come from."""

    source: Source
    text: str
    version: Version | None = None
    file: str = ""

    def policy(self) -> Policy:
        """Return the rules; PolicyError for a file that does not load now."""
        return load_policy(self.text, source=self.file or "policy")


@dataclass(frozen=True, slots=True)
class Rulebook:
    """The policies of one scope: a Being's id, or `global` for all Beings.

    `policy_file` gives the file that comes before all that is pushed, where there is one.
    """

    table: Table
    scope: str
    clock: Clock
    policy_file: Callable[[], tuple[str, str] | None]

    @property
    def documents(self) -> Documents:
        """Return what keeps them."""
        return Documents(self.table, clock=self.clock)

    def own(self) -> Version | None:
        """Return the version that was pushed for this scope, if any was."""
        return self.documents.current(self.scope)

    def in_force(self) -> InForce:
        """Return what counts for the scope now."""
        if (file := self.policy_file()) is not None:
            name, text = file
            return InForce("file", text, file=name)
        if (own := self.own()) is not None:
            return InForce("all" if self.scope == GLOBAL else "being", own.text, own)
        if self.scope != GLOBAL and (shared := self.documents.current(GLOBAL)) is not None:
            return InForce("all", shared.text, shared)
        return InForce("built-in", text_of("default"))

    def versions(self) -> list[Version]:
        """Return the newest versions, the newest first."""
        return list(islice(self.documents.history(self.scope), _SHOWN))
