"""What a model writes about a run: a paragraph in the diary of the day, and think notes."""

from collections.abc import Sequence
from datetime import datetime
from random import Random

from nacre.being.memory.model.types import Scene
from nacre.being.memory.store.diary import head_of, paragraph_of
from nacre.being.memory.store.profile import Profile
from nacre.being.memory.store.targets import DIARY
from nacre.being.memory.store.think_notes import THINK, think_key
from nacre.being.patrol.run.inputs import scenes_of
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.run.runs import INPUT_TOKENS, OUTPUT_TOKENS
from nacre.core.errors import InvalidInputError
from nacre.ports.items.table import Item, Put, Value, Write

STEP = 8
PLAN = "JOURNAL"
_RECENT = 20  # memories that think notes are about


def write_journal(work: Round) -> list[str]:
    """Write the diary, and return why it was not written, for the receipt."""
    scenes = _consumed(work)
    if not scenes:
        return []
    if work.run.step < STEP:
        if work.thinking is None:
            return ["no_llm: no diary"]
        _plan(work, scenes)
    planned = work.runs.plan(work.being_id, work.run.seq, PLAN) or []
    texts = [entry["diary"] for entry in planned if entry.get("diary")]
    return [reason for text in texts if (reason := _into_diary(work, text))]


def thinking_writes(work: Round) -> list[Write]:
    """Return the writes of the think notes, in place of those of an earlier run."""
    planned = work.runs.plan(work.being_id, work.run.seq, PLAN) or []
    notes: list[Value] = [note for entry in planned for note in entry.get("notes", ()) if note]
    if not notes:
        return []
    place = think_key(work.being_id)
    item: Item = {
        "pk": place.pk,
        "sk": place.sk,
        "notes": notes,
        "run_id": work.run.run_id,
        "updated_at": work.run.now,
    }
    return [Put(THINK.stamp(item))]


def _consumed(work: Round) -> list[Scene]:
    ids = scenes_of(work)
    found = work.memory.scenes.get_many(work.being_id, ids)
    scenes = [found[each] for each in ids if each in found]
    return [scene for scene in scenes if scene.status == "consumed"]


def _plan(work: Round, scenes: Sequence[Scene]) -> None:
    assert work.thinking is not None
    nodes = work.memory.nodes.recent(work.being_id, limit=_RECENT).nodes
    wanted = {node.cluster_id: None for node in nodes if node.cluster_id is not None}
    found = work.memory.clusters.get_many(work.being_id, list(wanted))
    clusters = [found[each] for each in wanted if each in found]
    diary = work.thinking.diary(work.being_id, scenes)
    work.keep()
    notes = work.thinking.think(work.being_id, clusters, nodes)
    reasons = [f"diary: {diary.reason}"] if diary.value is None else []
    reasons += [f"think notes: {notes.reason}"] if notes.value is None else []
    tokens = {
        INPUT_TOKENS: diary.input_tokens + notes.input_tokens,
        OUTPUT_TOKENS: diary.output_tokens + notes.output_tokens,
    }
    entries: list[Value] = [{"diary": diary.value or ""}, {"notes": list(notes.value or ())}]
    work.ledger.plan(PLAN, entries, step=STEP, reasons=reasons, counts=tokens)


def _into_diary(work: Round, text: str) -> str | None:
    now = datetime.fromisoformat(work.run.now)
    profile = Profile(work.table, clock=lambda: now, rng=Random(0))  # noqa: S311  makes no ids
    before = profile.get(work.being_id, DIARY, work.run.today)
    if before is not None and head_of(work.run.run_id) in (before.text or ""):
        return None  # an attempt that was stopped later has written it
    try:
        paragraph = paragraph_of(work.run.run_id, text)
        profile.append(work.being_id, DIARY, paragraph, key=work.run.today)
    except InvalidInputError as error:
        return f"diary: {error}"
    return None
