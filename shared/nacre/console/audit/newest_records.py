"""The audit as its owner reads it: the newest records first, and only those that are wanted."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from nacre.firewall.approvals.form import printable
from nacre.firewall.audit.log import moment_of
from nacre.ports.audit import AuditRecords

OUTCOMES = ("allow", "deny", "prompt", "pass", "reject", "drop", "note")
_SHOWN = 50
_MOST_READ = 5_000  # of records on one page, however few are wanted
_KNOWN = frozenset(
    (
        *("prev", "hash", "seq", "writer", "at", "outcome", "server", "sender", "method", "tool"),
        *("rule", "principal", "being", "note", "enforced", "shape", "approval", "policy"),
    )
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records: everything that is not empty must fit."""

    outcome: str = ""
    server: str = ""
    tool: str = ""  # a part of the tool's name, or of the method's
    who: str = ""  # a token's id
    until: str = ""  # a day
    elsewhere: bool = False  # those of no Being: of proxies on this machine

    def fits(self, record: Mapping[str, Any], being_id: str) -> bool:
        """Tell whether a record is wanted."""
        if str(record.get("being", "")) != ("" if self.elsewhere else being_id):
            return False
        named = f"{record.get('tool', '')} {record.get('method', '')}".lower()
        return (
            self.outcome in ("", record.get("outcome"))
            and self.server in ("", record.get("server"))
            and self.who in ("", record.get("principal"))
            and self.tool.lower() in named
        )

    def before(self) -> str:
        """Return the moment before which records are wanted, empty for all."""
        try:
            return (date.fromisoformat(self.until) + timedelta(days=1)).isoformat()
        except (ValueError, OverflowError):
            return ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record, with every character of it in sight."""

    at: str
    outcome: str
    server: str
    name: str
    method: str
    rule: str
    principal: str
    note: str
    shape: tuple[tuple[str, str], ...]
    approval: str
    more: tuple[tuple[str, str], ...]
    number: str
    is_enforced: bool


@dataclass(frozen=True, slots=True)
class Records:
    """Some records; `older` is the moment to go on from, empty where there are no more."""

    entries: tuple[Entry, ...]
    older: str
    damaged: int


def look(
    records: AuditRecords,
    being_id: str,
    wanted: Wanted,
    *,
    before: str = "",
    shown: int = _SHOWN,
    most: int = _MOST_READ,
) -> Records:
    """Return the newest records that are wanted, before a moment where one is given."""
    found: list[Entry] = []
    damaged = 0
    last = ""
    for count, line in enumerate(records.newest(before or wanted.before())):
        at = moment_of(line)
        # Records of one moment stay together: a page ends between two moments.
        if at != last and (len(found) >= shown or count >= most):
            return Records(tuple(found), last, damaged)
        last = at or last
        record = _parsed(line)
        if record is None:
            damaged += 1
        elif wanted.fits(record, being_id):
            found.append(_entry(record))
    return Records(tuple(found), "", damaged)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _entry(record: Mapping[str, Any]) -> Entry:
    def text(name: str) -> str:
        value = record.get(name)
        return "" if value is None else printable(str(value))

    shape = record.get("shape")
    return Entry(
        at=text("at"),
        outcome=text("outcome"),
        server=text("server"),
        name=text("tool") or text("method"),
        method=text("method"),
        rule=text("rule"),
        principal=text("principal"),
        note=text("note"),
        shape=_pairs(shape if isinstance(shape, Mapping) else {}),
        approval=text("approval"),
        more=_pairs({name: value for name, value in record.items() if name not in _KNOWN}),
        number=f"{text('writer')}/{text('seq')}",
        is_enforced=record.get("enforced", True) is not False,
    )


def _pairs(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (
            printable(str(name)),
            printable(value if isinstance(value, str) else json.dumps(value))[:400],
        )
        for name, value in values.items()
    )
