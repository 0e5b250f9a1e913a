"""Limits of concurrent calls: the places of running calls, in the item store.

One item has the places of all limits of a group: for each limit the number that is taken, and for
each place the end of its lease. A call takes its places in one write and gives them back in
another. The places of a process that has crashed are free when their leases have ended.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import ConditionFailedError, UnavailableError
from nacre.core.limits import CLOCK_TOLERANCE_SECONDS, LIMIT_PLACE_SECONDS
from nacre.firewall.limits.counters import by_id, first_spent, key_of, number
from nacre.firewall.rules.limit import Limit
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
_ATTEMPTS = 16  # each fails only if another call has just changed the item
_REMEMBERED = 4096  # groups
_TAKEN, _PLACE = "taken_", "h"  # beginnings of attributes, short as the item is paid by its size
_ID = 6  # hexadecimal digits of a limit's id here
_FREED = 50  # places in one write; DynamoDB bounds the length of conditions
_LONGEST = LIMIT_PLACE_SECONDS + 2 * CLOCK_TOLERANCE_SECONDS


class Taken(NamedTuple):
    """The places of one call: the item, and the end of the lease by the place's attribute."""

    key: Key
    places: Mapping[str, int]


class Places:
    """The places of all limits of calls at a time, whichever policy they are from."""

    def __init__(self, table: Table) -> None:
        self._table = table
        # What this process has last seen of the items; a guess, which the store checks.
        self._seen: BoundedCache[Key, Item] = BoundedCache(_REMEMBERED)

    def full(self, group: str, limits: Sequence[Limit], now: int) -> Limit | None:
        """Return a limit without a free place; nothing is taken."""
        ids, key = _ids(limits), key_of(group, "PLACES")
        item = self._seen.get(key)
        if item is None or _full(ids, item) is not None:
            item = self._without_ended(key, self._read(key), now)
        return _full(ids, item)

    def take(self, group: str, limits: Sequence[Limit], now: int) -> Taken | Limit:
        """Take a place of each limit, or of none if one has no free place, and return that one."""
        ids, key = _ids(limits), key_of(group, "PLACES")
        for _ in range(_ATTEMPTS):
            full = self.full(group, limits, now)
            if full is not None:
                return full
            end = now + LIMIT_PLACE_SECONDS
            holder = secrets.token_urlsafe(4)
            places = {f"{_PLACE}{id_}{holder}": end for id_ in ids}
            try:
                self._seen[key] = self._table.update(
                    key,
                    Change(
                        set={SCHEMA: _SCHEMA, EXPIRES_AT: end + _LONGEST, **places},
                        add={_TAKEN + id_: 1 for id_ in ids},
                    ),
                    when=_when(ids, places),
                )
            except ConditionFailedError:
                self._read(key)
            else:
                return Taken(key, places)
        raise UnavailableError("the limits of the policy are counted by too many at once")

    def give_back(self, call_places: Taken) -> None:
        """Give the places of a call back, unless their leases have ended."""
        self._seen.pop(call_places.key, None)
        try:
            self._seen[call_places.key] = self._free(call_places.key, call_places.places)
        except ConditionFailedError:
            return  # another call has them

    def _without_ended(self, key: Key, item: Item, now: int) -> Item:
        """Free the places whose leases have ended, and return the item."""
        leases = [
            (name, end)
            for name, end in item.items()
            if name.startswith(_PLACE) and isinstance(end, int)
        ]
        running = range(now - CLOCK_TOLERANCE_SECONDS, now + _LONGEST)
        ended = dict([lease for lease in leases if lease[1] not in running][:_FREED])
        if not ended:
            return item
        try:
            self._seen[key] = item = self._free(key, ended)
        except ConditionFailedError:
            return self._read(key)
        return item

    def _free(self, key: Key, places: Mapping[str, int]) -> Item:
        fewer: dict[str, int] = {}
        for name in places:
            counter = _TAKEN + name[len(_PLACE) : len(_PLACE) + _ID]
            fewer[counter] = fewer.get(counter, 0) - 1
        same = tuple(Compare(name, "=", end) for name, end in places.items())
        return self._table.update(
            key, Change(add=fewer, remove=frozenset(places)), when=Every(same)
        )

    def _read(self, key: Key) -> Item:
        item = self._table.get(key) or {}
        self._seen[key] = item
        return item


def _ids(limits: Sequence[Limit]) -> dict[str, Limit]:
    return {id_[:_ID]: limit for id_, limit in by_id(limits).items()}


def _full(ids: Mapping[str, Limit], item: Item) -> Limit | None:
    """Return a limit without a free place, one that denies before one that asks."""
    return first_spent(
        limit for id_, limit in ids.items() if number(item, _TAKEN, id_) >= limit.amount
    )


def _when(ids: Mapping[str, Limit], places: Mapping[str, int]) -> Condition:
    conditions: list[Condition] = [Absent(name) for name in places]
    for id_, limit in ids.items():
        counter = _TAKEN + id_
        conditions.append(Either((Absent(counter), Compare(counter, "<", limit.amount))))
    return Every(tuple(conditions))
