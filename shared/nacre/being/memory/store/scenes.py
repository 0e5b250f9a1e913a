"""Scenes: what was noted and waits to become memory, found by every search meanwhile."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_SCENES, write_counted
from nacre.being.memory.model.fields import (
    checked_dates,
    checked_name,
    checked_names,
    checked_share,
    checked_text,
    optional_text,
)
from nacre.being.memory.model.types import Scene, Source, Trust, moment
from nacre.being.memory.store.entries import Entry
from nacre.being.memory.store.profile import Profile
from nacre.being.memory.store.retry import settled
from nacre.being.memory.store.targets import NOTES
from nacre.being.memory.text.searchable_text import SearchIndex, searchable
from nacre.core.clock import Clock
from nacre.core.errors import InvalidInputError
from nacre.core.ids import ulids
from nacre.core.limits import (
    MAX_ACTION_BYTES,
    MAX_ACTORS,
    MAX_FEELING_BYTES,
    MAX_NOTES_IN_CALL,
    MAX_SCENE_IDS_IN_CALL,
    MAX_SCENES_IN_CALL,
    MAX_SETTING_BYTES,
    MAX_THEMES,
    MAX_TRANSACTION_WRITES,
)
from nacre.ports.items.table import Absent, Compare, Delete, Key, Put, Table, Write
from nacre.text.analysis import fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneDraft:
    """A scene as it is told. One with an id of its own, made from what it says, is kept once."""

    action: str
    actors: Sequence[str]
    when: Sequence[str]
    setting: str | None = None
    feeling: str | None = None
    themes: Sequence[str] = ()
    importance: float = 0.5
    source: Source = "tool"
    trust: Trust = "agent"
    evidence: tuple[str, ...] = ()
    scene_id: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a call: new scenes and notes, deleted scenes, and those that stayed."""

    scenes: tuple[Scene, ...]
    known: tuple[str, ...]  # ids that were there already
    notes: tuple[Entry, ...]
    deleted: tuple[str, ...]
    not_deleted: dict[str, str]  # id to reason


@dataclass(frozen=True, slots=True)
class ScenePage:
    """Some scenes, oldest first; `next` is where more begin."""

    scenes: tuple[Scene, ...]
    next: str | None


