"""Browsers that are signed in: a random cookie each, of which only the hash is stored."""

import hashlib
import hmac
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from nacre.core.clock import Clock
from nacre.core.ids import long_secret
from nacre.core.limits import FRESH_SIGN_IN_SECONDS, SESSION_DAYS
from nacre.core.names import one_line
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import EXPIRES_AT, SCHEMA, Absent, Item, Key, Table

_SCHEMA_VERSION = 1
_BROWSER_LENGTH = 80


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Somebody who has signed in, and the text that every form of theirs must carry.

    `session` names the session and opens nothing.
    """

    owner: str
    session: str
    csrf: str = field(repr=False)
    since: datetime
    until: datetime
    browser: str = ""


@dataclass(frozen=True, slots=True)
class Opened:
    """A new session: its cookie, to be given to the browser once."""

    cookie: str = field(repr=False)
    signed_in: SignedIn


class Sessions:
    """Opens, finds, lists and closes sessions."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def open(self, owner: str, *, browser: str = "") -> Opened:
        """Return a new session of an owner who has just proven who they are."""
        cookie = long_secret(self._rng)
        now = self._clock().replace(microsecond=0)
        until = now + timedelta(days=SESSION_DAYS)
        item: Item = {
            "pk": _key(cookie).pk,
            "sk": _key(cookie).sk,
            SCHEMA: _SCHEMA_VERSION,
            "gsi2pk": _index(owner),
            "gsi2sk": _digest(cookie),
            "owner": owner,
            "since": int(now.timestamp()),
            "browser": one_line(browser, _BROWSER_LENGTH),
            EXPIRES_AT: int(until.timestamp()),
        }
        self._table.put(item, when=Absent())
        return Opened(cookie, _signed_in(item, csrf_of(cookie)))

    def find(self, cookie: str) -> SignedIn | None:
        """Return who is signed in with this cookie, or None."""
        if not cookie or len(cookie) > 200:
            return None
        item = self._table.get(_key(cookie))
        return None if item is None else _signed_in(item, csrf_of(cookie))

    def is_fresh(self, signed_in: SignedIn) -> bool:
        """Whether the owner has shown who they are just now."""
        return self._clock() - signed_in.since <= timedelta(seconds=FRESH_SIGN_IN_SECONDS)

    def is_open(self, session: str) -> bool:
        """Whether a session has not ended, by the name it has in `SignedIn`."""
        return bool(session) and self._table.get(Key(f"OS#{session}", "S")) is not None

    def of_owner(self, owner: str) -> list[SignedIn]:
        """Return the owner's sessions, oldest first; their forms' texts are not known here."""
        items = every_item(self._table, _index(owner), index="gsi2")
        found = [_signed_in(item, "") for item in items]
        return sorted(found, key=lambda each: (each.since, each.session))

    def close(self, session: str) -> None:
        """End a session now, by the name it has in `SignedIn`."""
        self._table.delete(Key(f"OS#{session}", "S"))

    def close_all(self, owner: str, *, but: str | None = None) -> int:
        """End the owner's sessions, but for one, and return how many there were."""
        ended = 0
        for item in list(every_item(self._table, _index(owner), index="gsi2")):
            session = str(item["gsi2sk"])
            if session != but and self._table.delete(Key(f"OS#{session}", "S")) is not None:
                ended += 1
        return ended


def csrf_of(secret: str) -> str:
    """Return what the forms of a browser carry: only who has its cookie can tell it."""
    return hmac.new(secret.encode(), b"forms", hashlib.sha256).hexdigest()


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


def _key(cookie: str) -> Key:
    return Key(f"OS#{_digest(cookie)}", "S")


def _index(owner: str) -> str:
    return f"U#{owner}#OS"


def _signed_in(item: Item, csrf: str) -> SignedIn:
    since, until = item["since"], item[EXPIRES_AT]
    assert isinstance(since, int | float)
    assert isinstance(until, int | float)
    return SignedIn(
        owner=str(item["owner"]),
        session=str(item["gsi2sk"]),
        csrf=csrf,
        since=datetime.fromtimestamp(since, UTC),
        until=datetime.fromtimestamp(until, UTC),
        browser=str(item["browser"]),
    )
