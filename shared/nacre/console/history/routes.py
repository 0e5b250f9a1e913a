"""Conversations: what was said, newest first, with a search."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.being.memory.store.history import Findings
from nacre.console.frame import At, console_of, show
from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_QUERY
from nacre.web.forms import query_fields

routes = APIRouter(prefix="/beings/{being_id}/history")

_PAGE = 30
_WHOLE = 2000  # characters of a message; what is longer is folded
_MOST = 16_000  # that are shown at all: an answer on AWS holds 6 MB


@routes.get("")
def show_history(request: Request, at: At) -> Response:
    """Show the messages that hold a query, of some days."""
    fields = query_fields(request)
    asked = {name: fields.get(name, "").strip() for name in ("q", "from", "to", "before")}
    problem, found = "", Findings(())
    try:
        found = (
            console_of(request)
            .mind()
            .memory.history.search(
                at.being_id,
                limit=_PAGE,
                query=asked["q"][:MAX_QUERY] or None,
                date_from=asked["from"] or None,
                date_to=asked["to"] or None,
                before=asked["before"] or None,
            )
        )
    except InvalidInputError as error:
        problem = str(error)
    return show(
        request,
        at,
        "history/history.html",
        here="history",
        status=400 if problem else 200,
        problem=problem,
        asked=asked,
        found=found,
        whole=_WHOLE,
        most=_MOST,
    )
