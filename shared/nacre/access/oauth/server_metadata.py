"""Resources, scopes and the metadata documents of the authorization server."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from nacre.access.tokens.authentication import is_being_id
from nacre.core.errors import OAuthError
from nacre.protocol.http.server_address import ENDPOINT
from nacre.protocol.principal import READ, WRITE, is_profile_name

AUTH_METHODS = ("none", "client_secret_post", "client_secret_basic")
"""How a client may authenticate."""

_MAX_RESOURCE_LENGTH = 1000


def part_of_resource(resource: str | None, base: str) -> str | None:
    """Return the Being's id or the profile that a resource names, None for the whole endpoint.

    Raises OAuthError for a resource of another server.
    """
    if resource is None:
        return None
    try:
        parts = urlsplit(resource[:_MAX_RESOURCE_LENGTH])
    except ValueError:  # such as an unclosed bracket
        raise _foreign_resource() from None
    path = parts.path.rstrip("/")
    is_this_server = f"{parts.scheme}://{parts.netloc}".lower() == base
    is_plain = not parts.query and not parts.fragment and len(resource) <= _MAX_RESOURCE_LENGTH
    if is_this_server and is_plain:
        if path in ("", ENDPOINT):
            return None
        part = path.removeprefix(f"{ENDPOINT}/")
        if path.startswith(f"{ENDPOINT}/") and (is_being_id(part) or is_profile_name(part)):
            return part
    raise _foreign_resource()


def requested_scopes(text: str | None) -> frozenset[str]:
    """Return the scopes that a client requests; raises OAuthError when none of them exists here.

    A client that names no scope requests all of them, and the owner may narrow the choice. The
    write scope includes the read scope.
    """
    names = set((text or "").split()) - {"offline_access"}  # every grant can be renewed
    if not names:
        return frozenset({READ, WRITE})
    scopes = names & {READ, WRITE}
    if not scopes:
        raise OAuthError("invalid_scope", f"the scopes here are {READ} and {WRITE}")
    return frozenset(scopes | {READ})


def protected_resource(base: str, resource: str) -> Mapping[str, object]:
    """Return the metadata of a protected resource (RFC 9728)."""
    return {
        "resource": resource,
        "authorization_servers": [base],
        "scopes_supported": [READ, WRITE],
        "bearer_methods_supported": ["header"],
        "resource_name": "Nacre",
    }


def authorization_server(base: str, *, documents: bool) -> Mapping[str, object]:
    """Return the metadata of the authorization server (RFC 8414).

    `documents` says whether clients may identify themselves with a metadata document. A client
    that reads this tries nothing else, so it must be true only where documents can be fetched.
    """
    return {
        "issuer": base,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/token",
        "registration_endpoint": f"{base}/register",
        "revocation_endpoint": f"{base}/revoke",
        "scopes_supported": [READ, WRITE],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "revocation_endpoint_auth_methods_supported": list(AUTH_METHODS),
        "authorization_response_iss_parameter_supported": True,
        "client_id_metadata_document_supported": documents,
    }


def openid_configuration(base: str, *, documents: bool) -> Mapping[str, object]:
    """Return the metadata with the fields that OpenID Connect Discovery requires.

    Some clients read only this document and validate it. No ID token is ever issued.
    """
    return {
        **authorization_server(base, documents=documents),
        "jwks_uri": f"{base}/.well-known/jwks.json",
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }


def _foreign_resource() -> OAuthError:
    return OAuthError("invalid_target", "the resource does not belong to this server")
