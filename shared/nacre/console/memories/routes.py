"""The pages of memories, and of scenes, which a patrol turns into memories.

The list shows memories by time, by cluster or from a search, and some can be merged. The page of
one memory has forms to edit, pin, restore, unmerge and erase it.
"""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.being.memory.model.types import Node, Scene, SceneText
from nacre.console.map.chart import NO_GROUP
from nacre.console.memories.memory_details import memory_view
from nacre.console.memories.memory_list import STATES, Listed, MemoryFilter, State, listed
from nacre.console.memories.strength_curve import plotted
from nacre.console.visits import NodeId, PageVisit, PostedForm, SceneId, Visit, checked_id
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.core.limits import REVIVED_FROM

routes = APIRouter(prefix="/beings/{being_id}")

_PICK = "pick-"
_STATES: dict[str, State] = {state: state for state in STATES}


@routes.get("/memories")
def show_memories(at: PageVisit) -> Response:
    """Show the hits of a search, ranked as the tools rank them, or the newest memories."""
    fields = at.query
    chosen = MemoryFilter(
        query=fields.get("q", ""),
        group=checked_id(fields["group"]) if fields.get("group") else "",
        state=_STATES.get(fields.get("state", "")),
        day_from=fields.get("from", "").strip(),
        day_to=fields.get("to", "").strip(),
        place=fields.get("place", ""),
    )
    parts = at.parts
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
    return at.show(
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
def show_merge(at: PageVisit) -> Response:
    """Show the selected memories, with a form for the merged text."""
    return _merge_page(at, _picked(at.query))


@routes.post("/memories/merge")
def merge(sent: PostedForm) -> Response:
    """Merge the selected memories into one."""
    picked = _picked(sent.fields)
    edits = sent.memory.edits
    try:
        result = edits.merge(
            sent.being_id, picked, action=sent.text("summary"), feeling=sent.text("feeling") or None
        )
    except InvalidInputError as error:
        return _merge_page(sent, picked, problem=str(error))
    return sent.redirect("memories", result.node.node_id, said="merged")


def _picked(fields: dict[str, str]) -> list[str]:
    return [checked_id(name.removeprefix(_PICK)) for name in fields if name.startswith(_PICK)]


def _merge_page(at: Visit, picked: list[str], *, problem: str = "") -> Response:
    nodes = at.memory.nodes.get_many(at.being_id, picked)
    if not nodes:
        raise NotFoundError("select the memories to merge in the list first")
    return at.show(
        "memories/merge.html",
        here="memories",
        problem=problem,
        picked=[nodes[node_id] for node_id in picked if node_id in nodes],
    )


@routes.get("/memories/{node_id}")
def show_memory(at: PageVisit, node_id: NodeId) -> Response:
    """Show a memory: its text, its origin and how it fades."""
    return _memory_page(at, node_id)


@routes.get("/memories/{node_id}/edit")
def show_form(at: PageVisit, node_id: NodeId) -> Response:
    """Show the text of a memory as a form."""
    return _form_page(at, _node(at, node_id))


@routes.post("/memories/{node_id}/edit")
def edit(sent: PostedForm, node_id: NodeId) -> Response:
    """Replace the text of a memory."""
    edits = sent.memory.edits
    try:
        version = _version(sent.text("version"))
        edits.reword(sent.being_id, node_id, _scene_text(sent), version=version)
    except (InvalidInputError, ConflictError) as error:
        node = _node(sent, node_id)
        status = 409 if isinstance(error, ConflictError) else 400
        return _form_page(sent, node, problem=str(error), status=status)
    return sent.redirect("memories", node_id, said="saved")


@routes.post("/memories/{node_id}/pin")
def pin(sent: PostedForm, node_id: NodeId) -> Response:
    """Pin or unpin a memory; a pinned one is never forgotten."""
    pinned = sent.text("pinned") == "1"
    edits = sent.memory.edits
    try:
        edits.pin(sent.being_id, node_id, pinned=pinned)
    except InvalidInputError as error:
        return _memory_page(sent, node_id, problem=str(error))
    return sent.redirect("memories", node_id, said="pinned" if pinned else "unpinned")


@routes.post("/memories/{node_id}/vouch")
def vouch(sent: PostedForm, node_id: NodeId) -> Response:
    """Make the text of a memory the owner's word, or take that back."""
    vouched = sent.text("vouched") == "1"
    edits = sent.memory.edits
    try:
        version = _version(sent.text("version"))
        edits.vouch(sent.being_id, node_id, vouched=vouched, version=version)
    except (InvalidInputError, ConflictError) as error:
        return _memory_page(sent, node_id, problem=str(error))
    return sent.redirect("memories", node_id, said="vouched" if vouched else "unvouched")


@routes.post("/memories/{node_id}/recall")
def bring_back(sent: PostedForm, node_id: NodeId) -> Response:
    """Request that the next patrol restores a forgotten memory, as a recall would."""
    node = _node(sent, node_id)
    sent.memory.recalls.add(sent.being_id, {node_id: REVIVED_FROM}, nodes={node_id: node})
    return sent.redirect("memories", node_id, said="asked")


@routes.post("/memories/{node_id}/part")
def take_merge_back(sent: PostedForm, node_id: NodeId) -> Response:
    """Undo the merge that created a memory."""
    try:
        sent.memory.edits.undo_merge(sent.being_id, node_id)
    except InvalidInputError as error:
        return _memory_page(sent, node_id, problem=str(error))
    return sent.redirect("memories", node_id, said="apart")


@routes.post("/memories/{node_id}/hide")
def hide(sent: PostedForm, node_id: NodeId) -> Response:
    """Hide a memory from every search, without erasing it."""
    try:
        sent.memory.corrections.hide(sent.being_id, node_id, by="owner")
    except InvalidInputError as error:
        return _memory_page(sent, node_id, problem=str(error))
    return sent.redirect("memories", node_id, said="hidden")


@routes.post("/memories/{node_id}/take-back")
def take_back(sent: PostedForm, node_id: NodeId) -> Response:
    """Show a hidden memory again, or return to the wording before the last correction."""
    was_hidden = _node(sent, node_id).status == "hidden"
    try:
        sent.memory.corrections.take_back(sent.being_id, node_id, by="owner")
    except InvalidInputError as error:
        return _memory_page(sent, node_id, problem=str(error))
    return sent.redirect("memories", node_id, said="shown" if was_hidden else "reverted")


@routes.get("/memories/{node_id}/forget")
def ask_erase_memory(at: PageVisit, node_id: NodeId) -> Response:
    """Ask for confirmation before a memory is erased."""
    node = _node(at, node_id)
    return at.show("memories/erase_memory.html", here="memories", node=node)


@routes.post("/memories/{node_id}/forget")
def erase_memory(sent: PostedForm, node_id: NodeId) -> Response:
    """Erase a memory with its scenes and the memories it was merged from."""
    sent.parts.eraser().node(sent.being_id, node_id)
    return sent.redirect("memories", said="erased")


def _node(at: Visit, node_id: str) -> Node:
    node = at.memory.nodes.get(at.being_id, node_id)
    if node is None:
        raise NotFoundError("there is no such memory; it may have been erased")
    return node


def _memory_page(at: Visit, node_id: str, *, problem: str = "") -> Response:
    parts = at.parts
    view = memory_view(parts.table(), parts.memory_services(), at.being_id, node_id)
    return at.show(
        "memories/memory.html",
        here="memories",
        problem=problem,
        view=view,
        node=view.node,
        plot=None if view.fading is None else plotted(view.fading),
    )


def _form_page(
    at: Visit, record: Node | Scene, *, problem: str = "", status: int | None = None
) -> Response:
    is_scene = isinstance(record, Scene)
    return at.show(
        "memories/memory_form.html",
        here="memories",
        status=status,
        problem=problem,
        node=record,
        is_scene=is_scene,
        place=("scenes" if is_scene else "memories", record.id),
    )


def _scene_text(sent: Visit) -> SceneText:
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
def show_scene(at: PageVisit, scene_id: SceneId) -> Response:
    """Show a scene as it was noted."""
    scene = _scene(at, scene_id)
    history = at.memory.history
    messages = [(source, history.get(at.being_id, source)) for source in scene.evidence[:20]]
    return at.show("memories/scene.html", here="memories", scene=scene, messages=messages)


@routes.get("/scenes/{scene_id}/edit")
def show_scene_form(at: PageVisit, scene_id: SceneId) -> Response:
    """Show the text of a waiting scene as a form; of another one, its memory's."""
    scene = _scene(at, scene_id)
    if scene.status != "pending" and scene.node_id:
        return at.redirect("memories", scene.node_id, "edit")
    return _form_page(at, scene)


@routes.post("/scenes/{scene_id}/edit")
def edit_scene(sent: PostedForm, scene_id: SceneId) -> Response:
    """Replace the text of a scene that waits for a patrol."""
    try:
        scene = sent.memory.scenes.reword(sent.being_id, scene_id, _scene_text(sent))
    except (InvalidInputError, ConflictError) as error:
        status = 409 if isinstance(error, ConflictError) else 400
        return _form_page(sent, _scene(sent, scene_id), problem=str(error), status=status)
    return sent.redirect("scenes", scene.scene_id, said="saved")


@routes.get("/scenes/{scene_id}/forget")
def ask_erase_scene(at: PageVisit, scene_id: SceneId) -> Response:
    """Ask for confirmation before a scene is erased."""
    scene = _scene(at, scene_id)
    return at.show("memories/erase_scene.html", here="memories", scene=scene)


@routes.post("/scenes/{scene_id}/forget")
def erase_scene(sent: PostedForm, scene_id: SceneId) -> Response:
    """Erase a scene, and a memory that was made from it alone."""
    sent.parts.eraser().scene(sent.being_id, scene_id)
    return sent.redirect("memories", said="erased")


def _scene(at: Visit, scene_id: str) -> Scene:
    scenes = at.memory.scenes
    scene = scenes.get_many(at.being_id, [scene_id]).get(scene_id)
    if scene is None:
        raise NotFoundError("there is no such scene; it may have been erased")
    return scene
