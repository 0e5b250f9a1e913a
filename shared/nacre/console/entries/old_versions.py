"""The old versions of an entry, where they are kept."""

from nacre.being.memory.model import keys
from nacre.being.memory.model.fields import checked_name
from nacre.being.memory.store.entries import Entry, entry_in
from nacre.being.memory.store.targets import Target
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Range, Table


def versions(table: Table, being_id: str, target: Target, key: str) -> list[Entry]:
    """Return the old versions of an entry, the newest first; also those of a deleted one."""
    if target.versions is None:
        return []
    prefix = f"{target.versions}{checked_name(key, 'key')}#"
    kept = every_item(table, keys.home(being_id), keys=Range(prefix=prefix), descending=True)
    return list(map(entry_in, kept))
