"""Issued tokens: one row each under the token's hash, listed by Being."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from random import Random

from nacre.access.tokens.token_check import TOKEN_SCHEMA, token_key
from nacre.access.tokens.token_format import digest, hint, mint
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, InvalidInputError, NotFoundError
from nacre.core.ids import short_id
from nacre.core.lazy_dataclasses import dataclass, field
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
    fields_in,
    read_time,
)

_SCHEMA = ItemSchema("token", TOKEN_SCHEMA, {1: lambda item: item})
_TIMES = ("created", "expires", "revoked")


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """The stored facts about an issued token, without the token itself."""

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
    profile: str = ""

    def state(self, now: datetime) -> str:
        """Return `active`, `revoked` or `expired`."""
        if self.revoked is not None:
            return "revoked"
        return "active" if self.expires > now else "expired"


@dataclass(frozen=True, slots=True)
class NewToken:
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
        profile: str = "",
    ) -> NewToken:
        """Issue a new token; only its hash is stored."""
        if not timedelta(0) < lifetime <= timedelta(days=LONGEST_TOKEN_DAYS):
            raise InvalidInputError(
                f"a token lives between 1 second and {LONGEST_TOKEN_DAYS} days; choose a "
                "lifetime such as 90d"
            )
        token = mint(kind, self._rng)
        now = self._clock()
        record = TokenRecord(
            kind=kind,
            token_id=f"tok_{short_id(self._rng)}",
            being_id=being_id,
            owner=owner,
            scopes=scopes,
            created=now.replace(microsecond=now.microsecond // 1000 * 1000),
            expires=now.replace(microsecond=0) + lifetime,
            hint=hint(token),
            label=checked_name(label, kind="label") if label else "",
            client=client,
            resource=resource,
            profile=profile,
        )
        self._table.put(token_item(record, digest(token)), when=Absent())
        return NewToken(token, record)

    def lookup(self, sha256: str) -> Item | None:
        """Return the row of the token with this hash, with a single read."""
        return self._table.get(Key(*token_key(sha256)))

    def of_being(self, being_id: str) -> list[TokenRecord]:
        """Return the Being's tokens, oldest first, including recently ended ones."""
        items = every_item(self._table, _being_index(being_id), index="gsi2")
        records = map(_from_item, items)
        return sorted(records, key=lambda record: (record.created, record.token_id))

    def revoke(self, token_id: str, *, being_id: str) -> TokenRecord:
        """End a token now and return it; its row is kept, marked as revoked, until it expires.

        Revoking a token again changes nothing. Raises NotFoundError for a token that the Being
        does not have.
        """
        only = Range(low=token_id, high=token_id)
        rows = self._table.query(_being_index(being_id), index="gsi2", keys=only).items
        if not rows:
            raise NotFoundError(
                f"there is no token {token_id[:80]!r} for this Being; see 'nacre token list'"
            )
        key = Key.of(rows[0])
        mark = Change(set={"revoked": int(self._clock().timestamp())})
        try:
            item = self._table.update(key, mark, when=Every((Present(), Absent("revoked"))))
        except ConditionFailedError:
            item = self._table.get(key) or rows[0]
        return _from_item(item)

    def erase(self, being_id: str) -> int:
        """Remove all tokens of a Being and return how many there were.

        The grants of the Being are removed too, so that no client gets another token.
        """
        for item in every_item(self._table, grants_of_being(being_id), index="gsi3"):
            self._table.delete(Key.of(item))
        count = 0
        # On AWS the index may lag behind the writes, so a removed row may be listed again.
        while items := self._table.query(_being_index(being_id), index="gsi2", limit=50).items:
            keys = {Key.of(item) for item in items}
            removed = [self._table.delete(key) for key in keys]
            count += sum(item is not None for item in removed)
            if not any(removed):
                break
        return count


def caller_names(tokens: Iterable[TokenRecord]) -> dict[str, str]:
    """Return the names by which an owner knows these tokens, by their ids."""
    return {token.token_id: token.label or token.hint for token in tokens}


def _being_index(being_id: str) -> str:
    return f"B#{being_id}#TOK"


def grants_of_being(being_id: str) -> str:
    """Return the index partition of the grants for a Being."""
    return f"B#{being_id}#OG"


def token_item(record: TokenRecord, sha256: str) -> Item:
    """Return the row of a token."""
    # The row of an ended API token is kept for a while, for `nacre token list`. Clients renew
    # their tokens many times a day, so theirs are not.
    retention = timedelta(days=TOKEN_ROW_DAYS if record.kind == API else 0)
    item: Item = {
        **Key(*token_key(sha256)).attributes(),
        SCHEMA: _SCHEMA.version if record.profile else 1,
        "gsi2pk": _being_index(record.being_id),
        "gsi2sk": record.token_id,
        "kind": record.kind,
        "token_id": record.token_id,
        "being_id": record.being_id,
        "owner": record.owner,
        "scopes": " ".join(sorted(record.scopes)),
        # With milliseconds: a list shows the tokens of one second in their order.
        "created": record.created.timestamp(),
        "expires": int(record.expires.timestamp()),
        "hint": record.hint,
        "label": record.label,
        EXPIRES_AT: int((record.expires + retention).timestamp()),
    }
    if record.client is not None:
        # Lists the tokens of one client.
        item |= {
            "client": record.client,
            "gsi1pk": f"UC#{record.owner}#{record.client}",
            "gsi1sk": record.token_id,
        }
    if record.resource is not None:
        item["resource"] = record.resource
    if record.profile:
        item["profile"] = record.profile
    return item


def _from_item(item: Item) -> TokenRecord:
    item = _SCHEMA.read(item)
    times = {name: read_time(item[name]) for name in _TIMES if item.get(name) is not None}
    scopes = frozenset(str(item["scopes"]).split())
    return TokenRecord(**{**fields_in(item, TokenRecord), **times, "scopes": scopes})
