"""The page of the audit log, with filters and a check for gaps."""

from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.console.approvals.inbox import LOCAL, Caller, callers
from nacre.console.audit.newest_records import OUTCOMES, RecordFilter, look
from nacre.console.control_access import control_of, keeps_server
from nacre.console.frame import PageVisit, PostedForm, Visit, show
from nacre.firewall.audit.log import Verified, verify_chain
from nacre.web.forms import query_fields
from nacre.web.portal_parts import portal_of

routes = APIRouter(prefix="/beings/{being_id}/audit")

_LONGEST = 200


@routes.get("")
def show_audit(request: Request, at: PageVisit) -> Response:
    """Show the newest records that match the filters."""
    return _page(request, at, query_fields(request))


@routes.post("/verify")
def verify(request: Request, sent: PostedForm) -> Response:
    """Check whether a record was changed, removed, moved or cut off."""
    chains = control_of(request).records(sent.being_id).chains()
    return _page(request, sent, {}, checked=[verify_chain(chain) for chain in chains])


def _page(
    request: Request, at: Visit, fields: dict[str, str], checked: list[Verified] | None = None
) -> Response:
    control = control_of(request)
    fields = {name: value[:_LONGEST] for name, value in fields.items() if value}
    sees_elsewhere = control.is_laptop and keeps_server(request, at.owner)
    record_filter = RecordFilter(
        outcome=fields.get("outcome", ""),
        server=fields.get("server", "").strip(),
        tool=fields.get("tool", "").strip(),
        who=fields.get("who", ""),
        until=fields.get("until", ""),
        elsewhere=sees_elsewhere and fields.get("elsewhere") == "1",
    )
    records = look(
        control.records(at.being_id), at.being_id, record_filter, before=fields.get("before", "")
    )
    by_token = callers(portal_of(request).authority.tokens, [at.being])
    filters = {name: value for name, value in fields.items() if name != "before"}
    return show(
        request,
        at,
        "audit/audit.html",
        here="audit",
        wanted=record_filter,
        is_filtered=bool(filters),
        is_first="before" not in fields,
        records=records,
        older=urlencode({**filters, "before": records.older}) if records.older else "",
        outcomes=OUTCOMES,
        callers={**by_token, LOCAL: Caller("a program on this machine", "")},
        sees_elsewhere=sees_elsewhere,
        checked=checked,
    )
