"""The audit log as its owner reads it: filtered, the newest records first."""

import json
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.approvals.form import printable
from nacre.firewall.audit.log import moment_of
from nacre.ports.audit import AuditRecords

OUTCOMES = ("allow", "deny", "prompt", "pass", "reject", "drop", "note")
_SHOWN = 50
_MOST_READ = 5_000  # records for one page, however few of them match
_KNOWN = frozenset(
    (
        *("prev", "hash", "seq", "writer", "at", "outcome", "server", "sender", "method", "tool"),
        *("rule", "principal", "being", "note", "enforced", "shape", "approval", "policy"),
    )
)


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """A filter of records; every field that is not empty must match."""

    outcome: str = ""
    server: str = ""
    tool: str = ""  # a part of the tool's name, or of the method's
    who: str = ""  # a token's id
    until: str = ""  # a day
    elsewhere: bool = False  # records of proxies on this machine, which belong to no Being

    def matches(self, record: Mapping[str, Any], being_id: str) -> bool:
        """Tell whether a record matches."""
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
        """Return the moment before which records match, empty for all."""
        try:
            return (date.fromisoformat(self.until) + timedelta(days=1)).isoformat()
        except (ValueError, OverflowError):
            return ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record; every character of it is visible."""

    at: str
    outcome: str
    server: str
    name: str
    method: str
    rule: str
    principal: str
    request: str  # its id, which the client chose
    note: str
    shape: tuple[tuple[str, str], ...]
    approval: str
    more: tuple[tuple[str, str], ...]
    number: str
    is_enforced: bool


@dataclass(frozen=True, slots=True)
class Records:
    """Some records; `older` is where the next page starts, empty when there are no more."""

    entries: tuple[Entry, ...]
    older: str
    damaged: int


def look(
    records: AuditRecords,
    being_id: str,
    record_filter: RecordFilter,
    *,
    before: str = "",
    limit: int = _SHOWN,
    most: int = _MOST_READ,
) -> Records:
    """Return the newest records that match, before a moment if one is given."""
    entries: list[Entry] = []
    damaged = 0
    last = ""
    for count, line in enumerate(records.newest(before or record_filter.before())):
        at = moment_of(line)
        # Records of one moment stay together: a page ends between two moments.
        if at != last and (len(entries) >= limit or count >= most):
            return Records(tuple(entries), last, damaged)
        last = at or last
        record = _parsed(line)
        if record is None:
            damaged += 1
        elif record_filter.matches(record, being_id):
            entries.append(_entry(record))
    return Records(tuple(entries), "", damaged)


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
        request=text("request"),
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
