"""OAuth for clients: discovery, registration, tokens and revocation."""

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated
from urllib.parse import unquote_plus, urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from nacre.access.oauth.clients import OAuthClient
from nacre.access.oauth.codes import CodeUsedTwiceError
from nacre.access.oauth.grant_items import TokenPair
from nacre.access.oauth.server_metadata import (
    authorization_server,
    openid_configuration,
    part_of_resource,
    protected_resource,
    requested_scopes,
)
from nacre.access.tokens.authentication import is_being_id
from nacre.core.errors import OAuthError, UnknownBeingError
from nacre.core.limits import ACCESS_TOKEN_SECONDS, TOKEN_REQUESTS_A_MINUTE
from nacre.protocol.http.server_address import resource_of
from nacre.protocol.principal import is_profile_name
from nacre.web.forms import read_body, read_form
from nacre.web.portal_parts import base_url, caller_address, portal_of

routes = APIRouter()

WELL_KNOWN = "/.well-known"
_DISCOVERY = {"Cache-Control": "public, max-age=300"}
_PRIVATE = {"Cache-Control": "no-store", "Pragma": "no-cache"}
Form = Annotated[dict[str, str], Depends(read_form)]


@routes.get(f"{WELL_KNOWN}/oauth-protected-resource")
def root_resource(request: Request) -> Response:
    """Describe the server as a resource, for clients that ask at the root."""
    base = base_url(request)
    return JSONResponse(protected_resource(base, base), 200, _DISCOVERY)


@routes.get(f"{WELL_KNOWN}/oauth-protected-resource/mcp")
def endpoint_resource(request: Request) -> Response:
    """Describe the MCP endpoint."""
    base = base_url(request)
    return JSONResponse(protected_resource(base, resource_of(base)), 200, _DISCOVERY)


@routes.get(f"{WELL_KNOWN}/oauth-protected-resource/mcp/{{part}}")
def part_resource(request: Request, part: str) -> Response:
    """Describe the endpoint of one Being or of one profile, whether or not there is one."""
    if not is_being_id(part) and not is_profile_name(part):
        raise UnknownBeingError
    base = base_url(request)
    return JSONResponse(protected_resource(base, resource_of(base, part)), 200, _DISCOVERY)


@routes.get(f"{WELL_KNOWN}/oauth-authorization-server")
def authorization_metadata(request: Request) -> Response:
    """Describe the authorization server."""
    metadata = authorization_server(base_url(request), documents=portal_of(request).takes_documents)
    return JSONResponse(metadata, 200, _DISCOVERY)


@routes.get(f"{WELL_KNOWN}/openid-configuration")
def openid_metadata(request: Request) -> Response:
    """Describe the same to clients that look for OpenID."""
    metadata = openid_configuration(base_url(request), documents=portal_of(request).takes_documents)
    return JSONResponse(metadata, 200, _DISCOVERY)


@routes.get(f"{WELL_KNOWN}/jwks.json")
def keys() -> Response:
    """List no keys: tokens here are opaque."""
    return JSONResponse({"keys": []}, 200, _DISCOVERY)


async def _registration(request: Request) -> bytes:
    # A caller could set any other parameter of a dependency in the query.
    return await read_body(request)


@routes.post("/register")
def register(request: Request, body: Annotated[bytes, Depends(_registration)]) -> Response:
    """Register a client; no sign-in is needed."""
    clients = portal_of(request).authority.clients
    registered = clients.register(body, address=caller_address(request))
    return JSONResponse(registered.answer(), 201, _PRIVATE)


@routes.post("/token")
def token(request: Request, form: Form) -> Response:
    """Exchange a code, or a refresh token, for new tokens."""
    authority = portal_of(request).authority
    authority.limits.take(
        "token requests", caller_address(request), most=TOKEN_REQUESTS_A_MINUTE, seconds=60
    )
    client = _client(request, form)
    base = base_url(request)
    resource = None
    if "resource" in form:
        resource = resource_of(base, part_of_resource(form["resource"], base))
    match form.get("grant_type"):
        case "authorization_code":
            pair = _redeem(request, form, client, resource)
        case "refresh_token":
            scopes = requested_scopes(form["scope"]) if form.get("scope") else None
            pair = authority.grants.refresh(
                _field(form, "refresh_token"),
                client_id=client.client_id,
                scopes=scopes,
                resource=resource,
            )
        case _:
            raise OAuthError(
                "unsupported_grant_type", "grant_type must be authorization_code or refresh_token"
            )
    authority.clients.extend(client.client_id)
    fields = {
        "access_token": pair.access,
        "token_type": "Bearer",
        "expires_in": ACCESS_TOKEN_SECONDS,
        "refresh_token": pair.refresh,
        "scope": " ".join(sorted(pair.scopes)),
    }
    return JSONResponse(fields, 200, _PRIVATE)


