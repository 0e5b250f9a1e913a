"""Stored approvals: one item for each exact call that somebody is asked about.

An approval of a whole tool is another item.

The key of the item is the digest of the values that an approval is bound to, so a call that
differs in one argument finds nothing. Each change names the state that it starts from, so only
one of several simultaneous changes succeeds.
"""

import hashlib
from collections.abc import Collection, Iterator
from math import ceil
from typing import Any, Literal

from nacre.core.errors import ConditionFailedError
from nacre.core.lazy_dataclasses import dataclass, fields
from nacre.core.limits import APPROVAL_KEPT_SECONDS, CLOCK_TOLERANCE_SECONDS, MAX_APPROVAL_MINUTES
from nacre.firewall.approvals.approver import ApprovalRequest
from nacre.firewall.content.digests import canonical
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Change,
    Compare,
    Condition,
    Either,
    Every,
    Item,
    Key,
    Range,
    Table,
)

State = Literal["open", "granted", "denied"]
Lasting = Literal["once", "minutes", "session", "tool"]
"""How far an approval goes: `tool` is for some minutes, and for any arguments."""


_CALL = "C#"
_SESSION = "S#"
_TOOL = "T#"
_HINT = 8  # characters of the digest that a ticket starts with
_SCHEMA = 1
# A ticket that ends later than this was stored before the clock was set back.
_MAX_MS = (MAX_APPROVAL_MINUTES * 60 + CLOCK_TOLERANCE_SECONDS) * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """One call and the state of its approval; times are milliseconds since 1970.

    `arguments` are as a person sees them. `until` ends the ticket in any state. `tool` is the
    digest for an approval of the whole tool, if it can be given.
    """

    ticket: str
    digest: str
    state: State
    until: int
    asked: int
    principal: str
    server: str
    kind: str
    name: str
    arguments: str
    arguments_sha256: str
    policy: str
    rule: int | None
    text: str
    lasting: Lasting | None = None
    session: str | None = None
    by: str = ""
    tool: str | None = None

    @property
    def approval(self) -> str:
        """The ticket, its duration and who answered it, for the audit."""
        return f"{self.ticket} {self.lasting} {self.by}"


_FIELDS = tuple(field.name for field in fields(Ticket))


def digest_of(request: ApprovalRequest) -> str:
    """Return the digest of the values that an approval is bound to."""
    return hashlib.sha256(canonical(list(request.binding()))).hexdigest()


def tool_digest_of(request: ApprovalRequest) -> str | None:
    """Return the digest that an approval of the whole tool is bound to; None if none is."""
    binding = request.tool_binding()
    if binding is None:
        return None
    return hashlib.sha256(canonical(["tool", *binding])).hexdigest()


def ticket_of(digest: str, random_part: str) -> str:
    """Return the name of a question: the start of the call's digest, and a random part."""
    return f"{digest[:_HINT]}-{random_part}"


