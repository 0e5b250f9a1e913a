"""Who may call: the Being's tokens, and the clients that were let in; each can be ended."""

from datetime import timedelta

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.access.oauth.grant_items import Grant
from nacre.access.scopes import NAMES, scope_name
from nacre.console.control_access import control_of
from nacre.console.frame import At, Sent, Visit, onward, show
from nacre.core.errors import InvalidInputError
from nacre.core.limits import API_TOKEN_DAYS
from nacre.core.token_prefixes import API
from nacre.firewall.approvals.form import printable
from nacre.web.portal_parts import base_url, portal_of

routes = APIRouter(prefix="/beings/{being_id}/access")

DAYS = (1, 7, 30, API_TOKEN_DAYS, 365)


@routes.get("")
def show_access(request: Request, at: At) -> Response:
    """Show what may call in the Being's name."""
    return _access_page(request, at)


@routes.post("/tokens")
def create_token(request: Request, sent: Sent) -> Response:
    """Make a token and show it, this once."""
    scope, days = sent.text("scope"), sent.text("days")
    if scope not in NAMES or days not in {str(each) for each in DAYS}:
        return _access_page(request, sent, problem="choose what it may do and how long it lives")
    try:
        issued = portal_of(request).authority.tokens.issue(
            API,
            being_id=sent.being_id,
            owner=sent.owner.owner,
            scopes=NAMES[scope],
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
def revoke_token(request: Request, sent: Sent) -> Response:
    """End one token now."""
    authority = portal_of(request).authority
    authority.tokens.revoke(sent.text("token"), being_id=sent.being_id)
    return onward(request, sent, "access", said="token-revoked")


@routes.post("/clients/revoke")
def revoke_client(request: Request, sent: Sent) -> Response:
    """End one client's access now, with all its tokens."""
    authority = portal_of(request).authority
    authority.grants.revoke(sent.text("client"), owner=sent.owner.owner)
    return onward(request, sent, "access", said="client-revoked")


@routes.post("/revoke-all")
def revoke_all(request: Request, sent: Sent) -> Response:
    """End every token and every client of the Being."""
    authority = portal_of(request).authority
    for grant in _clients(request, sent):
        authority.grants.revoke(grant.grant_id, owner=sent.owner.owner)
    now = control_of(request).clock()
    for record in authority.tokens.of_being(sent.being_id):
        if record.state(now) == "active":
            authority.tokens.revoke(record.token_id, being_id=sent.being_id)
    return onward(request, sent, "access", said="all-revoked")


def _access_page(request: Request, at: Visit, *, problem: str | None = None) -> Response:
    control = control_of(request)
    now = control.clock()
    # A client's own tokens come and go by the hour; its row is among the clients.
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
        status=400 if problem else 200,
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
