"""The pages of memories, and of scenes, which a patrol turns into memories.

The list shows memories by time, by cluster or from a search, and some can be merged. The page of
one memory has forms to edit, pin, restore, unmerge and erase it.
"""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.being.memory.model.types import Node, Scene, SceneText
from nacre.console.frame import (
    FormVisit,
    NodeId,
    PageVisit,
    PostedForm,
    SceneId,
    Visit,
    checked_id,
    console_of,
    redirect_to,
    show,
)
from nacre.console.map.chart import NO_GROUP
from nacre.console.memories.memory_details import memory_view
from nacre.console.memories.memory_list import STATES, Listed, MemoryFilter, State, listed
from nacre.console.memories.strength_curve import plotted
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.core.limits import REVIVED_FROM
from nacre.web.forms import query_fields

routes = APIRouter(prefix="/beings/{being_id}")

_PICK = "pick-"
_STATES: dict[str, State] = {state: state for state in STATES}


@routes.get("/memories")
def show_memories(request: Request, at: PageVisit) -> Response:
    """Show the hits of a search, ranked as the tools rank them, or the newest memories."""
    fields = query_fields(request)
    chosen = MemoryFilter(
        query=fields.get("q", ""),
        group=checked_id(fields["group"]) if fields.get("group") else "",
        state=_STATES.get(fields.get("state", "")),
        day_from=fields.get("from", "").strip(),
        day_to=fields.get("to", "").strip(),
        place=fields.get("place", ""),
    )
    parts = console_of(request)
    problem, memories, waiting = "", Listed(), Listed()
    try:
        memories = listed(parts.table(), parts.memory_services(), at.being_id, chosen)
        if chosen == MemoryFilter() and not memories.memories:  # noted scenes can be found already
            pending = MemoryFilter(state="pending")
            waiting = listed(parts.table(), parts.memory_services(), at.being_id, pending)
    except InvalidInputError as error:
        problem = str(error)
    named = chosen.group not in ("", NO_GROUP)
    clusters = parts.memory_services().memory.clusters
    return show(
        request,
        at,
        "memories/memories.html",
        here="memories",
        problem=problem,
        asked=chosen,
        listed=memories,
        waiting=waiting,
        group=clusters.get(at.being_id, chosen.group) if named else None,
        states=STATES,
    )


@routes.get("/memories/merge")
def show_merge(request: Request, at: PageVisit) -> Response:
    """Show the selected memories, with a form for the merged text."""
    return _merge_page(request, at, _picked(query_fields(request)))


@routes.post("/memories/merge")
def merge(request: Request, sent: PostedForm) -> Response:
    """Merge the selected memories into one."""
    picked = _picked(sent.fields)
    edits = console_of(request).memory_services().memory.edits
    try:
        result = edits.merge(
            sent.being_id, picked, action=sent.text("summary"), feeling=sent.text("feeling") or None
        )
    except InvalidInputError as error:
        return _merge_page(request, sent, picked, problem=str(error))
    return redirect_to(request, sent, "memories", result.node.node_id, said="merged")


def _picked(fields: dict[str, str]) -> list[str]:
    return [checked_id(name.removeprefix(_PICK)) for name in fields if name.startswith(_PICK)]


def _merge_page(request: Request, at: Visit, picked: list[str], *, problem: str = "") -> Response:
    nodes = console_of(request).memory_services().memory.nodes.get_many(at.being_id, picked)
    if not nodes:
        raise NotFoundError("select the memories to merge in the list first")
    return show(
        request,
        at,
        "memories/merge.html",
        here="memories",
        problem=problem,
        picked=[nodes[node_id] for node_id in picked if node_id in nodes],
        typed=at.fields if isinstance(at, FormVisit) else {},
    )


@routes.get("/memories/{node_id}")
def show_memory(request: Request, at: PageVisit, node_id: NodeId) -> Response:
    """Show a memory: its text, its origin and how it fades."""
    return _memory_page(request, at, node_id)


@routes.get("/memories/{node_id}/edit")
def show_form(request: Request, at: PageVisit, node_id: NodeId) -> Response:
    """Show the text of a memory as a form."""
    return _form_page(request, at, _node(request, at, node_id))


@routes.post("/memories/{node_id}/edit")
def edit(request: Request, sent: PostedForm, node_id: NodeId) -> Response:
    """Replace the text of a memory."""
    edits = console_of(request).memory_services().memory.edits
    try:
        version = _version(sent.text("version"))
        edits.reword(sent.being_id, node_id, _scene_text(sent), version=version)
    except (InvalidInputError, ConflictError) as error:
        node = _node(request, sent, node_id)
        status = 409 if isinstance(error, ConflictError) else 400
        return _form_page(request, sent, node, problem=str(error), status=status)
    return redirect_to(request, sent, "memories", node_id, said="saved")


