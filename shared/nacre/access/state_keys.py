"""The keys that seal requestState: made once, changed each month, known to every process."""

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
_CHANGED_AFTER = timedelta(days=30)
# A process reads again after a minute, so that after two every one of them knows a new key;
# until then the new key opens seals but makes none.
_READ_AGAIN = timedelta(minutes=1)
_USED_AFTER = timedelta(minutes=2)
_OLD_KEY_OPENS = _USED_AFTER + timedelta(seconds=REQUEST_STATE_SECONDS)


class StoredSigningKeys:
    """The keys in the item store; call it for the ones that hold now."""

    def __init__(self, table: Table, vault: Vault, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._vault = vault
        self._clock = clock
        self._rng = rng
        self._read_at: float | None = None
        self._keys = (0.0, b"", b"")

    def __call__(self) -> SigningKeys:
        """Return the key that seals and the other one that may still open."""
        now = self._clock().timestamp()
        if self._read_at is None or now - self._read_at >= _READ_AGAIN.total_seconds():
            self._keys = self._read(now)
            self._read_at = now
        made, newest, older = self._keys
        age = now - made
        if not older or age >= _OLD_KEY_OPENS.total_seconds():
            return SigningKeys(newest)
        if age < _USED_AFTER.total_seconds():
            return SigningKeys(older, newest)
        return SigningKeys(newest, older)

    def _read(self, now: float) -> tuple[float, bytes, bytes]:
        """Return when the newest key was made, that key, and the one before it."""
        item = self._table.get(_KEY)
        if item is None:
            item = self._write(now, before=None)
        elif now - _number(item["made"]) >= _CHANGED_AFTER.total_seconds():
            item = self._write(now, before=item)
        try:
            return self._opened(item)
        except BrokenSealError:
            # The vault has another key now. Calls that are open start again; new ones work.
            return self._opened(self._write(now, before={**item, "newest": b""}))

    def _write(self, now: float, *, before: Item | None) -> Item:
        """Return the item with a new key, or the one that another process wrote first."""
        condition: Condition = Absent()
        if before is not None:
            condition = Compare("made", "=", _number(before["made"]))
        item: Item = {
            "pk": _KEY.pk,
            "sk": _KEY.sk,
            SCHEMA: _SCHEMA_VERSION,
            "made": int(now),
            "newest": self._vault.seal(self._rng.randbytes(_KEY_BYTES), context=_CONTEXT),
            "older": b"" if before is None else before["newest"],
        }
        try:
            self._table.put(item, when=condition)
        except ConditionFailedError:
            found = self._table.get(_KEY)
            assert found is not None
            return found
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
