"""The part of a Table that all item stores share: it checks the arguments."""

from collections.abc import Iterable, Sequence

from nacre.adapters.items.item_query import Query, make_query
from nacre.adapters.items.values import check_key
from nacre.adapters.items.writes import checked_transaction
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError
from nacre.ports.items.table import Index, Item, Key, Page, Range, Write


class CheckedTable:
    """Half of a Table. A store adds `put`, `update` and `delete`.

    It also adds the methods with an underscore, which get checked arguments.
    """

    _clock: Clock
    _keys_at_once: int  # how many keys `_read_many` takes

    def get(self, key: Key) -> Item | None:
        """Return the item as last acknowledged, or None."""
        check_key(key)
        return self._read_one(key, self._now())

    def get_many(self, keys: Iterable[Key], *, may_lag: bool = False) -> dict[Key, Item]:
        """Return the items that exist; missing keys are left out."""
        different = list(dict.fromkeys(keys))
        for key in different:
            check_key(key)
        items: dict[Key, Item] = {}
        for first in range(0, len(different), self._keys_at_once):
            some = different[first : first + self._keys_at_once]
            items.update(self._read_many(some, self._now(), may_lag=may_lag))
        return items

    def transact(self, writes: Sequence[Write], *, token: str | None = None) -> None:
        """Apply all writes or none, unless a transaction with this token was applied before."""
        now = self._now()
        checked = checked_transaction(writes, token=token, now=now)
        try:
            self._apply(checked, now)
        except ConditionFailedError as error:
            if token is None:
                raise
            if error.index > 0:
                raise ConditionFailedError(error.index - 1) from error
            # The write that records the token failed: the transaction was applied before.

    def query(
        self,
        partition: str,
        *,
        index: Index | None = None,
        keys: Range | None = None,
        descending: bool = False,
        limit: int | None = None,
        start: str | None = None,
    ) -> Page:
        """Return a partition's items in sort key order, at most `limit` of them."""
        query = make_query(partition, index=index, keys=keys, descending=descending, limit=limit)
        return Page((), None) if query.is_empty else self._read_page(query, start, self._now())

    def _read_one(self, key: Key, now: int) -> Item | None:
        raise NotImplementedError

    def _read_many(self, keys: Sequence[Key], now: int, *, may_lag: bool) -> dict[Key, Item]:
        raise NotImplementedError

    def _read_page(self, query: Query, start: str | None, now: int) -> Page:
        raise NotImplementedError

    def _apply(self, writes: Sequence[Write], now: int) -> object:
        raise NotImplementedError

    def _now(self) -> int:
        return int(self._clock().timestamp())
