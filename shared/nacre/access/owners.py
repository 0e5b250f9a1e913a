"""Owners: the people who have Beings here, usually one."""

import re
from datetime import datetime

from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, ConflictError, InvalidInputError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.paging import every_item
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import SCHEMA, Absent, Item, Key, Table, read_time

DEFAULT_OWNER = "me"
_SCHEMA = ItemSchema("owner", 1)
_INDEX = "OWNERS"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,31}")


@dataclass(frozen=True, slots=True)
class Owner:
    """A person who may have Beings."""

    name: str
    created: datetime


class Owners:
    """Adds, finds and lists owners."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def add(self, name: str) -> Owner:
        """Add an owner; raises ConflictError when the name is taken."""
        if not _NAME.fullmatch(name):
            raise InvalidInputError(
                "an owner's name has 1 to 32 of a-z, 0-9, '.', '_' and '-', and starts with "
                "a letter or digit"
            )
        owner = Owner(name, self._clock().replace(microsecond=0))
        try:
            self._table.put(_to_item(owner), when=Absent())
        except ConditionFailedError:
            raise ConflictError(f"there already is an owner {name!r}") from None
        return owner

    def get(self, name: str) -> Owner:
        """Return the owner; raises NotFoundError. The default owner exists without being stored."""
        item = self._table.get(_key(name)) if _NAME.fullmatch(name) else None
        if item is not None:
            return _from_item(item)
        if name == DEFAULT_OWNER:
            return Owner(name, read_time(0))
        raise NotFoundError(f"there is no owner {name[:64]!r}; add one with 'nacre owner add'")

    def all(self) -> list[Owner]:
        """Return every owner, the default one first."""
        owners = [self.get(DEFAULT_OWNER)]
        added = every_item(self._table, _INDEX, index="gsi2")
        owners += [_from_item(item) for item in added if item["owner"] != DEFAULT_OWNER]
        return owners


def _key(name: str) -> Key:
    return Key(f"U#{name}", "META")


def _to_item(owner: Owner) -> Item:
    return {
        **_key(owner.name).attributes(),
        SCHEMA: _SCHEMA.version,
        "gsi2pk": _INDEX,
        "gsi2sk": owner.name,
        "owner": owner.name,
        "created": int(owner.created.timestamp()),
    }


def _from_item(item: Item) -> Owner:
    item = _SCHEMA.read(item)
    return Owner(str(item["owner"]), read_time(item["created"]))
