"""Stored logins: sealed, each for one owner, one server and one URL."""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.clock import Clock
from nacre.core.errors import BrokenSealError, ConditionFailedError, InvalidInputError, LoginError
from nacre.core.lazy_dataclasses import asdict, dataclass
from nacre.core.limits import LOGIN_BYTES, LOGIN_SECONDS
from nacre.gateway.login.authorization import TokenEndpoint, Tokens
from nacre.gateway.login.registration import LoginClient
from nacre.ports.items.paging import every_item
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Change,
    Check,
    Compare,
    Item,
    Key,
    Put,
    Range,
    Table,
)
from nacre.ports.vault import Vault

LOGIN = ItemSchema("login to a server", 1)
_OF = "OF#"
_PIECE = 4096  # bytes that a vault seals at once
_MAX_OPENED = 256


@dataclass(frozen=True, slots=True)
class Login:
    """One owner's login to one server. `number` differs from that of every other login."""

    at: TokenEndpoint
    tokens: Tokens
    number: str


@dataclass(frozen=True, slots=True)
class LoginStatus:
    """The facts about a login that may be shown."""

    server: str
    owner: str
    issuer: str
    scopes: tuple[str, ...]
    since: int


@dataclass(frozen=True, slots=True)
class StartedLogin:
    """A login whose owner has not come back from the authorization server yet."""

    owner: str
    server: str
    url: str
    at: TokenEndpoint
    redirect_uri: str
    verifier: str
    scopes: tuple[str, ...]
    names_itself: bool


class LoginStore:
    """The logins in the item store. `vault` is called only when something is sealed or opened."""

    def __init__(
        self, table: Callable[[], Table], vault: Callable[[], Vault], *, clock: Clock
    ) -> None:
        self._table = table
        self._vault = vault
        self._clock = clock
        # Opening costs a request on AWS; an item is read each time, so a logout counts at once.
        self._opened: BoundedCache[bytes, Login] = BoundedCache(_MAX_OPENED)

    # Logins.

    def load(self, owner: str, server: str, url: str) -> Login | None:
        """Return the owner's login to the server at this URL, or None."""
        item = self._table().get(login_key(owner, server))
        if item is None or LOGIN.read(item).get("url") != _digest(url):
            return None
        sealed = item.get("sealed")
        assert isinstance(sealed, bytes)
        cached = self._opened.get(sealed)
        if cached is None:
            try:
                value = self._open(sealed, _context(owner, server, url))
            except BrokenSealError:
                return None  # the key was replaced, or the item moved: the owner logs in again
            cached = self._opened[sealed] = _login(value)
        return cached

    def save(
        self,
        owner: str,
        server: str,
        url: str,
        login: Login,
        *,
        replaces: Login | None = None,
        checks: tuple[Check, ...] = (),
    ) -> bool:
        """Store a login. Return False if it should replace one that is no longer stored.

        The `checks` hold at the same time.
        """
        now = int(self._clock().timestamp())
        value = {
            "at": asdict(login.at),
            "tokens": asdict(login.tokens),
            "number": login.number,
        }
        item: Item = {
            **login_key(owner, server).attributes(),
            "gsi2pk": _index(owner),
            "gsi2sk": server,
            "url": _digest(url),
            "issuer": login.at.issuer,
            "scopes": list(login.tokens.scopes),
            "number": login.number,
            "since": now,
            "sealed": self._seal(value, _context(owner, server, url)),
        }
        when = None if replaces is None else Compare("number", "=", replaces.number)
        try:
            self._table().transact([Put(LOGIN.stamp(item), when), *checks])
        except ConditionFailedError:
            return False
        return True

    def remove(self, owner: str, server: str, *, only: Login | None = None) -> bool:
        """Remove a login; return False if there is none, or another one than `only`."""
        when = None if only is None else Compare("number", "=", only.number)
        try:
            return self._table().delete(login_key(owner, server), when=when) is not None
        except ConditionFailedError:
            return False

    def want(self, owner: str, server: str, scopes: tuple[str, ...]) -> None:
        """Remember the scopes that a server asked for, for the owner's next login."""
        key = Key(f"LOGIN#{server}", f"WANTS#{owner}")
        end = int(self._clock().timestamp()) + 24 * 3600
        change = Change(set={SCHEMA: LOGIN.version, "scopes": list(scopes), EXPIRES_AT: end})
        self._table().update(key, change)

    def wanted(self, owner: str, server: str) -> tuple[str, ...]:
        """Return the scopes that a server asked for beyond those of the login."""
        item = self._table().get(Key(f"LOGIN#{server}", f"WANTS#{owner}")) or {}
        return _texts(item.get("scopes"))

    def forget_wanted(self, owner: str, server: str) -> None:
        """Forget the scopes that were asked for, because the owner has logged in."""
        self._table().delete(Key(f"LOGIN#{server}", f"WANTS#{owner}"))

    def of_owner(self, owner: str) -> list[LoginStatus]:
        """Return the owner's logins."""
        items = every_item(self._table(), _index(owner), index="gsi2")
        return [_status(LOGIN.read(item), owner) for item in items]

    def status(self, owner: str, server: str) -> LoginStatus | None:
        """Return the facts about a login, None without one."""
        item = self._table().get(login_key(owner, server))
        return None if item is None else _status(LOGIN.read(item), owner)

    def owners(self, server: str) -> frozenset[str]:
        """Return the owners who have logged in to a server."""
        items = every_item(self._table(), f"LOGIN#{server}", keys=Range(prefix=_OF))
        return frozenset(str(item["sk"]).removeprefix(_OF) for item in items)

    # Logins that have begun.

    def start(self, state: str, started: StartedLogin) -> None:
        """Store a login that begins, under its state; it expires."""
        end = int(self._clock().timestamp()) + LOGIN_SECONDS
        item: Item = {
            **_started_key(state).attributes(),
            "owner": started.owner,
            "sealed": self._seal(asdict(started), _started_context(started.owner, state)),
            EXPIRES_AT: end,
        }
        self._table().put(LOGIN.stamp(item))

    def take(self, state: str, owner: str) -> StartedLogin | None:
        """Remove and return the owner's login of this state; None for any other one."""
        try:
            item = self._table().delete(_started_key(state), when=Compare("owner", "=", owner))
        except (ConditionFailedError, InvalidInputError):
            return None
        if item is None:
            return None
        sealed = LOGIN.read(item).get("sealed")
        assert isinstance(sealed, bytes)
        return _started(self._open(sealed, _started_context(owner, state)))

    # Clients.

    def client(self, issuer: str, redirect_uri: str) -> LoginClient | None:
        """Return the client that is registered at an authorization server, or None."""
        item = self._table().get(_client_key(issuer, redirect_uri))
        if item is None:
            return None
        sealed = LOGIN.read(item).get("sealed")
        assert isinstance(sealed, bytes)
        try:
            client = LoginClient(**self._open(sealed, _client_context(issuer, redirect_uri)))
        except BrokenSealError:
            return None
        return None if client.is_expired(self._clock().timestamp()) else client

    def save_client(self, issuer: str, redirect_uri: str, client: LoginClient) -> None:
        """Store the client that is registered at an authorization server."""
        context = _client_context(issuer, redirect_uri)
        item: Item = {
            **_client_key(issuer, redirect_uri).attributes(),
            "sealed": self._seal(asdict(client), context),
        }
        self._table().put(LOGIN.stamp(item))

    def forget_client(self, issuer: str, redirect_uri: str) -> None:
        """Forget a client that its authorization server does not know any more."""
        self._table().delete(_client_key(issuer, redirect_uri))

    # Sealing.

    def _seal(self, value: Mapping[str, Any], context: dict[str, str]) -> bytes:
        plain = json.dumps(value).encode()
        if len(plain) > LOGIN_BYTES:
            raise LoginError("the tokens of its authorization server are too long")
        pieces = [plain[start : start + _PIECE] for start in range(0, len(plain), _PIECE)]
        vault, sealed = self._vault(), b""
        for number, piece in enumerate(pieces, 1):
            bound = {**context, "piece": f"{number}/{len(pieces)}"}
            part = vault.seal(piece, context=bound)
            sealed += len(part).to_bytes(4, "big") + part
        return sealed

    def _open(self, sealed: bytes, context: dict[str, str]) -> dict[str, Any]:
        parts = []
        while sealed:
            length = int.from_bytes(sealed[:4], "big")
            parts.append(sealed[4 : 4 + length])
            sealed = sealed[4 + length :]
        vault = self._vault()
        plain = b"".join(
            vault.open(part, context={**context, "piece": f"{number}/{len(parts)}"})
            for number, part in enumerate(parts, 1)
        )
        value: dict[str, Any] = json.loads(plain)
        return value


