"""The tokens that were issued: rows under the hash of the token, listed by Being."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from nacre.access.tokens.token_check import TOKEN_SCHEMA, token_key
from nacre.access.tokens.token_format import digest, hint, mint
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, InvalidInputError, NotFoundError
from nacre.core.ids import short_id
from nacre.core.limits import LONGEST_TOKEN_DAYS, TOKEN_ROW_DAYS
from nacre.core.names import checked_name
from nacre.core.token_prefixes import API
from nacre.ports.items.paging import every_item
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Change,
    Every,
    Item,
    Key,
    Present,
    Range,
    Table,
    Value,
)

_SCHEMA = ItemSchema("token", TOKEN_SCHEMA)


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """What is known of an issued token; never the token itself."""

    kind: str
    token_id: str
    being_id: str
    owner: str
    scopes: frozenset[str]
    created: datetime
    expires: datetime
    hint: str = ""
    label: str = ""
    client: str | None = None
    resource: str | None = None
    revoked: datetime | None = None

    def state(self, now: datetime) -> str:
        """Return `active`, `revoked` or `expired`."""
        if self.revoked is not None:
            return "revoked"
        return "active" if self.expires > now else "expired"


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token, to be shown once."""

    token: str = field(repr=False)
    record: TokenRecord


class TokenStore:
    """Issues, finds, lists and revokes tokens."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def issue(
        self,
        kind: str,
        *,
        being_id: str,
        owner: str,
        scopes: frozenset[str],
        lifetime: timedelta,
        label: str = "",
        client: str | None = None,
        resource: str | None = None,
    ) -> Issued:
        """Return a new token, stored by its hash only."""
        if not timedelta(0) < lifetime <= timedelta(days=LONGEST_TOKEN_DAYS):
            raise InvalidInputError(
                f"a token lives between 1 second and {LONGEST_TOKEN_DAYS} days; choose a "
                "lifetime such as 90d"
            )
        token = mint(kind, self._rng)
        now = self._clock().replace(microsecond=0)
        record = TokenRecord(
            kind=kind,
            token_id=f"tok_{short_id(self._rng)}",
            being_id=being_id,
            owner=owner,
            scopes=scopes,
            created=now,
            expires=now + lifetime,
            hint=hint(token),
            label=checked_name(label, what="label") if label else "",
            client=client,
            resource=resource,
        )
        self._table.put(token_item(record, digest(token)), when=Absent())
        return Issued(token, record)

    def lookup(self, sha256: str) -> Item | None:
        """Return the stored row of a token's hash: one read, as the gate wants it."""
        return self._table.get(Key(*token_key(sha256)))

    def of_being(self, being_id: str) -> list[TokenRecord]:
        """Return the Being's tokens, oldest first, ended ones included for a while."""
        items = every_item(self._table, _being_index(being_id), index="gsi2")
        records = map(_from_item, items)
        return sorted(records, key=lambda record: (record.created, record.token_id))

    def revoke(self, token_id: str, *, being_id: str) -> TokenRecord:
        """End a token now, and return it; the row stays, marked, until it would have gone.

        Revoking again changes nothing. Raises NotFoundError for a token that the Being
        does not have.
        """
        only = Range(low=token_id, high=token_id)
        found = self._table.query(_being_index(being_id), index="gsi2", keys=only).items
        if not found:
            raise NotFoundError(
                f"there is no token {token_id[:80]!r} for this Being; see 'nacre token list'"
            )
        key = Key(str(found[0]["pk"]), str(found[0]["sk"]))
        mark = Change(set={"revoked": int(self._clock().timestamp())})
        try:
            item = self._table.update(key, mark, when=Every((Present(), Absent("revoked"))))
        except ConditionFailedError:
            item = self._table.get(key) or found[0]
        return _from_item(item)

    def erase(self, being_id: str) -> int:
        """End all tokens of a Being now, and remove their rows; return how many there were.

        What clients were allowed goes too, so that none of them gets another one.
        """
        grants = self._table.query(grants_of_being(being_id), index="gsi3")
        while grants.items:
            for item in grants.items:
                self._table.delete(Key(str(item["pk"]), str(item["sk"])))
            if grants.next is None:
                break
            grants = self._table.query(grants_of_being(being_id), index="gsi3", start=grants.next)
        count = 0
        # On AWS the list may lag behind the writes, so a row may be there once more.
        while items := self._table.query(_being_index(being_id), index="gsi2", limit=50).items:
            keys = {Key(str(item["pk"]), str(item["sk"])) for item in items}
            removed = [self._table.delete(key) for key in keys]
            count += sum(item is not None for item in removed)
            if not any(removed):
                break
        return count


def _being_index(being_id: str) -> str:
    return f"B#{being_id}#TOK"


def grants_of_being(being_id: str) -> str:
    """Return the partition that lists what clients were allowed of a Being."""
    return f"B#{being_id}#OG"


def token_item(record: TokenRecord, sha256: str) -> Item:
    """Return the row of a token."""
    pk, sk = token_key(sha256)
    # An API token's end is explained for a while; a client renews its own, and many end a day.
    kept = timedelta(days=TOKEN_ROW_DAYS if record.kind == API else 0)
    item: Item = {
        "pk": pk,
        "sk": sk,
        SCHEMA: _SCHEMA.version,
        "gsi2pk": _being_index(record.being_id),
        "gsi2sk": record.token_id,
        "kind": record.kind,
        "token_id": record.token_id,
        "being_id": record.being_id,
        "owner": record.owner,
        "scopes": " ".join(sorted(record.scopes)),
        "created": int(record.created.timestamp()),
        "expires": int(record.expires.timestamp()),
        "hint": record.hint,
        "label": record.label,
        EXPIRES_AT: int((record.expires + kept).timestamp()),
    }
    if record.client is not None:
        # A client's tokens end together when one of its refresh tokens is used twice.
        item |= {
            "client": record.client,
            "gsi1pk": f"UC#{record.owner}#{record.client}",
            "gsi1sk": record.token_id,
        }
    if record.resource is not None:
        item["resource"] = record.resource
    return item


def _from_item(item: Item) -> TokenRecord:
    item = _SCHEMA.read(item)
    revoked, client, resource = (item.get(name) for name in ("revoked", "client", "resource"))
    return TokenRecord(
        kind=str(item["kind"]),
        token_id=str(item["token_id"]),
        being_id=str(item["being_id"]),
        owner=str(item["owner"]),
        scopes=frozenset(str(item["scopes"]).split()),
        created=_moment(item["created"]),
        expires=_moment(item["expires"]),
        hint=str(item["hint"]),
        label=str(item["label"]),
        client=None if client is None else str(client),
        resource=None if resource is None else str(resource),
        revoked=None if revoked is None else _moment(revoked),
    )


def _moment(value: Value) -> datetime:
    assert isinstance(value, int | float)
    return datetime.fromtimestamp(value, UTC)
