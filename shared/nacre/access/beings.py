"""The Beings of an owner: each has a permanent id and a name that its owner may change."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from random import Random

from nacre.access.tokens.authentication import is_being_id
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, ConflictError, InvalidInputError, NotFoundError
from nacre.core.ids import new_uuid
from nacre.core.lazy_dataclasses import asdict, dataclass, replace
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
    fields_in,
    read_time,
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
        """Create a Being; raises ConflictError when the owner has one of that name.

        An imported Being keeps its id and its day of creation.
        """
        being = Being(
            being_id=being_id or new_uuid(self._rng),
            name=checked_name(name, kind="Being's name"),
            owner=owner,
            created=(created or self._clock()).replace(microsecond=0),
        )
        try:
            self._table.transact(
                [Put(_meta_item(being), Absent()), Put(_name_item(being), Absent())]
            )
        except ConditionFailedError:
            raise ConflictError(
                f"{owner} already has a Being named {being.name!r}; choose another name"
            ) from None
        return being

    def rename(self, being: Being, name: str) -> Being:
        """Rename a Being and return it; raises ConflictError when the owner already uses the name.

        Its id, URL and tokens stay the same. Letters keep the name that they were sent with.
        """
        renamed = replace(being, name=checked_name(name, kind="Being's name"))
        is_this_being = Compare("being_id", "=", being.being_id)
        old, new = name_key(being.name), name_key(renamed.name)
        writes: list[Write] = [
            Update(Key(f"B#{being.being_id}", "META"), Change(set={"name": renamed.name})),
            Put(_name_item(renamed), is_this_being if old == new else Absent()),
        ]
        if old != new:
            writes.append(Delete(Key(f"U#{being.owner}", _NAME + old), is_this_being))
        try:
            self._table.transact(writes)
        except ConditionFailedError:
            raise ConflictError(
                f"{being.owner} already has a Being named {renamed.name!r}, or {being.name!r} "
                "was changed just now; see 'nacre being list'"
            ) from None
        return renamed

    def close(self, being: Being) -> None:
        """Refuse further writes for a Being; its name still leads to it, so it can be removed."""
        self._table.delete(Key(f"B#{being.being_id}", "META"))

    def remove(self, being: Being) -> None:
        """Free the name of a closed Being, so that its owner may use it again."""
        is_this_being = Compare("being_id", "=", being.being_id)
        with suppress(ConditionFailedError):  # another Being has the name by now
            self._table.delete(
                Key(f"U#{being.owner}", _NAME + name_key(being.name)), when=is_this_being
            )

    def get(self, being_id: str) -> Being | None:
        """Return the Being with this id, or None."""
        item = self._table.get(Key(f"B#{being_id}", "META"))
        return None if item is None else _from_item(item)

    def named(self, name: str, *, owner: str) -> Being | None:
        """Return the owner's Being of this name, ignoring case, or None."""
        item = self._table.get(Key(f"U#{owner}", _NAME + name_key(name.strip())))
        return None if item is None else _from_item(item)

    def order_name(self, being_id: str) -> str | None:
        """Return the name that a Being gave to its orders, or None for the default name."""
        return order_name_in(self._table.get(Key(f"B#{being_id}", "META")))

    def name_orders(self, being_id: str, name: str | None) -> None:
        """Name a Being's orders; None restores the default name."""
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
        """Return the owner's Beings, oldest first, including every acknowledged change."""
        beings = map(_from_item, every_item(self._table, f"U#{owner}", keys=Range(prefix=_NAME)))
        return sorted(beings, key=lambda being: (being.created, being.being_id))

    def choose(self, name_or_id: str | None, *, owner: str) -> Being:
        """Return the owner's Being with this name or id, or with None the only Being."""
        if name_or_id is not None:
            return self._by_name_or_id(name_or_id, owner)
        beings = self.of_owner(owner)
        if not beings:
            raise NotFoundError("there is no Being yet; make one with 'nacre being create NAME'")
        if len(beings) > 1:
            names = ", ".join(being.name for being in beings)
            raise InvalidInputError(f"there are several Beings; choose one with --being: {names}")
        return beings[0]

    def _by_name_or_id(self, name_or_id: str, owner: str) -> Being:
        being = self.named(checked_name(name_or_id, kind="Being's name"), owner=owner)
        if being is None and is_being_id(name_or_id.lower()):
            being = self.get(name_or_id.lower())
        if being is None or being.owner != owner:
            raise NotFoundError(f"{owner} has no Being {name_or_id!r}; see 'nacre being list'")
        return being


def order_name_in(meta: Mapping[str, object] | None) -> str | None:
    """Return the name of orders from a Being's item, or None."""
    name = (meta or {}).get(ORDER_NAME)
    return name if isinstance(name, str) else None


def _meta_item(being: Being) -> Item:
    return {
        "pk": f"B#{being.being_id}",
        "sk": "META",
        "gsi2pk": f"U#{being.owner}",
        "gsi2sk": being.being_id,
        **_fields(being),
    }


def _name_item(being: Being) -> Item:
    return {"pk": f"U#{being.owner}", "sk": _NAME + name_key(being.name), **_fields(being)}


def _fields(being: Being) -> Item:
    return {
        SCHEMA: _SCHEMA.version,
        **asdict(being),
        "created": int(being.created.timestamp()),
    }


def _from_item(item: Item) -> Being:
    item = _SCHEMA.read(item)
    return Being(**{**fields_in(item, Being), "created": read_time(item["created"])})
