"""What `update_notes` does: record, and fire a patrol when enough has gathered."""

from collections.abc import Sequence
from typing import Any, Protocol, assert_never

from nacre.being.memory.patrol_trigger import PatrolTrigger, Waiting
from nacre.being.memory.store.scenes import SceneDraft, Scenes
from nacre.core.errors import UnavailableError
from nacre.core.limits import PATROL_AT


class Told(Protocol):
    """A scene as a tool is given it."""

    @property
    def action(self) -> str: ...
    @property
    def actors(self) -> Sequence[str]: ...
    @property
    def when(self) -> Sequence[str]: ...
    @property
    def setting(self) -> str | None: ...
    @property
    def feeling(self) -> str | None: ...
    @property
    def themes(self) -> Sequence[str]: ...
    @property
    def importance(self) -> float: ...


class Noting:
    """Records scenes and notes; answers are what the model is shown."""

    def __init__(self, scenes: Scenes, trigger: PatrolTrigger) -> None:
        self._scenes = scenes
        self._trigger = trigger

    def note(
        self,
        being_id: str,
        scenes: Sequence[Told],
        *,
        notes: Sequence[str] = (),
        replacing: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Store scenes and notes in place of some scenes, and say what waits for a patrol."""
        drafts = [_draft(scene) for scene in scenes]
        written = self._scenes.record(being_id, drafts, notes=notes, replacing=replacing)
        try:
            waiting = self._trigger.after_scenes(being_id)
        except UnavailableError:  # the scenes are stored, so the call has succeeded
            waiting = Waiting(None, "not queued")
        return {
            "success": True,
            "scene_ids": [scene.scene_id for scene in written.scenes],
            "note_ids": [note.key for note in written.notes],
            "deleted_scene_ids": list(written.deleted) if replacing else None,
            "not_deleted": written.not_deleted or None,
            "pending_scenes": waiting.scenes,
            "patrol": _patrol(waiting),
        }


def _draft(scene: Told) -> SceneDraft:
    return SceneDraft(
        action=scene.action,
        actors=scene.actors,
        when=scene.when,
        setting=scene.setting,
        feeling=scene.feeling,
        themes=scene.themes,
        importance=scene.importance,
    )


def _patrol(waiting: Waiting) -> str:
    match waiting.patrol:
        case "not due":
            return f"fires at {PATROL_AT} pending scenes"
        case "queued":
            return "fired"
        case "queued before":
            return "fired before and not done yet"
        case "not queued":
            return "could not be fired; the next scene tries again"
        case _:
            assert_never(waiting.patrol)
