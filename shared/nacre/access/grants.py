"""What owners have allowed clients: each grant with its tokens, which end together.

A grant's item lists its live access tokens, and every token is issued in one transaction with
it, so that a revoked grant has no token that was missed.
"""

import hashlib
import hmac
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from nacre.access.admission import token_key
from nacre.access.oauth_codes import Consent
from nacre.access.token_store import TokenRecord, grants_of_being, token_item
from nacre.access.tokens import OAUTH_ACCESS, OAUTH_REFRESH, digest, form, hint, kind_of, mint
from nacre.clock import Clock
from nacre.errors import ConditionFailedError, ConflictError, NotFoundError, OAuthError
from nacre.ids import short_id
from nacre.limits import (
    ACCESS_TOKEN_SECONDS,
    GRANT_DAYS,
    LIVE_ACCESS_TOKENS,
    REFRESH_GRACE_SECONDS,
    REFRESH_TOKEN_DAYS,
)
from nacre.ports.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Change,
    Compare,
    Delete,
    Every,
    Item,
    Key,
    Present,
    Put,
    Table,
    Update,
    Value,
    Write,
)

_SCHEMA_VERSION = 1
_TRIES = 8  # of a transaction that others get in the way of
_SEED_BYTES = 32


@dataclass(frozen=True, slots=True)
class Grant:
    """One client's access to one Being."""

    grant_id: str
    owner: str
    being_id: str
    client_id: str
    client_name: str
    client_host: str | None
    scopes: frozenset[str]
    resource: str
    created: datetime
    used: datetime
    expires: datetime


