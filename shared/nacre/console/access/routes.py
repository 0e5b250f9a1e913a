"""The page of a Being's tokens and connected clients, where each can be revoked."""

from datetime import timedelta

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.access.oauth.grant_items import Grant
from nacre.access.scopes import SCOPES_BY_NAME, scope_name
from nacre.console.visits import PageVisit, PostedForm, Visit
from nacre.core.errors import InvalidInputError
from nacre.core.limits import API_TOKEN_DAYS
from nacre.core.token_prefixes import API
from nacre.firewall.approvals.form import printable
from nacre.web.portal_parts import base_url

routes = APIRouter(prefix="/beings/{being_id}/access")

DAYS = (1, 7, 30, API_TOKEN_DAYS, 365)


@routes.get("")
def show_access(at: PageVisit) -> Response:
    """Show the tokens and clients that may act as the Being."""
    return _access_page(at)


@routes.post("/tokens")
def create_token(sent: PostedForm) -> Response:
    """Create a token and show it once."""
    scope, days = sent.text("scope"), sent.text("days")
    if scope not in SCOPES_BY_NAME or days not in {str(choice) for choice in DAYS}:
        return _access_page(sent, problem="choose what the token may do and how long it is valid")
    try:
        issued = sent.authority.tokens.issue(
            API,
            being_id=sent.being_id,
            owner=sent.owner.owner,
            scopes=SCOPES_BY_NAME[scope],
            lifetime=timedelta(days=int(days)),
            label=sent.text("label"),
        )
    except InvalidInputError as error:
        return _access_page(sent, problem=str(error))
    return sent.show(
        "access/token.html",
        here="access",
        token=issued.token,
        record=issued.record,
        scope=scope,
        url=f"{base_url(sent.request)}/mcp/{sent.being_id}",
    )


@routes.post("/tokens/revoke")
def revoke_token(sent: PostedForm) -> Response:
    """Revoke one token now."""
    authority = sent.authority
    authority.tokens.revoke(sent.text("token"), being_id=sent.being_id)
    return sent.redirect("access", said="token-revoked")


@routes.post("/clients/revoke")
def revoke_client(sent: PostedForm) -> Response:
    """Revoke one client's access now, with all its tokens."""
    authority = sent.authority
    authority.grants.revoke(sent.text("client"), owner=sent.owner.owner)
    return sent.redirect("access", said="client-revoked")


@routes.post("/revoke-all")
def revoke_all(sent: PostedForm) -> Response:
    """Revoke every token and disconnect every client of the Being."""
    authority = sent.authority
    for grant in _clients(sent):
        authority.grants.revoke(grant.grant_id, owner=sent.owner.owner)
    now = sent.control.clock()
    for record in authority.tokens.of_being(sent.being_id):
        if record.state(now) == "active":
            authority.tokens.revoke(record.token_id, being_id=sent.being_id)
    return sent.redirect("access", said="all-revoked")


def _access_page(at: Visit, *, problem: str | None = None) -> Response:
    control = at.control
    now = control.clock()
    # Tokens of clients change every hour; the list of clients shows them.
    tokens = [record for record in at.authority.tokens.of_being(at.being_id) if record.kind == API]
    return at.show(
        "access/access.html",
        here="access",
        problem=problem,
        active=[record for record in tokens if record.state(now) == "active"],
        ended=[(record, record.state(now)) for record in tokens if record.state(now) != "active"],
        clients=_clients(at),
        scope_name=scope_name,
        printable=printable,
        days=DAYS,
        usual_days=API_TOKEN_DAYS,
        is_laptop=control.is_laptop,
    )


def _clients(at: Visit) -> list[Grant]:
    grants = at.authority.grants.of_owner(at.owner.owner)
    return [grant for grant in grants if grant.being_id == at.being_id]
