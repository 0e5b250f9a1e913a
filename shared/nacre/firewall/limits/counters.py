"""Counters of limits in the item store: one item for all limits that count a group of calls.

An item has, for each limit, the start of a period and the number of calls or bytes in it. An update
names the period and the number that it starts from, so that no call is counted above a limit,
however many processes count at once. The bytes of a result are added when it is there.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import ConditionFailedError, UnavailableError
from nacre.core.lazy_dataclasses import asdict, replace
from nacre.core.limits import CLOCK_TOLERANCE_SECONDS
from nacre.firewall.content.digests import canonical
from nacre.firewall.rules.limit import SECONDS, Limit
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
    Table,
)

_SCHEMA = 1
_ATTEMPTS = 8  # each fails only if a period has just begun, or an item was just removed
_REMEMBERED = 4096  # groups
_KEPT = max(SECONDS.values()) + CLOCK_TOLERANCE_SECONDS
_ID = 16  # hexadecimal digits
_PERIOD, _USED = "period_", "used_"  # beginnings of attributes


class Use(NamedTuple):
    """The bytes of a call's arguments, and those that are reserved for its result."""

    sent: int = 0
    reserved: int = 0

    def of(self, limit: Limit) -> int:
        """Return how much of a limit the call uses up, before its result is there."""
        if limit.measure == "calls":
            return 1
        return self.sent + max(0, min(self.reserved, limit.amount - self.sent))


class Counted(NamedTuple):
    """A call that was counted: the item, and for each limit the period, and what it used up.

    `bytes` are the limits of bytes among them.
    """

    key: Key
    periods: Mapping[str, int]
    used: Mapping[str, int]
    bytes: frozenset[str]


class Counters:
    """The counters of all limits, whichever policy they are from."""

    def __init__(self, table: Table) -> None:
        self._table = table
        # What this process has last seen of the items; a guess, which the store checks.
        self._seen: BoundedCache[Key, Item] = BoundedCache(_REMEMBERED)

    def spent(self, group: str, limits: Sequence[Limit], now: int, use: Use) -> Limit | None:
        """Return a limit without enough left for a call; nothing is counted."""
        ids, key = by_id(limits), key_of(group)
        item = self._seen.get(key)
        if item is None or _spent(_periods(ids, item, now, use)) is not None:
            item = self._read(key)
        return _spent(_periods(ids, item, now, use))

    def count(self, group: str, limits: Sequence[Limit], now: int, use: Use) -> Counted | Limit:
        """Count a call in all limits; if one does not have enough left, in none, and return it."""
        ids, key = by_id(limits), key_of(group)
        spent = self.spent(group, limits, now, use)
        if spent is not None:
            return spent
        item = self._seen.get(key)
        if item is None:
            item = self._read(key)
        for _ in range(_ATTEMPTS):
            periods = _periods(ids, item, now, use)
            spent = _spent(periods)
            if spent is not None:
                return spent
            try:
                change = _change(periods, item, now)
                item = self._table.update(key, change, when=_when(periods))
            except ConditionFailedError:
                item = self._read(key)
            else:
                self._seen[key] = item
                starts = {id_: number(item, _PERIOD, id_) for id_ in ids}
                used = {id_: period.needed for id_, period in periods.items()}
                of_bytes = frozenset(id_ for id_ in ids if ids[id_].measure == "bytes")
                return Counted(key, starts, used, of_bytes)
        raise UnavailableError("the limits of the policy are counted by too many at once")

    def give_back(self, counted: Counted) -> None:
        """Take back a call that is not made because of another limit."""
        self._add(counted, {id_: -used for id_, used in counted.used.items()})

    def settle(self, counted: Counted, size: int) -> None:
        """Count the bytes of a call, now that its result is there; they may pass the limit."""
        more = {id_: size - counted.used[id_] for id_ in counted.bytes}
        self._add(counted, {id_: added for id_, added in more.items() if added})

    def _add(self, counted: Counted, more: Mapping[str, int]) -> None:
        """Add to the counts of the periods in which a call was counted, those that still last."""
        for _ in range(_ATTEMPTS):
            if not more:
                return
            same = [Compare(_PERIOD + id_, "=", counted.periods[id_]) for id_ in more]
            change = Change(add={_USED + id_: added for id_, added in more.items()})
            try:
                item = self._table.update(counted.key, change, when=Every(tuple(same)))
            except ConditionFailedError:
                item = self._read(counted.key)
                more = {
                    id_: added
                    for id_, added in more.items()
                    if number(item, _PERIOD, id_) == counted.periods[id_]
                }
            else:
                self._seen[counted.key] = item
                return

    def _read(self, key: Key) -> Item:
        item = self._table.get(key) or {}
        self._seen[key] = item
        return item


