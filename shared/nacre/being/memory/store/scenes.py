"""The scenes of a Being in the item store: noted events, searchable before they are memories."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from random import Random

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import PENDING_SCENES, write_counted
from nacre.being.memory.model.fields import checked_name, checked_scene_text
from nacre.being.memory.model.lineage import class_of, origins_of, stored_origins
from nacre.being.memory.model.types import Scene, SceneDraft, SceneText, least_trusted, moment
from nacre.being.memory.store.entries import Entries
from nacre.being.memory.store.entry_items import Entry
from nacre.being.memory.store.partitions import records_by_id
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.memory.store.targets import NOTES
from nacre.being.memory.text.searchable_text import SearchIndex, searchable
from nacre.core.clock import Clock
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.core.ids import ulid, ulids
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import (
    MAX_NOTES_IN_CALL,
    MAX_SCENE_IDS_IN_CALL,
    MAX_SCENES_IN_CALL,
    MAX_TRANSACTION_WRITES,
)
from nacre.core.origins import OWNER, origins_in, texts_of, union
from nacre.ports.items.table import Absent, Compare, Delete, Key, Put, Range, Table, Write
from nacre.text.analysis import fingerprint


@dataclass(frozen=True, slots=True)
class RecordedScenes:
    """The result of a call: new scenes and notes, and which scenes were deleted."""

    scenes: tuple[Scene, ...]
    already_stored: tuple[str, ...]  # ids
    notes: tuple[Entry, ...]
    deleted: tuple[str, ...]
    not_deleted: dict[str, str]  # id to reason


@dataclass(frozen=True, slots=True)
class ScenePage:
    """Some scenes, oldest first; `next` is where to continue."""

    scenes: tuple[Scene, ...]
    next: str | None


class Scenes:
    """Records, replaces and lists scenes."""

    def __init__(
        self, table: Table, index: SearchIndex, entries: Entries, *, clock: Clock, rng: Random
    ) -> None:
        self._table = table
        self._index = index
        self._entries = entries
        self._clock = clock
        self._rng = rng

    def get_many(self, being_id: str, scene_ids: Iterable[str]) -> dict[str, Scene]:
        """Return the scenes that exist, by id."""
        return records_by_id(self._table, Scene, keys.scenes(being_id), scene_ids)

    def pending(
        self, being_id: str, *, limit: int | None = None, start: str | None = None
    ) -> ScenePage:
        """Return the scenes that no patrol has taken, oldest first; on AWS it may lag."""
        page = self._table.query(keys.pending(being_id), index="gsi1", limit=limit, start=start)
        return ScenePage(tuple(map(Scene.from_item, page.items)), page.next)

    def newest(self, being_id: str, *, limit: int) -> tuple[Scene, ...]:
        """Return the last scenes of any status that were noted here, newest first.

        Scenes with an id from elsewhere come after those, and only while they wait.
        """
        tomorrow = int((self._clock() + timedelta(days=1)).timestamp() * 1000)
        noted = self._table.query(
            keys.scenes(being_id),
            keys=Range(low=ulid(0, 0), high=ulid(tomorrow, 0)),
            descending=True,
            limit=limit,
        )
        waiting = self._table.query(
            keys.pending(being_id), index="gsi1", descending=True, limit=limit
        )
        scenes = map(Scene.from_item, (*noted.items, *waiting.items))
        return tuple({scene.scene_id: scene for scene in scenes}.values())

    def page(
        self, being_id: str, *, limit: int | None = None, start: str | None = None
    ) -> ScenePage:
        """Return all scenes of any status, oldest first."""
        page = self._table.query(keys.scenes(being_id), limit=limit, start=start)
        return ScenePage(tuple(map(Scene.from_item, page.items)), page.next)

    def record(
        self,
        being_id: str,
        drafts: Sequence[SceneDraft],
        *,
        notes: Sequence[str] = (),
        replacing: Sequence[str] = (),
    ) -> RecordedScenes:
        """Store scenes and notes and delete the scenes they replace, in one transaction.

        Scenes that are part of a memory already and unknown ids are not deleted; the result
        has the reason for each.
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
        scenes = self._checked(drafts)
        # Scenes with an id that was generated here cannot be stored yet.
        given_ids = [*replaced, *(draft.scene_id for draft in drafts if draft.scene_id is not None)]
        step = _Step(scenes, (), [], replaced, given_ids)
        if notes:
            entries, note_writes = self._entries.new_entries(being_id, NOTES, list(notes), "notes")
            step = replace(step, notes=tuple(entries), note_writes=note_writes)
        return retry_on_conflict(lambda: self._record(being_id, step))

    def reword(self, being_id: str, scene_id: str, text: SceneText) -> Scene:
        """Replace a waiting scene by one with this text, as its owner; return that one.

        Its source stays, and the owner joins its origins.

        Raises ConflictError when a patrol has taken the scene, NotFoundError for an unknown one.
        """

        def replaced() -> Scene:
            scene = self.get_many(being_id, [scene_id]).get(scene_id)
            if scene is None:
                raise NotFoundError("there is no such scene; it may have been erased")
            if scene.status != "pending":
                raise ConflictError("a patrol has taken this scene meanwhile; edit its memory")
            draft = SceneDraft(
                **text.text_fields(),
                source=scene.source,
                trust=scene.trust,
                evidence=scene.evidence,
                origins=texts_of(union([origins_of(scene), [OWNER]])),
                client=scene.client,
                session=scene.session,
            )
            [checked] = self._checked([draft])
            new = replace(checked, created_at=scene.created_at)
            change = self._index.prepare(being_id, [searchable(new)], [scene_id], with_work=True)
            writes = [
                Put(new.to_item(being_id), Absent()),
                _deletion(being_id, scene),
                *change.writes,
            ]
            write_counted(self._table, being_id, writes, add={PENDING_SCENES: 0}, has_work=True)
            change.apply()
            return new

        return retry_on_conflict(replaced)

    def _record(self, being_id: str, step: "_Step") -> RecordedScenes:
        stored = self.get_many(being_id, step.given_ids) if step.given_ids else {}
        new = [scene for scene in step.scenes if scene.scene_id not in stored]
        deleted, not_deleted = _deletable(step.replaced, stored)
        ids = [scene.scene_id for scene in deleted]
        index_change = self._index.prepare(
            being_id, list(map(searchable, new)), ids, with_work=bool(new)
        )
        writes: list[Write] = [Put(scene.to_item(being_id), Absent()) for scene in new]
        writes += step.note_writes
        writes += [_deletion(being_id, scene) for scene in deleted]
        writes += index_change.writes
        if len(writes) >= MAX_TRANSACTION_WRITES:
            raise InvalidInputError(
                f"'scenes', 'notes' and 'scene_ids' are too many for one call ({len(writes)}"
                f" writes of {MAX_TRANSACTION_WRITES - 1}); send them in two calls"
            )
        fewer = sum(scene.status == "pending" for scene in deleted)
        write_counted(
            self._table,
            being_id,
            writes,
            add={PENDING_SCENES: len(new) - fewer}
            | ({NOTES.counter: len(step.notes)} if step.notes else {}),
            caps=NOTES.caps if step.notes else None,
            has_work=bool(new),
        )
        index_change.apply()
        already_stored = tuple(scene.scene_id for scene in step.scenes if scene.scene_id in stored)
        return RecordedScenes(tuple(new), already_stored, step.notes, tuple(ids), not_deleted)

    def _checked(self, drafts: Sequence[SceneDraft]) -> tuple[Scene, ...]:
        now = self._clock()
        ids = ulids(now, self._rng, len(drafts))
        return tuple(
            checked_scene(
                draft, f"scenes.{place}", scene_id=draft.scene_id or new, created_at=moment(now)
            )
            for place, (draft, new) in enumerate(zip(drafts, ids, strict=True))
        )


