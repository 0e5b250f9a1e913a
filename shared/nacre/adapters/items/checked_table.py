"""The part of a Table that all item stores share: its arguments are checked here."""

from collections.abc import Iterable, Sequence

from nacre.adapters.items.item_query import Query, make_query
from nacre.adapters.items.values import check_key
from nacre.adapters.items.writes import apply_once
from nacre.core.clock import Clock
from nacre.ports.items.table import Index, Item, Key, Page, Range, Write


class CheckedTable:
    """Half of a Table. A store adds `get`, `put`, `update` and `delete`.

    It also adds `_read_many`, `_read_page` and `_apply`, which get checked arguments.
    """

    _clock: Clock
    _keys_at_once: int  # how many keys `_read_many` takes

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """Return the items that exist; missing keys are left out."""
        different = list(dict.fromkeys(keys))
        for key in different:
            check_key(key)
        items: dict[Key, Item] = {}
        for first in range(0, len(different), self._keys_at_once):
            some = different[first : first + self._keys_at_once]
            items.update(self._read_many(some, self._now()))
        return items

    def transact(self, writes: Sequence[Write], *, token: str | None = None) -> None:
        """Apply all writes or none."""
        apply_once(writes, self._apply, token=token, now=self._now())

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
        return self._read_page(query, start, self._now())

    def _read_many(self, keys: Sequence[Key], now: int) -> dict[Key, Item]:
        raise NotImplementedError

    def _read_page(self, query: Query, start: str | None, now: int) -> Page:
        raise NotImplementedError

    def _apply(self, writes: Sequence[Write]) -> object:
        raise NotImplementedError

    def _now(self) -> int:
        return int(self._clock().timestamp())
