"""The Beings of an owner: each has an id for ever and a name that its owner knows it by."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random

from nacre.access.tokens.authentication import is_being_id
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, ConflictError, InvalidInputError, NotFoundError
from nacre.core.ids import new_uuid
from nacre.core.names import checked_name, checked_order_name, name_key
from nacre.ports.items.paging import every_item
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    SCHEMA,
    Absent,
    Change,
    Compare,
    Delete,
    Item,
    Key,
    Put,
    Range,
    Table,
    Update,
    Write,
)

_SCHEMA = ItemSchema("being", 1)
_NAME = "NAME#"
ORDER_NAME = "order_name"


@dataclass(frozen=True, slots=True)
class Being:
    """A persistent identity with one owner."""

    being_id: str
    name: str
    owner: str
    created: datetime


class Beings:
    """Creates, finds and lists Beings."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def create(
        self,
        name: str,
        *,
        owner: str,
        being_id: str | None = None,
        created: datetime | None = None,
    ) -> Being:
        """Return a new Being; raises ConflictError when the owner has one of that name.

        One that moved here brings its id and the day it was made.
        """
        being = Being(
            being_id=being_id or new_uuid(self._rng),
            name=checked_name(name, what="Being's name"),
            owner=owner,
            created=(created or self._clock()).replace(microsecond=0),
        )
        try:
            self._table.transact([Put(_meta(being), Absent()), Put(_name(being), Absent())])
        except ConditionFailedError:
            raise ConflictError(
                f"{owner} already has a Being named {being.name!r}; choose another name"
            ) from None
        return being

    def rename(self, being: Being, name: str) -> Being:
        """Return the Being under another name; raises ConflictError when the owner has it already.

        Its id, and so its URL and tokens, stay. Letters keep the name that they were sent with.
        """
        renamed = replace(being, name=checked_name(name, what="Being's name"))
        mine = Compare("being_id", "=", being.being_id)
        old, new = name_key(being.name), name_key(renamed.name)
        writes: list[Write] = [
            Update(Key(f"B#{being.being_id}", "META"), Change(set={"name": renamed.name})),
            Put(_name(renamed), mine if old == new else Absent()),
        ]
        if old != new:
            writes.append(Delete(Key(f"U#{being.owner}", _NAME + old), mine))
        try:
            self._table.transact(writes)
        except ConditionFailedError:
            raise ConflictError(
                f"{being.owner} already has a Being named {renamed.name!r}, or {being.name!r} "
                "was changed just now; see 'nacre being list'"
            ) from None
        return renamed

    def close(self, being: Being) -> None:
        """Let nothing more be written for a Being; it can still be named, to be removed."""
        self._table.delete(Key(f"B#{being.being_id}", "META"))

    def remove(self, being: Being) -> None:
        """Forget the name of a Being that was closed; its owner may give it to another."""
        mine = Compare("being_id", "=", being.being_id)
        with suppress(ConditionFailedError):  # it is another's by now
            self._table.delete(Key(f"U#{being.owner}", _NAME + name_key(being.name)), when=mine)

    def get(self, being_id: str) -> Being | None:
        """Return the Being with this id, or None."""
        item = self._table.get(Key(f"B#{being_id}", "META"))
        return None if item is None else _from_item(item)

    def named(self, name: str, *, owner: str) -> Being | None:
        """Return the owner's Being of this name, whatever its case, or None."""
        item = self._table.get(Key(f"U#{owner}", _NAME + name_key(name.strip())))
        return None if item is None else _from_item(item)

    def order_name(self, being_id: str) -> str | None:
        """Return the name that a Being's orders have; None where it has none of its own."""
        return order_name_in(self._table.get(Key(f"B#{being_id}", "META")))

    def name_orders(self, being_id: str, name: str | None) -> None:
        """Give a Being's orders a name, or with None the one that all have."""
        change = (
            Change(remove=frozenset({ORDER_NAME}))
            if name is None
            else Change(set={ORDER_NAME: checked_order_name(name)})
        )
        try:
            self._table.update(Key(f"B#{being_id}", "META"), change)
        except ConditionFailedError:
            raise NotFoundError("there is no such Being") from None

    def of_owner(self, owner: str) -> list[Being]:
        """Return the owner's Beings, oldest first, as last acknowledged."""
        beings = map(_from_item, every_item(self._table, f"U#{owner}", keys=Range(prefix=_NAME)))
        return sorted(beings, key=lambda being: (being.created, being.being_id))

    def choose(self, wanted: str | None, *, owner: str) -> Being:
        """Return the Being that a person means: by name or id, or the only one there is."""
        if wanted is not None:
            return self._wanted(wanted, owner)
        beings = self.of_owner(owner)
        if not beings:
            raise NotFoundError("there is no Being yet; make one with 'nacre being create NAME'")
        if len(beings) > 1:
            names = ", ".join(being.name for being in beings)
            raise InvalidInputError(f"there are several Beings; choose one with --being: {names}")
        return beings[0]

    def _wanted(self, wanted: str, owner: str) -> Being:
        being = self.named(checked_name(wanted, what="Being's name"), owner=owner)
        if being is None and is_being_id(wanted.lower()):
            being = self.get(wanted.lower())
        if being is None or being.owner != owner:
            raise NotFoundError(f"{owner} has no Being {wanted!r}; see 'nacre being list'")
        return being


def order_name_in(meta: Mapping[str, object] | None) -> str | None:
    """Return the name of orders that a Being's item holds, or None."""
    name = (meta or {}).get(ORDER_NAME)
    return name if isinstance(name, str) else None


def _meta(being: Being) -> Item:
    return {
        "pk": f"B#{being.being_id}",
        "sk": "META",
        "gsi2pk": f"U#{being.owner}",
        "gsi2sk": being.being_id,
        **_facts(being),
    }


def _name(being: Being) -> Item:
    return {"pk": f"U#{being.owner}", "sk": _NAME + name_key(being.name), **_facts(being)}


def _facts(being: Being) -> Item:
    return {
        SCHEMA: _SCHEMA.version,
        "being_id": being.being_id,
        "name": being.name,
        "owner": being.owner,
        "created": int(being.created.timestamp()),
    }


def _from_item(item: Item) -> Being:
    item = _SCHEMA.read(item)
    created = item["created"]
    assert isinstance(created, int | float)
    return Being(
        being_id=str(item["being_id"]),
        name=str(item["name"]),
        owner=str(item["owner"]),
        created=datetime.fromtimestamp(created, UTC),
    )
