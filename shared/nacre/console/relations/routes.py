"""The page of a Being's relations to people, devices and organizations."""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.console.visits import PageVisit, PostedForm, Visit
from nacre.core.errors import InvalidInputError
from nacre.core.limits import MAX_RELATION_BYTES, MAX_RELATION_TYPE

routes = APIRouter(prefix="/beings/{being_id}/relations")


@routes.get("")
def show_relations(at: PageVisit) -> Response:
    """Show all relations, with a form for a new one."""
    return _page(at)


@routes.post("")
def save(sent: PostedForm) -> Response:
    """Create or replace the relation to an entity."""
    try:
        sent.memory.relations.upsert(
            sent.being_id,
            sent.text("entity"),
            relation_type=sent.text("type"),
            content=sent.text("content"),
        )
    except InvalidInputError as error:
        return _page(sent, problem=str(error))
    return sent.redirect("relations", said="saved")


@routes.post("/delete")
def delete(sent: PostedForm) -> Response:
    """Remove the relation to an entity."""
    relations = sent.memory.relations
    relations.delete(sent.being_id, sent.text("entity"))
    return sent.redirect("relations", said="deleted")


def _page(at: Visit, *, problem: str = "") -> Response:
    relations = at.memory.relations
    start = at.query.get("place") or None
    return at.show(
        "relations/relations.html",
        here="relations",
        problem=problem,
        page=relations.page(at.being_id, limit=50, start=start),
        most=MAX_RELATION_BYTES,
        most_type=MAX_RELATION_TYPE,
    )
