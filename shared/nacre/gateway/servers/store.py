"""The servers that `nacre server add` keeps: one item in the store."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from nacre.core.errors import ConditionFailedError, ConflictError, NotFoundError, StoreError
from nacre.gateway.servers.config import ServerList, server_from, servers_from
from nacre.ports.items.table import SCHEMA, Absent, Compare, Item, Key, Table

KEY = Key("GATEWAY", "SERVERS")
SOURCE = "nacre server"
_SCHEMA_1 = 1
_ATTEMPTS = 5

Entries = dict[str, Any]


class ServerStore:
    """Servers by the names they were given."""

    def __init__(
        self, table: Callable[[], Table], read: Callable[[Key], Item | None] | None = None
    ) -> None:
        self._table = table
        self._read = read or (lambda key: table().get(key))

    def load(self) -> ServerList:
        """Return the servers; UnavailableError when they cannot be read."""
        return servers_from(_entries(self._read(KEY)), source=SOURCE)

    def entries(self) -> Entries:
        """Return what was written, by name."""
        return _entries(self._table().get(KEY))

    def add(self, name: str, entry: Mapping[str, Any], *, replaces: bool = False) -> None:
        """Keep a server; ConfigurationError when it is wrong, ConflictError when it is there."""
        server_from(name, entry)

        def put(entries: Entries) -> None:
            if name in entries and not replaces:
                raise ConflictError(f"there is a server '{name}' already; give --replace")
            entries[name] = dict(entry)

        self._change(put)

    def remove(self, name: str) -> None:
        """Forget a server; NotFoundError when there is none of this name."""

        def drop(entries: Entries) -> None:
            if name not in entries:
                raise NotFoundError(f"there is no server '{name}'; see 'nacre server list'")
            del entries[name]

        self._change(drop)

    def _change(self, change: Callable[[Entries], None]) -> None:
        for _ in range(_ATTEMPTS):
            item = self._table().get(KEY)
            entries = _entries(item)
            change(entries)
            number = (item or {}).get("number", 0)
            assert isinstance(number, int)
            written: Item = {
                "pk": KEY.pk,
                "sk": KEY.sk,
                SCHEMA: _SCHEMA_1,
                "number": number + 1,
                "servers": json.dumps(entries),
            }
            when = Absent() if item is None else Compare("number", "=", number)
            try:
                self._table().put(written, when=when)
            except ConditionFailedError:
                continue
            return
        raise StoreError("the servers cannot be written now: too many writers at once")


def _entries(item: Item | None) -> Entries:
    text = (item or {}).get("servers")
    value = json.loads(text) if isinstance(text, str) else {}
    return value if isinstance(value, dict) else {}
