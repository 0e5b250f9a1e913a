"""Faults that are planted into the patrol, to see that the harness finds each of them."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from nacre.being.memory.model.merged_node import merged_node
from nacre.being.memory.model.types import Node
from nacre.being.patrol import patrol
from nacre.being.patrol.run import claim
from nacre.being.patrol.run.ledger import Ledger
from nacre.being.patrol.run.runs import Run
from nacre.being.patrol.steps import join_cluster, merge_memories, split_clusters
from nacre.ports.items.table import Delete, Put, Update, Write
from tests.being.memory.keeping import divide_early
from tests.being.memory.minds import builtin
from tests.being.patrol.crashing import crash_through, stop_before_writes
from tests.being.patrol.test_crashes import SCENARIOS
from tests.being.patrol.worlds import new_world

SEARCHED = 1_500  # crashes, within which a fault has to be found

_MARK = ("dirty", "gsi3pk", "gsi3sk")

Patch = pytest.MonkeyPatch


def now_is_not_frozen(patch: Patch) -> None:
    ordinary = claim.claim

    def thawed(*args: Any, now: str, **named: Any) -> Run:
        return replace(ordinary(*args, now=now, **named), now=now)

    patch.setattr(patrol, "claim", thawed)


def plans_are_made_anew(patch: Patch) -> None:
    ordinary = claim.claim
    patch.setattr(patrol, "claim", lambda *a, **n: replace(ordinary(*a, **n), step=0))


def dirty_marks_are_dropped(patch: Patch) -> None:
    ordinary = Ledger.commit

    def clean(write: Write) -> Write:
        if not isinstance(write, Update) or "dirty" not in write.change.set:
            return write
        remaining = {name: value for name, value in write.change.set.items() if name not in _MARK}
        return replace(write, change=replace(write.change, set=remaining))

    def unmarked(self: Ledger, writes: Sequence[Write], **named: Any) -> None:
        ordinary(self, [clean(write) for write in writes], **named)

    patch.setattr(Ledger, "commit", unmarked)


def merging_loses_evidence(patch: Patch) -> None:
    def forgetful(sources: Sequence[Node], clock: int) -> Node:
        merged = merged_node(sources, clock)
        return replace(merged, evidence=merged.evidence[:1])

    patch.setattr(merge_memories, "merged_node", forgetful)


def ids_are_random(patch: Patch) -> None:
    patch.setattr(join_cluster, "new_cluster_id", lambda *_: str(uuid.uuid4()))


def counts_are_written_apart(patch: Patch) -> None:
    ordinary = Ledger.commit

    def apart(self: Ledger, writes: Sequence[Write], **named: Any) -> None:
        counts = named.pop("counts", None)
        ordinary(self, [], counts=counts)
        ordinary(self, writes, **named)

    patch.setattr(Ledger, "commit", apart)


def scenes_are_consumed_apart(patch: Patch) -> None:
    ordinary = Ledger.commit

    def apart(self: Ledger, writes: Sequence[Write], **named: Any) -> None:
        scenes = [w for w in writes if isinstance(w, Put) and w.item.get("status") == "consumed"]
        if scenes:
            ordinary(self, [w for w in writes if w not in scenes])
            writes = scenes
        ordinary(self, writes, **named)

    patch.setattr(Ledger, "commit", apart)


def recalls_are_deleted_apart(patch: Patch) -> None:
    ordinary = Ledger.commit

    def apart(self: Ledger, writes: Sequence[Write], **named: Any) -> None:
        gone = [w for w in writes if isinstance(w, Delete) and w.key.pk.endswith("#L")]
        if gone:
            ordinary(self, [w for w in writes if w not in gone], **named)
            writes, named = gone, {}
        ordinary(self, writes, **named)

    patch.setattr(Ledger, "commit", apart)


def scenes_move_apart(patch: Patch) -> None:
    ordinary = Ledger.commit

    def apart(self: Ledger, writes: Sequence[Write], **named: Any) -> None:
        moved = [w for w in writes if isinstance(w, Put) and str(w.item["pk"]).endswith("#E")]
        if moved:
            ordinary(self, [w for w in writes if w not in moved], **named)
            writes, named = moved, {}
        ordinary(self, writes, **named)

    patch.setattr(Ledger, "commit", apart)


FAULTS: tuple[Callable[[Patch], None], ...] = (
    now_is_not_frozen,
    plans_are_made_anew,
    dirty_marks_are_dropped,
    merging_loses_evidence,
    ids_are_random,
    counts_are_written_apart,
    scenes_are_consumed_apart,
    scenes_move_apart,
)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_harness_finds_it(fault: Callable[[Patch], None], monkeypatch: Patch) -> None:
    monkeypatch.setattr(split_clusters, "SPLIT_FROM", 6)
    divide_early(monkeypatch)
    fault(monkeypatch)
    with pytest.raises(Exception) as raised:  # noqa: PT011  hypothesis may put it into a group
        crash_through(SEARCHED, builtin()[0])
    assert _is_about_memories(raised.value), raised.value


@pytest.mark.slow
def test_the_harness_finds_recalls_that_are_deleted_apart(monkeypatch: Patch) -> None:
    start = new_world(None)
    SCENARIOS["recalled"](start)
    recalls_are_deleted_apart(monkeypatch)

    with pytest.raises(AssertionError):
        stop_before_writes(start, 1)
    start.database.close()


def _is_about_memories(error: BaseException) -> bool:
    """Return whether the harness reports this error, so that it is not a fault of the harness."""
    if isinstance(error, BaseExceptionGroup):
        return any(_is_about_memories(part) for part in error.exceptions)
    return isinstance(error, AssertionError)
