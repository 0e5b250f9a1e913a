"""Metadata of clients, from a registration or from a document that the client publishes."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from nacre.access.oauth.redirects import checked_redirect, displayed_host
from nacre.access.oauth.server_metadata import AUTH_METHODS
from nacre.core.errors import InvalidInputError, OAuthError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import (
    CLIENT_DOCUMENT_BYTES,
    MAX_CLIENT_ID,
    MAX_NAME_LENGTH,
    MAX_REDIRECT_URIS,
)
from nacre.core.names import one_line
from nacre.protocol import strict_json
from nacre.protocol.principal import READ, WRITE

# Host names that public certificates can be issued for; no IP address in any notation.
_PUBLIC_NAME = re.compile(
    r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])"
)
_DOCUMENT_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*")


@dataclass(frozen=True, slots=True)
class ClientMetadata:
    """The checked metadata of a client."""

    name: str
    redirect_uris: tuple[str, ...]
    auth_method: str
    application_type: str | None = None

    def as_registration_response(self) -> Mapping[str, object]:
        """Return the metadata as RFC 7591 names its fields."""
        fields: dict[str, object] = {
            "client_name": self.name,
            "redirect_uris": list(self.redirect_uris),
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": self.auth_method,
            "scope": f"{READ} {WRITE}",
        }
        if self.application_type is not None:
            fields["application_type"] = self.application_type
        return fields


def read_request(body: bytes) -> ClientMetadata:
    """Return the metadata of a registration request; raises OAuthError."""
    fields = _object(body)
    uris = _redirects(fields)
    method = fields.get("token_endpoint_auth_method", "client_secret_basic")
    if method not in AUTH_METHODS:
        raise _refused(f"token_endpoint_auth_method must be one of {', '.join(AUTH_METHODS)}")
    _check_use(fields)
    kind = fields.get("application_type")
    return ClientMetadata(
        name=_name(fields, uris[0]),
        redirect_uris=uris,
        auth_method=method,
        application_type=kind if kind in ("native", "web") else None,
    )


def read_document(body: bytes, client_id: str) -> ClientMetadata:
    """Return the metadata in a client's document; raises OAuthError.

    The document must name the address it was fetched from and contain no secret.
    """
    if len(body) > CLIENT_DOCUMENT_BYTES:
        raise _refused("the client's document is too long")
    fields = _object(body)
    if fields.get("client_id") != client_id:
        raise _refused("the client_id in the client's document is not the address of the document")
    if "client_secret" in fields or fields.get("token_endpoint_auth_method", "none") != "none":
        raise _refused("a client with a document must not have a secret")
    _check_use(fields)
    uris = fields.get("redirect_uris")
    # Some clients list an address for every system they run on; the unusable ones are left out.
    usable = tuple(uri for uri in _listed_uris(uris) if _is_usable(uri))
    if not usable:
        raise OAuthError("invalid_redirect_uri", "the client's document has no usable redirect_uri")
    return ClientMetadata(_name(fields, client_id), usable, "none")


def document_host(client_id: str) -> str:
    """Return the host of a client id that is an address; raises OAuthError.

    The address must be https with a public host name in lower case and a path without dot
    segments, so that every parser reads it alike.
    """
    try:
        parts = urlsplit(client_id)
        port = parts.port
    except ValueError:
        raise _not_a_document() from None
    host = parts.netloc
    plain = client_id == f"https://{host}{parts.path}" and len(client_id) <= MAX_CLIENT_ID
    segments = re.split(r"/|%2f", parts.path.lower())
    dotted = any(segment.replace("%2e", ".") in (".", "..") for segment in segments)
    if not plain or port is not None or not _PUBLIC_NAME.fullmatch(host):
        raise _not_a_document()
    if not _DOCUMENT_PATH.fullmatch(parts.path) or parts.path == "/" or dotted:
        raise _not_a_document()
    return host


def _not_a_document() -> OAuthError:
    return OAuthError(
        "invalid_client",
        "a client_id that is an address must have the form https://HOST/PATH, where HOST is a "
        "public host name",
    )


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        value = strict_json.parse(body)
    except InvalidInputError:
        raise _refused("the metadata is not JSON") from None
    if not isinstance(value, dict):
        raise _refused("the metadata is not a JSON object")
    return value


def _redirects(fields: Mapping[str, Any]) -> tuple[str, ...]:
    uris = fields.get("redirect_uris")
    if not isinstance(uris, list) or not 1 <= len(uris) <= MAX_REDIRECT_URIS:
        raise OAuthError(
            "invalid_redirect_uri",
            f"redirect_uris must be a list of 1 to {MAX_REDIRECT_URIS} addresses",
        )
    return tuple(checked_redirect(uri) for uri in uris)


def _listed_uris(value: object) -> list[Any]:
    return value[: 2 * MAX_REDIRECT_URIS] if isinstance(value, list) else []


def _is_usable(uri: object) -> bool:
    try:
        checked_redirect(uri)
    except OAuthError:
        return False
    return True


def _check_use(fields: Mapping[str, Any]) -> None:
    for name, needed in (("grant_types", "authorization_code"), ("response_types", "code")):
        types = fields.get(name)
        if types is not None and (not isinstance(types, list) or needed not in types):
            raise _refused(f"{name} must contain {needed}")


def _name(fields: Mapping[str, Any], uri: str) -> str:
    name = fields.get("client_name")
    if name is not None and not isinstance(name, str):
        raise _refused("client_name must be a string")
    return one_line(name or "", MAX_NAME_LENGTH) or displayed_host(uri)


def _refused(reason: str) -> OAuthError:
    return OAuthError("invalid_client_metadata", reason)
