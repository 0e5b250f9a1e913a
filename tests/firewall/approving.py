"""Calls that need approval, and the parts that approve them, for tests."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from nacre.firewall.approvals.approver import ApprovalRequest
from nacre.firewall.approvals.service import Approvals, Desk
from nacre.firewall.content.digests import arguments_sha256
from nacre.firewall.rules.rule import Decision, Subject
from nacre.firewall.rules.sections import Settings
from nacre.ports.items.table import Table
from tests.adapters.conftest import StillClock

ASKS = Decision("prompt", 2, "Ask before a file is removed", "Ask before a file is removed")
ONCE: dict[str, Any] = {"action": "accept", "content": {"decision": "allow once"}}
MINUTES: dict[str, Any] = {"action": "accept", "content": {"decision": "allow for 10 minutes"}}
SESSION: dict[str, Any] = {"action": "accept", "content": {"decision": "allow for this session"}}
TOOL: dict[str, Any] = {
    "action": "accept",
    "content": {"decision": "allow any call of this tool for 10 minutes"},
}
NO: dict[str, Any] = {"action": "decline"}


def wish(
    *,
    principal: str = "tok_1",
    server: str = "files",
    tool: str = "remove",
    arguments: Mapping[str, Any] | None = None,
    policy: str = "p1",
    rule: str | None = None,
    received: Collection[str] = (),
) -> ApprovalRequest:
    """Return a call that a rule wants approved."""
    values = {"path": "/tmp/a"} if arguments is None else arguments
    subject = Subject("tool", tool, server, values, received=frozenset(received))
    return ApprovalRequest(principal, subject, arguments_sha256(values), policy, ASKS, rule)


@dataclass
class Office:
    """The approvals of one store, as any number of processes see them."""

    table: Table
    clock: StillClock
    settings: Settings = field(default_factory=Settings)
    seed: int = 0

    def approvals(self, session: str | None = None, **others: Any) -> Approvals:
        """Return what one more process has."""
        self.seed += 1
        return Approvals(
            self.table,
            lambda: self.settings,
            clock=self.clock,
            rng=Random(self.seed),
            session=session,
            **others,
        )

    @property
    def desk(self) -> Desk:
        return Desk(self.table, clock=self.clock)


Asked = Callable[[ApprovalRequest], Any]
