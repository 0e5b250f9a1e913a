"""The crash harness: patrols that are stopped by plan, compared with one that was not.

A plan says before which of its writes each process stops, or which of its calls fail; the next
process, later by the clock, goes on from what is stored. The last one is left alone.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from nacre.being.memory.model import keys
from nacre.being.patrol.run.runs import OPEN_RUN
from nacre.core.errors import UnavailableError
from nacre.ports.vectors.embedder import Embedder, Vector
from tests.being.patrol.histories import UserStep, stretches
from tests.being.patrol.invariants import check, check_growth
from tests.being.patrol.stand_in import StandIn
from tests.being.patrol.worlds import Dump, Stopped, World, new_world

LATER = 1_800.0  # seconds, until the next process goes on
_PLANS = 3  # of each patrol, beside single stops
_STRIDE = 29  # single stops: before each so many-th write, beginning with another one each time
_RESTLESS = 5  # patrols without anything new, until one has nothing to do

Kind = Literal["stop", "write", "read", "search", "embed"]


@dataclass(frozen=True, slots=True)
class Cut:
    """The end of one process: it stops before a write, or one of its calls fails."""

    kind: Kind
    number: int  # from 0, of the process


cuts = st.one_of(
    st.builds(Cut, st.just("stop"), st.integers(1, 12)),
    st.builds(Cut, st.just("stop"), st.integers(1, 4)),
    st.builds(Cut, st.just("stop"), st.integers(2, 3)),
    st.builds(Cut, st.just("stop"), st.integers(2, 3)),
    st.builds(Cut, st.sampled_from(("write", "read")), st.integers(0, 30)),
    st.builds(Cut, st.sampled_from(("search", "embed")), st.integers(0, 4)),
)
plans = st.lists(cuts, min_size=30, max_size=60)


class HiccupEmbedder:
    """An embedder of which a call may fail."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._calls = 0
        self._failing = -1
        self.emb_id, self.dimension = embedder.emb_id, embedder.dimension

    def documents(self, texts: Sequence[str]) -> list[Vector]:
        self._call()
        return self._embedder.documents(texts)

    def query(self, text: str) -> Vector:
        self._call()
        return self._embedder.query(text)

    def fail_at(self, number: int | None) -> None:
        """Let the call fail that comes after so many; None: let every one be answered."""
        self._failing = -1 if number is None else self._calls + number

    def _call(self) -> None:
        self._calls += 1
        if self._calls - 1 == self._failing:
            raise UnavailableError("the embedding model does not answer")


@dataclass
class Tally:
    """The counts of the harness."""

    crashes: int = 0
    failures: int = 0
    patrols: int = 0
    histories: int = 0


def state_of(world: World) -> Dump:
    """Return the state that must be the same, without the worker and the number of messages."""
    dump = world.dump()
    dump["messages"] = sorted(set(dump["messages"]))
    return {name: value for name, value in dump.items() if " LOCK#" not in name}


def hold(world: World) -> None:
    """Raise AssertionError unless every invariant holds."""
    emb_id = None if world.embedder is None else world.embedder.emb_id
    check(world.items(), world.being_id, emb_id=emb_id)


def stop_before_writes(start: World, stride: int) -> None:
    """Stop patrols of a world before each so many-th write; all must end as one that goes on."""
    unstopped = start.copy()
    receipt = unstopped.run()
    assert receipt.state == "done"
    expected = unstopped.dump()
    hold(unstopped)
    for number in range(0, unstopped.fuse.writes, stride):
        world = start.copy()
        world.fuse.stop_before = number
        try:
            world.run()
        except Stopped:
            again = world.copy()
        else:
            raise AssertionError(f"the patrol did not stop before write {number}")
        again.fuse.stop_before = number // 2 + 1  # and once more on its way
        try:
            again.run()
        except Stopped:
            last = again.copy()
            last.run()
        else:
            last = again
        dump = last.dump()
        assert dump == expected, (number, {k for k in dump if dump[k] != expected.get(k)})
        for opened in (world, again, last):
            opened.database.close()
    unstopped.database.close()


def patrolled(world: World, plan: Sequence[Cut], tally: Tally) -> World:
    """Do a patrol through all that the plan says, and return the world of the last process."""
    process = world.process()
    for number, cut in enumerate(plan):
        _plant(process, cut)
        try:
            receipt = process.run()
        except Stopped:
            tally.crashes += 1
        except UnavailableError:
            tally.failures += 1
        else:
            if receipt.state == "done":
                _heal(process)
                return process
            tally.failures += 1
        _heal(process)
        process = _next(process, number)
    assert process.run().state == "done"
    return process