@dataclass(frozen=True, slots=True)
class TokenPair:
    """New tokens of a grant, to be told once."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    scopes: frozenset[str]


class Grants:
    """Makes grants, renews their tokens, and ends them."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def create(self, consent: Consent) -> TokenPair:
        """Return the first tokens of what was allowed; raises OAuthError if it has ended."""
        now = self._now()
        access, entry, row = self._access(consent, consent.scopes, now)
        refresh = mint(OAUTH_REFRESH, self._rng)
        expires = now + timedelta(days=GRANT_DAYS)
        item: Item = {
            "pk": _key(consent.grant_id).pk,
            "sk": _key(consent.grant_id).sk,
            SCHEMA: _SCHEMA_VERSION,
            "gsi2pk": _owner_index(consent.owner),
            "gsi2sk": consent.grant_id,
            "gsi3pk": grants_of_being(consent.being_id),
            "gsi3sk": consent.grant_id,
            "owner": consent.owner,
            "being_id": consent.being_id,
            "client_id": consent.client_id,
            "client_name": consent.client_name,
            "client_host": consent.client_host,
            "scopes": " ".join(sorted(consent.scopes)),
            "resource": consent.resource,
            "created": int(now.timestamp()),
            "used": int(now.timestamp()),
            "expires": int(expires.timestamp()),
            "live": [entry],
            "version": 1,
            EXPIRES_AT: int(expires.timestamp()),
        }
        first = self._refresh_row(refresh, consent.grant_id, consent.client_id, now, expires)
        try:
            self._table.transact([Put(item, Absent()), Put(row, Absent()), Put(first, Absent())])
        except ConditionFailedError:
            raise _ended() from None
        return TokenPair(access, refresh, consent.scopes)

    def refresh(
        self,
        token: str,
        *,
        client_id: str,
        scopes: frozenset[str] | None = None,
        resource: str | None = None,
    ) -> TokenPair:
        """Return new tokens for a refresh token, which is then of no use.

        Within seconds the same one may come again, because an answer was lost or two
        processes share it: it gets the same successor. Later, somebody has a copy, and the
        grant ends. Raises OAuthError.
        """
        if kind_of(token) != OAUTH_REFRESH:
            raise _ended()
        for _ in range(_TRIES):
            row = self._table.get(Key(*token_key(digest(token))))
            if row is None or row["kind"] != OAUTH_REFRESH or row["client"] != client_id:
                raise _ended()
            item = self._table.get(_key(str(row["grant_id"])))
            now = self._now()
            if item is None or "revoked" in item or _moment(row["expires"]) <= now:
                raise _ended()
            self._check_within(item, scopes, resource)
            used = row.get("used")
            if used is not None and now - _moment(used) > timedelta(seconds=REFRESH_GRACE_SECONDS):
                self.end(str(row["grant_id"]))
                raise OAuthError("invalid_grant", "the refresh token was used before")
            pair, writes = self._renewal(token, row, item, scopes, now)
            try:
                self._table.transact(writes)
            except ConditionFailedError:
                continue  # another process was faster: what it wrote decides
            return pair
        raise ConflictError("too many requests renew this grant at once; try again")

    def end_by(self, token: str, *, client_id: str) -> None:
        """End the grant of a token of the client's; nothing happens for any other token."""
        if kind_of(token) not in (OAUTH_ACCESS, OAUTH_REFRESH):
            return
        row = self._table.get(Key(*token_key(digest(token))))
        if row is not None and row.get("client") == client_id and "grant_id" in row:
            self.end(str(row["grant_id"]))

    def end(self, grant_id: str) -> None:
        """End a grant and all its tokens now, even where it is only about to be made."""
        key = _key(grant_id)
        now = self._now()
        mark = Change(set={"revoked": int(now.timestamp())}, add={"version": 1})
        try:
            item = self._table.update(key, mark, when=Present())
        except ConditionFailedError:
            stone: Item = {
                "pk": key.pk,
                "sk": key.sk,
                SCHEMA: _SCHEMA_VERSION,
                "revoked": int(now.timestamp()),
                EXPIRES_AT: int((now + timedelta(days=1)).timestamp()),
            }
            try:
                self._table.put(stone, when=Absent())
            except ConditionFailedError:  # it was made at this very moment
                item = self._table.update(key, mark, when=Present())
            else:
                return
        for sha256, _ in _live(item):
            self._table.delete(Key(*token_key(sha256)))

    def revoke(self, grant_id: str, *, owner: str) -> Grant:
        """End one of an owner's grants and return it; raises NotFoundError for another's."""
        item = self._table.get(_key(grant_id))
        if item is None or "revoked" in item or item["owner"] != owner:
            raise NotFoundError(
                f"there is no connected client {grant_id[:60]!r}; see 'nacre client list'"
            )
        self.end(grant_id)
        return _from_item(item)

    def of_owner(self, owner: str) -> list[Grant]:
        """Return what an owner has allowed and not taken back, oldest first."""
        now = self._now()
        found = [_from_item(item) for item in self._items(owner) if "revoked" not in item]
        living = [grant for grant in found if grant.expires > now]
        return sorted(living, key=lambda grant: (grant.created, grant.grant_id))

    def _items(self, owner: str) -> Iterator[Item]:
        start = None
        while True:
            page = self._table.query(_owner_index(owner), index="gsi2", start=start)
            yield from page.items
            if (start := page.next) is None:
                return

    def _check_within(
        self, item: Item, scopes: frozenset[str] | None, resource: str | None
    ) -> None:
        if scopes is not None and not scopes <= frozenset(str(item["scopes"]).split()):
            raise OAuthError("invalid_scope", "the owner has not allowed that")
        if resource is not None and resource != item["resource"]:
            raise OAuthError("invalid_target", "the grant is for another resource")

    def _renewal(
        self, token: str, row: Item, item: Item, scopes: frozenset[str] | None, now: datetime
    ) -> tuple[TokenPair, list[Write]]:
        """Return the next tokens, and what must be written so that they count."""
        grant = _from_item(item)
        granted = grant.scopes if scopes is None else scopes
        access, entry, access_row = self._access(grant, granted, now)
        seed = row.get("seed")
        writes: list[Write] = []
        if isinstance(seed, bytes):
            successor = _successor(token, seed)
        else:
            seed = self._rng.randbytes(_SEED_BYTES)
            successor = _successor(token, seed)
            used = Change(set={"used": int(now.timestamp()), "seed": seed})
            once = Every((Present(), Absent("used")))
            next_row = self._refresh_row(
                successor, grant.grant_id, grant.client_id, now, grant.expires
            )
            writes += [
                Update(Key(str(row["pk"]), str(row["sk"])), used, once),
                Put(next_row, Absent()),
            ]
        living = [each for each in _live(item) if each[1] > now.timestamp()]
        kept, dropped = living[-(LIVE_ACCESS_TOKENS - 1) :], living[: -(LIVE_ACCESS_TOKENS - 1)]
        entries: list[Value] = [[sha256, until] for sha256, until in kept]
        change = Change(
            set={"live": [*entries, entry], "used": int(now.timestamp())}, add={"version": 1}
        )
        unchanged = Every((Absent("revoked"), Compare("version", "=", _number(item["version"]))))
        writes += [Put(access_row, Absent()), Update(_key(grant.grant_id), change, unchanged)]
        writes += [Delete(Key(*token_key(sha256))) for sha256, _ in dropped]
        return TokenPair(access, successor, granted), writes

    def _access(
        self, grant: Consent | Grant, scopes: frozenset[str], now: datetime
    ) -> tuple[str, Value, Item]:
        """Return a new access token, its entry in the grant, and its row."""
        token = mint(OAUTH_ACCESS, self._rng)
        sha256 = digest(token)
        record = TokenRecord(
            kind=OAUTH_ACCESS,
            token_id=f"tok_{short_id(self._rng)}",
            being_id=grant.being_id,
            owner=grant.owner,
            scopes=scopes,
            created=now,
            expires=now + timedelta(seconds=ACCESS_TOKEN_SECONDS),
            hint=hint(token),
            label=grant.client_name,
            client=grant.client_id,
            resource=grant.resource,
        )
        row = {**token_item(record, sha256), "grant_id": grant.grant_id}
        return token, [sha256, int(record.expires.timestamp())], row

    def _refresh_row(
        self, token: str, grant_id: str, client_id: str, now: datetime, end: datetime
    ) -> Item:
        pk, sk = token_key(digest(token))
        until = int(min(now + timedelta(days=REFRESH_TOKEN_DAYS), end).timestamp())
        return {
            "pk": pk,
            "sk": sk,
            SCHEMA: _SCHEMA_VERSION,
            "kind": OAUTH_REFRESH,
            "grant_id": grant_id,
            "client": client_id,
            "expires": until,
            EXPIRES_AT: until,
        }

    def _now(self) -> datetime:
        return self._clock().replace(microsecond=0)


