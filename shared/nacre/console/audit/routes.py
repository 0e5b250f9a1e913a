"""The audit trail: what was decided about each call, filtered, and checked for gaps."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.console.approvals.inbox import LOCAL, Caller, callers
from nacre.console.audit.newest_records import OUTCOMES, Wanted, look
from nacre.console.control_access import control_of, keeps_server
from nacre.console.frame import At, Sent, Visit, show
from nacre.firewall.audit.log import Verified, verify_chain
from nacre.web.forms import query_fields
from nacre.web.portal_parts import portal_of

routes = APIRouter(prefix="/beings/{being_id}/audit")

_LONGEST = 200


@routes.get("")
def show_audit(request: Request, at: At) -> Response:
    """Show the newest records that are wanted."""
    return _page(request, at, query_fields(request))


@routes.post("/verify")
def verify(request: Request, sent: Sent) -> Response:
    """Find out whether a record was changed, taken out, moved or cut off."""
    chains = control_of(request).records(sent.being_id).chains()
    return _page(request, sent, {}, checked=[verify_chain(chain) for chain in chains])


def _page(
    request: Request, at: Visit, asked: dict[str, str], checked: list[Verified] | None = None
) -> Response:
    control = control_of(request)
    asked = {name: value[:_LONGEST] for name, value in asked.items() if value}
    sees_elsewhere = control.is_laptop and keeps_server(request, at.owner)
    wanted = Wanted(
        outcome=asked.get("outcome", ""),
        server=asked.get("server", "").strip(),
        tool=asked.get("tool", "").strip(),
        who=asked.get("who", ""),
        until=asked.get("until", ""),
        elsewhere=sees_elsewhere and asked.get("elsewhere") == "1",
    )
    found = look(control.records(at.being_id), at.being_id, wanted, before=asked.get("before", ""))
    known = callers(portal_of(request).authority.tokens, [at.being])
    filters = {name: value for name, value in asked.items() if name != "before"}
    return show(
        request,
        at,
        "audit/audit.html",
        here="audit",
        wanted=wanted,
        is_filtered=bool(filters),
        is_first="before" not in asked,
        records=found,
        older=urlencode({**filters, "before": found.older}) if found.older else "",
        outcomes=OUTCOMES,
        callers={**known, LOCAL: Caller("a program on this machine", "")},
        sees_elsewhere=sees_elsewhere,
        checked=checked,
    )
