"""Discovery: from the URL of an MCP server to its authorization server (RFC 9728, 8414, OIDC)."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from nacre.core.errors import InvalidInputError, LoginError, NacreError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.gateway.login.challenge import Challenge, scopes_in
from nacre.http_client.address import parse_address
from nacre.ports.other_programs.login_requests import LoginRequests
from nacre.protocol import strict_json

_JSON = {"accept": "application/json"}
_RESOURCE = "/.well-known/oauth-protected-resource"
_AUTHORIZATION = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MAX_LISTED = 100  # entries that are read of a list in a document


@dataclass(frozen=True, slots=True)
class ProtectedResource:
    """A server's description of itself: its identifier, and who gives tokens for it."""

    resource: str
    issuer: str
    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """The checked metadata of an authorization server."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None
    revocation_endpoint: str | None
    auth_methods: tuple[str, ...]
    scopes: tuple[str, ...]
    names_itself: bool  # whether its answers carry `iss`
    takes_documents: bool


def discover(
    server_url: str, challenge: Challenge, requests: LoginRequests
) -> tuple[ProtectedResource, AuthorizationServer]:
    """Return a server's description and its authorization server; raises LoginError."""
    resource = _resource(server_url, challenge, requests)
    tried = authorization_server_urls(resource.issuer)
    for url in tried:
        fields = _document(url, requests)
        if fields is not None:
            server = read_authorization_server(fields, resource.issuer)
            requests.check(server.authorization_endpoint)
            return resource, server
    host = urlsplit(resource.issuer).netloc
    raise LoginError(f"its authorization server {host[:253]} publishes no metadata")


def _resource(server_url: str, challenge: Challenge, requests: LoginRequests) -> ProtectedResource:
    for url in resource_urls(server_url, challenge):
        fields = _document(url, requests)
        if fields is not None:
            return read_resource(fields, server_url)
    # Servers of the first generation are their own authorization servers.
    origin = _origin(server_url)
    if any(_document(url, requests) is not None for url in authorization_server_urls(origin)):
        return ProtectedResource(without_fragment(server_url), origin, ())
    raise LoginError("it does not say where to log in (no OAuth metadata)")


def resource_urls(server_url: str, challenge: Challenge) -> list[str]:
    """Return where a server may describe itself, in the order in which to look."""
    if challenge.metadata_url is not None:
        return [checked_url(challenge.metadata_url, "the address of its metadata")]
    path = urlsplit(server_url).path.rstrip("/")
    places = [f"{_RESOURCE}{path}", _RESOURCE]
    return [f"{_origin(server_url)}{place}" for place in dict.fromkeys(places)]


def authorization_server_urls(issuer: str) -> list[str]:
    """Return where an authorization server may publish its metadata, in order."""
    path = urlsplit(issuer).path.rstrip("/")
    places = [f"{_AUTHORIZATION}{path}", f"{_OPENID}{path}", f"{path}{_OPENID}"]
    return [f"{_origin(issuer)}{place}" for place in dict.fromkeys(places)]


def read_resource(fields: Mapping[str, Any], server_url: str) -> ProtectedResource:
    """Return a server's description of itself; raises LoginError for that of another one."""
    resource = fields.get("resource")
    if not isinstance(resource, str) or not _covers(resource, server_url):
        raise LoginError("its metadata describes another server (resource)")
    servers = fields.get("authorization_servers")
    first = servers[0] if isinstance(servers, list) and servers else None
    if not isinstance(first, str):
        raise LoginError("its metadata names no authorization server")
    issuer = checked_url(first, "its authorization server")
    if urlsplit(issuer).query:
        raise LoginError("its authorization server has a query in its name")
    return ProtectedResource(resource, issuer, _scopes(fields))


