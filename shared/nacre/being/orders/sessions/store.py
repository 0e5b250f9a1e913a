"""Where sessions are kept: a head that is listed, and the turns in an item beside it.

Both are of a bounded size, so an order reads and writes as much in its thousandth turn as in
its first. A session key is sensitive and is not stored; neither is who could guess it.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from nacre.being.memory.model import keys
from nacre.being.memory.model.types import moment
from nacre.being.memory.store.partitions import items_in
from nacre.being.memory.store.retry import settled
from nacre.being.orders.sessions.session import Session, Turn
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, InvalidInputError, LeaseHeldError, NotFoundError
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
    """What a list says of a session."""

    session_id: str
    caller: str
    created_at: str
    updated_at: str
    turns: int
    bytes: int


class SessionStore:
    """Keeps the sessions of every Being."""

    def __init__(self, table: Table, leases: Leases, *, clock: Clock) -> None:
        self._table = table
        self._leases = leases
        self._clock = clock

    # While an order runs.

    def try_begin(self, being_id: str, session_id: str) -> Lease | None:
        """Take a session for one order; None while another order has it."""
        try:
            lease = self._leases.take(_head(being_id, session_id))
        except LeaseHeldError:
            return None
        if lease.fence == 1:  # what an order leaves that dies at once must not stay for ever
            self._table.update(lease.key, Change(set={EXPIRES_AT: self._expiry()}))
        return lease

    def keep(self, lease: Lease) -> None:
        """Say that the order still runs."""
        self._leases.renew(lease)

    def end(self, lease: Lease, *, is_empty: bool) -> None:
        """Let the next order of the session begin; a session that holds nothing leaves no trace."""
        if is_empty:
            nothing = Every((Compare("fence", "=", lease.fence), Absent(_VERSION)))
            with suppress(ConditionFailedError):
                self._table.delete(lease.key, when=nothing)
                return
        self._leases.give_back(lease)

    def load(self, being_id: str, session_id: str) -> Session:
        """Return what is kept of a session; one that is not known is empty."""
        return self._load(being_id, session_id)[0]

    def add(
        self, being_id: str, session_id: str, turn: Turn, *, caller: str, marker_id: str | None
    ) -> Session:
        """Add a turn, whatever came meanwhile, and return the session."""
        return settled(
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
            # As one text: a store looks at every value of an item, several times over.
            "turns": json.dumps([asdict(each) for each in session.turns], ensure_ascii=False),
            "summary": "\n".join(session.summary),
        }
        facts: dict[str, Value] = {
            SCHEMA: SESSION.version,
            EXPIRES_AT: expires,
            "updated_at": moment(now),
            "turns": session.count,
            "bytes": sum(each.size for each in session.turns),
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
            if error.place == 0:
                raise NotFoundError("there is no such Being") from None
            raise
        return session

    def _load(self, being_id: str, session_id: str) -> tuple[Session, int]:
        head_key, body_key = _head(being_id, session_id), _body(being_id, session_id)
        found = self._table.get_many([head_key, body_key])
        head, body = found.get(head_key), found.get(body_key)
        if head is None or body is None or _VERSION not in head:
            return Session(session_id=session_id), _version(head)
        return _session(session_id, SESSION.read(head), SESSION.read(body)), _version(head)

    def _expiry(self) -> int:
        return int((self._clock() + timedelta(days=CONVERSATION_DAYS)).timestamp())

    # For whoever keeps house.

    def heads(self, being_id: str) -> list[SessionHead]:
        """Return the sessions of a Being, the latest first."""
        found = [_shown(item) for item in self._heads(being_id)]
        return sorted(found, key=lambda head: (head.updated_at, head.session_id), reverse=True)

    def find(self, being_id: str, prefix: str) -> SessionHead:
        """Return the session whose id begins so; raises NotFoundError when it is not one."""
        if len(prefix) < _SHORTEST_PREFIX or not set(prefix) <= set("0123456789abcdef"):
            raise InvalidInputError(
                f"a session is named by at least {_SHORTEST_PREFIX} characters of its id; see"
                " 'nacre sessions list'"
            )
        found = [_shown(item) for item in self._heads(being_id, Range(prefix=prefix))]
        if len(found) != 1:
            several = "several sessions begin" if found else "no session begins"
            raise NotFoundError(f"{several} with {prefix}; see 'nacre sessions list'")
        return found[0]

    def delete(self, being_id: str, session_id: str) -> None:
        """Forget a session; what was said in it stays in the history.

        An order that runs in it goes on, others wait for its end, and its turn is the first of a
        new one.
        """
        head = _head(being_id, session_id)
        # Its lease is in the same item. Without it, another order would not wait, and the end of
        # this one would free the other's.
        forgotten = (
            Update(head, Change(remove=_FACTS)) if self._leases.is_held(head) else Delete(head)
        )
        self._table.transact([forgotten, Delete(_body(being_id, session_id))])

    def delete_between(self, being_id: str, low: str, high: str) -> int:
        """Forget the sessions in which something was said between two days, inclusive."""
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
            Turn(**{**each, "files": tuple(each["files"])}) for each in json.loads(body["turns"])
        ),
        summary=tuple(body["summary"].splitlines()),
        count=int(head["turns"]),
        marker_id=head.get("marker"),
    )


def _shown(head: Mapping[str, Any]) -> SessionHead:
    return SessionHead(
        session_id=str(head["sk"]),
        caller=str(head["caller"]),
        created_at=str(head["created_at"]),
        updated_at=str(head["updated_at"]),
        turns=int(head["turns"]),
        bytes=int(head["bytes"]),
    )
