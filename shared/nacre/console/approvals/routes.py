"""The inbox of approvals: calls of all the owner's Beings that wait for a decision."""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.console.approvals.inbox import Case, callers, cases
from nacre.console.visits import OwnerForm, OwnerPage, OwnerVisit
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.core.limits import APPROVAL_MINUTES, MAX_APPROVAL_MINUTES
from nacre.firewall.approvals.service import Denial, Desk, Grant

routes = APIRouter(prefix="/approvals")


@routes.get("")
def show_approvals(at: OwnerPage) -> Response:
    """Show the calls that wait, and the approvals that are still valid."""
    return _inbox(at)


@routes.post("/decide")
def decide(sent: OwnerForm) -> Response:
    """Allow or deny a call that one of the owner's clients wants to make."""
    ticket = sent.fields.get("ticket", "")
    try:
        if ticket not in {case.ticket for case in _cases(sent)}:
            raise NotFoundError("this call is no longer waiting")  # noqa: TRY301 - shown below
        decision = _decision(sent.fields)
        _desk(sent).decide(ticket, decision, by=sent.owner.owner)
    except (NotFoundError, ConflictError) as error:
        problem = str(error).partition("; see")[0]
        return _inbox(sent, problem=problem, status=409)
    except InvalidInputError as error:
        return _inbox(sent, problem=str(error))
    outcome = "granted" if isinstance(decision, Grant) else "denied"
    return sent.redirect_to(f"/approvals?said={outcome}")


def _decision(fields: dict[str, str]) -> Grant | Denial:
    match fields.get("decision", ""):
        case "once":
            return Grant()
        case ("minutes" | "tool") as lasting:
            minutes = fields.get("minutes", "")
            if not (minutes.isascii() and minutes.isdecimal() and len(minutes) < 6):
                raise InvalidInputError("enter the number of minutes")
            return Grant(lasting, int(minutes))
        case "session":
            return Grant("session")
        case "deny":
            return Denial()
        case _:
            raise InvalidInputError("choose whether to allow the call")


def _cases(at: OwnerVisit) -> list[Case]:
    by_token = callers(at.authority.tokens, at.own_beings)
    with_local = at.control.is_laptop and at.keeps_server
    return cases(_desk(at).all(), by_token, with_local=with_local)


def _desk(at: OwnerVisit) -> Desk:
    control = at.control
    return Desk(control.table(), clock=control.clock)


def _inbox(
    at: OwnerVisit,
    *,
    problem: str | None = None,
    status: int | None = None,
) -> Response:
    visible = _cases(at)
    return at.show(
        "approvals/approvals.html",
        here="approvals",
        status=status,
        problem=problem,
        waiting=[case for case in visible if case.state == "open"],
        decided=[case for case in visible if case.state != "open"],
        minutes=APPROVAL_MINUTES,
        most_minutes=MAX_APPROVAL_MINUTES,
    )