class Scenes:
    """Records, replaces and lists scenes."""

    def __init__(
        self, table: Table, index: SearchIndex, profile: Profile, *, clock: Clock, rng: Random
    ) -> None:
        self._table = table
        self._index = index
        self._profile = profile
        self._clock = clock
        self._rng = rng

    def get_many(self, being_id: str, scene_ids: Iterable[str]) -> dict[str, Scene]:
        """Return the scenes that exist, by id."""
        places = [Key(keys.scenes(being_id), scene_id) for scene_id in scene_ids]
        found = self._table.get_many(places)
        return {place.sk: Scene.from_item(item) for place, item in found.items()}

    def pending(
        self, being_id: str, *, limit: int | None = None, start: str | None = None
    ) -> ScenePage:
        """Return the scenes that no patrol has taken, oldest first; on AWS they may lag."""
        page = self._table.query(keys.pending(being_id), index="gsi1", limit=limit, start=start)
        return ScenePage(tuple(map(Scene.from_item, page.items)), page.next)

    def page(
        self, being_id: str, *, limit: int | None = None, start: str | None = None
    ) -> ScenePage:
        """Return all scenes, whatever became of them, oldest first."""
        page = self._table.query(keys.scenes(being_id), limit=limit, start=start)
        return ScenePage(tuple(map(Scene.from_item, page.items)), page.next)

    def record(
        self,
        being_id: str,
        drafts: Sequence[SceneDraft],
        *,
        notes: Sequence[str] = (),
        replacing: Sequence[str] = (),
    ) -> Recorded:
        """Store scenes and notes and delete the scenes they replace, all at once or nothing.

        A scene that a patrol has made a memory of, and an id that is not known, are left
        alone and named with a reason.
        """
        _check_count("scenes", len(drafts), MAX_SCENES_IN_CALL)
        _check_count("notes", len(notes), MAX_NOTES_IN_CALL)
        replaced = list(
            dict.fromkeys(
                checked_name(scene_id, f"scene_ids.{place}")
                for place, scene_id in enumerate(replacing)
            )
        )
        _check_count("scene_ids", len(replaced), MAX_SCENE_IDS_IN_CALL)
        scenes = self._made(drafts)
        entries, note_writes = self._profile.new_entries(being_id, NOTES, list(notes), "notes")
        step = _Step(scenes, tuple(entries), note_writes, replaced)
        return settled(lambda: self._record(being_id, step))

    def _record(self, being_id: str, step: "_Step") -> Recorded:
        found = self.get_many(
            being_id, [*step.replaced, *(scene.scene_id for scene in step.scenes)]
        )
        new = [scene for scene in step.scenes if scene.scene_id not in found]
        gone, not_deleted = _deletable(step.replaced, found)
        entries = [searchable(scene) for scene in new]
        ids = [scene.scene_id for scene in gone]
        writes: list[Write] = [Put(scene.to_item(being_id), Absent()) for scene in new]
        writes += step.note_writes
        writes += [_deletion(being_id, scene) for scene in gone]
        writes += self._index.writes(being_id, entries) if entries else []
        writes += self._index.remove_writes(being_id, ids) if ids else []
        if len(writes) >= MAX_TRANSACTION_WRITES:
            raise InvalidInputError(
                f"'scenes', 'notes' and 'scene_ids' are too many for one call ({len(writes)}"
                f" writes of {MAX_TRANSACTION_WRITES - 1}); send them in two calls"
            )
        fewer = sum(scene.status == "pending" for scene in gone)
        write_counted(
            self._table,
            being_id,
            writes,
            add={PENDING_SCENES: len(new) - fewer, NOTES.counter: len(step.notes)},
            caps=NOTES.caps,
            has_work=bool(new),
        )
        if entries:
            self._index.apply(being_id, entries)
        if ids:
            self._index.remove(being_id, ids)
        known = tuple(scene.scene_id for scene in step.scenes if scene.scene_id in found)
        return Recorded(tuple(new), known, step.notes, tuple(ids), not_deleted)

    def _made(self, drafts: Sequence[SceneDraft]) -> tuple[Scene, ...]:
        now = self._clock()
        ids = ulids(now, self._rng, len(drafts))
        return tuple(
            checked_scene(
                draft, f"scenes.{place}", scene_id=draft.scene_id or new, created_at=moment(now)
            )
            for place, (draft, new) in enumerate(zip(drafts, ids, strict=True))
        )


def checked_scene(draft: SceneDraft, field: str, *, scene_id: str, created_at: str) -> Scene:
    """Return the scene that a draft tells; raises InvalidInputError naming field and limit."""
    action = checked_text(draft.action, f"{field}.action", limit=MAX_ACTION_BYTES)
    actors = checked_names(draft.actors, f"{field}.actors", limit=MAX_ACTORS)
    when = checked_dates(draft.when, f"{field}.when")
    return Scene(
        scene_id=scene_id,
        action=action,
        actors=actors,
        when=when,
        created_at=created_at,
        fingerprint=fingerprint(action, actors, when),
        setting=optional_text(draft.setting, f"{field}.setting", limit=MAX_SETTING_BYTES),
        feeling=optional_text(draft.feeling, f"{field}.feeling", limit=MAX_FEELING_BYTES),
        themes=checked_names(draft.themes, f"{field}.themes", limit=MAX_THEMES),
        importance=checked_share(draft.importance, f"{field}.importance"),
        source=draft.source,
        trust=draft.trust,
        evidence=draft.evidence,
    )


@dataclass(frozen=True, slots=True)
class _Step:
    scenes: tuple[Scene, ...]
    notes: tuple[Entry, ...]
    note_writes: list[Write]
    replaced: list[str]


def _check_count(field: str, count: int, limit: int) -> None:
    if count > limit:
        raise InvalidInputError(
            f"'{field}' has {count} entries and its limit is {limit}; send them in several calls"
        )


def _deletable(
    wanted: Sequence[str], found: dict[str, Scene]
) -> tuple[list[Scene], dict[str, str]]:
    gone: list[Scene] = []
    not_deleted: dict[str, str] = {}
    for scene_id in wanted:
        scene = found.get(scene_id)
        if scene is None:
            not_deleted[scene_id] = "there is no such scene"
        elif scene.status == "consumed":
            not_deleted[scene_id] = f"it is part of memory {scene.node_id} already"
        else:
            gone.append(scene)
    return gone, not_deleted


def _deletion(being_id: str, scene: Scene) -> Delete:
    place = Key(keys.scenes(being_id), scene.scene_id)
    return Delete(place, Compare("status", "=", scene.status))