@routes.post("/memories/{node_id}/pin")
def pin(request: Request, sent: PostedForm, node_id: NodeId) -> Response:
    """Pin or unpin a memory; a pinned one is never forgotten."""
    pinned = sent.text("pinned") == "1"
    edits = console_of(request).memory_services().memory.edits
    try:
        edits.pin(sent.being_id, node_id, pinned=pinned)
    except InvalidInputError as error:
        return _memory_page(request, sent, node_id, problem=str(error))
    return redirect_to(request, sent, "memories", node_id, said="pinned" if pinned else "unpinned")


@routes.post("/memories/{node_id}/recall")
def bring_back(request: Request, sent: PostedForm, node_id: NodeId) -> Response:
    """Request that the next patrol restores a forgotten memory, as a recall would."""
    node = _node(request, sent, node_id)
    nodes = console_of(request).memory_services().memory.nodes
    nodes.touch(sent.being_id, {node_id: REVIVED_FROM}, nodes={node_id: node})
    return redirect_to(request, sent, "memories", node_id, said="asked")


@routes.post("/memories/{node_id}/part")
def take_merge_back(request: Request, sent: PostedForm, node_id: NodeId) -> Response:
    """Undo the merge that created a memory."""
    try:
        console_of(request).memory_services().memory.edits.undo_merge(sent.being_id, node_id)
    except InvalidInputError as error:
        return _memory_page(request, sent, node_id, problem=str(error))
    return redirect_to(request, sent, "memories", node_id, said="apart")


@routes.get("/memories/{node_id}/forget")
def ask_erase_memory(request: Request, at: PageVisit, node_id: NodeId) -> Response:
    """Ask for confirmation before a memory is erased."""
    node = _node(request, at, node_id)
    return show(request, at, "memories/erase_memory.html", here="memories", node=node)


@routes.post("/memories/{node_id}/forget")
def erase_memory(request: Request, sent: PostedForm, node_id: NodeId) -> Response:
    """Erase a memory with its scenes and the memories it was merged from."""
    console_of(request).eraser().node(sent.being_id, node_id)
    return redirect_to(request, sent, "memories", said="erased")


def _node(request: Request, at: Visit, node_id: str) -> Node:
    node = console_of(request).memory_services().memory.nodes.get(at.being_id, node_id)
    if node is None:
        raise NotFoundError("there is no such memory; it may have been erased")
    return node


def _memory_page(request: Request, at: Visit, node_id: str, *, problem: str = "") -> Response:
    parts = console_of(request)
    view = memory_view(parts.table(), parts.memory_services(), at.being_id, node_id)
    return show(
        request,
        at,
        "memories/memory.html",
        here="memories",
        problem=problem,
        view=view,
        node=view.node,
        plot=None if view.fading is None else plotted(view.fading),
    )


def _form_page(
    request: Request, at: Visit, node: Node, *, problem: str = "", status: int | None = None
) -> Response:
    return show(
        request,
        at,
        "memories/memory_form.html",
        here="memories",
        status=status,
        problem=problem,
        node=node,
        typed=at.fields if isinstance(at, FormVisit) else {},
    )


def _scene_text(sent: FormVisit) -> SceneText:
    return SceneText(
        action=sent.text("action"),
        actors=_names(sent.text("actors")),
        when=tuple(sent.text("when").replace(",", " ").split()),
        setting=sent.text("setting"),
        feeling=sent.text("feeling"),
        themes=_names(sent.text("themes")),
        importance=_share(sent.text("importance")),
    )


def _names(text: str) -> tuple[str, ...]:
    """Return the names in a field, one per line."""
    return tuple(line for line in text.split("\n") if line.strip())


def _share(text: str) -> float:
    try:
        return round(float(text) / 100, 8)
    except ValueError:
        raise InvalidInputError("'importance' must be a number from 0 to 100") from None


def _version(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise InvalidInputError("the form does not name the version that it changes; reload it")
    return int(text)


@routes.get("/scenes/{scene_id}")
def show_scene(request: Request, at: PageVisit, scene_id: SceneId) -> Response:
    """Show a scene as it was noted."""
    scene = _scene(request, at, scene_id)
    history = console_of(request).memory_services().memory.history
    messages = [(source, history.get(at.being_id, source)) for source in scene.evidence[:20]]
    return show(request, at, "memories/scene.html", here="memories", scene=scene, messages=messages)


@routes.get("/scenes/{scene_id}/forget")
def ask_erase_scene(request: Request, at: PageVisit, scene_id: SceneId) -> Response:
    """Ask for confirmation before a scene is erased."""
    scene = _scene(request, at, scene_id)
    return show(request, at, "memories/erase_scene.html", here="memories", scene=scene)


@routes.post("/scenes/{scene_id}/forget")
def erase_scene(request: Request, sent: PostedForm, scene_id: SceneId) -> Response:
    """Erase a scene, and a memory that was made from it alone."""
    console_of(request).eraser().scene(sent.being_id, scene_id)
    return redirect_to(request, sent, "memories", said="erased")


def _scene(request: Request, at: Visit, scene_id: str) -> Scene:
    scenes = console_of(request).memory_services().memory.scenes
    scene = scenes.get_many(at.being_id, [scene_id]).get(scene_id)
    if scene is None:
        raise NotFoundError("there is no such scene; it may have been erased")
    return scene
