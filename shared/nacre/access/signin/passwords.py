"""Owners' passwords, stored as salted scrypt hashes."""

import hashlib
import hmac
import unicodedata
from random import Random

from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_PASSWORD_LENGTH, PASSWORD_LENGTH
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import SCHEMA, Item, Key, Table, Value

_SCHEMA = ItemSchema("password", 1)
# 32 MB and about a tenth of a second: the parameters that OWASP recommends for scrypt.
_COST, _BLOCK, _LANES = 2**15, 8, 3
_MEMORY = 64 * 1024 * 1024
_SALT_BYTES, _HASH_BYTES = 16, 32


class Passwords:
    """Stores and checks the passwords of owners who have one."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def set(self, owner: str, password: str) -> None:
        """Store a new password; raises InvalidInputError if it is too easy to guess."""
        checked = _checked(password)
        if checked.casefold() in (owner, owner * 2) or len(set(checked)) < 5:
            raise InvalidInputError("that password is too easy to guess; use several words")
        salt = self._rng.randbytes(_SALT_BYTES)
        item: Item = {
            **_key(owner).attributes(),
            SCHEMA: _SCHEMA.version,
            "salt": salt,
            "cost": _COST,
            "block": _BLOCK,
            "lanes": _LANES,
            "hash": _scrypt(checked, salt, _COST, _BLOCK, _LANES),
            "changed": int(self._clock().timestamp()),
        }
        self._table.put(item)

    def remove(self, owner: str) -> None:
        """Remove the password; sign-in links keep working."""
        self._table.delete(_key(owner))

    def has(self, owner: str) -> bool:
        """Tell whether the owner has a password."""
        return self._table.get(_key(owner)) is not None

    def match(self, owner: str, password: str) -> bool:
        """Tell whether this is the owner's password, in the same time when there is none."""
        item = self._table.get(_key(owner))
        if len(password) > MAX_PASSWORD_LENGTH:
            return False
        normal = unicodedata.normalize("NFKC", password)
        if item is None:
            _scrypt(normal, bytes(_SALT_BYTES), _COST, _BLOCK, _LANES)
            return False
        item = _SCHEMA.read(item)
        salt, stored = item["salt"], item["hash"]
        assert isinstance(salt, bytes)
        assert isinstance(stored, bytes)
        cost, block, lanes = (_number(item[name]) for name in ("cost", "block", "lanes"))
        return hmac.compare_digest(_scrypt(normal, salt, cost, block, lanes), stored)


def _checked(password: str) -> str:
    normal = unicodedata.normalize("NFKC", password)
    if len(normal) < PASSWORD_LENGTH or len(password) > MAX_PASSWORD_LENGTH:
        raise InvalidInputError(
            f"a password has {PASSWORD_LENGTH} to {MAX_PASSWORD_LENGTH} characters"
        )
    return normal


def _scrypt(password: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    return hashlib.scrypt(
        password.encode("utf-8", "surrogatepass"),
        salt=salt,
        n=cost,
        r=block,
        p=lanes,
        maxmem=_MEMORY,
        dklen=_HASH_BYTES,
    )


def _key(owner: str) -> Key:
    return Key(f"U#{owner}", "PASSWORD")


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value
