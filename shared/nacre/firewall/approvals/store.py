"""Where approvals are kept: one item for each exact call that somebody is asked about.

The key of the item is the digest of all that an approval is bound to, so a call that differs
in one argument finds nothing. Each change names the state that it starts from, so of several
that come at once one happens.
"""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from math import ceil
from typing import Any, Literal

from nacre.core.errors import ConditionFailedError
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
Lasting = Literal["once", "minutes", "session"]

_CALL = "C#"
_SESSION = "S#"
_HINT = 8  # characters of the digest that a ticket starts with
_SCHEMA = 1
# An end that is further ahead was set before the clock was set back.
_LONGEST_MS = (MAX_APPROVAL_MINUTES * 60 + CLOCK_TOLERANCE_SECONDS) * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """One call and how its approval stands; moments are milliseconds since 1970.

    `arguments` are what a person is shown. `until` ends whatever the state is.
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

    @property
    def approval(self) -> str:
        """Who allowed what, for the audit."""
        return f"{self.ticket} {self.lasting} {self.by}"


_FIELDS = tuple(field.name for field in fields(Ticket))


def digest_of(request: ApprovalRequest) -> str:
    """Return the digest of all that an approval is bound to."""
    return hashlib.sha256(canonical(list(request.binding()))).hexdigest()


def ticket_of(digest: str, chance: str) -> str:
    """Return the name of a question: it leads to the call, and is new each time."""
    return f"{digest[:_HINT]}-{chance}"


class ApprovalStore:
    """The approvals of one scope, in the item store."""

    def __init__(self, table: Table, scope: str) -> None:
        self._table = table
        self._partition = f"AP#{scope}"

    def read(self, digest: str, session: str | None, now: int) -> list[Ticket]:
        """Return what counts for a call now: what its session was granted, then the rest."""
        keys = [self._key(digest, None)]
        if session is not None:
            keys.insert(0, self._key(digest, session))
        found = self._table.get_many(keys)
        tickets = [_ticket(found[key]) for key in keys if key in found]
        return [ticket for ticket in tickets if _counts(ticket, now)]

    def open(self, ticket: Ticket, now: int) -> bool:
        """Keep a new question; False where the call has one, or an answer."""
        latest = now + _LONGEST_MS
        over = Either((Absent(), Compare("until", "<=", now), Compare("until", ">", latest)))
        try:
            self._table.put(self._item(ticket), when=over)
        except ConditionFailedError:
            return False
        return True

    def use(self, ticket: Ticket, now: int) -> bool:
        """Use up what was granted once; False where somebody else did, or it ended."""
        return self._remove(ticket, "granted", now)

    def take(self, ticket: Ticket, now: int) -> bool:
        """Use up an open question, whose answer is yes for this once."""
        return self._remove(ticket, "open", now)

    def answer(self, ticket: Ticket, answered: Ticket, now: int) -> bool:
        """Turn a question into its answer; False when it is no longer as it was."""
        if answered.lasting == "session" and answered.state == "granted":
            # Lost in between, the session is asked once more.
            if not self._remove(ticket, ticket.state, now):
                return False
            self._table.put(self._item(answered))
            return True
        changed = {
            "state": answered.state,
            "until": answered.until,
            "by": answered.by,
            "lasting": answered.lasting,
            EXPIRES_AT: _expires_at(answered),
        }
        key = self._key_of(ticket)
        try:
            self._table.update(key, Change(set=changed), when=self._is(ticket, ticket.state, now))
        except ConditionFailedError:
            return False
        return True

    def all(self, now: int) -> list[Ticket]:
        """Return every approval that is open or counts, the oldest question first."""
        found = [ticket for ticket in self._each("") if _counts(ticket, now)]
        return sorted(found, key=lambda ticket: (ticket.asked, ticket.ticket))

    def find(self, name: str, now: int) -> Ticket | None:
        """Return the approval of this name."""
        for prefix in (f"{_CALL}{name[:_HINT]}", _SESSION):
            for ticket in self._each(prefix):
                if ticket.ticket == name and _counts(ticket, now):
                    return ticket
        return None

    def forget(self, principals: Collection[str]) -> int:
        """Remove every approval of these principals; return how many there were."""
        theirs = [ticket for ticket in self._each("") if ticket.principal in principals]
        for ticket in theirs:
            self._table.delete(self._key_of(ticket))
        return len(theirs)

    def _each(self, prefix: str) -> Iterator[Ticket]:
        keys = Range(prefix=prefix) if prefix else None
        for item in every_item(self._table, self._partition, keys=keys, at_once=100):
            if str(item["sk"]).startswith((_CALL, _SESSION)):
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
                Compare("until", "<=", now + _LONGEST_MS),
            )
        )

    def _key_of(self, ticket: Ticket) -> Key:
        return self._key(ticket.digest, ticket.session if ticket.lasting == "session" else None)

    def _key(self, digest: str, session: str | None) -> Key:
        if session is None:
            return Key(self._partition, f"{_CALL}{digest}")
        return Key(self._partition, f"{_SESSION}{session}#{digest}")

    def _item(self, ticket: Ticket) -> Item:
        pk, sk = self._key_of(ticket)
        facts = {name: getattr(ticket, name) for name in _FIELDS}
        return {"pk": pk, "sk": sk, SCHEMA: _SCHEMA, EXPIRES_AT: _expires_at(ticket), **facts}


def _counts(ticket: Ticket, now: int) -> bool:
    """Tell whether it is not over, and was not made before the clock was set back."""
    return now < ticket.until <= now + _LONGEST_MS


def _ticket(item: Item) -> Ticket:
    fields: Any = {name: item.get(name) for name in _FIELDS}
    return Ticket(**fields)


def _expires_at(ticket: Ticket) -> int:
    return ceil(ticket.until / 1000) + APPROVAL_KEPT_SECONDS
