"""The patrol: takes what was noted, makes memories of it, and tends those that are there."""

from collections.abc import Callable
from dataclasses import dataclass

from nacre.clock import Clock
from nacre.errors import UnavailableError
from nacre.jobs.lease import Lease
from nacre.memory.indexing import Indexing
from nacre.memory.memory import Memory
from nacre.memory.model import moment
from nacre.patrol.claim import claim
from nacre.patrol.finishing import block, finish
from nacre.patrol.ledger import Ledger
from nacre.patrol.round import Round
from nacre.patrol.runs import Receipt, Runs
from nacre.patrol.thinking import Thinking
from nacre.ports.queue import Queue
from nacre.ports.table import Table

Step = Callable[[Round], None]

STEPS: tuple[tuple[int, str, Step], ...] = ()
"""The steps in their order, each with its number; `Run.step` is the last that has decided."""


def _silently(_step: str) -> None:
    return


@dataclass(frozen=True, slots=True)
class UndoReport:
    """Which merges of a run were taken back, and why others were not."""

    run_id: str
    undone: tuple[str, ...]  # ids of merged nodes
    not_undone: dict[str, str]  # id to reason


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
        ledger = Ledger(self._table, being_id, run, lease)
        work = Round(
            being_id=being_id,
            run=run,
            ledger=ledger,
            table=self._table,
            queue=self._queue,
            memory=self._memory,
            indexing=self._indexing,
            thinking=None if run.model is None else thinking,
            keep=keep,
        )
        try:
            for number, name, step in STEPS:
                if number >= run.step:
                    told(name)
                    step(work)
                    keep()
            told("finish")
            finish(work)
        except UnavailableError as error:
            block(work, str(error))
        found = self.runs.at(being_id, run.seq)
        return (found or run).receipt

    def dry_run(self, being_id: str, thinking: Thinking | None = None) -> Receipt:
        """Return what a run would do now; nothing is written but what a model costs."""
        raise NotImplementedError

    def undo(self, being_id: str, run_id: str) -> UndoReport:
        """Take back what a run has merged and superseded; raises NotFoundError."""
        raise NotImplementedError


def patrol_over(
    memory: Memory, table: Table, queue: Queue, indexing: Indexing, *, clock: Clock
) -> Patrol:
    """Return the patrol of the Beings that these stores hold."""
    return Patrol(table, queue, memory, indexing, clock=clock)
