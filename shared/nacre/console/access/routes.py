"""The page of a Being's tokens and connected clients, where each can be revoked."""

from datetime import timedelta

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.access.oauth.grant_items import Grant
from nacre.access.scopes import SCOPES_BY_NAME, scope_name
from nacre.console.control_access import control_of
from nacre.console.frame import PageVisit, PostedForm, Visit, redirect_to, show
from nacre.core.errors import InvalidInputError
from nacre.core.limits import API_TOKEN_DAYS
from nacre.core.token_prefixes import API
from nacre.firewall.approvals.form import printable
from nacre.web.portal_parts import base_url, portal_of

routes = APIRouter(prefix="/beings/{being_id}/access")

DAYS = (1, 7, 30, API_TOKEN_DAYS, 365)


@routes.get("")
def show_access(request: Request, at: PageVisit) -> Response:
    """Show the tokens and clients that may act as the Being."""
    return _access_page(request, at)


@routes.post("/tokens")
def create_token(request: Request, sent: PostedForm) -> Response:
    """Create a token and show it once."""
    scope, days = sent.text("scope"), sent.text("days")
    if scope not in SCOPES_BY_NAME or days not in {str(choice) for choice in DAYS}:
        return _access_page(
            request, sent, problem="choose what the token may do and how long it is valid"
        )
    try:
        issued = portal_of(request).authority.tokens.issue(
            API,
            being_id=sent.being_id,
            owner=sent.owner.owner,
            scopes=SCOPES_BY_NAME[scope],
            lifetime=timedelta(days=int(days)),
            label=sent.text("label"),
        )
    except InvalidInputError as error:
        return _access_page(request, sent, problem=str(error))
    return show(
        request,
        sent,
        "access/token.html",
        here="access",
        token=issued.token,
        record=issued.record,
        scope=scope,
        url=f"{base_url(request)}/mcp/{sent.being_id}",
    )


@routes.post("/tokens/revoke")
def revoke_token(request: Request, sent: PostedForm) -> Response:
    """Revoke one token now."""
    authority = portal_of(request).authority
    authority.tokens.revoke(sent.text("token"), being_id=sent.being_id)
    return redirect_to(request, sent, "access", said="token-revoked")


@routes.post("/clients/revoke")
def revoke_client(request: Request, sent: PostedForm) -> Response:
    """Revoke one client's access now, with all its tokens."""
    authority = portal_of(request).authority
    authority.grants.revoke(sent.text("client"), owner=sent.owner.owner)
    return redirect_to(request, sent, "access", said="client-revoked")


@routes.post("/revoke-all")
def revoke_all(request: Request, sent: PostedForm) -> Response:
    """Revoke every token and disconnect every client of the Being."""
    authority = portal_of(request).authority
    for grant in _clients(request, sent):
        authority.grants.revoke(grant.grant_id, owner=sent.owner.owner)
    now = control_of(request).clock()
    for record in authority.tokens.of_being(sent.being_id):
        if record.state(now) == "active":
            authority.tokens.revoke(record.token_id, being_id=sent.being_id)
    return redirect_to(request, sent, "access", said="all-revoked")


def _access_page(request: Request, at: Visit, *, problem: str | None = None) -> Response:
    control = control_of(request)
    now = control.clock()
    # Tokens of clients change every hour; the list of clients shows them.
    tokens = [
        record
        for record in portal_of(request).authority.tokens.of_being(at.being_id)
        if record.kind == API
    ]
    return show(
        request,
        at,
        "access/access.html",
        here="access",
        problem=problem,
        active=[record for record in tokens if record.state(now) == "active"],
        ended=[(record, record.state(now)) for record in tokens if record.state(now) != "active"],
        clients=_clients(request, at),
        scope_name=scope_name,
        printable=printable,
        days=DAYS,
        usual_days=API_TOKEN_DAYS,
        is_laptop=control.is_laptop,
    )


def _clients(request: Request, at: Visit) -> list[Grant]:
    grants = portal_of(request).authority.grants.of_owner(at.owner.owner)
    return [grant for grant in grants if grant.being_id == at.being_id]
