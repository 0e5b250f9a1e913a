"""The pages that draw the causes of a memory, a scene or a recorded call."""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.access.tokens.store import caller_names
from nacre.being.provenance.audited_calls import audited_call
from nacre.being.provenance.calls import why_call
from nacre.being.provenance.cause import Cause
from nacre.being.provenance.memories import Sources, why_memory
from nacre.console.visits import NodeId, PageVisit, SceneId, Visit
from nacre.core.errors import InvalidInputError, NotFoundError

routes = APIRouter(prefix="/beings/{being_id}")


@routes.get("/memories/{node_id}/why")
def why_this_memory(at: PageVisit, node_id: NodeId) -> Response:
    """Show the causes of a memory."""
    return _page(at, why_memory(_sources(at), at.being_id, node_id), here="memories")


@routes.get("/scenes/{scene_id}/why")
def why_this_scene(at: PageVisit, scene_id: SceneId) -> Response:
    """Show the causes of a scene."""
    return _page(at, why_memory(_sources(at), at.being_id, scene_id), here="memories")


@routes.get("/audit/why")
def why_this_call(at: PageVisit) -> Response:
    """Show the causes of a recorded call of the Being, or of a proxy on this machine."""
    sources = _sources(at)
    try:
        call = audited_call(sources.records, at.query.get("record", ""))
    except InvalidInputError as error:
        raise NotFoundError(str(error)) from None
    sees_elsewhere = at.control.is_laptop and at.keeps_server
    if call.text("being") not in ((at.being_id, "") if sees_elsewhere else (at.being_id,)):
        raise NotFoundError("the audit of this Being has no such record")
    return _page(at, why_call(sources, at.being_id, call), here="audit")


def _sources(at: Visit) -> Sources:
    return Sources(
        table=at.control.table(),
        memory=at.memory,
        records=at.control.records(at.being_id),
        callers=caller_names(at.authority.tokens.of_being(at.being_id)),
    )


def _page(at: Visit, cause: Cause, *, here: str) -> Response:
    return at.show("why/why.html", here=here, cause=cause)
