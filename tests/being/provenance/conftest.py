"""A memory and an audit on either store, and what is behind something in them."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from nacre.being.provenance.audited_calls import audited_call
from nacre.being.provenance.calls import why_call
from nacre.being.provenance.cause import Cause
from nacre.being.provenance.memories import Sources, why_memory
from nacre.core.own_server_name import OWN
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.audit.log import AuditTrail
from nacre.firewall.audit.stored_log import ItemAudit, ItemRecords
from tests.adapters.conftest import StillClock
from tests.being.memory.conftest import clock, kept, laptop, stack
from tests.being.memory.keeping import Keeper

__all__ = ["clock", "kept", "laptop", "stack"]


@dataclass
class Told:
    """A memory, the audit of its Being, and the names of its tokens."""

    kept: Keeper
    clock: StillClock
    trail: AuditTrail
    callers: dict[str, str] = field(default_factory=lambda: {"tok_1": "laptop"})

    @property
    def sources(self) -> Sources:
        records = ItemRecords(self.kept.table, self.kept.id, clock=self.clock)
        return Sources(self.kept.table, self.kept.memory, records, self.callers)

    def record(self, tool: str, server: str = OWN, **facts: Any) -> str:
        """Record an allowed call of a client, and return the name of its record."""
        known: dict[str, Any] = {
            "outcome": "allow",
            "method": "tools/call",
            "being": self.kept.id,
            "principal": "tok_1",
            **facts,
        }
        name = self.trail.record(AuditEntry(server=server, tool=tool, **known))
        self.clock.move(0.25)
        return name

    def why(self, id_: str) -> Cause:
        return why_memory(self.sources, self.kept.id, id_)

    def why_call(self, name: str) -> Cause:
        return why_call(self.sources, self.kept.id, audited_call(self.sources.records, name))


@pytest.fixture
def told(kept: Keeper, clock: StillClock) -> Told:
    """A memory and an audit on SQLite, and on DynamoDB."""
    return _told(kept, clock)


@pytest.fixture
def at_home(laptop: Keeper, clock: StillClock) -> Told:
    """The same on SQLite only."""
    return _told(laptop, clock)


def _told(kept: Keeper, clock: StillClock) -> Told:
    numbers = count(1)
    log = ItemAudit(kept.table, kept.id, clock=clock, new_writer=lambda: f"writer-{next(numbers)}")
    return Told(kept, clock, AuditTrail(log, clock))


def below(cause: Cause, *relations: str) -> Cause:
    """Return the one cause that follows these relations down from another."""
    for relation in relations:
        [cause] = [each for each in cause.causes if each.relation == relation]
    return cause


def fact(cause: Cause, name: str) -> str:
    """Return a fact of a cause, "" if it has none of this name."""
    return dict(cause.facts).get(name, "")


def every(cause: Cause) -> list[Cause]:
    """Return a cause and everything behind it."""
    return [cause, *(below for each in cause.causes for below in every(each))]
