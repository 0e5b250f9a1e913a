"""The page of a scene: something noted, of which a patrol makes a memory or has made one."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.being.memory.model.types import Scene
from nacre.console.frame import At, SceneId, Sent, Visit, console_of, onward, show
from nacre.core.errors import NotFoundError

routes = APIRouter(prefix="/beings/{being_id}/scenes/{scene_id}")


@routes.get("")
def show_scene(request: Request, at: At, scene_id: SceneId) -> Response:
    """Show a scene as it was noted."""
    scene = _scene(request, at, scene_id)
    history = console_of(request).mind().memory.history
    said = [(each, history.get(at.being_id, each)) for each in scene.evidence[:20]]
    return show(request, at, "scenes/scene.html", here="memories", scene=scene, said_in=said)


@routes.get("/forget")
def ask_forget(request: Request, at: At, scene_id: SceneId) -> Response:
    """Ask whether a scene shall be erased, and say what goes with it."""
    scene = _scene(request, at, scene_id)
    return show(request, at, "scenes/forget_scene.html", here="memories", scene=scene)


@routes.post("/forget")
def forget(request: Request, sent: Sent, scene_id: SceneId) -> Response:
    """Erase a scene; a memory that was made of nothing else goes with it."""
    console_of(request).eraser().scene(sent.being_id, scene_id)
    return onward(request, sent, "memories", said="erased")


def _scene(request: Request, at: Visit, scene_id: str) -> Scene:
    scenes = console_of(request).mind().memory.scenes
    scene = scenes.get_many(at.being_id, [scene_id]).get(scene_id)
    if scene is None:
        raise NotFoundError("there is no such scene; it may have been erased")
    return scene
