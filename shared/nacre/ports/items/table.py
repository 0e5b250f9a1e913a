"""The item store: small records under a partition and a sort key.

What every store promises, so that the same calls give the same answers:

- A number is a whole number within ±(2**53 - 1), or a finite float whose magnitude is 0 or lies
  between 1e-128 and 1e125. A float with a whole value in that range comes back as an int.
- Text is Unicode without lone surrogates; names of attributes and keys of maps are not empty;
  values nest at most 32 deep. Key attributes (`pk`, `sk`, `gsiNpk`, `gsiNsk`) are text, not
  empty, partition keys up to 2048 bytes and sort keys up to 1024.
- Every item carries `schema`, a whole number from 1. `expires_at`, when there, is a whole number.
- An item is at most 400 kB, a transaction at most 100 writes and 4 MB, and it names an item once.

Anything else raises InvalidInputError before something is written.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Protocol, Self

from nacre.core.lazy_dataclasses import dataclass, field, fields

Value = None | bool | int | float | str | bytes | list["Value"] | dict[str, "Value"]
Item = dict[str, Value]
Index = Literal["gsi1", "gsi2", "gsi3"]

EXPIRES_AT = "expires_at"  # epoch seconds; an item past it does not exist
SCHEMA = "schema"  # the version of the item's shape


class Key(NamedTuple):
    """The key of an item: its attributes `pk` and `sk`."""

    pk: str
    sk: str

    def attributes(self) -> Item:
        """Return the two attributes as an item holds them."""
        return {"pk": self.pk, "sk": self.sk}

    @classmethod
    def of(cls, item: Item) -> Self:
        """Return the key of a stored item."""
        return cls(str(item["pk"]), str(item["sk"]))


def fields_in(item: Item, record: type) -> dict[str, Any]:
    """Return the attributes that have the names of a record's fields."""
    return {field.name: item[field.name] for field in fields(record) if field.name in item}


def read_time(value: Value) -> datetime:
    """Return the point in time that an attribute holds in epoch seconds."""
    assert isinstance(value, int | float)
    return datetime.fromtimestamp(value, UTC)


@dataclass(frozen=True, slots=True)
class Absent:
    """The item does not exist, or the named attribute is not there."""

    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Present:
    """The item exists, or the named attribute is there."""

    attribute: str | None = None


@dataclass(frozen=True, slots=True)
class Compare:
    """An attribute stands in a relation to a value; an absent attribute never does.

    Values of two kinds are never equal and have no order. Text is ordered by its UTF-8
    bytes, numbers by size; nothing else has an order.
    """

    attribute: str
    relation: Literal["=", "<>", "<", "<=", ">", ">="]
    value: bool | int | float | str | bytes | None


@dataclass(frozen=True, slots=True)
class Every:
    """All conditions hold."""

    conditions: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one condition holds."""

    conditions: tuple["Condition", ...]


Condition = Absent | Present | Compare | Every | Either


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of an update: attributes to set, counters to add to, attributes to remove.

    `add` counts: whole numbers, onto an attribute that is absent (0) or a whole number.
    """

    set: Mapping[str, Value] = field(default_factory=dict)
    add: Mapping[str, int] = field(default_factory=dict)
    remove: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Put:
    """Write a whole item."""

    item: Item
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Change an item in place, creating it when it does not exist and `schema` is set."""

    key: Key
    change: Change
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove an item."""

    key: Key
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Write nothing, but fail the transaction unless the condition holds."""

    key: Key
    when: Condition


Write = Put | Update | Delete | Check


@dataclass(frozen=True, slots=True)
class Range:
    """The sort keys of a query: a prefix, or inclusive bounds."""

    prefix: str | None = None
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Some of a query's items, and where the next page starts (None at the end)."""

    items: tuple[Item, ...]
    next: str | None


class Table(Protocol):
    """Items with conditional writes, transactions and three sparse indexes.

    An item carries `pk` and `sk`, and joins index `gsiN` while it carries both
    `gsiNpk` and `gsiNsk`. An item whose `expires_at` has passed is absent for
    every operation, conditions included. A failed condition raises
    ConditionFailedError and writes nothing; a store that cannot answer raises
    UnavailableError; an item or a query that is not possible raises
    InvalidInputError.
    A write that was acknowledged is durable. Any number of threads may call.
    """

    def get(self, key: Key) -> Item | None:
        """Return the item as last acknowledged, or None."""
        ...

    def get_many(self, keys: Iterable[Key], *, may_lag: bool = False) -> dict[Key, Item]:
        """Return the items that exist; missing keys are left out.

        With `may_lag` they are as they were a moment ago, which costs half on AWS.
        """
        ...

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        """Write the whole item, and replace the old one."""
        ...

    def update(self, key: Key, change: Change, *, when: Condition | None = None) -> Item:
        """Change the item and return it as it is now.

        If the item is absent, a change that sets `schema` creates it; any other change
        raises ConditionFailedError.
        """
        ...

    def delete(self, key: Key, *, when: Condition | None = None) -> Item | None:
        """Remove the item and return it, or None if there was none."""
        ...

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
        """Return a partition's items in sort key order, at most `limit` of them.

        `Page.next` is set exactly when more items follow; pass it as `start` of the
        same query. In an index, items with equal sort keys have no stated order, and
        on AWS an index may lag behind the writes.
        """
        ...

    def transact(self, writes: Sequence[Write], *, token: str | None = None) -> None:
        """Apply all writes or none.

        A token that was applied within the last ten minutes makes the call do nothing,
        so that a repeated request is safe; it takes one of the 100 places.
        All conditions see the state before the transaction.
        """
        ...
