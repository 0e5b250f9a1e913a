"""Audit trails on a folder and on the item store, for the suites of the audit."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from nacre.adapters.files.audit import JsonlAudit, JsonlRecords
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.audit.log import AuditTrail, Verified, verify_chain
from nacre.firewall.audit.stored_log import Anchors, ItemAudit, ItemRecords
from nacre.ports.audit import AuditLog, AuditRecords

BEING = "0191f6a0-0000-7000-8000-000000000001"


class Ticking:
    """A clock that moves on by a millisecond each time it is read."""

    def __init__(self) -> None:
        self.time = datetime(2026, 7, 28, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.time += timedelta(milliseconds=1)
        return self.time


@dataclass(frozen=True, slots=True)
class AuditStore:
    """One store of an audit: how to write it, and how to read it."""

    open_log: Callable[[], AuditLog]
    records: AuditRecords
    clock: Ticking

    def trail(self) -> AuditTrail:
        return AuditTrail(self.open_log(), self.clock)

    def lines(self) -> dict[str, list[dict[str, Any]]]:
        return {
            chain.writer: [json.loads(line) for line in chain.lines]
            for chain in self.records.chains()
        }

    def verified(self) -> list[Verified]:
        return [verify_chain(chain) for chain in self.records.chains()]


def in_folder(folder: Path) -> Iterator[AuditStore]:
    yield AuditStore(lambda: JsonlAudit(folder), JsonlRecords(folder), Ticking())


def in_items() -> Iterator[AuditStore]:
    database = SqliteDatabase(":memory:")
    clock, numbers = Ticking(), count(1)
    table = SqliteTable(database, "data", now=clock)

    def log() -> AuditLog:
        return ItemAudit(table, BEING, clock=clock, new_writer=lambda: f"writer-{next(numbers)}")

    yield AuditStore(log, ItemRecords(table, BEING, clock=clock), clock)
    database.close()


def anchors() -> tuple[Anchors, SqliteDatabase]:
    database = SqliteDatabase(":memory:")
    return Anchors(SqliteTable(database, "data")), database


def entry(number: int = 1) -> AuditEntry:
    return AuditEntry(outcome="allow", server="files", method="tools/call", tool=f"tool-{number}")
