"""Checked queries and the cursors of their pages, for every item store."""

import json

from nacre.adapters.items.values import PARTITION_KEYS, check_key_attribute
from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.table import Index, Range


@dataclass(frozen=True, slots=True)
class Query:
    """A checked query; its pages differ only in their start."""

    partition: str
    index: Index | None
    prefix: str  # empty: any
    low: str  # empty: no bound
    high: str | None
    descending: bool
    limit: int | None
    partition_key: str  # the attribute that names the partition
    sort_key: str  # the attribute that orders the partition
    position: tuple[str, ...]  # the attributes that tell an item's place in the order

    @property
    def has_bounds(self) -> bool:
        """True if the range leaves anything out."""
        return bool(self.prefix or self.low or self.high is not None)

    @property
    def is_empty(self) -> bool:
        """True if no item can match."""
        return self.high is not None and (not self.high or self.high < self.low)


def make_query(
    partition: str,
    *,
    index: Index | None,
    keys: Range | None,
    descending: bool,
    limit: int | None,
) -> Query:
    """Check a query; refuse one that no store can answer."""
    if index is not None and f"{index}pk" not in PARTITION_KEYS:
        raise InvalidInputError(f"there is no index '{index}' (gsi1, gsi2 or gsi3)")
    check_key_attribute(f"{index or ''}pk", partition)
    if limit is not None and limit < 1:
        raise InvalidInputError("a page holds at least one item")
    keys = keys or Range()
    if keys.prefix is not None and (keys.low is not None or keys.high is not None):
        raise InvalidInputError("a range has a prefix or bounds, not both")
    for bound in (keys.prefix, keys.low, keys.high):
        if bound:
            check_key_attribute(f"{index or ''}sk", bound)
    return Query(
        partition=partition,
        index=index,
        prefix=keys.prefix or "",
        low=keys.low or "",
        high=keys.high,
        descending=descending,
        limit=limit,
        partition_key=f"{index or ''}pk",
        sort_key=f"{index or ''}sk",
        position=("sk",) if index is None else (f"{index}sk", "pk", "sk"),
    )


def encode_cursor(query: Query, position: list[str]) -> str:
    """Return a cursor with which the same query continues after an item."""
    return json.dumps([query.index, query.partition, *position], separators=(",", ":"))


def decode_cursor(query: Query, cursor: str) -> list[str]:
    """Return the position in a cursor; refuse one of another query, or one that was made up.

    Cursors travel in addresses of pages, where anybody may change them.
    """
    try:
        index, partition, *parts = json.loads(cursor)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInputError("this is not where a page ended; start without it") from error
    if (index, partition) != (query.index, query.partition) or len(parts) != len(query.position):
        raise InvalidInputError("this page ended another query; start without it")
    position: list[str] = parts
    for name, part in zip(query.position, position, strict=True):
        check_key_attribute(name, part)
    if not _is_within(query, position[0]):  # DynamoDB refuses it as a fault of ours
        raise InvalidInputError("this page ended another query; start without it")
    return position


def _is_within(query: Query, place: str) -> bool:
    below = query.high is not None and place > query.high
    return place.startswith(query.prefix) and place >= query.low and not below
