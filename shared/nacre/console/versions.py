"""The old versions of an entry, where they are kept."""

from nacre.memory import keys
from nacre.memory.entries import Entry, entry_in
from nacre.memory.fields import checked_name
from nacre.memory.targets import Target
from nacre.ports.table import Range, Table


def versions(table: Table, being_id: str, target: Target, key: str) -> list[Entry]:
    """Return the old versions of an entry, the newest first; also those of a deleted one."""
    if target.versions is None:
        return []
    prefix = f"{target.versions}{checked_name(key, 'key')}#"
    found: list[Entry] = []
    start = None
    while True:
        page = table.query(
            keys.home(being_id), keys=Range(prefix=prefix), descending=True, start=start
        )
        found += map(entry_in, page.items)
        if (start := page.next) is None:
            return found
