"""The page of a Being's relations to people, devices and organizations."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.console.frame import (
    FormVisit,
    PageVisit,
    PostedForm,
    Visit,
    console_of,
    redirect_to,
    show,
)
from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_RELATION_BYTES, MAX_RELATION_TYPE
from nacre.web.forms import query_fields

routes = APIRouter(prefix="/beings/{being_id}/relations")


@routes.get("")
def show_relations(request: Request, at: PageVisit) -> Response:
    """Show all relations, with a form for a new one."""
    return _page(request, at)


@routes.post("")
def save(request: Request, sent: PostedForm) -> Response:
    """Create or replace the relation to an entity."""
    try:
        console_of(request).memory_services().memory.relations.upsert(
            sent.being_id,
            sent.text("entity"),
            relation_type=sent.text("type"),
            content=sent.text("content"),
        )
    except InvalidInputError as error:
        return _page(request, sent, problem=str(error))
    return redirect_to(request, sent, "relations", said="saved")


@routes.post("/delete")
def delete(request: Request, sent: PostedForm) -> Response:
    """Remove the relation to an entity."""
    relations = console_of(request).memory_services().memory.relations
    relations.delete(sent.being_id, sent.text("entity"))
    return redirect_to(request, sent, "relations", said="deleted")


def _page(request: Request, at: Visit, *, problem: str = "") -> Response:
    relations = console_of(request).memory_services().memory.relations
    start = None if isinstance(at, FormVisit) else query_fields(request).get("place") or None
    return show(
        request,
        at,
        "relations/relations.html",
        here="relations",
        problem=problem,
        page=relations.page(at.being_id, limit=50, start=start),
        typed=at.fields if isinstance(at, FormVisit) else {},
        most=MAX_RELATION_BYTES,
        most_type=MAX_RELATION_TYPE,
    )
