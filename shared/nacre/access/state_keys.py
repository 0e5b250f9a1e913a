"""The keys that seal requestState: shared by every process and replaced each month."""

from datetime import timedelta
from random import Random

from nacre.core.clock import Clock
from nacre.core.errors import BrokenSealError, ConditionFailedError
from nacre.core.limits import REQUEST_STATE_SECONDS
from nacre.ports.items.table import SCHEMA, Absent, Compare, Condition, Item, Key, Table
from nacre.ports.vault import Vault
from nacre.protocol.dispatch.request_state import SigningKeys

_KEY = Key("KEYS#request-state", "CUR")
_CONTEXT = {"purpose": "request-state"}
_SCHEMA_VERSION = 1
_KEY_BYTES = 32
_REPLACED_AFTER = timedelta(days=30)
# Every process reads the keys again after a minute, so after two minutes all of them know a new
# key. Until then the new key opens seals but makes none.
_CACHED_FOR = timedelta(minutes=1)
_SEALS_AFTER = timedelta(minutes=2)
_OLD_KEY_LIFETIME = _SEALS_AFTER + timedelta(seconds=REQUEST_STATE_SECONDS)


class StoredSigningKeys:
    """The signing keys in the item store; calling it returns the current ones."""

    def __init__(self, table: Table, vault: Vault, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._vault = vault
        self._clock = clock
        self._rng = rng
        self._read_at: float | None = None
        self._keys = (0.0, b"", b"")

    def __call__(self) -> SigningKeys:
        """Return the key that seals, and the other key that may still open older seals."""
        now = self._clock().timestamp()
        if self._read_at is None or now - self._read_at >= _CACHED_FOR.total_seconds():
            self._keys = self._read(now)
            self._read_at = now
        created, newest, older = self._keys
        age = now - created
        if not older or age >= _OLD_KEY_LIFETIME.total_seconds():
            return SigningKeys(newest)
        if age < _SEALS_AFTER.total_seconds():
            return SigningKeys(older, newest)
        return SigningKeys(newest, older)

    def _read(self, now: float) -> tuple[float, bytes, bytes]:
        """Return when the newest key was created, that key, and the key before it."""
        item = self._table.get(_KEY)
        if item is None:
            item = self._write(now, before=None)
        elif now - _number(item["made"]) >= _REPLACED_AFTER.total_seconds():
            item = self._write(now, before=item)
        try:
            return self._opened(item)
        except BrokenSealError:
            # The vault's key has changed. Open calls start again; new calls work.
            return self._opened(self._write(now, before={**item, "newest": b""}))

    def _write(self, now: float, *, before: Item | None) -> Item:
        """Store a new key and return its item, or the item that another process stored first."""
        condition: Condition = Absent()
        if before is not None:
            condition = Compare("made", "=", _number(before["made"]))
        item: Item = {
            **_KEY.attributes(),
            SCHEMA: _SCHEMA_VERSION,
            "made": int(now),
            "newest": self._vault.seal(self._rng.randbytes(_KEY_BYTES), context=_CONTEXT),
            "older": b"" if before is None else before["newest"],
        }
        try:
            self._table.put(item, when=condition)
        except ConditionFailedError:
            winner = self._table.get(_KEY)
            assert winner is not None
            return winner
        return item

    def _opened(self, item: Item) -> tuple[float, bytes, bytes]:
        sealed = (item["newest"], item["older"])
        newest, older = (
            self._vault.open(key, context=_CONTEXT) if isinstance(key, bytes) and key else b""
            for key in sealed
        )
        return _number(item["made"]), newest, older


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return value