def _successor(token: str, seed: bytes) -> str:
    """Return the refresh token that follows: told again by who has this one and the store."""
    bits = int.from_bytes(hmac.new(token.encode(), seed, hashlib.sha256).digest(), "big")
    return form(OAUTH_REFRESH, bits)


def _ended() -> OAuthError:
    return OAuthError("invalid_grant", "the grant has ended; ask the owner again")


def _key(grant_id: str) -> Key:
    return Key(f"OG#{grant_id}", "META")


def _owner_index(owner: str) -> str:
    return f"U#{owner}#OG"


def _live(item: Item) -> list[tuple[str, int]]:
    entries = item.get("live")
    found = []
    for entry in entries if isinstance(entries, list) else []:
        assert isinstance(entry, list)
        found.append((str(entry[0]), _number(entry[1])))
    return found


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


def _moment(value: Value) -> datetime:
    return datetime.fromtimestamp(_number(value), UTC)


def _from_item(item: Item) -> Grant:
    host = item["client_host"]
    return Grant(
        grant_id=str(item["pk"]).removeprefix("OG#"),
        owner=str(item["owner"]),
        being_id=str(item["being_id"]),
        client_id=str(item["client_id"]),
        client_name=str(item["client_name"]),
        client_host=None if host is None else str(host),
        scopes=frozenset(str(item["scopes"]).split()),
        resource=str(item["resource"]),
        created=_moment(item["created"]),
        used=_moment(item["used"]),
        expires=_moment(item["expires"]),
    )
