"""Memories in a list: the newest, those of a group, or what a search finds; and merging some."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.console.frame import (
    At,
    FormVisit,
    Sent,
    Visit,
    console_of,
    known_id,
    onward,
    show,
)
from nacre.console.map.chart import NO_GROUP
from nacre.console.memories.memory_list import STATES, Asked, Listed, State, listed
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.web.forms import query_fields

routes = APIRouter(prefix="/beings/{being_id}/memories")

_PICK = "pick-"
_STATES: dict[str, State] = {each: each for each in STATES}


@routes.get("")
def show_memories(request: Request, at: At) -> Response:
    """Show what a search finds, ranked as the tools rank it, or the newest memories."""
    fields = query_fields(request)
    asked = Asked(
        query=fields.get("q", ""),
        group=known_id(fields["group"]) if fields.get("group") else "",
        state=_STATES.get(fields.get("state", "")),
        day_from=fields.get("from", "").strip(),
        day_to=fields.get("to", "").strip(),
        place=fields.get("place", ""),
    )
    parts = console_of(request)
    problem, found, waiting = "", Listed(), Listed()
    try:
        found = listed(parts.table(), parts.mind(), at.being_id, asked)
        if asked == Asked() and not found.memories:  # what was noted is remembered already
            pending = Asked(state="pending")
            waiting = listed(parts.table(), parts.mind(), at.being_id, pending)
    except InvalidInputError as error:
        problem = str(error)
    named = asked.group not in ("", NO_GROUP)
    clusters = parts.mind().memory.clusters
    return show(
        request,
        at,
        "memories/memories.html",
        here="memories",
        status=400 if problem else 200,
        problem=problem,
        asked=asked,
        listed=found,
        waiting=waiting,
        group=clusters.get(at.being_id, asked.group) if named else None,
        states=STATES,
    )


@routes.get("/merge")
def show_merge(request: Request, at: At) -> Response:
    """Show the memories that were picked, with a form for what they say together."""
    return _merge_page(request, at, _picked(query_fields(request)))


@routes.post("/merge")
def merge(request: Request, sent: Sent) -> Response:
    """Make one memory of those that were picked."""
    picked = _picked(sent.fields)
    merges = console_of(request).mind().memory.merges
    try:
        made = merges.merge(
            sent.being_id, picked, action=sent.text("summary"), feeling=sent.text("feeling") or None
        )
    except InvalidInputError as error:
        return _merge_page(request, sent, picked, problem=str(error))
    return onward(request, sent, "memories", made.node.node_id, said="merged")


def _picked(fields: dict[str, str]) -> list[str]:
    return [known_id(name.removeprefix(_PICK)) for name in fields if name.startswith(_PICK)]


def _merge_page(request: Request, at: Visit, picked: list[str], *, problem: str = "") -> Response:
    found = console_of(request).mind().memory.nodes.get_many(at.being_id, picked)
    if not found:
        raise NotFoundError("pick the memories to be merged in the list first")
    return show(
        request,
        at,
        "memories/merge.html",
        here="memories",
        status=400 if problem else 200,
        problem=problem,
        picked=[found[each] for each in picked if each in found],
        typed=at.fields if isinstance(at, FormVisit) else {},
    )
