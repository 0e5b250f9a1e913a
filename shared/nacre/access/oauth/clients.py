"""The programs that may ask an owner for access: registered here, or known by their document."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from nacre.access.oauth.client_metadata import (
    ClientMetadata,
    document_host,
    read_document,
    read_request,
)
from nacre.access.rate_limits import RateLimits
from nacre.core.clock import Clock
from nacre.core.errors import (
    ConditionFailedError,
    ForbiddenError,
    OAuthError,
    RateLimitedError,
    UnavailableError,
)
from nacre.core.ids import long_secret, short_id
from nacre.core.limits import (
    CLIENT_DAYS,
    CLIENT_DOCUMENT_SECONDS,
    CLIENT_FETCHES_A_MINUTE,
    MAX_CLIENT_ID,
    REGISTRATIONS_A_MINUTE,
)
from nacre.ports.client_documents import ClientDocuments
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import EXPIRES_AT, SCHEMA, Absent, Change, Item, Key, Present, Table

_SCHEMA = ItemSchema("client", 1)
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client: `host` is who vouches for its name, None where it only says so of itself."""

    client_id: str
    name: str
    redirect_uris: tuple[str, ...]
    auth_method: str
    host: str | None = None
    secret_sha256: str | None = field(default=None, repr=False)

    def knows(self, secret: str) -> bool:
        """Whether this is the client's secret."""
        return self.secret_sha256 is not None and hmac.compare_digest(
            _digest(secret), self.secret_sha256
        )


@dataclass(frozen=True, slots=True)
class Registered:
    """A new client, with its secret where it has one, to be told once."""

    client: OAuthClient
    metadata: ClientMetadata
    issued: int
    secret: str | None = field(default=None, repr=False)

    def answer(self) -> Mapping[str, object]:
        """Return what the client is told, as RFC 7591 has it."""
        told: dict[str, object] = {
            "client_id": self.client.client_id,
            "client_id_issued_at": self.issued,
            **self.metadata.echoed(),
        }
        if self.secret is not None:
            told |= {"client_secret": self.secret, "client_secret_expires_at": 0}
        return told


class OAuthClients:
    """Registers, finds and forgets clients.

    Without `documents` a client that names one is unknown.
    """

    def __init__(
        self,
        table: Table,
        limits: RateLimits,
        *,
        documents: ClientDocuments | None,
        clock: Clock,
        rng: Random,
    ) -> None:
        self._table = table
        self._limits = limits
        self._documents = documents
        self._clock = clock
        self._rng = rng

    @property
    def takes_documents(self) -> bool:
        """Whether a client may be known by its document."""
        return self._documents is not None

    def register(self, body: bytes, *, address: str) -> Registered:
        """Return a new client; raises OAuthError for what cannot be registered."""
        self._limits.take("registrations", address, most=REGISTRATIONS_A_MINUTE, seconds=60)
        metadata = read_request(body)
        now = int(self._clock().timestamp())
        secret = None if metadata.auth_method == "none" else long_secret(self._rng)
        client = OAuthClient(
            client_id=f"client_{short_id(self._rng)}",
            name=metadata.name,
            redirect_uris=metadata.redirect_uris,
            auth_method=metadata.auth_method,
            secret_sha256=None if secret is None else _digest(secret),
        )
        self._table.put(_to_item(client, until=now + CLIENT_DAYS * _DAY), when=Absent())
        return Registered(client, metadata, now, secret)

    def find(self, client_id: str, *, address: str) -> OAuthClient | None:
        """Return the client, or None; raises OAuthError for a document that cannot be used."""
        if not client_id or len(client_id) > MAX_CLIENT_ID or not client_id.isascii():
            return None
        if client_id.startswith("client_"):
            item = self._table.get(_key(client_id))
            return None if item is None else _from_item(item)
        return self._of_document(client_id, address) if ":" in client_id else None

    def known(self, client_id: str) -> OAuthClient | None:
        """Return who presents a code or a token; a document is not fetched for that.

        A client that has one has no secret: what it presents was given to its name alone.
        """
        if not client_id or len(client_id) > MAX_CLIENT_ID or not client_id.isascii():
            return None
        if client_id.startswith("client_"):
            item = self._table.get(_key(client_id))
            return None if item is None else _from_item(item)
        if self._documents is None:
            return None
        try:
            host = document_host(client_id)
        except OAuthError:
            return None
        return OAuthClient(client_id, host, (), "none", host)

    def keep(self, client_id: str) -> None:
        """Let a client that is in use not be forgotten."""
        until = int(self._clock().timestamp()) + CLIENT_DAYS * _DAY
        if client_id.startswith("client_"):
            try:
                self._table.update(_key(client_id), Change(set={EXPIRES_AT: until}), when=Present())
            except ConditionFailedError:
                return

    def forget(self, client_id: str) -> None:
        """Remove a registration; a client that has a document can always come back."""
        self._table.delete(_key(client_id))

    def _of_document(self, client_id: str, address: str) -> OAuthClient | None:
        if self._documents is None:
            return None
        host = document_host(client_id)
        known = self._table.get(_key(client_id))
        if known is not None:
            return _from_item(known)
        try:
            self._limits.take("client documents", address, most=CLIENT_FETCHES_A_MINUTE, seconds=60)
            body = self._documents.fetch(client_id)
        except RateLimitedError:
            raise
        except (ForbiddenError, UnavailableError):
            # Which of the two, a stranger must not learn about this network.
            raise OAuthError(
                "invalid_client", f"the client's metadata document at {host} cannot be fetched"
            ) from None
        metadata = read_document(body, client_id)
        client = OAuthClient(client_id, metadata.name, metadata.redirect_uris, "none", host)
        until = int(self._clock().timestamp()) + CLIENT_DOCUMENT_SECONDS
        self._table.put(_to_item(client, until=until))
        return client


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _key(client_id: str) -> Key:
    return Key(f"OC#{client_id}", "META")


def _to_item(client: OAuthClient, *, until: int) -> Item:
    return {
        "pk": _key(client.client_id).pk,
        "sk": _key(client.client_id).sk,
        SCHEMA: _SCHEMA.version,
        "client_id": client.client_id,
        "name": client.name,
        "redirect_uris": list(client.redirect_uris),
        "auth_method": client.auth_method,
        "host": client.host,
        "secret_sha256": client.secret_sha256,
        EXPIRES_AT: until,
    }


def _from_item(item: Item) -> OAuthClient:
    item = _SCHEMA.read(item)
    uris, host, secret = (item[name] for name in ("redirect_uris", "host", "secret_sha256"))
    assert isinstance(uris, list)
    return OAuthClient(
        client_id=str(item["client_id"]),
        name=str(item["name"]),
        redirect_uris=tuple(str(uri) for uri in uris),
        auth_method=str(item["auth_method"]),
        host=None if host is None else str(host),
        secret_sha256=None if secret is None else str(secret),
    )
