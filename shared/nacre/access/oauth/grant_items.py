"""The items behind a grant: the grant itself, its access tokens and its refresh tokens."""

import hashlib
import hmac
from datetime import datetime, timedelta

from nacre.access.oauth.codes import Consent
from nacre.access.tokens.store import TokenRecord, grants_of_being, token_item
from nacre.access.tokens.token_check import token_key
from nacre.access.tokens.token_format import digest, form, hint
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import ACCESS_TOKEN_SECONDS, GRANT_DAYS, REFRESH_TOKEN_DAYS
from nacre.core.token_prefixes import OAUTH_ACCESS, OAUTH_REFRESH
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import EXPIRES_AT, SCHEMA, Item, Key, Value, fields_in, read_time
from nacre.protocol.http.server_address import profile_in

_SCHEMA = ItemSchema("grant", 1)


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

    @property
    def profile(self) -> str:
        """The profile that its tokens are bound to, "" for none."""
        return profile_in(self.resource)


@dataclass(frozen=True, slots=True)
class TokenPair:
    """New tokens of a grant, sent to the client once."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    scopes: frozenset[str]


def grant_key(grant_id: str) -> Key:
    """Return the key of a grant's item."""
    return Key(f"OG#{grant_id}", "META")


def grants_of_owner(owner: str) -> str:
    """Return the index partition of an owner's grants."""
    return f"U#{owner}#OG"


def grant_item(consent: Consent, live: Value, now: datetime) -> Item:
    """Return the item of a new grant with its first access token."""
    key, expires = grant_key(consent.grant_id), now + timedelta(days=GRANT_DAYS)
    return {
        **key.attributes(),
        SCHEMA: _SCHEMA.version,
        "gsi2pk": grants_of_owner(consent.owner),
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
        "live": [live],
        "version": 1,
        EXPIRES_AT: int(expires.timestamp()),
    }


def tombstone(grant_id: str, now: datetime) -> Item:
    """Return an item that prevents a grant from being created after it was ended."""
    return {
        **grant_key(grant_id).attributes(),
        SCHEMA: _SCHEMA.version,
        "revoked": int(now.timestamp()),
        EXPIRES_AT: int((now + timedelta(days=1)).timestamp()),
    }


def access_row(
    grant: Consent | Grant, token: str, token_id: str, scopes: frozenset[str], now: datetime
) -> tuple[Value, Item]:
    """Return the entry of an access token in its grant's item, and the token's row."""
    sha256 = digest(token)
    record = TokenRecord(
        kind=OAUTH_ACCESS,
        token_id=token_id,
        being_id=grant.being_id,
        owner=grant.owner,
        scopes=scopes,
        created=now,
        expires=now + timedelta(seconds=ACCESS_TOKEN_SECONDS),
        hint=hint(token),
        label=grant.client_name,
        client=grant.client_id,
        resource=grant.resource,
        profile=profile_in(grant.resource),
    )
    row = {**token_item(record, sha256), "grant_id": grant.grant_id}
    return [sha256, int(record.expires.timestamp())], row


def refresh_row(token: str, grant: Consent | Grant, now: datetime, end: datetime) -> Item:
    """Return a refresh token's row; it ends with its grant at the latest."""
    until = int(min(now + timedelta(days=REFRESH_TOKEN_DAYS), end).timestamp())
    return {
        **Key(*token_key(digest(token))).attributes(),
        SCHEMA: _SCHEMA.version,
        "kind": OAUTH_REFRESH,
        "grant_id": grant.grant_id,
        "client": grant.client_id,
        "expires": until,
        EXPIRES_AT: until,
    }


def successor(token: str, seed: bytes) -> str:
    """Return the next refresh token; the same token and seed always give the same one."""
    bits = int.from_bytes(hmac.new(token.encode(), seed, hashlib.sha256).digest(), "big")
    return form(OAUTH_REFRESH, bits)


def live_tokens(item: Item) -> list[tuple[str, int]]:
    """Return the hashes of a grant's access tokens, each with its expiry in epoch seconds."""
    entries = item.get("live")
    tokens = []
    for entry in entries if isinstance(entries, list) else []:
        assert isinstance(entry, list)
        tokens.append((str(entry[0]), integer(entry[1])))
    return tokens


def integer(value: Value) -> int:
    """Return a whole number from an item."""
    assert isinstance(value, int)
    return value


def grant_of(item: Item) -> Grant:
    """Return the grant that an item holds."""
    item = _SCHEMA.read(item)
    values = {
        "grant_id": str(item["pk"]).removeprefix("OG#"),
        "scopes": frozenset(str(item["scopes"]).split()),
        **{name: read_time(item[name]) for name in ("created", "used", "expires")},
    }
    return Grant(**{**fields_in(item, Grant), **values})
