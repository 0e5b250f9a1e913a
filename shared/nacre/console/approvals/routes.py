"""The inbox of approvals: calls of all the owner's Beings that wait for a decision."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.access.signin.browser_sessions import BrowserSession
from nacre.console.approvals.inbox import Case, callers, cases
from nacre.console.control_access import Form, Owner, control_of, keeps_server
from nacre.console.frame import beings_of, show_owner
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.core.limits import APPROVAL_MINUTES, MAX_APPROVAL_MINUTES
from nacre.firewall.approvals.service import Denial, Desk, Grant
from nacre.web.portal_parts import portal_of
from nacre.web.signin.routes import redirect

routes = APIRouter(prefix="/approvals")


@routes.get("")
def show_approvals(request: Request, owner: Owner) -> Response:
    """Show the calls that wait, and the approvals that are still valid."""
    return _inbox(request, owner)


@routes.post("/decide")
def decide(request: Request, form: Form) -> Response:
    """Allow or deny a call that one of the owner's clients wants to make."""
    ticket = form.fields.get("ticket", "")
    try:
        if ticket not in {case.ticket for case in _cases(request, form.signed_in)}:
            raise NotFoundError("this call is no longer waiting")  # noqa: TRY301 - shown below
        decision = _decision(form.fields)
        _desk(request).decide(ticket, decision, by=form.signed_in.owner)
    except (NotFoundError, ConflictError) as error:
        problem = str(error).partition("; see")[0]
        return _inbox(request, form.signed_in, problem=problem, status=409)
    except InvalidInputError as error:
        return _inbox(request, form.signed_in, problem=str(error))
    outcome = "granted" if isinstance(decision, Grant) else "denied"
    return redirect(request, f"/approvals?said={outcome}")


def _decision(fields: dict[str, str]) -> Grant | Denial:
    match fields.get("decision", ""):
        case "once":
            return Grant()
        case "minutes":
            minutes = fields.get("minutes", "")
            if not (minutes.isascii() and minutes.isdecimal() and len(minutes) < 6):
                raise InvalidInputError("enter the number of minutes")
            return Grant("minutes", int(minutes))
        case "session":
            return Grant("session")
        case "deny":
            return Denial()
        case _:
            raise InvalidInputError("choose whether to allow the call")


def _cases(request: Request, owner: BrowserSession) -> list[Case]:
    by_token = callers(portal_of(request).authority.tokens, beings_of(request, owner))
    with_local = control_of(request).is_laptop and keeps_server(request, owner)
    return cases(_desk(request).all(), by_token, with_local=with_local)


def _desk(request: Request) -> Desk:
    control = control_of(request)
    return Desk(control.table(), clock=control.clock)


def _inbox(
    request: Request,
    owner: BrowserSession,
    *,
    problem: str | None = None,
    status: int | None = None,
) -> Response:
    visible = _cases(request, owner)
    return show_owner(
        request,
        owner,
        "approvals/approvals.html",
        here="approvals",
        status=status,
        problem=problem,
        waiting=[case for case in visible if case.state == "open"],
        decided=[case for case in visible if case.state != "open"],
        minutes=APPROVAL_MINUTES,
        most_minutes=MAX_APPROVAL_MINUTES,
    )
