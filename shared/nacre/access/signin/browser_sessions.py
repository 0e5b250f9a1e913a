"""Sessions of signed-in browsers: each has a random cookie, stored only as a hash."""

import hashlib
import hmac
from datetime import datetime, timedelta
from random import Random

from nacre.access.tokens.secret_rows import SecretRows
from nacre.access.tokens.token_format import digest
from nacre.core.clock import Clock
from nacre.core.ids import long_secret
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import FRESH_SIGN_IN_SECONDS, SESSION_DAYS
from nacre.core.names import one_line
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import EXPIRES_AT, Item, Key, Table, read_time

_BROWSER_LENGTH = 80


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """The session of an owner who has signed in.

    Every form of the session must carry `csrf`. `session` identifies the session and grants no
    access.
    """

    owner: str
    session: str
    csrf: str = field(repr=False)
    since: datetime
    until: datetime
    browser: str = ""


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new session with its cookie, which is sent to the browser once."""

    cookie: str = field(repr=False)
    signed_in: BrowserSession


class Sessions:
    """Opens, finds, lists and closes sessions."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._rows = SecretRows(table, "OS", "S")
        self._clock = clock
        self._rng = rng

    def open(self, owner: str, *, browser: str = "") -> NewSession:
        """Return a new session for an owner who has just signed in."""
        cookie = long_secret(self._rng)
        now = self._clock().replace(microsecond=0)
        until = now + timedelta(days=SESSION_DAYS)
        fields: Item = {
            "gsi2pk": _index(owner),
            "gsi2sk": digest(cookie),
            "owner": owner,
            "since": int(now.timestamp()),
            "browser": one_line(browser, _BROWSER_LENGTH),
        }
        row = self._rows.add(cookie, fields, until=int(until.timestamp()))
        return NewSession(cookie, _session(row, csrf_of(cookie)))

    def find(self, cookie: str) -> BrowserSession | None:
        """Return the session with this cookie, or None."""
        if not cookie or len(cookie) > 200:
            return None
        row = self._rows.get(cookie)
        return None if row is None else _session(row, csrf_of(cookie))

    def is_fresh(self, signed_in: BrowserSession) -> bool:
        """Tell whether the owner signed in recently enough to change how they sign in."""
        return self._clock() - signed_in.since <= timedelta(seconds=FRESH_SIGN_IN_SECONDS)

    def is_open(self, session: str) -> bool:
        """Tell whether the session with this identifier is still open."""
        return bool(session) and self._table.get(_key(session)) is not None

    def of_owner(self, owner: str) -> list[BrowserSession]:
        """Return the owner's sessions, oldest first; their `csrf` is empty."""
        items = every_item(self._table, _index(owner), index="gsi2")
        sessions = [_session(item, "") for item in items]
        return sorted(sessions, key=lambda session: (session.since, session.session))

    def close(self, session: str) -> None:
        """End the session with this identifier now."""
        self._table.delete(_key(session))

    def close_all(self, owner: str, *, but: str | None = None) -> int:
        """End the owner's sessions except `but`, and return how many were ended."""
        ended = 0
        for item in list(every_item(self._table, _index(owner), index="gsi2")):
            session = str(item["gsi2sk"])
            if session != but and self._table.delete(_key(session)) is not None:
                ended += 1
        return ended


def csrf_of(secret: str) -> str:
    """Return the CSRF token of a browser's forms; only its cookie's owner can compute it."""
    return hmac.new(secret.encode(), b"forms", hashlib.sha256).hexdigest()


def _key(session: str) -> Key:
    return Key(f"OS#{session}", "S")


def _index(owner: str) -> str:
    return f"U#{owner}#OS"


def _session(item: Item, csrf: str) -> BrowserSession:
    return BrowserSession(
        owner=str(item["owner"]),
        session=str(item["gsi2sk"]),
        csrf=csrf,
        since=read_time(item["since"]),
        until=read_time(item[EXPIRES_AT]),
        browser=str(item["browser"]),
    )
