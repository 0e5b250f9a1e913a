"""What a client asks of an owner: checked, and kept until the owner has decided."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from nacre.access.oauth.audience import asked_scopes, meant_being
from nacre.access.oauth.clients import OAuthClient
from nacre.access.oauth.redirects import checked_redirect, may_receive
from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, OAuthError
from nacre.core.ids import long_secret
from nacre.core.limits import CONSENT_SECONDS, MAX_URI_LENGTH
from nacre.ports.items.table import EXPIRES_AT, SCHEMA, Absent, Compare, Item, Key, Table
from nacre.protocol.http.server_address import resource_of

_SCHEMA_VERSION = 1
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")  # a SHA-256 in base64url


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """A client's request for access; `being_id` is set where it names one Being's endpoint."""

    client_id: str
    client_name: str
    client_host: str | None
    redirect_uri: str
    state: str | None
    challenge: str
    resource: str
    being_id: str | None
    scopes: frozenset[str]


def answer_address(fields: Mapping[str, str], client: OAuthClient) -> str:
    """Return where the client's answer may go; raises OAuthError, which its owner is shown.

    Nothing may be sent to an address before it has passed here.
    """
    asked = fields.get("redirect_uri")
    if asked is None:
        raise OAuthError("invalid_request", "the request names no redirect_uri")
    if not may_receive(checked_redirect(asked), client.redirect_uris):
        raise OAuthError(
            "invalid_request",
            "the client has not registered the redirect_uri of this request; add it to the "
            "client again, or tell its makers",
        )
    return asked


def read_access_request(
    fields: Mapping[str, str], client: OAuthClient, *, redirect_uri: str, base: str
) -> AccessRequest:
    """Return the request; raises OAuthError, which the client is told at its address."""
    if fields.get("response_type") != "code":
        raise OAuthError("unsupported_response_type", "response_type is code here")
    if fields.get("response_mode", "query") != "query":
        raise OAuthError("invalid_request", "response_mode is query here")
    if "request" in fields or "request_uri" in fields:
        raise OAuthError("request_not_supported", "send the parameters as they are")
    if fields.get("prompt") == "none":
        raise OAuthError("consent_required", "an owner is always asked")
    challenge = fields.get("code_challenge", "")
    if not _CHALLENGE.fullmatch(challenge) or fields.get("code_challenge_method") != "S256":
        raise OAuthError(
            "invalid_request", "PKCE is needed: code_challenge with code_challenge_method=S256"
        )
    state = fields.get("state")
    if state is not None and len(state) > MAX_URI_LENGTH:
        raise OAuthError("invalid_request", "the state is too long")
    being_id = meant_being(fields.get("resource"), base)
    return AccessRequest(
        client_id=client.client_id,
        client_name=client.name,
        client_host=client.host,
        redirect_uri=redirect_uri,
        state=state,
        challenge=challenge,
        resource=resource_of(base, being_id),
        being_id=being_id,
        scopes=asked_scopes(fields.get("scope")),
    )


class AccessRequests:
    """Requests that an owner is looking at; each is decided once, in the session that saw it."""

    def __init__(self, table: Table, *, clock: Clock, rng: Random) -> None:
        self._table = table
        self._clock = clock
        self._rng = rng

    def open(self, request: AccessRequest, *, session: str) -> str:
        """Return the secret name under which the request can be decided."""
        name = long_secret(self._rng)
        item: Item = {
            "pk": _key(name).pk,
            "sk": _key(name).sk,
            SCHEMA: _SCHEMA_VERSION,
            "session": session,
            "client_id": request.client_id,
            "client_name": request.client_name,
            "client_host": request.client_host,
            "redirect_uri": request.redirect_uri,
            "state": request.state,
            "challenge": request.challenge,
            "resource": request.resource,
            "being_id": request.being_id,
            "scopes": " ".join(sorted(request.scopes)),
            EXPIRES_AT: int(self._clock().timestamp()) + CONSENT_SECONDS,
        }
        self._table.put(item, when=Absent())
        return name

    def take(self, name: str, *, session: str) -> AccessRequest | None:
        """Return the request, this once; None when it is unknown, decided or too old."""
        if not name or len(name) > 100:
            return None
        try:
            item = self._table.delete(_key(name), when=Compare("session", "=", session))
        except ConditionFailedError:
            return None
        return None if item is None else _from_item(item)


def _key(name: str) -> Key:
    return Key(f"OT#{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}", "T")


def _from_item(item: Item) -> AccessRequest:
    host, state, being = (item[name] for name in ("client_host", "state", "being_id"))
    return AccessRequest(
        client_id=str(item["client_id"]),
        client_name=str(item["client_name"]),
        client_host=None if host is None else str(host),
        redirect_uri=str(item["redirect_uri"]),
        state=None if state is None else str(state),
        challenge=str(item["challenge"]),
        resource=str(item["resource"]),
        being_id=None if being is None else str(being),
        scopes=frozenset(str(item["scopes"]).split()),
    )