def key_of(group: str, kind: str = "COUNTS") -> Key:
    """Return the key of an item about the calls of a group."""
    return Key(f"LIMIT#{hashlib.sha256(group.encode()).hexdigest()[:32]}", kind)


def by_id(limits: Sequence[Limit]) -> dict[str, Limit]:
    """Return limits by their ids; of two that count the same, the smaller one."""
    smallest: dict[str, Limit] = {}
    for limit in limits:
        id_ = _id_of(limit)
        if id_ not in smallest or limit.amount < smallest[id_].amount:
            smallest[id_] = limit
    return smallest


@lru_cache(maxsize=_REMEMBERED)
def _id_of(limit: Limit) -> str:
    """Return an id that stays the same when only the limit's amount changes."""
    meaning = asdict(replace(limit.matching, number=0, origin="", description=None))
    measure = [] if limit.measure == "calls" else [limit.measure]
    return hashlib.sha256(canonical([meaning, limit.per, *measure])).hexdigest()[:_ID]


def first_spent(spent: Iterable[Limit]) -> Limit | None:
    """Return the limit that decides about a call: one that denies before one that asks."""
    return min(spent, key=lambda limit: limit.matching.action, default=None)


class _Period(NamedTuple):
    """The period of a limit that counts now.

    It has its start, what is used up in it if it has begun, and what a call needs of it.
    """

    limit: Limit
    start: int
    used: int | None
    needed: int


def _periods(limits: Mapping[str, Limit], item: Item, now: int, use: Use) -> dict[str, _Period]:
    return {id_: _period(limit, item, id_, now, use.of(limit)) for id_, limit in limits.items()}


def _period(limit: Limit, item: Item, id_: str, now: int, needed: int) -> _Period:
    """Return the period; a process whose clock is ahead may have begun the next one."""
    length = limit.seconds
    start = now - now % length
    stored = number(item, _PERIOD, id_)
    if start <= stored <= start + length:
        return _Period(limit, stored, number(item, _USED, id_), needed)
    return _Period(limit, start, None, needed)


def _spent(periods: Mapping[str, _Period]) -> Limit | None:
    """Return a limit without enough left, one that denies before one that asks."""
    return first_spent(
        limit for limit, _, used, needed in periods.values() if (used or 0) + needed > limit.amount
    )


def _change(periods: Mapping[str, _Period], item: Item, now: int) -> Change:
    begun: Item = {SCHEMA: _SCHEMA, EXPIRES_AT: now + _KEPT}
    more: dict[str, int] = {}
    for id_, period in periods.items():
        if period.used is not None:
            more[_USED + id_] = period.needed
        else:
            begun |= {_PERIOD + id_: period.start, _USED + id_: period.needed}
    old = {
        name.removeprefix(_PERIOD)
        for name, value in item.items()
        if name.startswith(_PERIOD) and isinstance(value, int) and value < now - _KEPT
    } - periods.keys()
    removed = frozenset(first + id_ for id_ in old for first in (_PERIOD, _USED))
    return Change(set=begun, add=more, remove=removed)


def _when(periods: Mapping[str, _Period]) -> Condition:
    conditions: list[Condition] = []
    for id_, (limit, start, used, needed) in periods.items():
        name = _PERIOD + id_
        if used is not None:
            most = limit.amount - needed
            conditions += [Compare(name, "=", start), Compare(_USED + id_, "<=", most)]
        else:
            later = start + limit.seconds
            other = (Absent(name), Compare(name, "<", start), Compare(name, ">", later))
            conditions.append(Either(other))
    return Every(tuple(conditions))


def number(item: Item, first: str, id_: str) -> int:
    """Return the number in an attribute, 0 if it is absent."""
    value = item.get(first + id_)
    return value if isinstance(value, int) else 0
