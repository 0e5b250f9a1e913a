"""The claim: one write freezes the input of a new run; an unfinished run is resumed."""

import hashlib
import json
from collections.abc import Sequence

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import CLOCK, WORK_SEQ, count_in, counters
from nacre.being.memory.model.types import Scene
from nacre.being.memory.store.retry import retry_on_conflict
from nacre.being.patrol.run.ledger import chunks
from nacre.being.patrol.run.runs import OPEN_RUN, RUN_SEQ, Run, Runs, run_id_of, run_key
from nacre.core import limits
from nacre.core.errors import ConditionFailedError, LeaseLostError
from nacre.jobs.lease import Lease
from nacre.ports.items.table import (
    Absent,
    Change,
    Compare,
    Either,
    Every,
    Item,
    Key,
    Present,
    Put,
    Table,
    Update,
    Value,
    Write,
)

# Attributes of the Being's item:
ACTIVE_DAY = "active_day"  # the last day, in UTC, on which it was used
MARKER = "patrol_marker"  # the end of the messages that were read


def claim(
    table: Table, being_id: str, *, trigger: str, now: str, model: str | None, lease: Lease | None
) -> Run:
    """Return the run to be done: the unfinished one, or a new one."""
    return retry_on_conflict(lambda: _claim(table, being_id, trigger, now, model, lease))


def pending_scenes(table: Table, being_id: str, *, limit: int) -> list[Scene]:
    """Return waiting scenes, the oldest first."""
    page = table.query(keys.pending(being_id), index="gsi1", limit=limit)
    # An index of AWS may lag and still list scenes of an earlier run.
    places = [Key(keys.scenes(being_id), str(item["sk"])) for item in page.items]
    scenes = map(Scene.from_item, table.get_many(places).values())
    waiting = [scene for scene in scenes if scene.status == "pending"]
    return sorted(waiting, key=lambda scene: (scene.created_at, scene.scene_id))


def waiting_messages(table: Table, being_id: str, *, limit: int) -> list[Key]:
    """Return the keys of messages that were handed over and not read yet, oldest first."""
    page = table.query(keys.unread(being_id), index="gsi1", limit=limit)
    return [Key.of(item) for item in page.items]


def clock_of(meta: Item, today: str, *, is_active: bool) -> int:
    """Return the Being's clock of active days, with today if it is one."""
    clock = count_in(meta, CLOCK)
    return clock + 1 if is_active and meta.get(ACTIVE_DAY) != today else clock


def config_hash() -> str:
    """Return a hash of the limits that a run depends on."""
    numbers = {
        name: getattr(limits, name)
        for name in dir(limits)
        if name.startswith(("PATROL_", "CLUSTER_MEMBERS", "SPLIT_", "MERGE_GROUP"))
    }
    return hashlib.sha256(json.dumps(numbers, sort_keys=True).encode()).hexdigest()[:16]


def _claim(
    table: Table, being_id: str, trigger: str, now: str, model: str | None, lease: Lease | None
) -> Run:
    meta = counters(table, being_id)
    unfinished = meta.get(OPEN_RUN)
    if isinstance(unfinished, int):
        run = Runs(table).at(being_id, unfinished)
        if run is not None and run.state != "done":
            return run if run.state == "open" else _reopened(table, being_id, run, lease)
    scenes = pending_scenes(table, being_id, limit=limits.PATROL_SCENES)
    messages = waiting_messages(table, being_id, limit=limits.PATROL_MESSAGES)
    seq = count_in(meta, RUN_SEQ) + 1
    marker = meta.get(MARKER)
    run = Run(
        run_id=run_id_of(being_id, seq),
        seq=seq,
        trigger=trigger,
        state="open",
        step=0,
        now=now,
        clock=clock_of(meta, now[:10], is_active=bool(scenes or messages)),
        model=model,
        config=config_hash(),
        work_seq=count_in(meta, WORK_SEQ),
        marker_in=marker if isinstance(marker, str) else None,
        counts={"scenes_taken": len(scenes)} if scenes else {},
        reasons=(),
    )
    entries: list[Value] = [{"scene": scene.scene_id} for scene in scenes]
    entries += [{"message": [place.pk, place.sk]} for place in messages]
    _begin(table, being_id, run, entries, lease)
    return run


def _begin(
    table: Table, being_id: str, run: Run, entries: Sequence[Value], lease: Lease | None
) -> None:
    place = run_key(being_id, run.seq)
    # The number of an erased run, or of one that an import left out, stays in the Being's item.
    is_next = Either((Absent(RUN_SEQ), Compare(RUN_SEQ, "=", run.seq - 1)))
    values: dict[str, Value] = {
        OPEN_RUN: run.seq,
        RUN_SEQ: run.seq,
        "gsi1pk": keys.work(being_id),
        "gsi1sk": being_id,
    }
    writes: list[Write] = [
        Put(run.to_item(being_id)),
        *chunks(place.pk, run, "INPUT", entries),
        Update(keys.meta(being_id), Change(set=values), Every((Present(), is_next))),
    ]
    if lease is not None:
        writes.append(lease.still_held())
    try:
        table.transact(writes)
    except ConditionFailedError as error:
        if lease is not None and error.index == len(writes) - 1:
            raise LeaseLostError("the patrol was taken over before it began") from error
        raise


def _reopened(table: Table, being_id: str, run: Run, lease: Lease | None) -> Run:
    """Return a blocked run, open again."""
    change = Change(set={"state": "open"}, remove=frozenset({"blocked"}))
    place = run_key(being_id, run.seq)
    table.update(place, change, when=Compare("state", "=", "blocked"))
    item = table.get(place)
    if item is None:
        raise LeaseLostError("the patrol's run is gone")
    return Run.from_item(item)