def _next(process: World, number: int) -> World:
    """Return the next process, later as soon as the run has begun and what is now is frozen."""
    table = process.table.table
    meta = table.get(keys.meta(process.being_id)) or {}
    seconds = LATER if OPEN_RUN in meta else 0.0
    return process.process(seconds=seconds, generation=1_000 + number)


def _plant(process: World, cut: Cut) -> None:
    fuse = process.fuse
    match cut.kind:
        case "stop":
            fuse.stop_before = cut.number
        case "write":
            fuse.failing_writes = (cut.number,)
        case "read":
            fuse.failing_reads = (cut.number,)
        case "search":
            fuse.failing_searches = (cut.number,)
        case "embed":
            if isinstance(process.embedder, HiccupEmbedder):
                process.embedder.fail_at(cut.number)


def _heal(process: World) -> None:
    fuse = process.fuse
    fuse.stop_before = None
    fuse.failing_writes = fuse.failing_reads = fuse.failing_searches = ()
    if isinstance(process.embedder, HiccupEmbedder):
        process.embedder.fail_at(None)


def same(actual: Dump, expected: Dump, plan: object) -> None:
    """Raise AssertionError where two states differ, and say where."""
    differing = {key for key in {*actual, *expected} if actual.get(key) != expected.get(key)}
    assert not differing, (plan, sorted(differing))


def live(
    start: World, history: Sequence[Sequence[UserStep]], draw_plan: Callable[[], Any], tally: Tally
) -> None:
    """Let a Being live through a history, with every patrol also done through crashes."""
    world = start
    for stretch in history:
        for step in stretch:
            step.do(world)
        before = world.copy()
        assert world.run().state == "done"
        hold(world)
        check_growth(before.items(), world.items(), world.being_id)
        expected = state_of(world)
        every = [list(draw_plan()) for _ in range(_PLANS)]
        singles = range(world.fuse.writes % _STRIDE, world.fuse.writes, _STRIDE)
        every += [[Cut("stop", number), Cut("stop", number // 2 + 1)] for number in singles]
        for plan in every:
            crashed = before.copy()
            same(state_of(patrolled(crashed, plan, tally)), expected, plan)
            crashed.database.close()
        before.database.close()
        tally.patrols += 1
        world = world.process()
    _comes_to_rest(world)
    tally.histories += 1


def _comes_to_rest(world: World) -> None:
    """Raise AssertionError unless patrols soon change nothing but their receipts."""
    home, run = f"B#{world.being_id} META", f"B#{world.being_id}#R "
    changed: set[str] = set()
    for _ in range(_RESTLESS):  # what one has merged may be due to fade for the next one
        before = world.dump()
        assert world.run().state == "done"
        after = world.dump()
        changed = {key for key in {*after, *before} if after.get(key) != before.get(key)}
        if all(key == home or key.startswith(run) for key in changed):
            return
    raise AssertionError(sorted(changed))


def hypothesised(
    body: Callable[[st.DataObject], None], *, round_: int = 0, examples: int = 20
) -> None:
    """Let hypothesis look for an example that fails; the same ones in every run of a round."""
    silent = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    within = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=silent,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    within(seed(round_)(given(st.data())(body)))()


def crash_through(crashes: int, embedder: Embedder) -> Tally:
    """Live through random histories until so many processes have crashed."""
    tally = Tally()
    embedder = HiccupEmbedder(embedder)

    def body(data: st.DataObject) -> None:
        thinks = data.draw(st.booleans(), label="with a model")
        start = new_world(
            embedder if data.draw(st.booleans(), label="with vectors") else None,
            StandIn() if thinks else None,
        )
        history = data.draw(st.lists(stretches, min_size=1, max_size=3), label="history")
        live(start, history, lambda: data.draw(plans, label="plan"), tally)
        start.database.close()

    for round_ in count():
        hypothesised(body, round_=round_)
        if tally.crashes >= crashes:
            return tally
    raise AssertionError


def crashes_asked_for() -> int:
    """Return how many crashes the long run is to do."""
    return int(os.environ.get("NACRE_CRASHES", "10000"))
