"""The version of an item's shape: written with it, checked and brought up to date on reading."""

from collections.abc import Callable, Mapping

from nacre.core.errors import NewerSchemaError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.ports.items.table import SCHEMA, Item

Upgrade = Callable[[Item], Item]


@dataclass(frozen=True, slots=True)
class ItemSchema:
    """One kind of item: its name in messages, its version now, and the upgrades from older ones.

    `upgrades[n]` turns an item of version n into one of version n + 1.
    """

    name: str
    version: int
    upgrades: Mapping[int, Upgrade] = field(default_factory=dict)

    def __post_init__(self) -> None:
        missing = set(range(1, self.version)) - self.upgrades.keys()
        if missing:
            raise ValueError(f"{self.name}: no upgrade from versions {sorted(missing)}")

    def stamp(self, item: Item) -> Item:
        """Return the item with the current version, ready to be written."""
        return {**item, SCHEMA: self.version}

    def read(self, item: Item) -> Item:
        """Return the item in its current shape; raises NewerSchemaError for a newer version."""
        version = item.get(SCHEMA)
        if not isinstance(version, int) or version > self.version:
            stored = version if isinstance(version, int) else 0
            raise NewerSchemaError(f"An item ({self.name})", version=stored, newest=self.version)
        for step in range(version, self.version):
            item = {**self.upgrades[step](item), SCHEMA: step + 1}
        return item
