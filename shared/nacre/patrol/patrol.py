"""The patrol: takes what was noted, makes memories of it, and tends those that are there."""

from collections.abc import Callable
from dataclasses import dataclass

from nacre.clock import Clock
from nacre.errors import UnavailableError
from nacre.jobs.lease import Lease
from nacre.memory.indexing import Indexing
from nacre.memory.memory import Memory
from nacre.memory.model import moment
from nacre.patrol import consolidating, splitting, tidying
from nacre.patrol.assigning import assign
from nacre.patrol.claim import claim
from nacre.patrol.consolidating import considered, consolidate
from nacre.patrol.extracting import extract
from nacre.patrol.finishing import block, finish
from nacre.patrol.flagging import flag
from nacre.patrol.inputs import scenes_of
from nacre.patrol.journal import write_journal
from nacre.patrol.ledger import Ledger
from nacre.patrol.measuring import measure
from nacre.patrol.renewing import renew
from nacre.patrol.reviving import revive
from nacre.patrol.round import Round
from nacre.patrol.runs import Receipt, Runs
from nacre.patrol.splitting import split
from nacre.patrol.thinking import Thinking
from nacre.patrol.ticking import tick
from nacre.patrol.tidying import tidy
from nacre.ports.queue import Queue
from nacre.ports.table import Table

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
    (consolidating.STEP, "consolidate", consolidate),
    (5, "revive", revive),
    (splitting.STEP, "split", split),
    (tidying.STEP, "tidy", _tidy),
)
"""The steps in their order, each with its number.

`Run.step` is the last whose decisions are stored: a run that is resumed begins with it, so that
nothing before it is decided anew on what came after.
"""


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
            told("claim")
            work.telling.catch_up()
            for number, name, step in STEPS:
                if number >= run.step:
                    told(name)
                    step(work)
                    keep()
            told("finish")
            finish(work, write_journal(work))
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
