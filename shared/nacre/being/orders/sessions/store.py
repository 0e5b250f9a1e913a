"""The stored sessions: a head for lists, and an item with the turns.

Both have a bounded size, so an order reads and writes as much in its thousandth turn as in its
first. A session key is secret and is not stored.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import moment
from nacre.being.memory.store.partitions import items_in
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.orders.sessions.session import Session, Turn
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, InvalidInputError, LeaseHeldError, NotFoundError
from nacre.core.lazy_dataclasses import asdict, dataclass
from nacre.core.limits import CONVERSATION_DAYS
from nacre.jobs.lease import Lease, Leases
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Change,
    Check,
    Compare,
    Condition,
    Delete,
    Every,
    Item,
    Key,
    Present,
    Put,
    Range,
    Table,
    Update,
    Value,
)

SESSION = ItemSchema("session", 1)
_VERSION = "version"
_FACTS = frozenset({"caller", "created_at", "updated_at", "turns", "bytes", "marker", _VERSION})
_SHORTEST_PREFIX = 6


@dataclass(frozen=True, slots=True)
class SessionHead:
    """One session as a list shows it."""

    session_id: str
    caller: str
    created_at: str
    updated_at: str
    turns: int
    bytes: int


class SessionStore:
    """The sessions of every Being."""

    def __init__(self, table: Table, leases: Leases, *, clock: Clock) -> None:
        self._table = table
        self._leases = leases
        self._clock = clock

    # For a running order.

    def try_begin(self, being_id: str, session_id: str) -> Lease | None:
        """Lease a session for one order; None while another order has it."""
        try:
            lease = self._leases.take(_head(being_id, session_id))
        except LeaseHeldError:
            return None
        if lease.fence == 1:  # an order that is killed at once must not leave its item behind
            self._table.update(lease.key, Change(set={EXPIRES_AT: self._expiry()}))
        return lease

    def renew(self, lease: Lease) -> None:
        """Renew the lease of a running order."""
        self._leases.renew(lease)

    def end(self, lease: Lease, *, is_empty: bool) -> None:
        """Release the session for the next order; an empty session is deleted."""
        if is_empty:
            still_empty = Every((Compare("fence", "=", lease.fence), Absent(_VERSION)))
            with suppress(ConditionFailedError):
                self._table.delete(lease.key, when=still_empty)
                return
        self._leases.give_back(lease)

    def load(self, being_id: str, session_id: str) -> Session:
        """Return a session; an unknown one is empty."""
        return self._load(being_id, session_id)[0]

    def add(
        self, being_id: str, session_id: str, turn: Turn, *, caller: str, marker_id: str | None
    ) -> Session:
        """Add a turn and return the session; repeated when another order writes meanwhile."""
        return retry_on_conflict(
            partial(self._add, being_id, session_id, turn, caller=caller, marker_id=marker_id)
        )

    def _add(
        self, being_id: str, session_id: str, turn: Turn, *, caller: str, marker_id: str | None
    ) -> Session:
        before, version = self._load(being_id, session_id)
        session = before.with_turn(turn)
        if session is before:
            return session
        now, expires = self._clock(), self._expiry()
        body: Item = {
            "pk": keys.session_turns(being_id),
            "sk": session_id,
            EXPIRES_AT: expires,
            # As one text: stores check every single value of an item, several times.
            "turns": json.dumps([asdict(entry) for entry in session.turns], ensure_ascii=False),
            "summary": "\n".join(session.summary),
        }
        facts: dict[str, Value] = {
            SCHEMA: SESSION.version,
            EXPIRES_AT: expires,
            "updated_at": moment(now),
            "turns": session.count,
            "bytes": sum(entry.size for entry in session.turns),
            "marker": marker_id,
            _VERSION: version + 1,
        }
        if not version:
            facts |= {"created_at": moment(now), "caller": caller}
        unchanged: Condition = Compare(_VERSION, "=", version) if version else Absent(_VERSION)
        try:
            self._table.transact(
                [
                    Check(keys.meta(being_id), Present()),
                    Update(_head(being_id, session_id), Change(set=facts), unchanged),
                    Put(SESSION.stamp(body)),
                ]
            )
        except ConditionFailedError as error:
            if error.index == 0:
                raise NotFoundError("there is no such Being") from None
            raise
        return session

    def _load(self, being_id: str, session_id: str) -> tuple[Session, int]:
        head_key, body_key = _head(being_id, session_id), _body(being_id, session_id)
        items = self._table.get_many([head_key, body_key])
        head, body = items.get(head_key), items.get(body_key)
        if head is None or body is None or _VERSION not in head:
            return Session(session_id=session_id), _version(head)
        return _session(session_id, SESSION.read(head), SESSION.read(body)), _version(head)

    def _expiry(self) -> int:
        return int((self._clock() + timedelta(days=CONVERSATION_DAYS)).timestamp())

    # For listing and deleting.

    def heads(self, being_id: str) -> list[SessionHead]:
        """Return the sessions of a Being, the latest first."""
        heads = [_session_head(item) for item in self._heads(being_id)]
        return sorted(heads, key=lambda head: (head.updated_at, head.session_id), reverse=True)

    def find(self, being_id: str, prefix: str) -> SessionHead:
        """Return the one session whose id has this prefix; raises NotFoundError otherwise."""
        if len(prefix) < _SHORTEST_PREFIX or not set(prefix) <= set("0123456789abcdef"):
            raise InvalidInputError(
                f"a session is named by at least {_SHORTEST_PREFIX} characters of its id; see"
                " 'nacre sessions list'"
            )
        heads = [_session_head(item) for item in self._heads(being_id, Range(prefix=prefix))]
        if len(heads) != 1:
            several = "several sessions begin" if heads else "no session begins"
            raise NotFoundError(f"{several} with {prefix}; see 'nacre sessions list'")
        return heads[0]

    def delete(self, being_id: str, session_id: str) -> None:
        """Forget a session; its messages stay in the history.

        A running order of the session continues, and later orders wait for it. Its turn becomes the
        first of a new session.
        """
        head = _head(being_id, session_id)
        # The lease is in the same item. If it was deleted, another order would not wait, and the
        # end of this one would release the other's lease.
        removal = (
            Update(head, Change(remove=_FACTS)) if self._leases.is_held(head) else Delete(head)
        )
        self._table.transact([removal, Delete(_body(being_id, session_id))])

    def delete_between(self, being_id: str, low: str, high: str) -> int:
        """Forget the sessions that were active between two days, inclusive."""
        heads = [
            head
            for head in self.heads(being_id)
            if head.created_at[:10] <= high and head.updated_at[:10] >= low
        ]
        for head in heads:
            self.delete(being_id, head.session_id)
        return len(heads)

    def _heads(self, being_id: str, within: Range | None = None) -> Iterator[Item]:
        for item in items_in(self._table, keys.sessions(being_id), within):
            if _VERSION in item:
                yield SESSION.read(item)


def _head(being_id: str, session_id: str) -> Key:
    return Key(keys.sessions(being_id), session_id)


def _body(being_id: str, session_id: str) -> Key:
    return Key(keys.session_turns(being_id), session_id)


def _version(head: Item | None) -> int:
    version = (head or {}).get(_VERSION, 0)
    assert isinstance(version, int)
    return version


def _session(session_id: str, head: Mapping[str, Any], body: Mapping[str, Any]) -> Session:
    return Session(
        session_id=session_id,
        turns=tuple(
            Turn(**{**turn, "files": tuple(turn["files"])}) for turn in json.loads(body["turns"])
        ),
        summary=tuple(body["summary"].splitlines()),
        count=int(head["turns"]),
        marker_id=head.get("marker"),
    )


def _session_head(head: Mapping[str, Any]) -> SessionHead:
    return SessionHead(
        session_id=str(head["sk"]),
        caller=str(head["caller"]),
        created_at=str(head["created_at"]),
        updated_at=str(head["updated_at"]),
        turns=int(head["turns"]),
        bytes=int(head["bytes"]),
    )