@routes.post("/revoke")
def revoke(request: Request, form: Form) -> Response:
    """End the grant of a token; the answer is the same for a token that is unknown."""
    client = _client(request, form)
    sent = _field(form, "token")
    portal_of(request).authority.grants.end_by_token(sent, client_id=client.client_id)
    return Response(status_code=200, headers=_PRIVATE)


def oauth_failed(_request: Request, error: Exception) -> Response:
    """Return an OAuth error response."""
    assert isinstance(error, OAuthError)
    fields = {"error": error.code, "error_description": str(error)}
    if error.code != "invalid_client":
        return JSONResponse(fields, 400, _PRIVATE)
    return JSONResponse(fields, 401, {**_PRIVATE, "WWW-Authenticate": 'Basic realm="nacre"'})


def client_address(redirect_uri: str, base: str, state: str | None, **fields: str) -> str:
    """Return the address that carries an answer to the client.

    `iss` names this server, so that a client of several servers cannot confuse their answers.
    """
    if state is not None:
        fields["state"] = state
    fields["iss"] = base
    return f"{redirect_uri}{'&' if '?' in redirect_uri else '?'}{urlencode(fields)}"


def answer_client(address: str) -> Response:
    """Redirect the browser to the client, with GET."""
    quiet = {**_PRIVATE, "Referrer-Policy": "no-referrer"}
    return RedirectResponse(address, 303, quiet)


def _redeem(
    request: Request, form: Mapping[str, str], client: OAuthClient, resource: str | None
) -> TokenPair:
    authority = portal_of(request).authority
    try:
        consent = authority.codes.redeem(
            _field(form, "code"),
            client_id=client.client_id,
            redirect_uri=form.get("redirect_uri", ""),
            verifier=form.get("code_verifier", ""),
        )
    except CodeUsedTwiceError as error:
        authority.grants.end(error.grant_id)
        portal_of(request).log.write("warning", "oauth", outcome="code used twice")
        raise
    if resource is not None and resource != consent.resource:
        raise OAuthError("invalid_target", "the owner was asked about another resource")
    if authority.beings.get(consent.being_id) is None:
        raise OAuthError("invalid_grant", "the Being is gone")
    # Ending a session also ends its codes that no client has redeemed.
    if not authority.sessions.is_open(consent.session):
        raise OAuthError("invalid_grant", "the session in which this was allowed has ended")
    return authority.grants.create(consent)


def _client(request: Request, form: Mapping[str, str]) -> OAuthClient:
    """Return the client that sends a request, after checking its secret."""
    client_id, secret = form.get("client_id", ""), form.get("client_secret")
    header = request.headers.get("authorization")
    if header is not None:
        named, secret = _basic(header)
        if client_id and client_id != named:
            raise OAuthError("invalid_request", "the header and the form name two clients")
        client_id = named
    client = portal_of(request).authority.clients.identify(client_id)
    if client is None:
        raise OAuthError("invalid_client", "this client is unknown here; register it again")
    if client.auth_method != "none" and (secret is None or not client.has_secret(secret)):
        raise OAuthError("invalid_client", "the client's secret is missing or wrong")
    return client


def _basic(header: str) -> tuple[str, str]:
    scheme, _, encoded = header.partition(" ")
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        text = ""
    name, colon, secret = text.partition(":")
    if scheme.lower() != "basic" or not colon:
        raise OAuthError(
            "invalid_client", "the Authorization header does not hold valid Basic credentials"
        )
    return unquote_plus(name), unquote_plus(secret)


def _field(form: Mapping[str, str], name: str) -> str:
    if not form.get(name):
        raise OAuthError("invalid_request", f"the field {name} is missing")
    return form[name]