def read_authorization_server(fields: Mapping[str, Any], issuer: str) -> AuthorizationServer:
    """Return the metadata of an authorization server; raises LoginError if it is not usable."""
    named = fields.get("issuer")
    if not isinstance(named, str) or not is_same_issuer(named, issuer):
        raise LoginError("its authorization server gives another name for itself (issuer)")
    methods = _texts(fields, "code_challenge_methods_supported")
    if "S256" not in methods:
        raise LoginError("its authorization server does not support PKCE with S256")
    kinds = _texts(fields, "response_types_supported")
    if kinds and "code" not in kinds:
        raise LoginError("its authorization server gives no authorization codes")
    return AuthorizationServer(
        issuer=named,
        authorization_endpoint=_endpoint(fields, "authorization_endpoint"),
        token_endpoint=_endpoint(fields, "token_endpoint"),
        registration_endpoint=_optional_endpoint(fields, "registration_endpoint"),
        revocation_endpoint=_optional_endpoint(fields, "revocation_endpoint"),
        # The default of RFC 8414 is Basic alone.
        auth_methods=_texts(fields, "token_endpoint_auth_methods_supported")
        or ("client_secret_basic",),
        scopes=_scopes(fields),
        names_itself=fields.get("authorization_response_iss_parameter_supported") is True,
        takes_documents=fields.get("client_id_metadata_document_supported") is True,
    )


def is_same_issuer(first: str, second: str) -> bool:
    """Tell whether two names are of one issuer: equal, but for the slash of an empty path."""
    return _with_path(first) == _with_path(second)


def checked_url(url: str, subject: str) -> str:
    """Return a URL that a document names; raises LoginError unless it is safe to use.

    It must be https. Plain http is for servers on this machine.
    """
    try:
        address = parse_address(url)
        has_fragment = bool(urlsplit(url).fragment)
    except (InvalidInputError, ValueError):
        raise LoginError(f"{subject} is no valid URL") from None
    if has_fragment or not url.isascii() or not url.isprintable() or len(url) > 2000:
        raise LoginError(f"{subject} is no valid URL")
    if not address.is_tls and address.host not in _LOOPBACK:
        raise LoginError(f"{subject} is not https")
    return url


def without_fragment(url: str) -> str:
    """Return a URL without its fragment, as a resource is named."""
    return url.partition("#")[0]


def _document(url: str, requests: LoginRequests) -> Mapping[str, Any] | None:
    """Return a document, None if there is none at the URL; raises LoginError if it is invalid."""
    reply = requests.send("GET", url, _JSON)
    if reply.status != 200:
        if reply.status >= 500:
            host = urlsplit(url).netloc
            raise UnavailableError(f"{host[:253]} cannot answer now (HTTP {reply.status})")
        return None
    return json_object(reply.body)


def json_object(body: bytes) -> Mapping[str, Any] | None:
    """Return the JSON object in a body, None if it is none, such as a page for people."""
    try:
        value = strict_json.parse(body)
    except NacreError:
        return None
    return value if isinstance(value, dict) else None


def _endpoint(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise LoginError(f"its authorization server names no {name}")
    return checked_url(value, name)


def _optional_endpoint(fields: Mapping[str, Any], name: str) -> str | None:
    return None if fields.get(name) is None else _endpoint(fields, name)


def _texts(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    if not isinstance(value, list):
        return ()
    return tuple(text for text in value[:_MAX_LISTED] if isinstance(text, str))


def _scopes(fields: Mapping[str, Any]) -> tuple[str, ...]:
    return scopes_in(" ".join(_texts(fields, "scopes_supported")))


def _covers(resource: str, server_url: str) -> bool:
    """Tell whether a resource is the server, or a path above it on the same origin."""
    try:
        outer, inner = parse_address(resource), parse_address(server_url)
    except InvalidInputError:
        return False
    if urlsplit(resource).fragment or outer.origin != inner.origin:
        return False
    if "?" in outer.target:
        return outer.target == inner.target
    prefix = outer.path.rstrip("/")
    return inner.path == prefix or inner.path.startswith(f"{prefix}/")


def _origin(url: str) -> str:
    address = parse_address(url)
    return f"{'https' if address.is_tls else 'http'}://{address.authority}"


def _with_path(url: str) -> str:
    try:
        return url if urlsplit(url).path else f"{url}/"
    except ValueError:  # it is no URL, and no issuer
        return url


def iter_scopes(*groups: tuple[str, ...]) -> Iterator[str]:
    """Yield the scopes of several groups once."""
    yield from dict.fromkeys(scope for group in groups for scope in group)
