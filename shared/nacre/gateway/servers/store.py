"""The servers that `nacre server add` stores, as one item."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.core.errors import ConditionFailedError, ConflictError, NotFoundError, StoreError
from nacre.ports.items.table import SCHEMA, Absent, Compare, Item, Key, Table

if TYPE_CHECKING:
    from nacre.gateway.servers.config import ServerList

KEY = Key("GATEWAY", "SERVERS")
SOURCE = "nacre server"
_SCHEMA_1 = 1
_ATTEMPTS = 5

Entries = dict[str, Any]


class ServerStore:
    """The stored servers, by name."""

    def __init__(
        self, table: Callable[[], Table], read: Callable[[Key], Item | None] | None = None
    ) -> None:
        self._table = table
        self._read = read or (lambda key: table().get(key))

    def load(self) -> "ServerList":
        """Return the servers; raises UnavailableError if they cannot be read."""
        from nacre.gateway.servers.config import servers_from  # noqa: PLC0415 - not to count them

        return servers_from(_entries(self._read(KEY)), source=SOURCE)

    def entries(self) -> Entries:
        """Return the entries as they were added, by name."""
        return _entries(self._table().get(KEY))

    def add(self, name: str, entry: Mapping[str, Any], *, replaces: bool = False) -> None:
        """Add a server; raises ConfigurationError if it is invalid, ConflictError if it exists."""
        from nacre.gateway.servers.config import server_from  # noqa: PLC0415 - not to count them

        server_from(name, entry)

        def put(entries: Entries) -> None:
            if name in entries and not replaces:
                raise ConflictError(f"there is a server '{name}' already; give --replace")
            entries[name] = dict(entry)

        self._change(put)

    def remove(self, name: str) -> None:
        """Remove a server; raises NotFoundError if there is none of this name."""

        def drop(entries: Entries) -> None:
            if name not in entries:
                raise NotFoundError(f"there is no server '{name}'; see 'nacre server list'")
            del entries[name]

        self._change(drop)

    def _change(self, change: Callable[[Entries], None]) -> None:
        def changed(item: Item | None) -> Item:
            entries = _entries(item)
            change(entries)
            return {"servers": json.dumps(entries)}

        change_item(self._table(), KEY, changed, problem="the servers cannot be written now")


def change_item(
    table: Table, key: Key, change: Callable[[Item | None], Item | None], *, problem: str
) -> None:
    """Replace an item of one revision after another; None from `change` leaves it as it is.

    `change` is called again when another writer was first. Raises StoreError with the `problem`
    if there is always another writer.
    """
    for _ in range(_ATTEMPTS):
        item = table.get(key)
        members = change(item)
        if members is None:
            return
        stored_number = (item or {}).get("number", 0)
        number = stored_number if isinstance(stored_number, int) else 0
        when = Absent() if item is None else Compare("number", "=", number)
        identity: Item = {**key.attributes(), SCHEMA: _SCHEMA_1, "number": number + 1}
        try:
            table.put({**identity, **members}, when=when)
        except ConditionFailedError:
            continue
        return
    raise StoreError(f"{problem}: too many writers at once")


def _entries(item: Item | None) -> Entries:
    text = (item or {}).get("servers")
    value = json.loads(text) if isinstance(text, str) else {}
    return value if isinstance(value, dict) else {}
