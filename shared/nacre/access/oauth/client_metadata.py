"""What a client says of itself, when it registers or in a document that it publishes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from nacre.access.oauth.audience import AUTH_METHODS
from nacre.access.oauth.redirects import checked_redirect, shown_host
from nacre.core.errors import InvalidInputError, OAuthError
from nacre.core.limits import (
    CLIENT_DOCUMENT_BYTES,
    MAX_CLIENT_ID,
    MAX_NAME_LENGTH,
    MAX_REDIRECT_URIS,
)
from nacre.core.names import one_line
from nacre.protocol import strict_json
from nacre.protocol.principal import READ, WRITE

# Names that public certificates are made out to; no addresses, in whichever notation.
_PUBLIC_NAME = re.compile(
    r"(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])"
)
_DOCUMENT_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*")


@dataclass(frozen=True, slots=True)
class ClientMetadata:
    """What was said and is kept, in our form."""

    name: str
    redirect_uris: tuple[str, ...]
    auth_method: str
    application_type: str | None = None

    def echoed(self) -> Mapping[str, object]:
        """Return it in the words of RFC 7591."""
        told: dict[str, object] = {
            "client_name": self.name,
            "redirect_uris": list(self.redirect_uris),
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": self.auth_method,
            "scope": f"{READ} {WRITE}",
        }
        if self.application_type is not None:
            told["application_type"] = self.application_type
        return told


def read_request(body: bytes) -> ClientMetadata:
    """Return what a client sends to be registered; raises OAuthError."""
    said = _object(body)
    uris = _redirects(said)
    method = said.get("token_endpoint_auth_method", "client_secret_basic")
    if method not in AUTH_METHODS:
        raise _refused(f"token_endpoint_auth_method is one of {', '.join(AUTH_METHODS)}")
    _check_use(said)
    kind = said.get("application_type")
    return ClientMetadata(
        name=_name(said, uris[0]),
        redirect_uris=uris,
        auth_method=method,
        application_type=kind if kind in ("native", "web") else None,
    )


def read_document(body: bytes, client_id: str) -> ClientMetadata:
    """Return what a client's document says; raises OAuthError.

    It must name the address it was fetched from, and hold no secret.
    """
    if len(body) > CLIENT_DOCUMENT_BYTES:
        raise _refused("the client's document is too long")
    said = _object(body)
    if said.get("client_id") != client_id:
        raise _refused("the client's document names another client_id than its own address")
    if "client_secret" in said or said.get("token_endpoint_auth_method", "none") != "none":
        raise _refused("a client that is known by its document has no secret")
    _check_use(said)
    uris = said.get("redirect_uris")
    # Some list an address for every system they run on; those that cannot be used are left out.
    usable = tuple(uri for uri in _list(uris) if _is_usable(uri))
    if not usable:
        raise OAuthError("invalid_redirect_uri", "the client's document has no usable redirect_uri")
    return ClientMetadata(_name(said, client_id), usable, "none")


def document_host(client_id: str) -> str:
    """Return the host of the address that is a client's id; raises OAuthError.

    The address is written in the one way that everybody reads alike: https, a public name in
    lower case, a path without dots, nothing else.
    """
    try:
        parts = urlsplit(client_id)
        port = parts.port
    except ValueError:
        raise _not_a_document() from None
    host = parts.netloc
    plain = client_id == f"https://{host}{parts.path}" and len(client_id) <= MAX_CLIENT_ID
    steps = re.split(r"/|%2f", parts.path.lower())
    dotted = any(step.replace("%2e", ".") in (".", "..") for step in steps)
    if not plain or port is not None or not _PUBLIC_NAME.fullmatch(host):
        raise _not_a_document()
    if not _DOCUMENT_PATH.fullmatch(parts.path) or parts.path == "/" or dotted:
        raise _not_a_document()
    return host


def _not_a_document() -> OAuthError:
    return OAuthError(
        "invalid_client",
        "a client_id that is an address has the form https://HOST/PATH, with a public name as "
        "its host",
    )


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        said = strict_json.parse(body)
    except InvalidInputError:
        raise _refused("this is not JSON") from None
    if not isinstance(said, dict):
        raise _refused("this is not a JSON object")
    return said


def _redirects(said: Mapping[str, Any]) -> tuple[str, ...]:
    uris = said.get("redirect_uris")
    if not isinstance(uris, list) or not 1 <= len(uris) <= MAX_REDIRECT_URIS:
        raise OAuthError(
            "invalid_redirect_uri", f"redirect_uris is a list of 1 to {MAX_REDIRECT_URIS} addresses"
        )
    return tuple(checked_redirect(uri) for uri in uris)


def _list(value: object) -> list[Any]:
    return value[: 2 * MAX_REDIRECT_URIS] if isinstance(value, list) else []


def _is_usable(uri: object) -> bool:
    try:
        checked_redirect(uri)
    except OAuthError:
        return False
    return True


def _check_use(said: Mapping[str, Any]) -> None:
    for name, needed in (("grant_types", "authorization_code"), ("response_types", "code")):
        wanted = said.get(name)
        if wanted is not None and (not isinstance(wanted, list) or needed not in wanted):
            raise _refused(f"{name} has to contain {needed}")


def _name(said: Mapping[str, Any], uri: str) -> str:
    name = said.get("client_name")
    if name is not None and not isinstance(name, str):
        raise _refused("client_name is a text")
    return one_line(name or "", MAX_NAME_LENGTH) or shown_host(uri)


def _refused(reason: str) -> OAuthError:
    return OAuthError("invalid_client_metadata", reason)
