"""Sign-in links: created on the command line, valid once and for one hour."""

from datetime import UTC, datetime, timedelta
from random import Random

from nacre.access.tokens.secret_rows import SecretRows
from nacre.access.tokens.token_format import digest, kind_of, mint
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import SIGN_IN_LINK_SECONDS
from nacre.core.token_prefixes import OWNER_SECRET
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Item, Key, Table


@dataclass(frozen=True, slots=True)
class SignInLink:
    """A new link, to be shown once."""

    secret: str = field(repr=False)
    until: datetime

    @property
    def path(self) -> str:
        """Return the link's path on the server.

        Browsers never send the part after the #, so it appears in no log.
        """
        return f"/sign-in#{self.secret}"


class SignInLinks:
    """Creates, redeems and removes sign-in links."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._rows = SecretRows(table, "OB", "B")
        self._clock = clock
        self._rng = rng

    def make(self, owner: str) -> SignInLink:
        """Return a new link for an owner; only its hash is stored."""
        secret = mint(OWNER_SECRET, self._rng)
        until = self._clock().replace(microsecond=0) + timedelta(seconds=SIGN_IN_LINK_SECONDS)
        fields: Item = {"gsi2pk": _index(owner), "gsi2sk": digest(secret), "owner": owner}
        self._rows.add(secret, fields, until=int(until.timestamp()))
        return SignInLink(secret, until.astimezone(UTC))

    def use(self, secret: str) -> str | None:
        """Redeem a link and return its owner; None if it is unknown, used or expired."""
        if kind_of(secret) != OWNER_SECRET:
            return None
        try:
            return str(self._rows.redeem(secret, self._clock())["owner"])
        except ConditionFailedError:
            return None

    def drop_all(self, owner: str) -> None:
        """Remove every link of an owner."""
        for item in every_item(self._table, _index(owner), index="gsi2"):
            self._table.delete(Key.of(item))


def _index(owner: str) -> str:
    return f"U#{owner}#OB"
