"""The item store: small records under a partition and a sort key."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

Value = None | bool | int | float | str | bytes | list["Value"] | dict[str, "Value"]
Item = dict[str, Value]
Index = Literal["gsi1", "gsi2", "gsi3"]

EXPIRES_AT = "expires_at"  # epoch seconds; an item past it does not exist
SCHEMA = "schema"  # the version of the item's shape


class Key(NamedTuple):
    """Where an item lives: attributes `pk` and `sk`."""

    pk: str
    sk: str


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
    """An attribute stands in a relation to a value; an absent attribute never does."""

    attribute: str
    relation: Literal["=", "<>", "<", "<=", ">", ">="]
    value: Value


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
    """What an update does: attributes set, numbers added to, attributes removed."""

    set: Mapping[str, Value] = field(default_factory=dict)
    add: Mapping[str, int | float] = field(default_factory=dict)
    remove: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Put:
    """Write a whole item."""

    item: Item
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Change an item in place, creating it when it does not exist."""

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
    """Which sort keys a query takes: a prefix, or bounds that are both inclusive."""

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

    An item carries `pk` and `sk`, and joins index `gsiN` when it carries both
    `gsiNpk` and `gsiNsk`. An item whose `expires_at` has passed is absent for
    every operation, conditions included. A failed condition raises
    ConditionFailedError and writes nothing; a store that cannot answer raises
    UnavailableError; a value that cannot be stored raises InvalidInputError.
    """

    def get(self, key: Key) -> Item | None:
        """Return the item as last acknowledged, or None."""
        ...

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """Return the items that exist; missing keys are left out."""
        ...

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        """Write the whole item, replacing what was there."""
        ...

    def update(self, key: Key, change: Change, *, when: Condition | None = None) -> Item:
        """Change the item, creating it when absent, and return it as it is now."""
        ...

    def delete(self, key: Key, *, when: Condition | None = None) -> Item | None:
        """Remove the item and return what was there."""
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
        """Return a partition's items in sort key order; an index may lag on AWS."""
        ...

    def transact(self, writes: Sequence[Write], *, token: str | None = None) -> None:
        """Apply all writes or none; the same token again within minutes does nothing."""
        ...
