"""An owner's passkeys: asked for by a challenge that counts once, kept by their public keys."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
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
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, ConflictError, InvalidInputError, NotFoundError
from nacre.core.limits import MAX_PASSKEYS, PASSKEY_CHALLENGE_SECONDS
from nacre.core.names import checked_name
from nacre.ports.items.paging import every_item
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    EXPIRES_AT,
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
)

_SCHEMA = ItemSchema("passkey", 1)
_CHALLENGE_SCHEMA = 1
_CHALLENGE_BYTES = 32
_PREFIX = "PASSKEY#"
_UNKNOWN = "this passkey is not known here, or was removed"
_STALE = "the passkey took too long, or answered before; try it again"
Purpose = Literal["add", "sign-in"]


@dataclass(frozen=True, slots=True)
class Passkey:
    """One passkey as its owner sees it; `mark` names it, `credential` is for browsers."""

    mark: str
    name: str
    credential: str
    added: datetime
    used: datetime | None


@dataclass(frozen=True, slots=True)
class Signed:
    """What a browser sends of a passkey that signs in, as base64url."""

    credential: str
    client_data: str
    data: str
    signature: str
    user: str


class Passkeys:
    """Asks for passkeys, keeps them, and checks what they sign."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def ask(self, purpose: Purpose, browser: str) -> str:
        """Return a new challenge for one browser, as base64url; it counts once, for a while."""
        challenge = to_text(self._rng.randbytes(_CHALLENGE_BYTES))
        item: Item = {
            "pk": _challenge_key(challenge).pk,
            "sk": _challenge_key(challenge).sk,
            SCHEMA: _CHALLENGE_SCHEMA,
            "bound": _bound(purpose, browser),
            EXPIRES_AT: int(self._clock().timestamp()) + PASSKEY_CHALLENGE_SECONDS,
        }
        self._table.put(item, when=Absent())
        return challenge

    def add(
        self, owner: str, name: str, client_data: str, attestation: str, *, browser: str, site: Site
    ) -> Passkey:
        """Keep a passkey that was just made; raises InvalidInputError saying what is wrong."""
        raw = from_text(client_data)
        challenge = self._answered("add", raw, browser)
        called = checked_name(name, what="passkey's name")
        made = check_new(raw, from_text(attestation), challenge, site)
        if len(self.of_owner(owner)) >= MAX_PASSKEYS:
            raise InvalidInputError(f"an owner has at most {MAX_PASSKEYS} passkeys; remove one")
        if self._owner_of(made.credential) is not None:
            raise ConflictError("this passkey is known here already")
        item = self._item(owner, called, made)
        try:
            self._table.put(item, when=Absent())
        except ConditionFailedError:
            raise ConflictError("this passkey is known here already") from None
        return _passkey(item)

    def match(self, signed: Signed, *, browser: str, site: Site) -> str:
        """Return whose passkey has signed; raises InvalidInputError saying what is wrong."""
        raw = from_text(signed.client_data)
        challenge = self._answered("sign-in", raw, browser)
        credential = from_text(signed.credential)
        owner = self._owner_of(credential)
        item = None if owner is None else self._table.get(_key(owner, credential))
        if owner is None or item is None or signed.user != user_handle(owner):
            raise InvalidInputError(_UNKNOWN)
        key = _SCHEMA.read(item)["key"]
        assert isinstance(key, bytes)
        counter = check_signed(
            raw,
            from_text(signed.data),
            from_text(signed.signature),
            key=key,
            challenge=challenge,
            site=site,
        )
        self._count(owner, credential, counter)
        return owner

    def of_owner(self, owner: str) -> list[Passkey]:
        """Return the owner's passkeys, oldest first."""
        found = [_passkey(_SCHEMA.read(item)) for item in self._items(owner)]
        return sorted(found, key=lambda each: (each.added, each.mark))

    def remove(self, owner: str, mark: str) -> None:
        """Forget one passkey of the owner's; raises NotFoundError for any other."""
        if self._table.delete(Key(f"U#{owner}", f"{_PREFIX}{mark}")) is None:
            raise NotFoundError("that passkey was removed already")

    def remove_all(self, owner: str) -> int:
        """Forget every passkey of an owner, and return how many there were."""
        items = list(self._items(owner))
        for item in items:
            self._table.delete(Key(str(item["pk"]), str(item["sk"])))
        return len(items)

    def _answered(self, purpose: Purpose, client_data: bytes, browser: str) -> str:
        """Return the challenge that is answered, and let it count no more."""
        challenge = challenge_of(client_data)
        item = self._table.delete(_challenge_key(challenge))  # of two answers one comes too late
        if item is None or item["bound"] != _bound(purpose, browser):
            raise InvalidInputError(_STALE)
        return challenge

    def _owner_of(self, credential: bytes) -> str | None:
        page = self._table.query(_index(credential), index="gsi2", limit=1)
        return str(page.items[0]["pk"]).removeprefix("U#") if page.items else None

    def _count(self, owner: str, credential: bytes, counter: int) -> None:
        # A passkey that does not count says 0 for ever; one that counts never goes back.
        newer = Compare("counter", "<", counter) if counter else Compare("counter", "=", 0)
        change = Change(set={"counter": counter, "used": int(self._clock().timestamp())})
        try:
            self._table.update(_key(owner, credential), change, when=Every((Present(), newer)))
        except ConditionFailedError:
            raise InvalidInputError(
                "this passkey has counted backwards, so there may be a copy of it; sign in another "
                "way and remove it"
            ) from None

    def _item(self, owner: str, name: str, made: NewPasskey) -> Item:
        key = _key(owner, made.credential)
        return {
            "pk": key.pk,
            "sk": key.sk,
            SCHEMA: _SCHEMA.version,
            "gsi2pk": _index(made.credential),
            "gsi2sk": owner,
            "name": name,
            "credential": made.credential,
            "key": made.key,
            "counter": made.counter,
            "added": int(self._clock().timestamp()),
        }

    def _items(self, owner: str) -> Iterator[Item]:
        return every_item(self._table, f"U#{owner}", keys=Range(prefix=_PREFIX))


def user_handle(owner: str) -> str:
    """Return what stands for an owner in their passkeys: it tells nobody the name."""
    return to_text(hashlib.sha256(f"nacre owner {owner}".encode()).digest())


def _passkey(item: Item) -> Passkey:
    credential, added, used = item["credential"], item["added"], item.get("used")
    assert isinstance(credential, bytes)
    assert isinstance(added, int)
    return Passkey(
        mark=str(item["sk"]).removeprefix(_PREFIX),
        name=str(item["name"]),
        credential=to_text(credential),
        added=datetime.fromtimestamp(added, UTC),
        used=datetime.fromtimestamp(used, UTC) if isinstance(used, int) else None,
    )


def _key(owner: str, credential: bytes) -> Key:
    return Key(f"U#{owner}", f"{_PREFIX}{hashlib.sha256(credential).hexdigest()}")


def _index(credential: bytes) -> str:
    return f"PASSKEY#{hashlib.sha256(credential).hexdigest()}"


def _challenge_key(challenge: str) -> Key:
    mark = hashlib.sha256(challenge.encode("utf-8", "surrogatepass")).hexdigest()
    return Key(f"PC#{mark}", "C")


def _bound(purpose: Purpose, browser: str) -> str:
    return hashlib.sha256(f"{purpose}\0{browser}".encode()).hexdigest()
