"""The diary paragraph and the think notes that a model writes about a run."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from random import Random

from nacre.being.memory.model.types import Scene
from nacre.being.memory.store.diary import THINK, head_of, paragraph_of, think_key
from nacre.being.memory.store.entries import Entries
from nacre.being.memory.store.targets import DIARY
from nacre.being.patrol.run.context import RunContext
from nacre.core.errors import InvalidInputError
from nacre.ports.items.table import Item, Put, Value, Write

STEP = 8
PLAN = "JOURNAL"
_RECENT = 20  # memories that think notes are about


def write_journal(context: RunContext) -> list[str]:
    """Write the diary; return the reasons why it was not written, for the receipt."""
    scenes = _new_scenes(context)
    if not scenes:
        return []
    if context.run.step < STEP:
        if context.planner is None:
            return ["no_llm: no diary"]
        _plan(context, scenes)
    planned = context.plan(PLAN) or []
    texts = [entry["diary"] for entry in planned if entry.get("diary")]
    return [reason for text in texts if (reason := _append_to_diary(context, text))]


def think_note_writes(context: RunContext) -> list[Write]:
    """Return the writes that replace the think notes of an earlier run."""
    planned = context.plan(PLAN) or []
    notes: list[Value] = [note for entry in planned for note in entry.get("notes", ()) if note]
    if not notes:
        return []
    item: Item = {
        **think_key(context.being_id).attributes(),
        "notes": notes,
        "run_id": context.run.run_id,
        "updated_at": context.run.now,
    }
    return [Put(THINK.stamp(item))]


def _new_scenes(context: RunContext) -> list[Scene]:
    ids = context.scene_ids()
    scenes = context.memory.scenes.get_many(context.being_id, ids)
    return [scenes[id_] for id_ in ids if id_ in scenes and scenes[id_].status == "consumed"]


def _plan(context: RunContext, scenes: Sequence[Scene]) -> None:
    assert context.planner is not None
    nodes = context.memory.nodes.recent(context.being_id, limit=_RECENT).nodes
    ids = list(dict.fromkeys(node.cluster_id for node in nodes if node.cluster_id is not None))
    stored = context.memory.clusters.get_many(context.being_id, ids)
    clusters = [stored[cluster_id] for cluster_id in ids if cluster_id in stored]
    diary = context.planner.diary(context.being_id, scenes)
    context.renew_lease()
    notes = context.planner.think_notes(context.being_id, clusters, nodes)
    reasons = [f"diary: {diary.reason}"] if diary.value is None else []
    reasons += [f"think notes: {notes.reason}"] if notes.value is None else []
    tokens = Counter(diary.tokens) + Counter(notes.tokens)
    entries: list[Value] = [{"diary": diary.value or ""}, {"notes": list(notes.value or ())}]
    context.ledger.plan(PLAN, entries, step=STEP, reasons=reasons, counts=tokens)


def _append_to_diary(context: RunContext, text: str) -> str | None:
    now = datetime.fromisoformat(context.run.now)
    entries = Entries(context.table, clock=lambda: now, rng=Random(0))  # noqa: S311  makes no ids
    try:
        paragraph = paragraph_of(context.run.run_id, text)
        # An earlier attempt at this run, or a slow worker, may have written it already.
        head = head_of(context.run.run_id)
        entries.append(context.being_id, DIARY, paragraph, key=context.run.today, unless=head)
    except InvalidInputError as error:
        return f"diary: {error}"
    return None
