"""The page of one memory: what it says and why, and what its owner can do about it."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.being.memory.model.types import Node
from nacre.being.memory.store.edits import Wording
from nacre.console.frame import At, FormVisit, NodeId, Sent, Visit, console_of, onward, show
from nacre.console.memories.memory_details import memory_view
from nacre.console.memories.strength_curve import plotted
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.core.limits import REVIVED_FROM

routes = APIRouter(prefix="/beings/{being_id}/memories/{node_id}")


@routes.get("")
def show_memory(request: Request, at: At, node_id: NodeId) -> Response:
    """Show a memory: its text, where it came from, and how it fades."""
    return _memory_page(request, at, node_id)


@routes.get("/edit")
def show_form(request: Request, at: At, node_id: NodeId) -> Response:
    """Show what a memory says as a form."""
    return _form_page(request, at, _node(request, at, node_id))


@routes.post("/edit")
def edit(request: Request, sent: Sent, node_id: NodeId) -> Response:
    """Let a memory say what was sent."""
    amends = console_of(request).mind().memory.amends
    try:
        version = _whole(sent.text("version"))
        amends.reword(sent.being_id, node_id, _wording(sent), version=version)
    except (InvalidInputError, ConflictError) as error:
        node, status = _node(request, sent, node_id), 400
        if isinstance(error, ConflictError):
            status = 409
        return _form_page(request, sent, node, problem=str(error), status=status)
    return onward(request, sent, "memories", node_id, said="saved")


@routes.post("/pin")
def pin(request: Request, sent: Sent, node_id: NodeId) -> Response:
    """Let a memory never be forgotten, or as others are."""
    pinned = sent.text("pinned") == "1"
    try:
        console_of(request).mind().memory.amends.pin(sent.being_id, node_id, pinned=pinned)
    except InvalidInputError as error:
        return _memory_page(request, sent, node_id, problem=str(error))
    return onward(request, sent, "memories", node_id, said="pinned" if pinned else "unpinned")


@routes.post("/recall")
def bring_back(request: Request, sent: Sent, node_id: NodeId) -> Response:
    """Have the next patrol bring a forgotten memory back, as asking for it does."""
    node = _node(request, sent, node_id)
    nodes = console_of(request).mind().memory.nodes
    nodes.touch(sent.being_id, {node_id: REVIVED_FROM}, known={node_id: node})
    return onward(request, sent, "memories", node_id, said="asked")


@routes.post("/part")
def take_merge_back(request: Request, sent: Sent, node_id: NodeId) -> Response:
    """Take the merge back that made a memory."""
    try:
        console_of(request).mind().memory.merges.undo(sent.being_id, node_id)
    except InvalidInputError as error:
        return _memory_page(request, sent, node_id, problem=str(error))
    return onward(request, sent, "memories", node_id, said="apart")


@routes.get("/forget")
def ask_forget(request: Request, at: At, node_id: NodeId) -> Response:
    """Ask whether a memory shall be erased, and say what goes with it."""
    node = _node(request, at, node_id)
    return show(request, at, "memories/forget_memory.html", here="memories", node=node)


@routes.post("/forget")
def forget(request: Request, sent: Sent, node_id: NodeId) -> Response:
    """Erase a memory with its scenes and what it was merged from."""
    console_of(request).eraser().node(sent.being_id, node_id)
    return onward(request, sent, "memories", said="erased")


def _node(request: Request, at: Visit, node_id: str) -> Node:
    node = console_of(request).mind().memory.nodes.get(at.being_id, node_id)
    if node is None:
        raise NotFoundError("there is no such memory; it may have been erased")
    return node


def _memory_page(request: Request, at: Visit, node_id: str, *, problem: str = "") -> Response:
    parts = console_of(request)
    view = memory_view(parts.table(), parts.mind(), at.being_id, node_id)
    return show(
        request,
        at,
        "memories/memory.html",
        here="memories",
        status=400 if problem else 200,
        problem=problem,
        view=view,
        node=view.node,
        plot=None if view.fading is None else plotted(view.fading),
    )


def _form_page(
    request: Request, at: Visit, node: Node, *, problem: str = "", status: int = 200
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


def _wording(sent: FormVisit) -> Wording:
    return Wording(
        action=sent.text("action"),
        actors=_names(sent.text("actors")),
        when=sent.text("when").replace(",", " ").split(),
        setting=sent.text("setting"),
        feeling=sent.text("feeling"),
        themes=_names(sent.text("themes")),
        importance=_share(sent.text("importance")),
    )


def _names(text: str) -> list[str]:
    """Return the names that stand in a field, one on each line."""
    return [line for line in text.split("\n") if line.strip()]


def _share(text: str) -> float:
    try:
        return round(float(text) / 100, 8)
    except ValueError:
        raise InvalidInputError("'importance' must be a number from 0 to 100") from None


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise InvalidInputError("the form does not say which version was changed; load it again")
    return int(text)