def checked_scene(draft: SceneDraft, field: str, *, scene_id: str, created_at: str) -> Scene:
    """Return the scene of a draft; raises InvalidInputError naming field and limit."""
    text = checked_scene_text(draft, f"{field}.")
    origins, trust = origins_in(draft.origins), draft.trust
    if origins:
        trust = least_trusted([trust, class_of(origins)])
    return Scene(
        scene_id=scene_id,
        created_at=created_at,
        fingerprint=fingerprint(text.action, text.actors, text.when),
        source=draft.source,
        trust=trust,
        evidence=draft.evidence,
        origins=stored_origins(origins, trust, draft.source) if origins else (),
        client=draft.client,
        session=draft.session,
        **text.text_fields(),
    )


@dataclass(frozen=True, slots=True)
class _Step:
    scenes: tuple[Scene, ...]
    notes: tuple[Entry, ...]
    note_writes: list[Write]
    replaced: list[str]
    given_ids: list[str]  # from the caller, so their scenes may be stored already


def _check_count(field: str, count: int, limit: int) -> None:
    if count > limit:
        raise InvalidInputError(
            f"'{field}' has {count} entries and its limit is {limit}; send them in several calls"
        )


def _deletable(
    scene_ids: Sequence[str], stored: dict[str, Scene]
) -> tuple[list[Scene], dict[str, str]]:
    """Return the scenes that may be deleted, and why the others may not."""
    deletable: list[Scene] = []
    not_deleted: dict[str, str] = {}
    for scene_id in scene_ids:
        scene = stored.get(scene_id)
        if scene is None:
            not_deleted[scene_id] = "there is no such scene"
        elif scene.status == "consumed":
            not_deleted[scene_id] = f"it is part of memory {scene.node_id} already"
        else:
            deletable.append(scene)
    return deletable, not_deleted


def _deletion(being_id: str, scene: Scene) -> Delete:
    place = Key(keys.scenes(being_id), scene.scene_id)
    return Delete(place, Compare("status", "=", scene.status))
