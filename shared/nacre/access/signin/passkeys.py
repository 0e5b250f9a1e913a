"""An owner's passkeys: their public keys, and the challenges that ask for a signature."""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from random import Random
from typing import Literal

from nacre.access.signin.webauthn import (
    NewPasskey,
    Site,
    challenge_of,
    check_new,
    check_signed,
    from_text,
    to_text,
)
from nacre.access.tokens.secret_rows import SecretRows
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, ConflictError, InvalidInputError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_PASSKEYS, PASSKEY_CHALLENGE_SECONDS
from nacre.core.names import checked_name
from nacre.ports.items.paging import every_item
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    SCHEMA,
    Absent,
    Change,
    Compare,
    Every,
    Item,
    Key,
    Present,
    Range,
    Table,
    read_time,
)

_SCHEMA = ItemSchema("passkey", 1)
_CHALLENGE_BYTES = 32
_PREFIX = "PASSKEY#"
_UNKNOWN = "this passkey is unknown here, or was removed"
_STALE = "the passkey took too long, or its answer was used already; try again"
Purpose = Literal["add", "sign-in"]


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey as its owner sees it.

    `mark` identifies it in forms, and `credential` identifies it to browsers.
    """

    mark: str
    name: str
    credential: str
    added: datetime
    used: datetime | None


@dataclass(frozen=True, slots=True)
class PasskeySignature:
    """A passkey's answer to a sign-in challenge, as the browser sends it, in base64url."""

    credential: str
    client_data: str
    data: str
    signature: str
    user: str


class Passkeys:
    """Issues challenges, stores passkeys and checks their signatures."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._challenges = SecretRows(table, "PC", "C")
        self._clock = clock
        self._rng = rng

    def ask(self, purpose: Purpose, browser: str) -> str:
        """Return a new challenge for one browser, as base64url; it is valid once and expires."""
        challenge = to_text(self._rng.randbytes(_CHALLENGE_BYTES))
        until = int(self._clock().timestamp()) + PASSKEY_CHALLENGE_SECONDS
        self._challenges.add(challenge, {"bound": _bound(purpose, browser)}, until=until)
        return challenge

    def add(
        self, owner: str, name: str, client_data: str, attestation: str, *, browser: str, site: Site
    ) -> Passkey:
        """Store a newly created passkey; raises InvalidInputError with the reason."""
        raw = from_text(client_data)
        challenge = self._redeem("add", raw, browser)
        checked = checked_name(name, kind="passkey's name")
        passkey = check_new(raw, from_text(attestation), challenge, site)
        if len(self.of_owner(owner)) >= MAX_PASSKEYS:
            raise InvalidInputError(f"an owner has at most {MAX_PASSKEYS} passkeys; remove one")
        if self._owner_of(passkey.credential) is not None:
            raise ConflictError("this passkey was added already")
        item = self._item(owner, checked, passkey)
        try:
            self._table.put(item, when=Absent())
        except ConditionFailedError:
            raise ConflictError("this passkey was added already") from None
        return _passkey(item)

    def match(self, signature: PasskeySignature, *, browser: str, site: Site) -> str:
        """Return the owner whose passkey has signed; raises InvalidInputError with the reason."""
        raw = from_text(signature.client_data)
        challenge = self._redeem("sign-in", raw, browser)
        credential = from_text(signature.credential)
        owner = self._owner_of(credential)
        item = None if owner is None else self._table.get(_key(owner, credential))
        if owner is None or item is None or signature.user != user_handle(owner):
            raise InvalidInputError(_UNKNOWN)
        key = _SCHEMA.read(item)["key"]
        assert isinstance(key, bytes)
        counter = check_signed(
            raw,
            from_text(signature.data),
            from_text(signature.signature),
            key=key,
            challenge=challenge,
            site=site,
        )
        self._count(owner, credential, counter)
        return owner

    def of_owner(self, owner: str) -> list[Passkey]:
        """Return the owner's passkeys, oldest first."""
        passkeys = [_passkey(_SCHEMA.read(item)) for item in self._items(owner)]
        return sorted(passkeys, key=lambda passkey: (passkey.added, passkey.mark))

    def remove(self, owner: str, mark: str) -> None:
        """Remove one of the owner's passkeys; raises NotFoundError when there is none."""
        if self._table.delete(Key(f"U#{owner}", f"{_PREFIX}{mark}")) is None:
            raise NotFoundError("that passkey was removed already")

    def remove_all(self, owner: str) -> int:
        """Remove every passkey of an owner and return how many there were."""
        items = list(self._items(owner))
        for item in items:
            self._table.delete(Key.of(item))
        return len(items)

    def _redeem(self, purpose: Purpose, client_data: bytes, browser: str) -> str:
        """Invalidate the challenge that the browser answered, and return it."""
        challenge = challenge_of(client_data)
        row = self._challenges.take(challenge)  # only one of two answers finds it
        if row is None or row["bound"] != _bound(purpose, browser):
            raise InvalidInputError(_STALE)
        return challenge

    def _owner_of(self, credential: bytes) -> str | None:
        page = self._table.query(_index(credential), index="gsi2", limit=1)
        return str(page.items[0]["pk"]).removeprefix("U#") if page.items else None

    def _count(self, owner: str, credential: bytes, counter: int) -> None:
        # A passkey without a counter always sends 0; a counter never goes back.
        newer = Compare("counter", "<", counter) if counter else Compare("counter", "=", 0)
        change = Change(set={"counter": counter, "used": int(self._clock().timestamp())})
        try:
            self._table.update(_key(owner, credential), change, when=Every((Present(), newer)))
        except ConditionFailedError:
            raise InvalidInputError(
                "the counter of this passkey went backwards, so there may be a copy of it; sign in "
                "another way and remove it"
            ) from None

    def _item(self, owner: str, name: str, passkey: NewPasskey) -> Item:
        return {
            **_key(owner, passkey.credential).attributes(),
            SCHEMA: _SCHEMA.version,
            "gsi2pk": _index(passkey.credential),
            "gsi2sk": owner,
            "name": name,
            "credential": passkey.credential,
            "key": passkey.key,
            "counter": passkey.counter,
            "added": int(self._clock().timestamp()),
        }

    def _items(self, owner: str) -> Iterator[Item]:
        return every_item(self._table, f"U#{owner}", keys=Range(prefix=_PREFIX))


def user_handle(owner: str) -> str:
    """Return the identifier of an owner in their passkeys; it does not reveal the name."""
    return to_text(hashlib.sha256(f"nacre owner {owner}".encode()).digest())


def _passkey(item: Item) -> Passkey:
    credential, used = item["credential"], item.get("used")
    assert isinstance(credential, bytes)
    return Passkey(
        mark=str(item["sk"]).removeprefix(_PREFIX),
        name=str(item["name"]),
        credential=to_text(credential),
        added=read_time(item["added"]),
        used=None if used is None else read_time(used),
    )


def _key(owner: str, credential: bytes) -> Key:
    return Key(f"U#{owner}", f"{_PREFIX}{hashlib.sha256(credential).hexdigest()}")


def _index(credential: bytes) -> str:
    return f"PASSKEY#{hashlib.sha256(credential).hexdigest()}"


def _bound(purpose: Purpose, browser: str) -> str:
    return hashlib.sha256(f"{purpose}\0{browser}".encode()).hexdigest()