def login_key(owner: str, server: str) -> Key:
    """Return the key of an owner's login."""
    return Key(f"LOGIN#{server}", _OF + owner)


def _index(owner: str) -> str:
    return f"LOGINS#{owner}"


def _started_key(state: str) -> Key:
    return Key(f"LOGIN-STATE#{_digest(state)}", "STARTED")


def _client_key(issuer: str, redirect_uri: str) -> Key:
    return Key(f"LOGIN-CLIENT#{_digest(issuer)}", _digest(redirect_uri))


def _context(owner: str, server: str, url: str) -> dict[str, str]:
    """Return the context of a login's seal, so that it opens for nobody and nothing else."""
    return {"purpose": "server-login", "owner": owner, "server": server, "url": _digest(url)}


def _started_context(owner: str, state: str) -> dict[str, str]:
    return {"purpose": "server-login", "owner": owner, "state": _digest(state)}


def _client_context(issuer: str, redirect_uri: str) -> dict[str, str]:
    digest = _digest(f"{issuer} {redirect_uri}")
    return {"purpose": "server-login", "client": digest}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _login(value: Mapping[str, Any]) -> Login:
    return Login(_endpoint(value["at"]), _tokens(value["tokens"]), str(value["number"]))


def _started(value: dict[str, Any]) -> StartedLogin:
    scopes = tuple(value["scopes"])
    return StartedLogin(**{**value, "at": _endpoint(value["at"]), "scopes": scopes})


def _endpoint(value: Mapping[str, Any]) -> TokenEndpoint:
    return TokenEndpoint(**{**value, "client": LoginClient(**value["client"])})


def _tokens(value: Mapping[str, Any]) -> Tokens:
    return Tokens(**{**value, "scopes": tuple(value["scopes"])})


def _status(item: Item, owner: str) -> LoginStatus:
    since = item.get("since")
    return LoginStatus(
        server=str(item["pk"]).partition("#")[2],
        owner=owner,
        issuer=str(item.get("issuer", "")),
        scopes=_texts(item.get("scopes")),
        since=since if isinstance(since, int) else 0,
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(text) for text in value) if isinstance(value, list) else ()