class ApprovalStore:
    """The approvals of one scope, in the item store."""

    def __init__(self, table: Table, scope: str) -> None:
        self._table = table
        self._partition = f"AP#{scope}"

    def read(
        self, digest: str, session: str | None, now: int, *, tool: str | None = None
    ) -> list[Ticket]:
        """Return the tickets in force for a call, of its session first and its tool last."""
        keys = [self._key(digest, None)]
        if session is not None:
            keys.insert(0, self._key(digest, session))
        if tool is not None:
            keys.append(self._tool_key(tool))
        items = self._table.get_many(keys)
        tickets = [_ticket(items[key]) for key in keys if key in items]
        return [ticket for ticket in tickets if _is_in_force(ticket, now)]

    def open(self, ticket: Ticket, now: int) -> bool:
        """Store a new question; return False if the call already has a question or an answer."""
        latest = now + _MAX_MS
        is_free = Either((Absent(), Compare("until", "<=", now), Compare("until", ">", latest)))
        try:
            self._table.put(self._item(ticket), when=is_free)
        except ConditionFailedError:
            return False
        return True

    def use(self, ticket: Ticket, now: int) -> bool:
        """Use up an approval for one call; return False if it was used before or has ended."""
        return self._remove(ticket, "granted", now)

    def take(self, ticket: Ticket, now: int) -> bool:
        """Use up an open question that was allowed for one call."""
        return self._remove(ticket, "open", now)

    def answer(self, ticket: Ticket, decided: Ticket, now: int) -> bool:
        """Replace a question by its answer; return False if the question has changed meanwhile."""
        if decided.lasting in ("session", "tool") and decided.state == "granted":
            # After a crash in between, somebody is asked again.
            if not self._remove(ticket, ticket.state, now):
                return False
            self._table.put(self._item(decided))
            return True
        changed = {
            "state": decided.state,
            "until": decided.until,
            "by": decided.by,
            "lasting": decided.lasting,
            EXPIRES_AT: _expires_at(decided),
        }
        key = self._key_of(ticket)
        try:
            self._table.update(key, Change(set=changed), when=self._is(ticket, ticket.state, now))
        except ConditionFailedError:
            return False
        return True

    def all(self, now: int) -> list[Ticket]:
        """Return all tickets in force, the oldest question first."""
        tickets = [ticket for ticket in self._tickets("") if _is_in_force(ticket, now)]
        return sorted(tickets, key=lambda ticket: (ticket.asked, ticket.ticket))

    def find(self, name: str, now: int) -> Ticket | None:
        """Return the ticket with this name, or None."""
        for prefix in (f"{_CALL}{name[:_HINT]}", _SESSION, _TOOL):
            for ticket in self._tickets(prefix):
                if ticket.ticket == name and _is_in_force(ticket, now):
                    return ticket
        return None

    def forget(self, principals: Collection[str]) -> int:
        """Remove every approval of these principals; return how many there were."""
        theirs = [ticket for ticket in self._tickets("") if ticket.principal in principals]
        for ticket in theirs:
            self._table.delete(self._key_of(ticket))
        return len(theirs)

    def _tickets(self, prefix: str) -> Iterator[Ticket]:
        keys = Range(prefix=prefix) if prefix else None
        for item in every_item(self._table, self._partition, keys=keys, at_once=100):
            if str(item["sk"]).startswith((_CALL, _SESSION, _TOOL)):
                yield _ticket(item)

    def _remove(self, ticket: Ticket, state: State, now: int) -> bool:
        try:
            self._table.delete(self._key_of(ticket), when=self._is(ticket, state, now))
        except ConditionFailedError:
            return False
        return True

    def _is(self, ticket: Ticket, state: State, now: int) -> Condition:
        return Every(
            (
                Compare("ticket", "=", ticket.ticket),
                Compare("state", "=", state),
                Compare("until", ">", now),
                Compare("until", "<=", now + _MAX_MS),
            )
        )

    def _key_of(self, ticket: Ticket) -> Key:
        if ticket.lasting == "tool" and ticket.tool is not None:
            return self._tool_key(ticket.tool)
        return self._key(ticket.digest, ticket.session if ticket.lasting == "session" else None)

    def _key(self, digest: str, session: str | None) -> Key:
        if session is None:
            return Key(self._partition, f"{_CALL}{digest}")
        return Key(self._partition, f"{_SESSION}{session}#{digest}")

    def _tool_key(self, digest: str) -> Key:
        return Key(self._partition, f"{_TOOL}{digest}")

    def _item(self, ticket: Ticket) -> Item:
        key = self._key_of(ticket).attributes()
        facts = {name: getattr(ticket, name) for name in _FIELDS}
        return {**key, SCHEMA: _SCHEMA, EXPIRES_AT: _expires_at(ticket), **facts}


def _is_in_force(ticket: Ticket, now: int) -> bool:
    """Tell whether a ticket has not ended, and is not from before the clock was set back."""
    return now < ticket.until <= now + _MAX_MS


def _ticket(item: Item) -> Ticket:
    fields: Any = {name: item.get(name) for name in _FIELDS}
    return Ticket(**fields)


def _expires_at(ticket: Ticket) -> int:
    return ceil(ticket.until / 1000) + APPROVAL_KEPT_SECONDS
