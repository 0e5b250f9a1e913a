"""The client that Nacre is at an authorization server: registered, published or given."""

import json
from collections.abc import Mapping
from typing import Any

from nacre.core.errors import LoginError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.gateway.login.discovery import AuthorizationServer, json_object
from nacre.ports.other_programs.login_requests import LoginRequests

# The secret in the form first: Basic encodes it in a way that servers read differently.
AUTH_METHODS = ("none", "client_secret_post", "client_secret_basic")
CLIENT_NAME = "Nacre"
_MAX_ID = 2000


@dataclass(frozen=True, slots=True)
class LoginClient:
    """A client id, its secret if it has one, and how it proves itself."""

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    auth_method: str = "none"
    expires: int = 0  # epoch seconds of the secret's end; 0 for never

    def is_expired(self, now: float) -> bool:
        """Tell whether the secret has ended, or will in the next minutes."""
        return bool(self.expires) and self.expires <= now + 600


def given_client(client_id: str, secret: str | None, server: AuthorizationServer) -> LoginClient:
    """Return the client that the owner has registered by hand."""
    return LoginClient(client_id, secret, _method(server, has_secret=secret is not None))


def client_document(client_id: str, redirect_uri: str) -> Mapping[str, Any]:
    """Return the document that is published at the address `client_id`."""
    return {"client_id": client_id, **_metadata(redirect_uri, "none")}


def register(
    server: AuthorizationServer, redirect_uri: str, requests: LoginRequests
) -> LoginClient:
    """Register a client (RFC 7591); raises LoginError if that is not possible."""
    if server.registration_endpoint is None:
        raise LoginError(
            "its authorization server takes no new clients by itself; register one there with the"
            f" redirect URI {redirect_uri}, and give its id with 'nacre server add --client-id'"
        )
    offered = [method for method in AUTH_METHODS if method in server.auth_methods]
    if not offered:
        raise LoginError("its authorization server knows no way for a client to prove itself")
    body = json.dumps(_metadata(redirect_uri, offered[0])).encode()
    headers = {"accept": "application/json", "content-type": "application/json"}
    reply = requests.send("POST", server.registration_endpoint, headers, body)
    fields = json_object(reply.body)
    if reply.status not in (200, 201) or fields is None:
        raise LoginError(f"its authorization server refuses new clients (HTTP {reply.status})")
    return read_registration(fields, offered[0])


def read_registration(fields: Mapping[str, Any], requested_method: str) -> LoginClient:
    """Return the client of a registration's answer; raises LoginError if it has no id."""
    client_id, secret = fields.get("client_id"), fields.get("client_secret")
    method = fields.get("token_endpoint_auth_method", requested_method)
    if not (_is_text(client_id) and (secret is None or _is_text(secret))):
        raise LoginError("its authorization server registered a client without an id")
    if method not in AUTH_METHODS or (method != "none" and secret is None):
        raise LoginError("its authorization server wants a proof that Nacre cannot give")
    expires = fields.get("client_secret_expires_at")
    is_time = isinstance(expires, int) and not isinstance(expires, bool) and 0 < expires < 2**53
    return LoginClient(
        str(client_id),
        None if method == "none" else str(secret),
        method,
        expires if is_time and isinstance(expires, int) else 0,
    )


def _method(server: AuthorizationServer, *, has_secret: bool) -> str:
    if not has_secret:
        return "none"
    for method in AUTH_METHODS[1:]:
        if method in server.auth_methods:
            return method
    return "client_secret_basic"


def _metadata(redirect_uri: str, method: str) -> dict[str, Any]:
    return {
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": "web" if redirect_uri.startswith("https://") else "native",
    }


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_ID and value.isprintable()
