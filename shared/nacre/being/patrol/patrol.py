"""The patrol: takes what was noted, makes memories of it, and tends those that are there."""

from collections.abc import Callable

from nacre.being.memory.index.sync import Indexing
from nacre.being.memory.model.types import moment
from nacre.being.memory.repositories import Memory
from nacre.being.patrol.planning.plans import Thinking
from nacre.being.patrol.run.claim import claim, config_hash
from nacre.being.patrol.run.inputs import scenes_of
from nacre.being.patrol.run.ledger import Ledger
from nacre.being.patrol.run.round import Round
from nacre.being.patrol.run.runs import Receipt, Run, Runs
from nacre.being.patrol.steps import merge_memories, split_clusters, tidy_clusters
from nacre.being.patrol.steps.age_memories import tick
from nacre.being.patrol.steps.assign_scenes import assign
from nacre.being.patrol.steps.dry_run import rehearse
from nacre.being.patrol.steps.extract_scenes import extract
from nacre.being.patrol.steps.finish_run import block, finish
from nacre.being.patrol.steps.forget_memories import flag
from nacre.being.patrol.steps.measure_space import measure
from nacre.being.patrol.steps.merge_memories import considered, consolidate
from nacre.being.patrol.steps.renew_clusters import renew
from nacre.being.patrol.steps.revive_memories import revive
from nacre.being.patrol.steps.split_clusters import split
from nacre.being.patrol.steps.tidy_clusters import tidy
from nacre.being.patrol.steps.undo_run import UndoReport, undo
from nacre.being.patrol.steps.write_journal import write_journal
from nacre.core.clock import Clock
from nacre.core.errors import UnavailableError
from nacre.jobs.lease import Lease
from nacre.ports.items.table import Table
from nacre.ports.queue import Queue

Step = Callable[[Round], None]


def _assign(work: Round) -> None:
    scenes = scenes_of(work)
    measure(work, scenes)
    assign(work, scenes)


def _tidy(work: Round) -> None:
    tidy(work)
    renew(work, considered(work))


STEPS: tuple[tuple[int, str, Step], ...] = (
    (0, "extract", extract),
    (1, "assign", _assign),
    (2, "clock", tick),
    (3, "flag", flag),
    (merge_memories.STEP, "consolidate", consolidate),
    (5, "revive", revive),
    (split_clusters.STEP, "split", split),
    (tidy_clusters.STEP, "tidy", _tidy),
)
"""The steps in their order, each with its number.

`Run.step` is the last whose decisions are stored: a run that is resumed begins with it, so that
nothing before it is decided anew on what came after.
"""


def _silently(_step: str) -> None:
    return


class Patrol:
    """Runs patrols. Whoever calls holds the lease `PATROL` of the Being and hands it in."""

    def __init__(
        self, table: Table, queue: Queue, memory: Memory, indexing: Indexing, *, clock: Clock
    ) -> None:
        self._table = table
        self._queue = queue
        self._memory = memory
        self._indexing = indexing
        self._clock = clock
        self.runs = Runs(table)

    def run(
        self,
        being_id: str,
        *,
        trigger: str,
        keep: Callable[[], None],
        thinking: Thinking | None = None,
        lease: Lease | None = None,
        told: Callable[[str], None] = _silently,
    ) -> Receipt:
        """Do a run to its end, the unfinished one if there is one, and return its receipt.

        `keep` is called between steps, `told` with the name of each step. A run that cannot go
        on because something does not answer ends `blocked`: its scenes wait, and the next call
        resumes it. Raises LeaseLostError when another worker has taken over.
        """
        run = claim(
            self._table,
            being_id,
            trigger=trigger,
            now=moment(self._clock()),
            model=None if thinking is None else thinking.model,
            lease=lease,
        )
        work = self._round(being_id, run, lease, None if run.model is None else thinking, keep)
        closed = None
        try:
            told("claim")
            work.telling.catch_up()
            for number, name, step in STEPS:
                if number >= run.step:
                    told(name)
                    step(work)
                    keep()
            told("finish")
            closed = finish(work, write_journal(work))
        except UnavailableError as error:
            block(work, str(error))
        try:
            stored = self.runs.at(being_id, run.seq)
        except UnavailableError:
            # To fail now would have the caller ask for another run of what is done.
            if closed is None:
                raise
            stored = closed
        return (stored or run).receipt

    def dry_run(self, being_id: str, thinking: Thinking | None = None) -> Receipt:
        """Return what a run would do now; nothing is written but what a model costs.

        Raises UnavailableError when something does not answer.
        """
        run = Run(
            run_id="",
            seq=0,
            trigger="dry",
            state="open",
            step=0,
            now=moment(self._clock()),
            clock=0,
            model=None if thinking is None else thinking.model,
            config=config_hash(),
            work_seq=0,
            counts={},
            reasons=(),
        )
        return rehearse(self._round(being_id, run, None, thinking, lambda: None))

    def undo(self, being_id: str, run_id: str) -> UndoReport:
        """Take back what a run has merged and superseded.

        Raises NotFoundError for an unknown run, InvalidInputError for one that is not over.
        """
        return undo(self._table, self._memory, being_id, run_id)

    def _round(
        self,
        being_id: str,
        run: Run,
        lease: Lease | None,
        thinking: Thinking | None,
        keep: Callable[[], None],
    ) -> Round:
        return Round(
            being_id=being_id,
            run=run,
            ledger=Ledger(self._table, being_id, run, lease),
            table=self._table,
            queue=self._queue,
            memory=self._memory,
            indexing=self._indexing,
            thinking=thinking,
            keep=keep,
        )


def patrol_over(
    memory: Memory, table: Table, queue: Queue, indexing: Indexing, *, clock: Clock
) -> Patrol:
    """Return the patrol of the Beings that these stores hold."""
    return Patrol(table, queue, memory, indexing, clock=clock)
