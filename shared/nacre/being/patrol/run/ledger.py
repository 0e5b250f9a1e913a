"""The ledger of a run: every write goes through it, together with its counts."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from nacre.being.memory.model import keys
from nacre.being.patrol.run.runs import COUNT, REASON, RUN, Run, run_key
from nacre.core.errors import ConditionFailedError, LeaseLostError
from nacre.core.limits import PATROL_PLAN_DAYS, PLAN_CHUNK_BYTES
from nacre.jobs.lease import Lease
from nacre.ports.items.table import (
    EXPIRES_AT,
    Change,
    Check,
    Compare,
    Item,
    Present,
    Put,
    Table,
    Update,
    Value,
    Write,
)


class Ledger:
    """Commits the writes of a run together with their counts, or not at all.

    When the lease is lost or the run is over, nothing more can be committed. So a slow worker
    cannot interfere with its successor.
    """

    def __init__(self, table: Table, being_id: str, run: Run, lease: Lease | None) -> None:
        self._table = table
        self._being_id = being_id
        self._lease = lease
        self._place = run_key(being_id, run.seq)
        self.run = run
        self.commits = 0

    def commit(
        self,
        writes: Sequence[Write],
        *,
        counts: Mapping[str, int] | None = None,
        reasons: Sequence[str] = (),
        step: int | None = None,
        meta: Mapping[str, int] | None = None,
        also: Mapping[str, Value] | None = None,
    ) -> None:
        """Apply writes and add their counts to the run.

        `meta` is added to the Being's counters, `also` is set on the run. Raises
        ConditionFailedError if one of the writes finds another state, and LeaseLostError if another
        worker has the run.
        """
        added = {COUNT + name: count for name, count in (counts or {}).items() if count}
        added |= {REASON + text: times for text, times in Counter(reasons).items()}
        values: dict[str, Value] = dict(also or {})
        if step is not None:
            values["step"] = step
        still_open = Compare("state", "=", "open")
        fence: list[Write] = [
            Update(self._place, Change(set=values, add=added), still_open)
            if added or values
            else Check(self._place, still_open)
        ]
        if self._lease is not None:
            fence.append(self._lease.still_held())
        if meta:
            fence.append(Update(keys.meta(self._being_id), Change(add=meta), Present()))
        try:
            self._table.transact([*writes, *fence])
        except ConditionFailedError as error:
            if error.index >= len(writes):
                raise LeaseLostError("the patrol was taken over, or its Being is gone") from error
            raise
        self.commits += 1

    def counts(self) -> Mapping[str, int]:
        """Return the counts of the run so far, including those of earlier workers."""
        item = self._table.get(self._place)
        return {} if item is None else Run.from_item(item).counts

    def note(self, reason: str) -> None:
        """Store a reason without other writes; it counts once, even if a step is repeated."""
        self.commit([], also={REASON + reason: 1})

    def plan(
        self,
        name: str,
        entries: Sequence[Value],
        *,
        step: int,
        writes: Sequence[Write] = (),
        **more: Any,
    ) -> None:
        """Store the decisions of a step, and further writes, before any of them is applied."""
        parts = chunks(self._place.pk, self.run, name, entries)
        self.commit([*parts, *writes], step=step, **more)


def chunks(partition: str, run: Run, name: str, entries: Sequence[Value]) -> list[Write]:
    """Return the writes that store the entries of a plan, in parts that fit an item."""
    parts: list[list[Value]] = [[]]
    size = 0
    for entry in entries:
        length = len(json.dumps(entry, ensure_ascii=False).encode())
        if parts[-1] and size + length > PLAN_CHUNK_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(entry)
        size += length
    return [Put(_chunk(partition, run, name, number, part)) for number, part in enumerate(parts)]


def _chunk(partition: str, run: Run, name: str, number: int, entries: list[Value]) -> Item:
    ends = datetime.fromisoformat(run.now) + timedelta(days=PATROL_PLAN_DAYS)
    return RUN.stamp(
        {
            "pk": partition,
            "sk": f"{run.seq:08}#PLAN#{name}#{number:04}",
            "entries": entries,
            EXPIRES_AT: int(ends.timestamp()),
        }
    )
