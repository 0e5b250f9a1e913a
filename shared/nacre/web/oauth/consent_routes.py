"""The page on which an owner allows or denies a client access."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from nacre.access.beings import Being
from nacre.access.oauth.authorization_requests import (
    AccessRequest,
    read_access_request,
    requested_redirect,
)
from nacre.access.oauth.clients import OAuthClient
from nacre.access.oauth.redirects import displayed_host, is_loopback, is_private_scheme
from nacre.access.scopes import SCOPES_BY_NAME
from nacre.access.signin.browser_sessions import BrowserSession
from nacre.core.errors import ConflictError, InvalidInputError, OAuthError
from nacre.core.names import BEING_NAMES
from nacre.protocol.principal import FULL
from nacre.web.forms import query_fields
from nacre.web.oauth.routes import answer_client, client_address
from nacre.web.page_session import OwnForm, require_form, signed_in
from nacre.web.portal_parts import base_url, caller_address, portal_of
from nacre.web.rendering import page
from nacre.web.signin.routes import redirect

routes = APIRouter()

_DECIDED = "this request was decided already, or is too old; start again from your client"
Form = Annotated[OwnForm, Depends(require_form)]


@routes.get("/authorize")
def ask(request: Request) -> Response:
    """Show a client's request to an owner who has signed in."""
    try:
        fields = query_fields(request)
        client = _client(request, fields.get("client_id", ""))
        redirect_uri = requested_redirect(fields, client)
    except InvalidInputError as error:
        # The redirect address is not trusted, so the browser stays here.
        return page(request, "problem.html", status=400, text=str(error))
    base = base_url(request)
    try:
        access = read_access_request(fields, client, redirect_uri=redirect_uri, base=base)
        owner = signed_in(request)
        if owner is None:
            then = f"{request.url.path}?{request.url.query}"
            return redirect(request, f"/sign-in?then={quote(then, safe='')}")
        beings = _choosable(request, owner, access)
    except OAuthError as error:
        refusal = {"error": error.code, "error_description": str(error)}
        state = fields.get("state")
        return answer_client(client_address(redirect_uri, base, state, **refusal))
    name = portal_of(request).authority.requests.open(access, session=owner.session)
    return page(
        request,
        "consent.html",
        signed_in=owner,
        asked=access,
        secret_name=name,
        beings=beings,
        goes_to=displayed_host(access.redirect_uri),
        on_this_machine=is_loopback(access.redirect_uri),
        by_scheme=is_private_scheme(access.redirect_uri),
        may_write=access.scopes >= FULL,
        first_being=BEING_NAMES[0],
    )


@routes.post("/authorize")
def decide(request: Request, form: Form) -> Response:
    """Send the client its code, or the owner's refusal."""
    authority, fields = portal_of(request).authority, form.fields
    owner = form.signed_in
    access = authority.requests.take(fields.get("request", ""), session=owner.session)
    if access is None:
        return page(request, "problem.html", status=400, signed_in=owner, text=_DECIDED)
    base = base_url(request)
    if fields.get("decision") != "allow":
        refusal = {"error": "access_denied", "error_description": "the owner denied the request"}
        return answer_client(client_address(access.redirect_uri, base, access.state, **refusal))
    try:
        being = _chosen(request, owner, access, fields.get("being", ""))
    except OAuthError as error:  # the Being that was named is gone
        refusal = {"error": error.code, "error_description": str(error)}
        return answer_client(client_address(access.redirect_uri, base, access.state, **refusal))
    scopes = SCOPES_BY_NAME.get(fields.get("scope", ""))
    if scopes is None:
        raise InvalidInputError("choose what the client may do: full or read-only")
    code = authority.codes.issue(
        access,
        owner=owner.owner,
        being_id=being.being_id,
        scopes=scopes & access.scopes,
        session=owner.session,
    )
    portal_of(request).log.write(
        "info", "consent", owner=owner.owner, being=being.being_id, client=access.client_id
    )
    return answer_client(client_address(access.redirect_uri, base, access.state, code=code))


def _client(request: Request, client_id: str) -> OAuthClient:
    clients = portal_of(request).authority.clients
    client = clients.find(client_id, address=caller_address(request))
    if client is None:
        raise OAuthError(
            "invalid_client",
            "this client is unknown here; remove the server from it and add it again",
        )
    return client


def _choosable(request: Request, owner: BrowserSession, access: AccessRequest) -> list[Being]:
    """Return the Beings that the owner may choose from; raises OAuthError for another's."""
    beings = portal_of(request).authority.beings.of_owner(owner.owner)
    if access.being_id is None:
        return beings
    named = [being for being in beings if being.being_id == access.being_id]
    if not named:
        raise OAuthError("invalid_target", "the resource does not belong to this owner")
    return named


def _chosen(request: Request, owner: BrowserSession, access: AccessRequest, being_id: str) -> Being:
    beings = _choosable(request, owner, access)
    if not beings:
        return _first_being(request, owner)
    chosen = next((being for being in beings if being.being_id == being_id), None)
    if chosen is None:
        raise InvalidInputError("choose one of your Beings")
    return chosen


def _first_being(request: Request, owner: BrowserSession) -> Being:
    beings = portal_of(request).authority.beings
    try:
        return beings.create(BEING_NAMES[0], owner=owner.owner)
    except ConflictError:  # another page made it
        return beings.choose(BEING_NAMES[0], owner=owner.owner)
