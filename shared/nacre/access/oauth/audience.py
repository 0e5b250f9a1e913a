"""What an OAuth token is for, as metadata and requests name it: the endpoint, or one Being's."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from nacre.access.tokens.authentication import is_being_id
from nacre.core.errors import OAuthError
from nacre.protocol.http.server_address import ENDPOINT
from nacre.protocol.principal import READ, WRITE

AUTH_METHODS = ("none", "client_secret_post", "client_secret_basic")
"""How a client may say who it is: the ways that clients use."""

_LONGEST = 1000


def meant_being(resource: str | None, base: str) -> str | None:
    """Return the Being that a client names as its resource, None for the whole endpoint.

    Raises OAuthError for what is not of this server.
    """
    if resource is None:
        return None
    try:
        parts = urlsplit(resource[:_LONGEST])
    except ValueError:  # such as a bracket that nothing closes
        raise _foreign() from None
    path = parts.path.rstrip("/")
    own = f"{parts.scheme}://{parts.netloc}".lower() == base
    if own and not parts.query and not parts.fragment and len(resource) <= _LONGEST:
        if path in ("", ENDPOINT):
            return None
        being = path.removeprefix(f"{ENDPOINT}/")
        if path.startswith(f"{ENDPOINT}/") and is_being_id(being):
            return being
    raise _foreign()


def asked_scopes(text: str | None) -> frozenset[str]:
    """Return what a client asks for, in our scopes; raises OAuthError when none of it is known.

    Whoever names nothing asks for everything: the owner narrows it. Writing includes reading.
    """
    words = set((text or "").split()) - {"offline_access"}  # renewing needs no asking here
    if not words:
        return frozenset({READ, WRITE})
    known = words & {READ, WRITE}
    if not known:
        raise OAuthError("invalid_scope", f"the scopes here are {READ} and {WRITE}")
    return frozenset(known | {READ})


def protected_resource(base: str, resource: str) -> Mapping[str, object]:
    """Return the metadata of the endpoint, as RFC 9728 has it."""
    return {
        "resource": resource,
        "authorization_servers": [base],
        "scopes_supported": [READ, WRITE],
        "bearer_methods_supported": ["header"],
        "resource_name": "Nacre",
    }


def authorization_server(base: str, *, documents: bool) -> Mapping[str, object]:
    """Return the metadata of the authorization server, as RFC 8414 has it.

    `documents` says whether clients may be known by a metadata document: a client that reads
    this tries nothing else, so it must be true only where fetching works.
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
    """Return the same with what OpenID's schema asks for.

    Some clients read only this one, and check it against that schema. No ID token is issued.
    """
    return {
        **authorization_server(base, documents=documents),
        "jwks_uri": f"{base}/.well-known/jwks.json",
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
    }


def _foreign() -> OAuthError:
    return OAuthError("invalid_target", "the resource is not one of this server")
