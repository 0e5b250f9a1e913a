"""OAuth clients: registered here, or identified by the document that they publish."""

import hmac
from collections.abc import Mapping
from random import Random

from nacre.access.oauth.client_metadata import (
    ClientMetadata,
    document_host,
    read_document,
    read_request,
)
from nacre.access.rate_limits import RateLimits
from nacre.access.tokens.token_format import digest
from nacre.core.clock import Clock
from nacre.core.errors import (
    ConditionFailedError,
    ForbiddenError,
    OAuthError,
    RateLimitedError,
    UnavailableError,
)
from nacre.core.ids import long_secret, short_id
from nacre.core.lazy_dataclasses import asdict, dataclass, field
from nacre.core.limits import (
    CLIENT_DAYS,
    CLIENT_DOCUMENT_SECONDS,
    CLIENT_FETCHES_A_MINUTE,
    MAX_CLIENT_ID,
    REGISTRATIONS_A_MINUTE,
)
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import (
    EXPIRES_AT,
    SCHEMA,
    Absent,
    Change,
    Item,
    Key,
    Present,
    Table,
    fields_in,
)
from nacre.ports.other_programs.client_documents import ClientDocuments

_SCHEMA = ItemSchema("client", 1)
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client; `host` is where its document is published, None for one that registered itself."""

    client_id: str
    name: str
    redirect_uris: tuple[str, ...]
    auth_method: str
    host: str | None = None
    secret_sha256: str | None = field(default=None, repr=False)

    def has_secret(self, secret: str) -> bool:
        """Tell whether this is the client's secret."""
        return self.secret_sha256 is not None and hmac.compare_digest(
            digest(secret), self.secret_sha256
        )


@dataclass(frozen=True, slots=True)
class Registration:
    """A new client, with its secret if it has one; the secret is sent only once."""

    client: OAuthClient
    metadata: ClientMetadata
    issued: int
    secret: str | None = field(default=None, repr=False)

    def answer(self) -> Mapping[str, object]:
        """Return the response to the client (RFC 7591)."""
        fields: dict[str, object] = {
            "client_id": self.client.client_id,
            "client_id_issued_at": self.issued,
            **self.metadata.as_registration_response(),
        }
        if self.secret is not None:
            fields |= {"client_secret": self.secret, "client_secret_expires_at": 0}
        return fields


class OAuthClients:
    """Registers, finds and forgets clients.

    Without `documents`, clients that are identified by a document are unknown.
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
        """Tell whether clients may be identified by a document."""
        return self._documents is not None

    def register(self, body: bytes, *, address: str) -> Registration:
        """Register a client; raises OAuthError for metadata that cannot be accepted."""
        self._limits.take("registrations", address, most=REGISTRATIONS_A_MINUTE, seconds=60)
        metadata = read_request(body)
        now = int(self._clock().timestamp())
        secret = None if metadata.auth_method == "none" else long_secret(self._rng)
        client = OAuthClient(
            client_id=f"client_{short_id(self._rng)}",
            name=metadata.name,
            redirect_uris=metadata.redirect_uris,
            auth_method=metadata.auth_method,
            secret_sha256=None if secret is None else digest(secret),
        )
        self._table.put(_to_item(client, until=now + CLIENT_DAYS * _DAY), when=Absent())
        return Registration(client, metadata, now, secret)

    def find(self, client_id: str, *, address: str) -> OAuthClient | None:
        """Return the client, or None; raises OAuthError for a document that cannot be used.

        The fetch of a document counts against the limit of the caller's network `address`.
        """
        if not _is_plausible(client_id):
            return None
        if client_id.startswith("client_"):
            return self._stored(client_id)
        return self._from_document(client_id, address) if ":" in client_id else None

    def identify(self, client_id: str) -> OAuthClient | None:
        """Return the client that presents a code or a token, without fetching its document.

        A client with a document has no secret, so there is nothing to look up.
        """
        if not _is_plausible(client_id):
            return None
        if client_id.startswith("client_"):
            return self._stored(client_id)
        if self._documents is None:
            return None
        try:
            host = document_host(client_id)
        except OAuthError:
            return None
        return OAuthClient(client_id, host, (), "none", host)

    def extend(self, client_id: str) -> None:
        """Postpone the expiry of a registered client that is in use."""
        until = int(self._clock().timestamp()) + CLIENT_DAYS * _DAY
        if client_id.startswith("client_"):
            try:
                self._table.update(_key(client_id), Change(set={EXPIRES_AT: until}), when=Present())
            except ConditionFailedError:
                return

    def forget(self, client_id: str) -> None:
        """Remove a client; one that has a document is found again when it returns."""
        self._table.delete(_key(client_id))

    def _stored(self, client_id: str) -> OAuthClient | None:
        item = self._table.get(_key(client_id))
        return None if item is None else _from_item(item)

    def _from_document(self, client_id: str, address: str) -> OAuthClient | None:
        if self._documents is None:
            return None
        host = document_host(client_id)
        stored = self._stored(client_id)
        if stored is not None:
            return stored
        try:
            self._limits.take("client documents", address, most=CLIENT_FETCHES_A_MINUTE, seconds=60)
            body = self._documents.fetch(client_id)
        except RateLimitedError:
            raise
        except (ForbiddenError, UnavailableError):
            # The error does not tell which of the two it was: that would describe this network.
            raise OAuthError(
                "invalid_client", f"the client's metadata document at {host} cannot be fetched"
            ) from None
        metadata = read_document(body, client_id)
        client = OAuthClient(client_id, metadata.name, metadata.redirect_uris, "none", host)
        until = int(self._clock().timestamp()) + CLIENT_DOCUMENT_SECONDS
        self._table.put(_to_item(client, until=until))
        return client


def _is_plausible(client_id: str) -> bool:
    return 0 < len(client_id) <= MAX_CLIENT_ID and client_id.isascii()


def _key(client_id: str) -> Key:
    return Key(f"OC#{client_id}", "META")


def _to_item(client: OAuthClient, *, until: int) -> Item:
    return {
        **_key(client.client_id).attributes(),
        SCHEMA: _SCHEMA.version,
        **asdict(client),
        "redirect_uris": list(client.redirect_uris),
        EXPIRES_AT: until,
    }


def _from_item(item: Item) -> OAuthClient:
    item = _SCHEMA.read(item)
    values = fields_in(item, OAuthClient)
    return OAuthClient(**{**values, "redirect_uris": tuple(values["redirect_uris"])})
