"""The page of the audit log, with filters and a check for gaps."""

from urllib.parse import urlencode

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.console.approvals.inbox import LOCAL, Caller, callers
from nacre.console.audit.newest_records import OUTCOMES, RecordFilter, look
from nacre.console.visits import PageVisit, PostedForm, Visit
from nacre.firewall.audit.log import Verified, verify_chain

routes = APIRouter(prefix="/beings/{being_id}/audit")

_LONGEST = 200


@routes.get("")
def show_audit(at: PageVisit) -> Response:
    """Show the newest records that match the filters."""
    return _page(at, at.query)


@routes.post("/verify")
def verify(sent: PostedForm) -> Response:
    """Check whether a record was changed, removed, moved or cut off."""
    chains = sent.control.records(sent.being_id).chains()
    return _page(sent, {}, checked=[verify_chain(chain) for chain in chains])


def _page(at: Visit, fields: dict[str, str], checked: list[Verified] | None = None) -> Response:
    control = at.control
    fields = {name: value[:_LONGEST] for name, value in fields.items() if value}
    sees_elsewhere = control.is_laptop and at.keeps_server
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
    by_token = callers(at.authority.tokens, [at.being])
    filters = {name: value for name, value in fields.items() if name != "before"}
    return at.show(
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
