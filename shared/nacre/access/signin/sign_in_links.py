"""Links that sign an owner in: made on the command line, used once, within the hour."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from nacre.access.tokens.token_format import digest, kind_of, mint
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError
from nacre.core.limits import SIGN_IN_LINK_SECONDS
from nacre.core.token_prefixes import OWNER_SECRET
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Change,
    Every,
    Item,
    Key,
    Present,
    Table,
)

_SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A new secret, to be shown once; `path` is what follows the server's address."""

    secret: str = field(repr=False)
    until: datetime

    @property
    def path(self) -> str:
        """Return the link; what follows the # is never sent, so no log has it."""
        return f"/sign-in#{self.secret}"


class SignInLinks:
    """Makes links and takes them back."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def make(self, owner: str) -> SignInLink:
        """Return a new link for an owner, stored by its hash only."""
        secret = mint(OWNER_SECRET, self._rng)
        until = self._clock().replace(microsecond=0) + timedelta(seconds=SIGN_IN_LINK_SECONDS)
        item: Item = {
            "pk": _key(secret).pk,
            "sk": _key(secret).sk,
            SCHEMA: _SCHEMA_VERSION,
            "gsi2pk": _index(owner),
            "gsi2sk": digest(secret),
            "owner": owner,
            EXPIRES_AT: int(until.timestamp()),
        }
        self._table.put(item, when=Absent())
        return SignInLink(secret, until.astimezone(UTC))

    def use(self, secret: str) -> str | None:
        """Return whose link it is, this once; None for one that is unknown, used or too old."""
        if kind_of(secret) != OWNER_SECRET:
            return None
        used = Change(set={"used": int(self._clock().timestamp())})
        try:
            item = self._table.update(_key(secret), used, when=Every((Present(), Absent("used"))))
        except ConditionFailedError:  # of two who open it at once, one comes too late
            return None
        return str(item["owner"])

    def drop_all(self, owner: str) -> None:
        """Take back every link of an owner."""
        for item in every_item(self._table, _index(owner), index="gsi2"):
            self._table.delete(Key(str(item["pk"]), str(item["sk"])))


def _key(secret: str) -> Key:
    return Key(f"OB#{digest(secret)}", "B")


def _index(owner: str) -> str:
    return f"U#{owner}#OB"
