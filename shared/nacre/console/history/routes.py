"""The page of past conversations, newest first, with a search."""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.being.memory.store.history import MessageHits
from nacre.console.visits import PageVisit, PostedForm, checked_id
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.limits import MAX_QUERY

routes = APIRouter(prefix="/beings/{being_id}/history")

_PAGE = 30
_WHOLE = 2000  # characters of a message; longer ones are folded
_MOST = 16_000  # shown of one message: an answer on AWS holds 6 MB


@routes.get("")
def show_history(at: PageVisit) -> Response:
    """Show the messages that contain a query, within some days."""
    fields = at.query
    filters = {name: fields.get(name, "").strip() for name in ("q", "from", "to", "before")}
    problem, hits = "", MessageHits(())
    try:
        hits = at.memory.history.search(
            at.being_id,
            limit=_PAGE,
            query=filters["q"][:MAX_QUERY] or None,
            date_from=filters["from"] or None,
            date_to=filters["to"] or None,
            before=filters["before"] or None,
        )
    except InvalidInputError as error:
        problem = str(error)
    return at.show(
        "history/history.html",
        here="history",
        problem=problem,
        filters=filters,
        hits=hits,
        whole=_WHOLE,
        most=_MOST,
    )


@routes.post("/remove")
def remove(sent: PostedForm) -> Response:
    """Erase one message with the scenes that were found in it alone."""
    message = sent.memory.history.get(sent.being_id, checked_id(sent.text("message")))
    if message is None:
        raise NotFoundError("there is no such message; it may have been erased")
    sent.parts.eraser().message(sent.being_id, message)
    return sent.redirect("history", said="erased")
