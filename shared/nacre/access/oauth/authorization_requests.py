"""Authorization requests: checked, and stored until the owner has decided."""

import re
from collections.abc import Mapping
from random import Random

from nacre.access.oauth.clients import OAuthClient
from nacre.access.oauth.redirects import checked_redirect, is_registered
from nacre.access.oauth.server_metadata import part_of_resource, requested_scopes
from nacre.access.tokens.authentication import is_being_id
from nacre.access.tokens.secret_rows import SecretRows
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, OAuthError
from nacre.core.ids import long_secret
from nacre.core.lazy_dataclasses import asdict, dataclass
from nacre.core.limits import CONSENT_SECONDS, MAX_URI_LENGTH
from nacre.ports.items.table import Compare, Item, Table, fields_in
from nacre.protocol.http.server_address import profile_in, resource_of

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # a SHA-256 in base64url


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """A client's request for access; `being_id` is set when it names the endpoint of one Being.

    The `resource` names the profile that the client asks for, if it asks for one.
    """

    client_id: str
    client_name: str
    client_host: str | None
    redirect_uri: str
    state: str | None
    challenge: str
    resource: str
    being_id: str | None
    scopes: frozenset[str]

    @property
    def profile(self) -> str:
        """The profile that the tokens will be bound to, "" for access to everything."""
        return profile_in(self.resource)


def requested_redirect(fields: Mapping[str, str], client: OAuthClient) -> str:
    """Return the address that receives the answer; raises OAuthError, which is shown to the owner.

    Nothing may be sent to an address that this function has not returned.
    """
    redirect_uri = fields.get("redirect_uri")
    if redirect_uri is None:
        raise OAuthError("invalid_request", "the request names no redirect_uri")
    if not is_registered(checked_redirect(redirect_uri), client.redirect_uris):
        raise OAuthError(
            "invalid_request",
            "the client has not registered the redirect_uri of this request; add the server to the "
            "client again, or tell the client's developers",
        )
    return redirect_uri


def read_access_request(
    fields: Mapping[str, str], client: OAuthClient, *, redirect_uri: str, base: str
) -> AccessRequest:
    """Return the request; raises OAuthError, which is sent to the client's address."""
    if fields.get("response_type") != "code":
        raise OAuthError("unsupported_response_type", "response_type must be code")
    if fields.get("response_mode", "query") != "query":
        raise OAuthError("invalid_request", "response_mode must be query")
    if "request" in fields or "request_uri" in fields:
        raise OAuthError(
            "request_not_supported", "send the parameters themselves, not a request object"
        )
    if fields.get("prompt") == "none":
        raise OAuthError("consent_required", "an owner is always asked")
    challenge = fields.get("code_challenge", "")
    if not _CHALLENGE.fullmatch(challenge) or fields.get("code_challenge_method") != "S256":
        raise OAuthError(
            "invalid_request", "PKCE is required: code_challenge with code_challenge_method=S256"
        )
    state = fields.get("state")
    if state is not None and len(state) > MAX_URI_LENGTH:
        raise OAuthError("invalid_request", "the state is too long")
    part = part_of_resource(fields.get("resource"), base)
    return AccessRequest(
        client_id=client.client_id,
        client_name=client.name,
        client_host=client.host,
        redirect_uri=redirect_uri,
        state=state,
        challenge=challenge,
        resource=resource_of(base, part),
        being_id=part if part is not None and is_being_id(part) else None,
        scopes=requested_scopes(fields.get("scope")),
    )


class AccessRequests:
    """Requests that owners are looking at; each is decided once, in the session that opened it."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._rows = SecretRows(table, "OT", "T")
        self._clock = clock
        self._rng = rng

    def open(self, request: AccessRequest, *, session: str) -> str:
        """Store a request and return the secret name that the decision must carry."""
        name = long_secret(self._rng)
        fields: Item = {
            "session": session,
            **asdict(request),
            "scopes": " ".join(sorted(request.scopes)),
        }
        self._rows.add(name, fields, until=int(self._clock().timestamp()) + CONSENT_SECONDS)
        return name

    def take(self, name: str, *, session: str) -> AccessRequest | None:
        """Remove a request and return it, or None if it is unknown, decided or expired."""
        if not name or len(name) > 100:
            return None
        try:
            item = self._rows.take(name, when=Compare("session", "=", session))
        except ConditionFailedError:
            return None
        if item is None:
            return None
        scopes = frozenset(str(item["scopes"]).split())
        return AccessRequest(**{**fields_in(item, AccessRequest), "scopes": scopes})
