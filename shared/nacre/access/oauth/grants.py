"""Grants: the access that owners have given to clients, with the tokens of each grant.

A grant's item lists its live access tokens, and issuing a token updates that item in the same
transaction. So revoking a grant ends all of its tokens.
"""

from datetime import datetime, timedelta
from random import Random

from nacre.access.oauth.codes import Consent
from nacre.access.oauth.grant_items import (
    Grant,
    TokenPair,
    access_row,
    grant_item,
    grant_key,
    grant_of,
    grants_of_owner,
    integer,
    live_tokens,
    refresh_row,
    successor,
    tombstone,
)
from nacre.access.tokens.token_check import token_key
from nacre.access.tokens.token_format import digest, kind_of, mint
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, ConflictError, NotFoundError, OAuthError
from nacre.core.ids import short_id
from nacre.core.limits import LIVE_ACCESS_TOKENS, REFRESH_GRACE_SECONDS
from nacre.core.token_prefixes import OAUTH_ACCESS, OAUTH_REFRESH
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import (
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
    read_time,
)

_TRIES = 8  # of a transaction that conflicts with other writers
_SEED_BYTES = 32


class Grants:
    """Creates grants, renews their tokens and ends them."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def create(self, consent: Consent) -> TokenPair:
        """Create a grant and return its first tokens; raises OAuthError if it was ended already."""
        now = self._now()
        access, refresh = mint(OAUTH_ACCESS, self._rng), mint(OAUTH_REFRESH, self._rng)
        entry, row = access_row(consent, access, self._token_id(), consent.scopes, now)
        item = grant_item(consent, entry, now)
        first = refresh_row(refresh, consent, now, read_time(item["expires"]))
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
        """Return new tokens for a refresh token, which then becomes invalid.

        If the same token arrives again within seconds, because a response was lost or two
        processes share it, it gets the same successor. If it arrives later, somebody has copied
        it, and the grant ends. Raises OAuthError.
        """
        if kind_of(token) != OAUTH_REFRESH:
            raise _ended()
        for _ in range(_TRIES):
            row = self._table.get(Key(*token_key(digest(token))))
            if row is None or row["kind"] != OAUTH_REFRESH or row["client"] != client_id:
                raise _ended()
            item = self._table.get(grant_key(str(row["grant_id"])))
            now = self._now()
            if item is None or "revoked" in item or read_time(row["expires"]) <= now:
                raise _ended()
            self._check_within(item, scopes, resource)
            used = row.get("used")
            grace = timedelta(seconds=REFRESH_GRACE_SECONDS)
            if used is not None and now - read_time(used) > grace:
                self.end(str(row["grant_id"]))
                raise OAuthError("invalid_grant", "the refresh token was used before")
            pair, writes = self._renewal(token, row, item, scopes, now)
            try:
                self._table.transact(writes)
            except ConditionFailedError:
                continue  # another process was faster; read again
            return pair
        raise ConflictError("too many requests renew this grant at once; try again")

    def end_by_token(self, token: str, *, client_id: str) -> None:
        """End the grant that one of the client's tokens belongs to; ignore any other token."""
        if kind_of(token) not in (OAUTH_ACCESS, OAUTH_REFRESH):
            return
        row = self._table.get(Key(*token_key(digest(token))))
        if row is not None and row.get("client") == client_id and "grant_id" in row:
            self.end(str(row["grant_id"]))

    def end(self, grant_id: str) -> None:
        """End a grant and all its tokens now, even one that is just being created."""
        key = grant_key(grant_id)
        now = self._now()
        mark = Change(set={"revoked": int(now.timestamp())}, add={"version": 1})
        try:
            item = self._table.update(key, mark, when=Present())
        except ConditionFailedError:
            placeholder = tombstone(grant_id, now)
            try:
                self._table.put(placeholder, when=Absent())
            except ConditionFailedError:  # it was created in the meantime
                item = self._table.update(key, mark, when=Present())
            else:
                return
        for sha256, _ in live_tokens(item):
            self._table.delete(Key(*token_key(sha256)))

    def revoke(self, grant_id: str, *, owner: str) -> Grant:
        """End one of the owner's grants and return it; raises NotFoundError if they have none."""
        item = self._table.get(grant_key(grant_id))
        if item is None or "revoked" in item or item["owner"] != owner:
            raise NotFoundError(
                f"there is no connected client {grant_id[:60]!r}; see 'nacre client list'"
            )
        self.end(grant_id)
        return grant_of(item)

    def of_owner(self, owner: str) -> list[Grant]:
        """Return the owner's grants that are still valid, oldest first."""
        now = self._now()
        items = every_item(self._table, grants_of_owner(owner), index="gsi2")
        grants = [grant_of(item) for item in items if "revoked" not in item]
        valid = [grant for grant in grants if grant.expires > now]
        return sorted(valid, key=lambda grant: (grant.created, grant.grant_id))

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
        """Return the next tokens, and the writes that make them valid."""
        grant = grant_of(item)
        granted = grant.scopes if scopes is None else scopes
        access = mint(OAUTH_ACCESS, self._rng)
        entry, new_row = access_row(grant, access, self._token_id(), granted, now)
        writes: list[Write] = []
        seed = row.get("seed")
        if isinstance(seed, bytes):
            next_refresh = successor(token, seed)
        else:
            seed = self._rng.randbytes(_SEED_BYTES)
            next_refresh = successor(token, seed)
            used = Change(set={"used": int(now.timestamp()), "seed": seed})
            unused = Every((Present(), Absent("used")))
            writes += [
                Update(Key.of(row), used, unused),
                Put(refresh_row(next_refresh, grant, now, grant.expires), Absent()),
            ]
        live = [(sha256, end) for sha256, end in live_tokens(item) if end > now.timestamp()]
        newest, dropped = live[-(LIVE_ACCESS_TOKENS - 1) :], live[: -(LIVE_ACCESS_TOKENS - 1)]
        entries: list[Value] = [[sha256, end] for sha256, end in newest]
        change = Change(
            set={"live": [*entries, entry], "used": int(now.timestamp())}, add={"version": 1}
        )
        unchanged = Every((Absent("revoked"), Compare("version", "=", integer(item["version"]))))
        writes += [Put(new_row, Absent()), Update(grant_key(grant.grant_id), change, unchanged)]
        writes += [Delete(Key(*token_key(sha256))) for sha256, _ in dropped]
        return TokenPair(access, next_refresh, granted), writes

    def _token_id(self) -> str:
        return f"tok_{short_id(self._rng)}"

    def _now(self) -> datetime:
        return self._clock().replace(microsecond=0)


def _ended() -> OAuthError:
    return OAuthError("invalid_grant", "the grant has ended; ask the owner again")
